//! Random numbers that nobody outside can guess: ports are drawn with them (RFC 6056, RFC 4787
//! section 4.2.1).
//!
//! The keyed BLAKE3 of a counter; the key comes from the configuration or from the operating
//! system.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A source of random numbers with a secret.
pub struct Dice {
    key: [u8; 32],
    counter: u64,
    bytes: [u8; BYTES],
    used: usize,
}

impl Dice {
    /// Numbers that follow from `secret`, another sequence for each worker; without one, from a
    /// secret that the operating system draws now.
    pub fn new(secret: Option<u64>, worker: u32) -> Dice {
        // The standard library seeds its hash maps from the operating system's source.
        let secret = secret.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let seed = [&secret.to_le_bytes()[..], &worker.to_le_bytes()].concat();
        let key = blake3::derive_key("plumbline cgnat 2026-11 ports", &seed);
        Dice { key, counter: 0, bytes: [0; BYTES], used: BYTES }
    }

    /// 32 random bits.
    #[inline]
    pub fn roll(&mut self) -> u32 {
        if self.used + 4 > BYTES {
            self.refill();
        }
        let rolled = self.peek(0).unwrap_or(0);
        self.used += 4;
        rolled
    }

    /// The bits that the roll after `ahead` others will give, if they are drawn already.
    #[inline]
    pub fn peek(&self, ahead: usize) -> Option<u32> {
        let four = self.bytes.get(self.used + 4 * ahead..)?.first_chunk()?;
        Some(u32::from_be_bytes(*four))
    }

    /// A number below `limit`, all alike but for one part in 2^32.
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        engine::steering::below(self.roll(), limit)
    }

    /// 64 random bits.
    pub fn roll64(&mut self) -> u64 {
        u64::from(self.roll()) << 32 | u64::from(self.roll())
    }

    #[cold]
    fn refill(&mut self) {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&self.counter.to_le_bytes());
        hasher.finalize_xof().fill(&mut self.bytes);
        self.counter += 1;
        self.used = 0;
    }
}

/// Bytes drawn at a time.
const BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_repeats_and_workers_differ() {
        let rolls = |secret, worker| {
            let mut dice = Dice::new(secret, worker);
            (0..600).map(|_| dice.roll()).collect::<Vec<u32>>()
        };
        assert_eq!(rolls(Some(7), 0), rolls(Some(7), 0));
        assert_ne!(rolls(Some(7), 0), rolls(Some(7), 1));
        assert_ne!(rolls(Some(7), 0), rolls(Some(8), 0));
        assert_ne!(rolls(None, 0), rolls(None, 0), "each start has a secret of its own");
    }
}
