//! What a standby is to hear of, noted where it happens.

use std::io;

use crate::sessions::dirty::Dirty;
use crate::sessions::table::Number;

/// What changed and is not told yet.
pub struct Journal {
    /// Sessions that changed or ended.
    pub dirty: Dirty,
    /// Control changed something other than sessions.
    pub settings_changed: bool,
    /// One-to-one or port forwarding rules came or went.
    pub rules_changed: bool,
    /// A mapping came and went unseen by the standby, so that ports are to be told once more.
    pub ports_again: bool,
}

impl Journal {
    /// An empty one for numbers below `capacity`.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(capacity: usize) -> io::Result<Journal> {
        let dirty = Dirty::new(capacity)?;
        Ok(Journal { dirty, settings_changed: false, rules_changed: false, ports_again: false })
    }

    /// Notes that a session is to be told.
    #[inline]
    pub fn note(&mut self, number: Number) {
        self.dirty.set(number);
    }

    /// Notes that a session ended.
    pub fn note_end(&mut self, number: Number) {
        if !self.dirty.set(number) {
            // Perhaps the standby never heard of it, nor then of its port that rests now.
            self.ports_again = true;
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.dirty.bytes()
    }
}
