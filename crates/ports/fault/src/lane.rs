//! One direction of a queue: dice, store and counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::clock::Ticks;

use crate::config::{FaultConfig, Faults};
use crate::dice::{Dice, Fate};
use crate::store::Store;

/// Counts of each fault, written by the worker only.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) lost: AtomicU64,
    pub(crate) store_full: AtomicU64,
    pub(crate) corrupted: AtomicU64,
    pub(crate) duplicated: AtomicU64,
    pub(crate) reordered: AtomicU64,
    pub(crate) delayed: AtomicU64,
}

/// Faults of one direction.
pub(crate) struct Lane {
    dice: Dice,
    pub(crate) store: Store,
    pub(crate) tally: Arc<Tally>,
}

impl Lane {
    pub(crate) fn new(
        config: &FaultConfig,
        faults: &Faults,
        stream: u64,
        frame_bytes_max: usize,
        ticks_per_second: f64,
    ) -> Lane {
        let patience = (PATIENCE_SECONDS * ticks_per_second) as Ticks;
        Lane {
            dice: Dice::new(faults, config.seed, stream, ticks_per_second),
            store: Store::new(config.held_frames as usize, frame_bytes_max, patience),
            tally: Arc::default(),
        }
    }

    /// Applies faults to a frame; returns whether it was kept, and in how many copies.
    pub(crate) fn admit(&mut self, frame: &[u8], now: Ticks) -> usize {
        let fate = self.dice.draw();
        self.store.advance();
        if fate.lost {
            add(&self.tally.lost);
            return 0;
        }
        let due = now.saturating_add(fate.delay);
        let Some(bytes) = self.store.hold(frame, due, fate.displaced) else {
            add(&self.tally.store_full);
            return 0;
        };
        if turn_bit(bytes, fate) {
            add(&self.tally.corrupted);
        }
        for (happened, count) in
            [(fate.displaced > 0, &self.tally.reordered), (fate.delay > 0, &self.tally.delayed)]
        {
            if happened {
                add(count);
            }
        }
        // The copy is whole: what was corrupted was corrupted on its own way.
        if fate.duplicated && self.store.hold(frame, due, fate.displaced).is_some() {
            add(&self.tally.duplicated);
            return 2;
        }
        1
    }
}

/// Flips one bit of a frame; returns false if the frame is empty.
fn turn_bit(bytes: &mut [u8], fate: Fate) -> bool {
    let bits = bytes.len() as u64 * 8;
    let Some(number) = fate.corrupted.filter(|_| bits > 0) else { return false };
    let bit = number % bits;
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    true
}

/// Adds one to a counter that only this thread writes.
fn add(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Time that a reordered frame waits for later frames, in seconds.
const PATIENCE_SECONDS: f64 = 0.010;
