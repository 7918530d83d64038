//! Frames that are in no cache when a function gets them, and how it fetches them in time.
//!
//! ```text
//!  slot      0 1 2 … 23 24 25 …
//!  worker    |- prefetches -|
//!  function  looks at 0, prefetches 24; looks at 1, prefetches 25 …
//! ```
//!
//! What is in front of a frame is only fetched of frames that get a header there, when the function
//! knows that.

use machine::memory::{CACHE_LINE, evict, prefetch_address};

use super::{BATCH_MAX, Batch};
use crate::Slot;

impl Batch {
    /// Says whether received frames are in no cache.
    pub fn set_cold(&mut self, are_cold: bool) {
        self.cold = are_cold;
    }

    /// Prefetches the headers of the first frames if they are in no cache; [`Batch::look_ahead`]
    /// does the rest.
    #[inline(always)]
    pub fn look_at_first(&self) {
        if self.cold {
            (0..self.count.min(AHEAD)).for_each(|index| self.prefetch(index));
        }
    }

    /// Prefetches the headers of a frame some places behind this one if frames are in no cache: for
    /// the first loop of a function over all frames.
    #[inline(always)]
    pub fn look_ahead(&self, slot: Slot) {
        if self.cold {
            let ahead = usize::from(slot) + AHEAD;
            if ahead < self.count {
                self.prefetch(ahead);
            }
        }
    }

    /// Prefetches what is in front of a frame if frames are in no cache: for the loop in which a
    /// function finds out that this one gets a header in front, some stages before it does so.
    #[inline(always)]
    pub fn look_in_front(&self, slot: Slot) {
        if self.cold {
            let first = self.memory.as_ptr().wrapping_add(self.span(usize::from(slot)).start);
            prefetch_address(first.wrapping_sub(CACHE_LINE));
        }
    }

    #[inline(always)]
    fn prefetch(&self, index: usize) {
        let span = self.span(index & (BATCH_MAX - 1));
        let first = self.memory.as_ptr().wrapping_add(span.start);
        prefetch_address(first);
        if span.len() > CACHE_LINE {
            prefetch_address(first.wrapping_add(CACHE_LINE));
        }
    }

    /// Removes the frames from position `first` on from all caches, with their headroom: so a
    /// network card leaves them that does not write into caches.
    pub fn evict_from(&self, first: usize) {
        evict((first..self.count).map(|index| {
            let span = self.span(index);
            &self.memory[self.buffer(index)..span.end]
        }));
    }
}

/// How many frames ahead of the one that is looked at are prefetched: enough to hide a memory
/// access, few enough for the misses that a core has room for at once.
const AHEAD: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PortId, Room};

    #[test]
    fn cold_frames_have_the_bytes_that_were_written() {
        let mut batch = Batch::new(BATCH_MAX, Room { headroom: 64, frame: 200, long: 0 })
            .expect("memory for a batch");
        batch.set_cold(true);
        for count in [0, 1, AHEAD, AHEAD + 1, BATCH_MAX] {
            batch.clear();
            for number in 0..count {
                let frame = batch.append(PortId(0), number % 200).expect("there is room");
                frame.fill(number as u8);
            }
            batch.evict_from(count / 2);
            batch.look_at_first();
            for slot in batch.slots() {
                batch.look_ahead(slot);
                batch.look_in_front(slot);
                let number = usize::from(slot);
                assert_eq!(batch.frame(slot), vec![number as u8; number % 200]);
            }
        }
    }
}
