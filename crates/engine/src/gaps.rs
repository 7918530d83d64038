//! Gaps in the time of a loop.

use machine::clock::Ticks;

/// Times in which the worker's loop did not run because another program, the hypervisor or an
/// interrupt had the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Number of gaps over [`GAP_TICKS_MIN`].
    pub count: u64,
    /// Sum of the gaps.
    pub total_ticks: Ticks,
    /// Longest gap.
    pub longest_ticks: Ticks,
    /// Number and sum of the gaps by length: from [`GAP_TICKS_MIN`], from twice that, from four
    /// times that …; the last ones are the longest of all.
    pub by_length: [(u64, Ticks); LENGTHS],
}

impl Gaps {
    /// Records the time between two rounds of a loop.
    #[inline(always)]
    pub fn note(&mut self, gap: Ticks) {
        if gap > GAP_TICKS_MIN {
            self.count += 1;
            self.total_ticks += gap;
            self.longest_ticks = self.longest_ticks.max(gap);
            let of_length = &mut self.by_length[length(gap)];
            of_length.0 += 1;
            of_length.1 += gap;
        }
    }

    /// Returns the sum of the gaps of about `least` and longer; lengths count as a whole, by their
    /// mean.
    pub fn sum_from(&self, least: Ticks) -> Ticks {
        let is_long = |(count, sum): &&(u64, Ticks)| *sum >= least.saturating_mul(*count);
        self.by_length.iter().filter(is_long).map(|(_, sum)| sum).sum()
    }
}

/// Returns the place of a gap among the lengths.
fn length(gap: Ticks) -> usize {
    ((gap / GAP_TICKS_MIN).max(1).ilog2() as usize).min(LENGTHS - 1)
}

/// Number of lengths by which gaps are told apart: up to some 100 ms.
pub const LENGTHS: usize = 11;

/// Shortest gap that is counted. A round with a full batch takes about 10 us; ten times that is not
/// caused by the loop.
pub const GAP_TICKS_MIN: Ticks = 260_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_summed_from_a_length_on() {
        let mut gaps = Gaps::default();
        for gap in [100, GAP_TICKS_MIN + 1, 3 * GAP_TICKS_MIN, 3 * GAP_TICKS_MIN, 1 << 40] {
            gaps.note(gap);
        }
        assert_eq!((gaps.count, gaps.longest_ticks), (4, 1 << 40));
        assert_eq!(gaps.sum_from(0), gaps.total_ticks);
        assert_eq!(gaps.sum_from(3 * GAP_TICKS_MIN), 6 * GAP_TICKS_MIN + (1 << 40));
        assert_eq!(gaps.sum_from(4 * GAP_TICKS_MIN), 1 << 40);
        assert_eq!(gaps.sum_from(1 << 41), 0);
    }
}
