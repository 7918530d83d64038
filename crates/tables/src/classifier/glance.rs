//! What one byte of a key already says: often the first rule that matches is the last one of a
//! list, which asks nothing, and a byte of the source or destination shows that no other is left.

use super::rows::Rows;

/// The answers that follow from one byte of a key alone.
#[derive(Debug)]
pub struct Glance {
    at: usize,
    answers: [Answer; 256],
    /// Values of the byte that have an answer.
    settled: usize,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    value: u32,
    is_settled: bool,
}

impl Glance {
    /// Which byte of the key it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What the look-up says of every key with this byte there; none where other bytes matter.
    #[inline(always)]
    pub fn answer(&self, byte: u8) -> Option<u32> {
        let Answer { value, is_settled } = self.answers[usize::from(byte)];
        is_settled.then_some(value)
    }

    /// The byte among the first `bytes` that settles most, the first of several, if any does;
    /// `values` as in the order of rules, with what is said without a match behind the last place.
    pub(super) fn best(rows: &Rows, bytes: usize, values: &[u32]) -> Option<Glance> {
        let others = rows.looks();
        let all = (0..bytes).rev().map(|at| {
            let answers = std::array::from_fn(|byte| match rows.first_of_row(at, byte) {
                None => Answer { value: values[rows.places()], is_settled: true },
                Some(place) => {
                    Answer { value: values[place], is_settled: others.are_at_most(rows, place, at) }
                }
            });
            let settled = answers.iter().filter(|answer| answer.is_settled).count();
            Glance { at, answers, settled }
        });
        all.max_by_key(|one| one.settled).filter(|one| one.settled > 0)
    }
}
