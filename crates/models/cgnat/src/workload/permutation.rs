//! A random order of a range of numbers, without a table: RFC 4814 section 4.2 asks for sessions in
//! pseudo-random order, and 100 million of them are too many to shuffle.
//!
//! Multiplying by an odd number and adding a number to itself shifted to the right lose nothing in
//! words of so many bits, so rounds of both are a permutation of all such words (the finaliser of
//! hash functions, here with constants of the seed). Of a range that is no power of two, a number
//! that leaves it goes through again until it is back ("cycle walking", Black and Rogaway, "Ciphers
//! with arbitrary finite domains", CT-RSA 2002): less than twice on average. It is no cipher:
//! whoever sees some of it can tell the rest.

use traffic::Random;

/// A bijection of the numbers below a length onto themselves.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    rounds: [Round; ROUNDS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    added: u64,
    factor: u64,
}

impl Permutation {
    /// The order of `len` numbers that a source of random bits decides.
    pub fn new(len: u64, random: Random) -> Permutation {
        let bits = (64 - len.saturating_sub(1).leading_zeros()).max(1);
        let round = |number| Round { added: random.at(number), factor: random.at(!number) | 1 };
        Permutation {
            len,
            mask: u64::MAX >> (64 - bits),
            shift: bits.div_ceil(2),
            rounds: std::array::from_fn(|number| round(number as u64)),
        }
    }

    /// The number at a place; the place must be below the length.
    #[inline(always)]
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.len);
        let mut number = self.mixed(place);
        while number >= self.len {
            number = self.mixed(number);
        }
        number
    }

    #[inline(always)]
    fn mixed(&self, mut word: u64) -> u64 {
        for round in &self.rounds {
            word = word.wrapping_add(round.added).wrapping_mul(round.factor) & self.mask;
            word ^= word >> self.shift;
        }
        word
    }
}

const ROUNDS: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_once(len in 1u64..5000, seed in any::<u64>()) {
            let permutation = Permutation::new(len, Random::new(seed, 0));
            let mut seen = vec![false; len as usize];
            for place in 0..len {
                let number = permutation.at(place);
                prop_assert!(number < len, "{number} of {len}");
                prop_assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} twice");
            }
        }
    }

    #[test]
    fn neighbours_are_spread_evenly_and_seeds_differ() {
        const LEN: u64 = 99_600_000;
        let [one, other] = [1, 2].map(|seed| Permutation::new(LEN, Random::new(seed, 0)));
        let mut counts = [0u32; 100];
        let (mut steps, mut same) = (std::collections::HashSet::new(), 0);
        for place in 0..100_000 {
            let number = one.at(place);
            counts[(number / (LEN / 100)) as usize] += 1;
            steps.insert(one.at(place + 1).wrapping_sub(number) / 1000);
            same += u32::from(other.at(place) == number);
        }
        // Five standard deviations of a binomial around 1000.
        assert!(counts.iter().all(|count| (840..1160).contains(count)), "{counts:?}");
        assert!(steps.len() > 50_000, "{} different steps", steps.len());
        assert!(same < 10, "{same}");
    }

    #[test]
    fn the_largest_space_is_permuted_as_well() {
        let len = u64::from(u32::MAX);
        let permutation = Permutation::new(len, Random::new(3, 0));
        let few: std::collections::HashSet<u64> = (0..10_000).map(|n| permutation.at(n)).collect();
        assert!(few.len() == 10_000 && few.iter().all(|number| *number < len));
    }
}
