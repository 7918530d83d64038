//! One cache line of an [`super::Index`]: its slots, and the comparison with all of them at once.
//!
//! Slots in use come first, so a bucket is full exactly when its last slot is in use. A value is
//! stored inverted: then memory that was never written, all zeroes, is empty buckets, and a
//! look-up is "or together the values of the slots whose key is equal", which needs neither a
//! branch nor a position. Keys are unique and an unused slot holds zero, so at most one slot adds
//! anything.

use machine::memory::Zeroable;
use zerocopy::FromZeros;

/// What a slot that holds no value stores: the inverse of `u32::MAX`.
pub const VACANT: u32 = 0;

/// What the index needs of a bucket. The traits of this file cannot be named outside the crate.
pub trait Bucket<K: Copy + Eq + Default>: Zeroable + Copy {
    /// Slots of this bucket.
    const SLOTS: usize;

    /// The key of a slot that is in use.
    fn key(&self, slot: usize) -> K;

    /// The inverted values of all slots.
    fn stored(&self) -> &[u32];

    /// Writes one slot; `VACANT` empties it.
    fn set(&mut self, slot: usize, key: K, stored: u32);

    /// The inverted value under `key`, or `VACANT`: compares all slots without a branch.
    fn find(&self, key: K) -> u32;

    /// Slots in use.
    fn used(&self) -> usize {
        self.stored().iter().filter(|&&stored| stored != VACANT).count()
    }

    /// Whether no slot is left.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.stored()[Self::SLOTS - 1] != VACANT
    }

    /// Where `key` is, for changes; [`Bucket::find`] is the fast way to its value.
    fn position(&self, key: K) -> Option<usize> {
        (0..self.used()).find(|&slot| self.key(slot) == key)
    }

    /// Empties a slot and moves the last one into it.
    fn vacate(&mut self, slot: usize) {
        let last = self.used() - 1;
        self.set(slot, self.key(last), self.stored()[last]);
        self.set(last, K::default(), VACANT);
    }
}

/// Eight 32-bit keys and their values.
#[derive(Clone, Copy, FromZeros)]
#[repr(C, align(64))]
pub struct Bucket32 {
    keys: [u32; 8],
    stored: [u32; 8],
}

impl Bucket<u32> for Bucket32 {
    const SLOTS: usize = 8;

    fn key(&self, slot: usize) -> u32 {
        self.keys[slot]
    }

    #[inline(always)]
    fn stored(&self) -> &[u32] {
        &self.stored
    }

    fn set(&mut self, slot: usize, key: u32, stored: u32) {
        self.keys[slot] = key;
        self.stored[slot] = stored;
    }

    #[inline(always)]
    fn find(&self, key: u32) -> u32 {
        let mut matching = self.stored;
        for (matching, &held) in matching.iter_mut().zip(&self.keys) {
            *matching &= mask(held == key);
        }
        matching.iter().fold(VACANT, |found, matching| found | matching)
    }
}

/// Five 64-bit keys and their values; the last four bytes are not used.
///
/// Keys lie there in halves, because the baseline's vectors compare 32 bits and not 64.
#[derive(Clone, Copy, FromZeros)]
#[repr(C, align(64))]
pub struct Bucket64 {
    low: [u32; 5],
    high: [u32; 5],
    stored: [u32; 5],
}

impl Bucket<u64> for Bucket64 {
    const SLOTS: usize = 5;

    fn key(&self, slot: usize) -> u64 {
        u64::from(self.high[slot]) << 32 | u64::from(self.low[slot])
    }

    #[inline(always)]
    fn stored(&self) -> &[u32] {
        &self.stored
    }

    fn set(&mut self, slot: usize, key: u64, stored: u32) {
        self.low[slot] = key as u32;
        self.high[slot] = (key >> 32) as u32;
        self.stored[slot] = stored;
    }

    #[inline(always)]
    fn find(&self, key: u64) -> u32 {
        let (low, high) = (key as u32, (key >> 32) as u32);
        let mut matching = self.stored;
        for ((matching, &held_low), &held_high) in
            matching.iter_mut().zip(&self.low).zip(&self.high)
        {
            *matching &= mask(held_low == low) & mask(held_high == high);
        }
        matching.iter().fold(VACANT, |found, matching| found | matching)
    }
}

const _: () = assert!(size_of::<Bucket32>() == 64 && size_of::<Bucket64>() == 64);

/// All ones where the condition holds. Written with a choice instead of masks, the loops above
/// compile to a branch for each slot; with them, to vector compares.
#[inline(always)]
fn mask(holds: bool) -> u32 {
    u32::from(holds).wrapping_neg()
}
