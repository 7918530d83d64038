//! Which records have changed and were not told yet: a bit each, below two levels of bits that say
//! where some are.
//!
//! A record that changes a hundred times before it is told is told once, so there is no queue that
//! could overflow, and nothing that changed is ever forgotten. Records are taken in the order of
//! their numbers, round and round, so that each has its turn.

use std::io;

use machine::memory::HugeArray;

/// A set of numbers below a capacity.
pub struct Dirty {
    /// A bit for each number.
    words: HugeArray<u64>,
    /// A bit for each word that has one.
    groups: Vec<u64>,
    /// A bit for each of these.
    tops: Vec<u64>,
    count: usize,
    /// Where the next one is looked for.
    hand: usize,
}

impl Dirty {
    /// Room for numbers below `capacity`.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(capacity: usize) -> io::Result<Dirty> {
        let words = capacity.div_ceil(BITS);
        let groups = words.div_ceil(BITS);
        Ok(Dirty {
            words: HugeArray::zeroed(words)?,
            groups: vec![0; groups],
            tops: vec![0; groups.div_ceil(BITS)],
            count: 0,
            hand: 0,
        })
    }

    /// Notes a number; tells whether it was not noted.
    #[inline]
    pub fn set(&mut self, number: u32) -> bool {
        let number = number as usize;
        let bit = 1 << (number % BITS);
        let word = &mut self.words[number / BITS];
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.count += 1;
        self.groups[number / BITS / BITS] |= 1 << (number / BITS % BITS);
        self.tops[number / BITS / BITS / BITS] |= 1 << (number / BITS / BITS % BITS);
        true
    }

    /// Whether a number is noted.
    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.words[number as usize / BITS] & 1 << (number as usize % BITS) != 0
    }

    /// How many are noted.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes numbers out until there are none or `taken` is full; tells how many it took.
    pub fn take(&mut self, taken: &mut [u32]) -> usize {
        for (index, place) in taken.iter_mut().enumerate() {
            let next = self.next_from(self.hand).or_else(|| self.next_from(0));
            let Some(number) = next else { return index };
            self.remove(number);
            self.hand = number + 1;
            *place = number as u32;
        }
        taken.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.words.mapped_bytes() + (self.groups.len() + self.tops.len()) * size_of::<u64>()
    }

    fn remove(&mut self, number: usize) {
        let (word, group) = (number / BITS, number / BITS / BITS);
        self.words[word] &= !(1 << (number % BITS));
        self.count -= 1;
        if self.words[word] == 0 {
            self.groups[group] &= !(1 << (word % BITS));
            if self.groups[group] == 0 {
                self.tops[group / BITS] &= !(1 << (group % BITS));
            }
        }
    }

    fn next_from(&self, number: usize) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        in_word(&self.words, number).or_else(|| {
            let from = number / BITS + 1;
            let word = in_word(&self.groups, from).or_else(|| {
                let from = from / BITS + 1;
                let group = in_word(&self.tops, from).or_else(|| {
                    let behind = from / BITS + 1;
                    let tops = self.tops.get(behind..)?;
                    let top = behind + tops.iter().position(|&top| top != 0)?;
                    in_word(&self.tops, top * BITS)
                })?;
                in_word(&self.groups, group * BITS)
            })?;
            in_word(&self.words, word * BITS)
        })
    }
}

/// The first bit from `bit` on that is set, in the word of that bit.
fn in_word(words: &[u64], bit: usize) -> Option<usize> {
    let word = words.get(bit / BITS)? & u64::MAX << (bit % BITS);
    (word != 0).then(|| bit / BITS * BITS + word.trailing_zeros() as usize)
}

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_as_a_set_of_the_standard_library(
            capacity in prop_oneof![1..300usize, 4000..300_000usize],
            steps in proptest::collection::vec((any::<u32>(), 0..4u8), 1..400),
        ) {
            let mut dirty = Dirty::new(capacity).expect("memory");
            let mut model = BTreeSet::new();
            let mut hand = 0;
            for (number, what) in steps {
                let number = number % capacity as u32;
                match what {
                    0 => {
                        let mut taken = [0; 3];
                        let count = dirty.take(&mut taken);
                        prop_assert_eq!(count, model.len().min(taken.len()));
                        for number in &taken[..count] {
                            let next = model.range(hand..).next().or(model.first()).copied();
                            prop_assert_eq!(Some(*number), next);
                            model.remove(number);
                            hand = number + 1;
                        }
                    }
                    1 => {
                        prop_assert_eq!(dirty.contains(number), model.contains(&number));
                    }
                    _ => {
                        prop_assert_eq!(dirty.set(number), model.insert(number));
                    }
                }
                prop_assert_eq!(dirty.count(), model.len());
            }
        }
    }
}
