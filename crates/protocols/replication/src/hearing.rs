//! What a worker takes out of the ring of the machine that hears for it.

use std::sync::Arc;

use rtrb::Consumer;

use crate::link::Link;
use crate::standby::Received;

/// The worker's end of what is heard.
pub struct Hearing<C> {
    ring: Consumer<Received<C>>,
    link: Arc<Link>,
    taken: u64,
    /// How often it was told of one that knows nothing of what was told before.
    begun: u64,
    /// What was heard since the worker has listened last is worth something; what lies before a
    /// beginning is of a time before that.
    ears: u64,
    is_stale: bool,
}

impl<C> Hearing<C> {
    /// That of a machine whose end of the ring is the other one.
    pub fn new(ring: Consumer<Received<C>>, link: Arc<Link>) -> Hearing<C> {
        let ears = link.ears();
        Hearing { ring, link, taken: 0, begun: 0, ears, is_stale: false }
    }

    /// Returns what worker and machine tell each other.
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Takes the next thing that was heard.
    pub fn take(&mut self) -> Option<Received<C>> {
        self.look_at_ears();
        let waiting = self.ring.slots();
        let has_noticed = self.link.has_noticed();
        for _ in 0..waiting {
            let received = self.ring.pop().ok()?;
            self.taken += 1;
            let begins = matches!(received, Received::Afresh);
            self.begun += u64::from(begins);
            if self.is_stale && has_noticed && begins {
                self.is_stale = false;
            }
            if !self.is_stale {
                return Some(received);
            }
        }
        None
    }

    /// Everything that was taken is in the worker's tables.
    pub fn done(&mut self) {
        self.look_at_ears();
        if !self.is_stale {
            self.link.done(self.taken);
        }
    }

    /// Returns true if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns true if what was taken is all of the one that tells now, or the beginning of it.
    pub fn is_current(&self) -> bool {
        let is_current = !self.is_stale && self.ears == self.link.ears();
        is_current && self.link.is_connected() && self.begun == self.link.resynchronisations()
    }

    /// Returns the room of the ring.
    pub fn capacity(&self) -> usize {
        self.ring.buffer().capacity()
    }

    fn look_at_ears(&mut self) {
        let ears = self.link.ears();
        self.is_stale |= std::mem::replace(&mut self.ears, ears) != ears;
    }
}
