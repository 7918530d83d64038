//! Frames held back: a bounded store from which they come in the order of their places.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use machine::clock::Ticks;

/// Held frames; all memory is allocated at the start.
pub(crate) struct Store {
    frames: Vec<Held>,
    free: Vec<usize>,
    /// Position, order of arrival and index into `frames` of the held frames.
    waiting: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// Number of positions assigned so far, and of arrivals.
    places: u64,
    arrivals: u64,
    /// Time that a reordered frame waits for later frames.
    patience: Ticks,
}

struct Held {
    bytes: Vec<u8>,
    due: Ticks,
}

impl Store {
    /// Creates a store for this number of frames of at most this length in bytes.
    pub(crate) fn new(frames: usize, frame_bytes_max: usize, patience: Ticks) -> Store {
        let held = || Held { bytes: Vec::with_capacity(frame_bytes_max), due: 0 };
        Store {
            frames: (0..frames).map(|_| held()).collect(),
            free: (0..frames).rev().collect(),
            waiting: BinaryHeap::with_capacity(frames),
            places: 0,
            arrivals: 0,
            patience,
        }
    }

    /// Returns the number of further frames for which there is room.
    pub(crate) fn room(&self) -> usize {
        self.free.len()
    }

    /// Assigns the next position to a frame.
    pub(crate) fn advance(&mut self) {
        self.places += 1;
    }

    /// Holds a frame until it is due and the next `displaced` positions are assigned; returns its
    /// bytes, which may be changed. `None` when the store is full.
    pub(crate) fn hold(&mut self, frame: &[u8], due: Ticks, displaced: u64) -> Option<&mut [u8]> {
        let index = self.free.pop()?;
        self.arrivals += 1;
        self.waiting.push(Reverse((self.places + displaced, self.arrivals, index)));
        let held = &mut self.frames[index];
        held.due = due;
        held.bytes.clear();
        held.bytes.extend_from_slice(frame);
        Some(&mut held.bytes)
    }

    /// Returns the next frame that may pass; it stays until `release`.
    pub(crate) fn next(&self, now: Ticks) -> Option<&[u8]> {
        let Reverse((place, _, index)) = self.waiting.peek()?;
        let held = &self.frames[*index];
        let waited = held.due.saturating_add(self.patience);
        let may_go = now >= held.due && (*place <= self.places || now >= waited);
        may_go.then_some(held.bytes.as_slice())
    }

    /// Releases the next frame.
    pub(crate) fn release(&mut self) {
        if let Some(Reverse((_, _, index))) = self.waiting.pop() {
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(store: &mut Store, now: Ticks) -> Option<u8> {
        let first = store.next(now)?[0];
        store.release();
        Some(first)
    }

    #[test]
    fn displaced_frames_come_behind_others_or_after_a_while() {
        let mut store = Store::new(4, 10, 100);
        for (number, displaced) in [(1, 2), (2, 0), (3, 0), (4, 0)] {
            store.advance();
            assert!(store.hold(&[number], 5, displaced).is_some());
        }
        assert!(store.hold(&[9], 0, 0).is_none() && store.room() == 0, "it is full");
        assert_eq!(take(&mut store, 4), None, "none is due");
        let order: Vec<u8> = std::iter::from_fn(|| take(&mut store, 5)).collect();
        assert_eq!(order, [2, 1, 3, 4], "at the place of the third, and before it");
        store.advance();
        store.hold(&[5], 10, 8).expect("room");
        assert_eq!((take(&mut store, 109), take(&mut store, 110)), (None, Some(5)));
    }
}
