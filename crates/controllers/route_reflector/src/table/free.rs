//! Numbers of entries that are free, and memory that is given back where no entry is behind it.

/// Free numbers of a list of entries, which grows only when there are none. Those of entries that
/// were given back are left out when it comes to them.
#[derive(Debug, Default)]
pub(super) struct Free(Vec<u32>);

impl Free {
    /// Returns a free number of a list with so many entries; `None` if it is to grow.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<u32> {
        std::iter::from_fn(|| self.0.pop()).find(|number| (*number as usize) < len)
    }

    /// An entry is free, of a list with so many.
    #[inline]
    pub fn add(&mut self, number: u32, len: usize) {
        self.0.push(number);
        if self.0.len() > len + len / 2 + KEPT_MAX {
            self.0.retain(|number| (*number as usize) < len);
            self.0.shrink_to(KEPT_MAX);
        }
    }

    /// Returns how many bytes of memory they have.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

/// Gives back the free entries at the end of a list.
#[inline]
pub(super) fn cut<T>(entries: &mut Vec<T>, is_free: impl Fn(&T) -> bool) {
    while entries.last().is_some_and(&is_free) {
        entries.pop();
    }
    if has_much_room(entries.len(), entries.capacity()) {
        entries.shrink_to(entries.len() * 2);
    }
}

/// Whether memory for so many entries is much more than they need.
#[inline]
pub(super) fn has_much_room(len: usize, capacity: usize) -> bool {
    capacity > KEPT_MAX && len < capacity / 8
}

/// Entries for which there stays room.
const KEPT_MAX: usize = 1 << 10;
