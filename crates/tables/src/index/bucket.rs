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
pub trait Bucket<K: Copy + Eq + Default>: Zeroable {
    /// Slots of this bucket.
    const SLOTS: usize;

    /// The keys of all slots, whether in use or not.
    fn keys(&self) -> &[K];

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
        (0..self.used()).find(|&slot| self.keys()[slot] == key)
    }

    /// Empties a slot and moves the last one into it.
    fn vacate(&mut self, slot: usize) {
        let last = self.used() - 1;
        self.set(slot, self.keys()[last], self.stored()[last]);
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

/// Five 64-bit keys and their values; the last four bytes are not used.
#[derive(Clone, Copy, FromZeros)]
#[repr(C, align(64))]
pub struct Bucket64 {
    keys: [u64; 5],
    stored: [u32; 5],
}

const _: () = assert!(size_of::<Bucket32>() == 64 && size_of::<Bucket64>() == 64);

macro_rules! bucket {
    ($bucket:ty, $key:ty, $slots:literal) => {
        impl Bucket<$key> for $bucket {
            const SLOTS: usize = $slots;

            fn keys(&self) -> &[$key] {
                &self.keys
            }

            #[inline(always)]
            fn stored(&self) -> &[u32] {
                &self.stored
            }

            fn set(&mut self, slot: usize, key: $key, stored: u32) {
                self.keys[slot] = key;
                self.stored[slot] = stored;
            }

            #[inline(always)]
            fn find(&self, key: $key) -> u32 {
                // Fixed arrays and no early exit: the compiler turns this into vector compares.
                let mut found = VACANT;
                for slot in 0..$slots {
                    found |= if self.keys[slot] == key { self.stored[slot] } else { VACANT };
                }
                found
            }
        }
    };
}
bucket!(Bucket32, u32, 8);
bucket!(Bucket64, u64, 5);
