//! Places of a table of the router that are the controller's.

use std::collections::BTreeSet;

/// Places from the last one of a table down to those that its configuration has. The router is
/// reloaded with more of its own from the other end, so that both meet only where it is full.
pub(crate) struct Places {
    /// The configuration's are below.
    floor: u32,
    /// No place from here on was never used.
    next: u32,
    free: Vec<u32>,
    /// Places that somebody else has.
    reserved: BTreeSet<u32>,
}

impl Places {
    /// Those of a table.
    pub fn new(floor: u32, end: u32) -> Places {
        Places { floor, next: end, free: Vec::new(), reserved: BTreeSet::new() }
    }

    /// Says that a place is in use.
    pub fn reserve(&mut self, place: u32) {
        self.reserved.insert(place);
    }

    /// A place that was not in use; `None` if there is none.
    pub fn take(&mut self) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            return Some(place);
        }
        while self.next > self.floor {
            self.next -= 1;
            if !self.reserved.contains(&self.next) {
                return Some(self.next);
            }
        }
        None
    }

    /// Gives a place back.
    pub fn give(&mut self, place: u32) {
        // One that is still ahead comes by itself.
        if self.reserved.remove(&place) && place < self.next {
            return;
        }
        self.free.push(place);
    }
}
