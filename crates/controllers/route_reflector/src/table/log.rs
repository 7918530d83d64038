//! The log of changes of a family's routes: each entry is the number of a route whose best path has
//! changed. Readers follow it at their own pace; of several entries of a route the last one counts,
//! whose place the route knows, so that each is told its present state once. Where somebody is told
//! several paths of a route, further entries have the other paths that have changed: of those the
//! route knows nothing, and who is told the best path alone passes them over.

use std::collections::VecDeque;

/// A place in the log: how many entries there were before it since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u64);

/// The log.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<u32>,
    /// Of the first entries, the number of the path that has changed; 0 for no certain one, as for
    /// those behind.
    slots: VecDeque<u8>,
    /// The place of the first entry that is kept.
    first: u64,
}

impl Place {
    /// Returns what a route keeps of a place. Of two that are less than 2^31 apart
    /// [`Place::is_behind`] tells the order.
    pub fn short(self) -> u32 {
        self.0 as u32
    }

    /// Returns true if a route has changed at this place or later.
    pub fn is_behind(self, changed: u32) -> bool {
        changed.wrapping_sub(self.short()).cast_signed() >= 0
    }
}

impl Log {
    /// Adds a change and returns its place.
    #[inline]
    pub fn push(&mut self, route: u32) -> Place {
        self.entries.push_back(route);
        Place(self.first + self.entries.len() as u64 - 1)
    }

    /// The same of a path by its number among those of the route.
    pub fn push_path(&mut self, route: u32, slot: u8) -> Place {
        self.slots.resize(self.entries.len(), 0);
        self.slots.push_back(slot);
        self.push(route)
    }

    /// Returns the number of the path that a kept entry is about; 0 for no certain one.
    pub fn slot(&self, place: Place) -> u8 {
        let at = place.0.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.slots.get(at)).copied().unwrap_or(0)
    }

    /// Returns the place of the next entry.
    pub fn end(&self) -> Place {
        Place(self.first + self.entries.len() as u64)
    }

    /// Returns the place of the first entry that is kept.
    pub fn start(&self) -> Place {
        Place(self.first)
    }

    /// Returns the route of a kept entry.
    #[inline]
    pub fn get(&self, place: Place) -> Option<u32> {
        self.entries.get(usize::try_from(place.0.checked_sub(self.first)?).ok()?).copied()
    }

    /// Forgets the first entry and returns it, if it is before a place.
    pub fn forget_before(&mut self, place: Place) -> Option<(Place, u32)> {
        if self.first >= place.0 {
            return None;
        }
        let route = self.entries.pop_front()?;
        self.slots.pop_front();
        self.first += 1;
        if self.entries.is_empty() {
            // As many as of a whole table are seldom needed again.
            self.entries.shrink_to(KEPT_MAX);
            self.slots.shrink_to(KEPT_MAX);
        }
        Some((Place(self.first - 1), route))
    }

    /// Returns how many bytes of that are used.
    pub fn used(&self) -> usize {
        self.entries.len() * size_of::<u32>() + self.slots.len()
    }

    /// Returns how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<u32>() + self.slots.capacity()
    }
}

/// Entries for which there stays room.
const KEPT_MAX: usize = 64 << 10;
