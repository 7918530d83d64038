//! Rules of a policy by their numbers.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// Some of the rules of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleSet([u64; WORDS]);

impl RuleSet {
    /// Returns all rules that there could be.
    pub const ALL: RuleSet = RuleSet([u64::MAX; WORDS]);

    /// Adds a rule.
    pub fn insert(&mut self, rule: usize) {
        self.0[rule / 64] |= 1 << (rule % 64);
    }

    /// Returns all of it in a word, as a beginning of a hash.
    pub fn mixed(&self) -> u64 {
        self.0.iter().fold(0, |all, word| all.rotate_left(7) ^ word)
    }

    /// Returns the first rule from a number on.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        let mut mask = u64::MAX << (from % 64);
        for (place, word) in self.0.iter().enumerate().skip(first) {
            let left = word & mask;
            if left != 0 {
                return Some(place * 64 + left.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

impl FromIterator<usize> for RuleSet {
    fn from_iter<I: IntoIterator<Item = usize>>(rules: I) -> RuleSet {
        let mut set = RuleSet::default();
        rules.into_iter().for_each(|rule| set.insert(rule));
        set
    }
}

impl BitAnd for RuleSet {
    type Output = RuleSet;

    #[inline]
    fn bitand(mut self, other: RuleSet) -> RuleSet {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own &= other);
        self
    }
}

impl BitOr for RuleSet {
    type Output = RuleSet;

    #[inline]
    fn bitor(mut self, other: RuleSet) -> RuleSet {
        self |= other;
        self
    }
}

impl BitOrAssign for RuleSet {
    #[inline]
    fn bitor_assign(&mut self, other: RuleSet) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
    }
}

impl Not for RuleSet {
    type Output = RuleSet;

    fn not(mut self) -> RuleSet {
        self.0.iter_mut().for_each(|word| *word = !*word);
        self
    }
}

/// Words of a set.
const WORDS: usize = RULES_MAX / 64;

/// Rules of a policy.
pub const RULES_MAX: usize = 256;
