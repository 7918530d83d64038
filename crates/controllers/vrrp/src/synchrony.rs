//! Whether the function has all that another instance of it has, as its workers tell.

use std::collections::BTreeMap;

use controller_kit::EventKind;

/// What each worker has told last.
#[derive(Default)]
pub(crate) struct Synchrony(BTreeMap<u16, bool>);

impl Synchrony {
    /// A worker tells; true if that was about this.
    pub fn note(&mut self, worker: u16, kind: EventKind) -> bool {
        let is_whole = match kind {
            EventKind::Synchronised => true,
            EventKind::Unsynchronised => false,
            _ => return false,
        };
        self.0.insert(worker, is_whole);
        true
    }

    /// Whether all of so many workers have everything; none where no worker tells, because the
    /// function has no other instance.
    pub fn of(&self, workers: usize) -> Option<bool> {
        let whole = self.0.values().filter(|is_whole| **is_whole).count();
        (!self.0.is_empty()).then_some(whole >= workers)
    }
}
