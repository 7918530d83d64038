//! Which rules of a policy ask for a number: a binary search, whatever the number of rules and of
//! ranges that they name.

use std::collections::BTreeMap;

use super::rule_set::RuleSet;

/// Ranges of numbers, each with the rules that name it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// Where ranges begin, and which rules name the numbers from there on, in rising order.
    starts: Vec<u128>,
    named: Vec<RuleSet>,
    /// The rules that name none.
    unasked: RuleSet,
}

impl Ranges {
    /// The ranges that each rule names, from a first number to a last one, which name nothing where
    /// the last one is less. A rule without any asks for nothing.
    pub fn new<I: IntoIterator<Item = (u128, u128)>>(rules: impl Iterator<Item = I>) -> Ranges {
        let mut changes: BTreeMap<u128, Vec<(usize, i32)>> = BTreeMap::new();
        let mut asked = RuleSet::default();
        for (rule, ranges) in rules.enumerate() {
            for (first, last) in ranges {
                asked.insert(rule);
                if first > last {
                    continue;
                }
                changes.entry(first).or_default().push((rule, 1));
                changes.entry(last.saturating_add(1)).or_default().push((rule, -1));
            }
        }
        let mut ranges = Ranges { unasked: !asked, ..Ranges::default() };
        let mut counts: BTreeMap<usize, i32> = BTreeMap::new();
        for (start, changes) in changes {
            for (rule, change) in changes {
                *counts.entry(rule).or_default() += change;
            }
            counts.retain(|_, count| *count > 0);
            ranges.starts.push(start);
            ranges.named.push(counts.keys().copied().collect());
        }
        ranges
    }

    /// Whether no rule names any.
    pub fn is_empty(&self) -> bool {
        self.unasked == RuleSet::ALL
    }

    /// Returns the rules that name a number.
    #[inline]
    pub fn naming(&self, number: u128) -> RuleSet {
        let behind = self.starts.partition_point(|start| *start <= number);
        behind.checked_sub(1).map_or_else(RuleSet::default, |at| self.named[at])
    }

    /// Returns the rules that name one of some numbers, and those that name none.
    #[inline]
    pub fn of(&self, numbers: impl Iterator<Item = u128>) -> RuleSet {
        if self.is_empty() {
            return RuleSet::ALL;
        }
        numbers.fold(self.unasked, |all, number| all | self.naming(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_are_told_apart() {
        let rules: [&[(u128, u128)]; 4] = [&[(5, 9), (9, 12), (20, 20)], &[], &[(9, 9)], &[(0, 6)]];
        let ranges = Ranges::new(rules.iter().map(|one| one.iter().copied()));
        for number in 0..25 {
            let is_in = |rule: &[(u128, u128)]| {
                rule.is_empty() || rule.iter().any(|one| (one.0..=one.1).contains(&number))
            };
            let found = ranges.of([number].into_iter());
            for (at, rule) in rules.iter().enumerate() {
                assert_eq!(found.next(at) == Some(at), is_in(rule), "rule {at}, {number}");
            }
        }
        let none = ranges.of(std::iter::empty());
        assert_eq!((none.next(0), none.next(2)), (Some(1), Some(4)), "nothing is asked for");
        let none = Ranges::new([[(2, 1)]].into_iter());
        assert_eq!(none.of([1].into_iter()).next(0), Some(1), "the first one names nothing");
        let all = Ranges::new([[(0, u128::MAX)]].into_iter());
        assert_eq!(all.of([7].into_iter()).next(0), Some(0));
    }
}
