//! Hashes of routes, of sets of routes, and of messages, with a secret.
//!
//! The hash of a set is the sum of those of its routes modulo 2^128: a route is added and taken
//! away in any order. With a secret that the device cannot know, two different sets have the same
//! hash by chance alone, once in about 2^120 comparisons.

use machine::hash::Keyed;

/// The hash functions of a tester.
#[derive(Clone, Debug)]
pub struct Hashes {
    low: Keyed,
    high: Keyed,
}

impl Hashes {
    /// Creates the hash functions of a secret.
    pub fn new(secret: [u64; 4]) -> Hashes {
        let [a, b, c, d] = secret;
        Hashes { low: Keyed::new([a, b]), high: Keyed::new([c, d]) }
    }

    /// Returns the hash of bytes with a number beside them.
    pub fn of(&self, number: u64, bytes: &[u8]) -> u128 {
        let mut low = number;
        let mut high = bytes.len() as u64;
        let mut rest = bytes;
        loop {
            let (first, second) = (word(rest), word(rest.get(8..).unwrap_or(&[])));
            let mixed = self.low.of4(low, high, first, second);
            high = self.high.of4(low, high, first, second);
            low = mixed;
            rest = rest.get(16..).unwrap_or(&[]);
            if rest.is_empty() {
                return u128::from(low) << 64 | u128::from(high);
            }
        }
    }

    /// Returns the hash of a route, of those of what it is and of what it has.
    #[inline]
    pub fn route(&self, what: u128, has: u128) -> u128 {
        let words = [what as u64, (what >> 64) as u64, has as u64, (has >> 64) as u64];
        let [a, b, c, d] = words;
        u128::from(self.low.of4(a, b, c, d)) << 64 | u128::from(self.high.of4(a, b, c, d))
    }

    /// Returns a hash by which messages are found; whoever finds one compares the bytes.
    pub fn message(&self, bytes: &[u8]) -> u64 {
        let mut state = bytes.len() as u64;
        let mut chunks = bytes.chunks_exact(24);
        for chunk in &mut chunks {
            let [a, b, c] = [word(chunk), word(&chunk[8..]), word(&chunk[16..])];
            state = self.low.of4(state, a, b, c);
        }
        let rest = chunks.remainder();
        let [a, b, c] = [0, 8, 16].map(|at| word(rest.get(at..).unwrap_or(&[])));
        self.high.of4(state, a, b, c)
    }

    /// Returns the number of a place in a sequence, for draws that a seed decides.
    pub fn draw(&self, stream: u64, at: u64) -> u64 {
        self.low.of2(stream, at)
    }
}

/// The first eight bytes, or fewer behind zeros.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(whole) => u64::from_le_bytes(*whole),
        None => bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_numbers_and_bytes_matter() {
        let hashes = Hashes::new([1, 2, 3, 4]);
        let all: Vec<u128> =
            [&b""[..], b"\0", b"\0\0", b"a", b"0123456789abcdef", b"0123456789abcdef\0"]
                .iter()
                .flat_map(|bytes| [hashes.of(0, bytes), hashes.of(1, bytes)])
                .collect();
        let different: std::collections::BTreeSet<u128> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len());
        assert_ne!(hashes.route(1, 2), hashes.route(2, 1));
        assert_ne!(hashes.message(&[0; 24]), hashes.message(&[0; 25]));
        assert_ne!(hashes.of(0, b"a"), Hashes::new([1, 2, 3, 5]).of(0, b"a"));
    }

    #[test]
    fn each_bit_of_a_message_changes_its_hashes() {
        let hashes = Hashes::new([5, 6, 7, 8]);
        let bytes: Vec<u8> = (0..100).collect();
        for bit in 0..800 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(hashes.message(&bytes), hashes.message(&other), "bit {bit}");
            let differing = (hashes.of(0, &bytes) ^ hashes.of(0, &other)).count_ones();
            assert!((24..104).contains(&differing), "bit {bit} turns {differing} of 128");
        }
    }
}
