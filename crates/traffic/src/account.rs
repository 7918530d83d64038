//! Accounting of one stream: which numbers came back, in what order, how often.
//!
//! A window of bits behind the highest number seen tells a repetition from a late frame. What is
//! older than the window can no longer be told apart and counts as late and new, so the window must
//! be longer than what a device may hold: [`WINDOW`] frames, a tenth of a second at 10 million a
//! second.

/// Counters of one stream.
#[derive(Clone, Debug)]
pub struct Account {
    received: u64,
    reordered: u64,
    duplicated: u64,
    /// Next number if frames arrive in order: one above the highest received.
    next: u64,
    seen: Vec<u64>,
}

/// Classification of a received number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next number.
    InOrder,
    /// A number higher than all before; frames between are missing (so far).
    Ahead,
    /// A number lower than an earlier one, and not received before (RFC 4737 section 3.3).
    Reordered,
    /// A number that was received before.
    Duplicate,
}

impl Default for Account {
    fn default() -> Account {
        Account::new()
    }
}

impl Account {
    /// Creates an account without frames; the first number is 0.
    pub fn new() -> Account {
        Account { received: 0, reordered: 0, duplicated: 0, next: 0, seen: vec![0; WORDS] }
    }

    /// Records the arrival of a frame by its number.
    #[inline(always)]
    pub fn note(&mut self, sequence: u64) -> Arrival {
        if sequence == self.next {
            if sequence.is_multiple_of(64) {
                self.seen[word(sequence)] = 0;
            }
            self.seen[word(sequence)] |= bit(sequence);
            self.next += 1;
            self.received += 1;
            return Arrival::InOrder;
        }
        self.note_out_of_turn(sequence)
    }

    #[cold]
    fn note_out_of_turn(&mut self, sequence: u64) -> Arrival {
        if sequence > self.next {
            self.forget_until(sequence);
            self.seen[word(sequence)] |= bit(sequence);
            self.next = sequence + 1;
            self.received += 1;
            return Arrival::Ahead;
        }
        let in_window = self.next - sequence <= WINDOW;
        if in_window && self.seen[word(sequence)] & bit(sequence) != 0 {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        if in_window {
            self.seen[word(sequence)] |= bit(sequence);
        }
        self.received += 1;
        self.reordered += 1;
        Arrival::Reordered
    }

    /// Clears the words that the window enters from `next` to `sequence`.
    fn forget_until(&mut self, sequence: u64) {
        let first = self.next.div_ceil(64);
        let last = sequence / 64;
        let first = first.max(last.saturating_sub(WORDS as u64 - 1));
        for number in first..=last {
            self.seen[word(number * 64)] = 0;
        }
    }

    /// Returns the number of distinct frames received.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns one above the highest number received.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of frames that arrived after a frame with a higher number.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Returns the number of duplicates.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }
}

/// Number of frames within which a duplicate is recognised.
pub const WINDOW: u64 = (WORDS as u64 - 1) * 64;

const WORDS: usize = 1 << 14;

#[inline(always)]
fn word(sequence: u64) -> usize {
    (sequence / 64) as usize & (WORDS - 1)
}

#[inline(always)]
fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_agree_with_a_set_of_all_numbers(
            steps in prop::collection::vec((0u64..3000, prop::bool::weighted(0.7)), 1..2000),
        ) {
            let mut account = Account::new();
            let (mut seen, mut highest) = (HashSet::new(), None);
            let mut in_turn = 0;
            for (jump, go_on) in steps {
                let sequence = if go_on { in_turn } else { jump * jump / 50 };
                in_turn = sequence + 1;
                let late = highest.is_some_and(|highest| sequence <= highest);
                let is_next = highest.map_or(0, |highest| highest + 1) == sequence;
                let expected = match (seen.insert(sequence), late) {
                    (false, _) => Arrival::Duplicate,
                    (true, true) => Arrival::Reordered,
                    (true, false) if is_next => Arrival::InOrder,
                    (true, false) => Arrival::Ahead,
                };
                highest = highest.max(Some(sequence));
                prop_assert_eq!(account.note(sequence), expected, "at {}", sequence);
            }
            prop_assert_eq!(account.received(), seen.len() as u64);
        }
    }

    #[test]
    fn a_long_gap_clears_the_whole_window() {
        let mut account = Account::new();
        (0..2 * WINDOW).for_each(|sequence| {
            account.note(sequence);
        });
        let far = 100 * WINDOW + 17;
        assert_eq!(account.note(far), Arrival::Ahead);
        assert_eq!(account.note(far - WINDOW / 2), Arrival::Reordered);
        assert_eq!(account.note(far - WINDOW / 2), Arrival::Duplicate);
        assert_eq!(account.note(far), Arrival::Duplicate);
        assert_eq!(account.received(), 2 * WINDOW + 2);
    }
}
