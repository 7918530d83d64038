//! One search for the longest burst without loss, over multiples of a step.
//!
//! Lengths double from one step on until one fails; the range that is left is searched by the
//! bisection of ETSI GS NFV-TST 009 clause 12.3.2. Short bursts first: a burst costs its own length
//! and the silence behind it, and buffers are short against the ceiling that RFC 9004 asks for.

use crate::search::Grid;

/// The state of a search; lengths are in frames.
#[derive(Clone, Debug)]
pub(super) struct LongestBurst {
    step: u64,
    ceiling: u64,
    passed: u64,
    failed: Option<u64>,
    /// The bisection of the range above `base`, once a burst has failed.
    grid: Option<(u64, Grid)>,
}

impl LongestBurst {
    /// A search over multiples of `step` up to `ceiling`, at least one of them.
    pub(super) fn new(step: u64, ceiling: u64) -> Self {
        let ceiling = (ceiling / step).max(1) * step;
        Self { step, ceiling, passed: 0, failed: None, grid: None }
    }

    /// The length to try next; none if the search is over.
    pub(super) fn next(&self) -> Option<u64> {
        match &self.grid {
            Some((base, grid)) => grid.next().map(|frames| base + frames.round() as u64),
            None if self.failed.is_some() || self.passed == self.ceiling => None,
            None => Some((self.passed * 2).clamp(self.step, self.ceiling)),
        }
    }

    /// Records that the length of [`LongestBurst::next`] passed.
    pub(super) fn passed(&mut self, frames: u64) {
        self.passed = self.passed.max(frames);
        if let Some((_, grid)) = &mut self.grid {
            grid.passed();
        }
    }

    /// Records that the length of [`LongestBurst::next`] failed.
    pub(super) fn failed(&mut self, frames: u64) {
        self.failed = Some(self.failed.map_or(frames, |failed| failed.min(frames)));
        match &mut self.grid {
            Some((_, grid)) => grid.failed(),
            // What lies strictly between, where there is anything.
            None if frames > self.passed + self.step => {
                let between = frames - self.passed - self.step;
                self.grid = Some((self.passed, Grid::new(self.step as f64, between as f64)));
            }
            None => {}
        }
    }

    /// The longest burst that passed; none if a single step failed.
    pub(super) fn longest(&self) -> Option<u64> {
        (self.passed > 0).then_some(self.passed)
    }

    /// Whether all lengths up to the ceiling passed, or the result is so close that the ceiling may
    /// hide a longer burst (RFC 9004 section 5.2: results at or near it are likely invalid).
    pub(super) fn is_near_ceiling(&self) -> bool {
        self.passed as f64 >= self.ceiling as f64 * NEAR_CEILING
    }

    /// Expected number of further lengths.
    pub(super) fn expected(&self) -> usize {
        let steps = |frames: u64| (frames / self.step).max(2) as f64;
        match &self.grid {
            Some((_, grid)) => grid.expected(),
            // As many as doublings to a length of which nothing is known but the ceiling.
            None => steps(self.ceiling / self.passed.max(1)).log2().ceil() as usize,
        }
    }
}

/// Fraction of the ceiling from which on a result is near it.
const NEAR_CEILING: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    fn search(step: u64, ceiling: u64, truth: u64) -> (LongestBurst, Vec<u64>) {
        let mut search = LongestBurst::new(step, ceiling);
        let mut tried = Vec::new();
        while let Some(frames) = search.next() {
            assert!(!tried.contains(&frames), "{frames} again after {tried:?}");
            tried.push(frames);
            if frames <= truth { search.passed(frames) } else { search.failed(frames) }
        }
        (search, tried)
    }

    #[test]
    fn every_length_is_found_within_a_step() {
        for truth in 0..700 {
            let (found, tried) = search(10, 600, truth);
            let expected = (truth / 10 * 10).min(600);
            assert_eq!(found.longest(), (expected > 0).then_some(expected), "{tried:?}");
            assert_eq!(found.is_near_ceiling(), truth >= 570);
            assert!(tried.len() <= 13, "{truth}: {tried:?}");
            assert!(tried.iter().all(|frames| frames % 10 == 0 && *frames <= 600));
        }
    }

    #[test]
    fn short_buffers_cost_no_long_bursts() {
        let (_, tried) = search(256, 600_000_000, 80_000);
        assert!(tried.iter().all(|frames| *frames <= 131_072), "{tried:?}");
        assert!(tried.len() <= 18, "{} trials", tried.len());
    }

    #[test]
    fn a_ceiling_below_a_step_is_one_step() {
        assert_eq!(search(256, 10, 1000).1, [256]);
    }
}
