//! Randomness by number: the value at (seed, stream, index) without the values before it.
//!
//! The value is a Weyl sequence folded by one wide multiplication, the construction of the wyrand
//! generator; streams start at points that SplitMix64's finaliser chooses (Steele, Lea and Flood,
//! "Fast splittable pseudorandom number generators", OOPSLA 2014). Good enough for a workload, and
//! no secret to anybody.

use std::convert::Infallible;

use rand::TryRng;

/// Random numbers of one seed and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    base: u64,
}

/// Generator of the numbers that belong to one index.
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    state: u64,
}

impl Random {
    /// Creates the numbers of `stream` with `seed`.
    pub const fn new(seed: u64, stream: u64) -> Random {
        Random { base: mix(seed ^ mix(stream.wrapping_add(WEYL))) }
    }

    /// Returns the 64 random bits at `index`.
    #[inline(always)]
    pub const fn at(&self, index: u64) -> u64 {
        fold(self.base.wrapping_add(index.wrapping_mul(WEYL)))
    }

    /// Returns other random bits derived from `bits`; also mixes a plain number well.
    #[inline(always)]
    pub const fn rehash(bits: u64) -> u64 {
        mix(bits.wrapping_add(WEYL))
    }

    /// Returns a generator of any number of random numbers, all determined by `index`.
    #[inline]
    pub const fn sequence(&self, index: u64) -> Sequence {
        Sequence { state: self.at(index) }
    }
}

impl TryRng for Sequence {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.try_next_u64()? >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.state = self.state.wrapping_add(WEYL);
        Ok(mix(self.state))
    }

    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
        for chunk in to.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// Maps 32 random bits to a number below `count` (Lemire, "Fast random integer generation in an
/// interval", 2019, without the rejection: the bias is below `count` / 2^32).
#[inline(always)]
pub const fn below(bits: u32, count: u32) -> u32 {
    ((bits as u64 * count as u64) >> 32) as u32
}

/// Random bits from which several numbers are drawn, one after the other.
///
/// A draw takes the upper part of a product and leaves the lower one, which is as random as the
/// original bits, apart from the bits that the number has used up. 64 bits suffice for counts whose
/// product is far below 2^64.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub u64);

impl Bits {
    /// Draws a number below `count`.
    #[inline(always)]
    pub const fn below(&mut self, count: u32) -> u32 {
        let product = self.0 as u128 * count as u128;
        self.0 = product as u64;
        (product >> 64) as u32
    }
}

/// Multiplies a value by a permuted copy of itself and combines the halves of the product.
#[inline(always)]
const fn fold(value: u64) -> u64 {
    let product = value as u128 * (value ^ TWIST) as u128;
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// 2^64 divided by the golden ratio, odd.
const WEYL: u64 = 0x9e37_79b9_7f4a_7c15;

/// An odd constant with about as many ones as zeroes.
const TWIST: u64 = 0xe7a5_9c3b_5a69_d28b;

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn values_are_spread_evenly() {
        let random = Random::new(1, 0);
        let mut counts = [0u32; 100];
        for index in 0..100_000 {
            counts[below((random.at(index) >> 32) as u32, 100) as usize] += 1;
        }
        // Five standard deviations of a binomial around 1000.
        assert!(counts.iter().all(|&count| (840..1160).contains(&count)), "{counts:?}");
    }

    #[test]
    fn draws_from_the_same_bits_are_spread_and_independent() {
        let random = Random::new(5, 0);
        let mut counts = [[0u32; 8]; 8];
        for index in 0..64_000 {
            let mut bits = Bits(random.at(index));
            let first = bits.below(10_000_000) / 1_250_000;
            bits.below(10_000);
            counts[first as usize][bits.below(64_000) as usize / 8_000] += 1;
        }
        assert!(counts.iter().flatten().all(|count| (840..1160).contains(count)), "{counts:?}");
    }

    #[test]
    fn streams_and_seeds_differ() {
        let values = [(1, 0), (1, 1), (2, 0), (2, 1)].map(|(s, t)| Random::new(s, t).at(7));
        assert!((0..4).all(|a| (0..a).all(|b| values[a] != values[b])));
        let mut sequence = Random::new(1, 0).sequence(7);
        assert_ne!(sequence.next_u64(), sequence.next_u64());
    }
}
