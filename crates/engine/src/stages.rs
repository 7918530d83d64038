//! Ticks per stage: always counted, because a clock reading a stage and batch costs little.
//!
//! The worker starts the clock for each batch; each stage ends with a lap. Stage 0 is receiving,
//! the last but one transmitting, the last one what is due by time; between them stand the
//! function's own. A worker polled at simulated
//! times has no meaningful ticks.

use machine::clock::{self, Ticks};

/// Largest number of stages of a function.
pub const STAGES_MAX: usize = 29;

/// Sums over all batches so far.
#[derive(Clone, Debug, Default)]
pub struct StageTotals {
    /// Ticks by stage.
    pub ticks: [u64; STAGES_MAX + 3],
    /// Packets by stage.
    pub packets: [u64; STAGES_MAX + 3],
    /// Largest number of ticks that a batch took in all stages of the function.
    pub longest_batch: u64,
}

/// Running clock of one batch.
pub struct StageClock<'a> {
    totals: &'a mut StageTotals,
    last: Ticks,
    /// Ticks in stages of the function so far.
    function: u64,
}

impl StageTotals {
    /// Creates a clock that starts at `now`.
    #[inline]
    pub fn start(&mut self, now: Ticks) -> StageClock<'_> {
        StageClock { totals: self, last: now, function: 0 }
    }
}

impl StageClock<'_> {
    /// Ends the function's stage `stage` (counted from 0), which `packets` packets passed.
    #[inline(always)]
    pub fn lap(&mut self, stage: usize, packets: usize) {
        self.function += self.lap_raw(stage + 1, packets);
    }

    #[inline(always)]
    pub(crate) fn lap_raw(&mut self, index: usize, packets: usize) -> u64 {
        let now = clock::now();
        let took = now.saturating_sub(self.last);
        self.totals.ticks[index] += took;
        self.totals.packets[index] += packets as u64;
        self.last = now;
        took
    }
}

impl Drop for StageClock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.totals.longest_batch = self.totals.longest_batch.max(self.function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_add_up() {
        let mut totals = StageTotals::default();
        for _ in 0..3 {
            let mut clock = totals.start(clock::now());
            clock.lap(0, 5);
            clock.lap(1, 2);
        }
        assert_eq!(totals.packets[1], 15);
        assert_eq!(totals.packets[2], 6);
        assert!(totals.ticks[1] < 1_000_000_000, "three laps take less than a second");
        let all = totals.ticks[1] + totals.ticks[2];
        assert!((all / 3..=all).contains(&totals.longest_batch), "one of three, and not all");
    }
}
