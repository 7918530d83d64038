//! A keyed hash of a few words, for keys that others choose: folded 128-bit multiplications.
//!
//! Guarantees: every bit of the words reaches every bit of the hash, so that a table may take any
//! of them; the same secret gives the same hashes, on every machine.
//!
//! Limits: it is no cryptographic hash. Who neither knows the secret nor sees the hashes cannot
//! choose keys that collide better than by chance; who sees many hashes may find out the secret.

/// Hash function with a secret; see the description of the module.
#[derive(Clone, Debug)]
pub struct Keyed {
    secrets: [u64; 6],
}

impl Keyed {
    /// Creates the hash function of a secret. Any two words can be used; random ones prevent others
    /// from choosing collisions.
    pub fn new(secret: [u64; 2]) -> Keyed {
        let mut state = secret;
        let secrets = [(); 6].map(|()| {
            let first = fold(state[0] ^ MULTIPLIERS[0], MULTIPLIERS[1]).wrapping_add(state[1]);
            let second = fold(state[1] ^ MULTIPLIERS[1], MULTIPLIERS[0]) ^ first.rotate_left(32);
            state = [first, second];
            second
        });
        Keyed { secrets }
    }

    /// Returns the hash of two words, in their order.
    #[inline(always)]
    pub fn of2(&self, a: u64, b: u64) -> u64 {
        let [first, second, .., last] = self.secrets;
        fold(fold(a ^ first, b ^ second) ^ last, MULTIPLIERS[0])
    }

    /// Returns the hash of four words, in their order; it is independent of that of two words.
    #[inline(always)]
    pub fn of4(&self, a: u64, b: u64, c: u64, d: u64) -> u64 {
        let [first, second, third, fourth, left, right] = self.secrets;
        // The two inner products do not wait for each other.
        fold(fold(a ^ first, b ^ second) ^ left, fold(c ^ third, d ^ fourth) ^ right)
    }
}

/// Combines both halves of the 128-bit product, so that every bit of `a` affects high and low bits.
#[inline(always)]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Odd multipliers with about half of the bits set: the fractions of the golden ratio and of the
/// square root of two.
pub const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns for each of the 64 bits of the hash how often it changes when one bit of the words
    /// changes.
    fn turned(of: impl Fn([u64; 4]) -> u64, words: usize) -> [u32; 64] {
        let mut turned = [0; 64];
        for key in 0..SAMPLES {
            // Keys as they come: addresses and ports in sequence, most bits zero.
            let key = [key, key >> 3, key << 16, 0x0a00_0000];
            for bit in 0..64 * words {
                let mut other = key;
                other[bit / 64] ^= 1 << (bit % 64);
                let differing = of(key) ^ of(other);
                for (at, turned) in turned.iter_mut().enumerate() {
                    *turned += (differing >> at & 1) as u32;
                }
            }
        }
        turned
    }

    const SAMPLES: u64 = 256;

    #[test]
    fn every_bit_of_the_hash_turns_half_of_the_time() {
        for secret in [[0, 0], [1, 2], [u64::MAX, 0], [0x0123_4567_89ab_cdef, 0xfedc_ba98]] {
            let keyed = Keyed::new(secret);
            let two = turned(|[a, b, ..]| keyed.of2(a, b), 2);
            let four = turned(|[a, b, c, d]| keyed.of4(a, b, c, d), 4);
            for (turned, words) in [(two, 2), (four, 4)] {
                let half = f64::from(64 * words * SAMPLES as u32) / 2.0;
                for (bit, &turned) in turned.iter().enumerate() {
                    let share = f64::from(turned) / half;
                    assert!((0.95..1.05).contains(&share), "{secret:x?} bit {bit}: {share} halves");
                }
            }
        }
    }

    #[test]
    fn each_bit_of_the_words_turns_half_of_the_hash() {
        let keyed = Keyed::new([7, 11]);
        for bit in 0..256 {
            let ones: u32 = (0..SAMPLES)
                .map(|key| {
                    let of = |[a, b, c, d]: [u64; 4]| keyed.of4(a, b, c, d);
                    let mut words = [key, 0, key << 32, 1];
                    let hash = of(words);
                    words[bit / 64] ^= 1 << (bit % 64);
                    (hash ^ of(words)).count_ones()
                })
                .sum();
            let mean = f64::from(ones) / SAMPLES as f64;
            assert!((29.0..35.0).contains(&mean), "bit {bit} turns {mean} of 64 bits");
        }
    }

    #[test]
    fn order_and_secret_matter() {
        let (one, other) = (Keyed::new([1, 2]), Keyed::new([2, 1]));
        assert_ne!(one.of2(3, 4), one.of2(4, 3));
        assert_ne!(one.of4(3, 4, 5, 6), one.of4(5, 6, 3, 4));
        assert_ne!(one.of2(3, 4), other.of2(3, 4));
        assert_ne!(one.of2(0, 0), one.of4(0, 0, 0, 0));
        assert_eq!(one.of4(3, 4, 5, 6), Keyed::new([1, 2]).of4(3, 4, 5, 6));
    }
}
