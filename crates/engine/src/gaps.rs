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
}

impl Gaps {
    /// Records the time between two rounds of a loop.
    #[inline(always)]
    pub fn note(&mut self, gap: Ticks) {
        if gap > GAP_TICKS_MIN {
            self.count += 1;
            self.total_ticks += gap;
            self.longest_ticks = self.longest_ticks.max(gap);
        }
    }
}

/// Shortest gap that is counted. A round with a full batch takes about 10 us; ten times that is not
/// caused by the loop.
pub const GAP_TICKS_MIN: Ticks = 260_000;
