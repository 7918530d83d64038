//! The binary search of ETSI GS NFV-TST 009 clause 12.3.2, over a grid of equal steps.
//!
//! The grid is `S[m] = (m + 1) * step`, the last step being the first at or above `max` (so that it
//! may lie above it by less than a step). With `L` and `R` at its ends, `m = floor((L + R) / 2)` is
//! tried; after success `L = m + 1`, after failure `R = max(m - 1, L)`, until `L = R`. The result
//! is the last step that passed. Where the last step left, `S[L]`, was never tried, it is tried
//! too, so that the bounds are neighbours on the grid; this can only raise the result, by one step.
//!
//! Whether a step passed is the caller's to say: one trial, or as many as loss verification (clause
//! 12.3.3) allows.

use measure::record::Bounds;

/// The state of a search; steps are counted from 0, values have the unit of the step.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    step: f64,
    left: usize,
    right: usize,
    passed: Option<usize>,
    failed: Option<usize>,
    over: bool,
}

impl Grid {
    /// A grid of equal steps up to `max`; both must be positive and finite. There are at most
    /// [`STEPS_MAX`] steps; callers refuse configurations with more.
    pub(crate) fn new(step: f64, max: f64) -> Self {
        assert!(step > 0.0 && max > 0.0 && max.is_finite(), "a grid from {step} to {max}");
        let steps = (max / step * (1.0 - 1e-12)).ceil().clamp(1.0, STEPS_MAX) as usize;
        Self { step, left: 0, right: steps - 1, passed: None, failed: None, over: false }
    }

    /// The value to try next; none if the search is over.
    pub(crate) fn next(&self) -> Option<f64> {
        (!self.over).then(|| self.value(self.middle()))
    }

    /// Records that the value of [`Grid::next`] passed.
    pub(crate) fn passed(&mut self) {
        let middle = self.middle();
        self.passed = self.passed.max(Some(middle));
        self.over = self.left == self.right;
        self.left = (middle + 1).min(self.right);
        self.end();
    }

    /// Records that the value of [`Grid::next`] failed.
    pub(crate) fn failed(&mut self) {
        let middle = self.middle();
        self.failed = Some(self.failed.map_or(middle, |failed| failed.min(middle)));
        self.over = self.left == self.right;
        self.right = middle.saturating_sub(1).max(self.left);
        self.end();
    }

    /// The lowest value of the grid.
    pub(crate) fn first(&self) -> f64 {
        self.value(0)
    }

    /// Whether no value passed and the lowest one was not tried.
    pub(crate) fn is_open_below(&self) -> bool {
        self.passed.is_none() && self.failed != Some(0)
    }

    /// Records that the lowest value passed, out of turn.
    pub(crate) fn first_passed(&mut self) {
        self.passed = self.passed.max(Some(0));
        self.over |= self.failed == Some(1);
    }

    /// Records that the lowest value failed, out of turn: the search is over.
    pub(crate) fn first_failed(&mut self) {
        self.failed = Some(0);
        self.over = true;
    }

    /// The highest value that passed.
    pub(crate) fn lower(&self) -> Option<f64> {
        self.passed.map(|step| self.value(step))
    }

    /// The lowest value that failed.
    pub(crate) fn upper(&self) -> Option<f64> {
        self.failed.map(|step| self.value(step))
    }

    /// The bounds for a record; regular if they are neighbours on the grid.
    pub(crate) fn bounds(&self) -> Bounds {
        let regular = self.passed.zip(self.failed).is_some_and(|(low, high)| low + 1 == high);
        Bounds { lower_pps: self.lower(), upper_pps: self.upper(), regular }
    }

    /// Largest number of further values that the search will try.
    pub(crate) fn expected(&self) -> usize {
        if self.over {
            0
        } else {
            ((self.right - self.left + 1) as f64).log2().floor() as usize + 1
        }
    }

    fn end(&mut self) {
        // L = R: over when that step is known already, else it is the last one to try.
        let known = |step: Option<usize>| step == Some(self.left);
        self.over |= self.left == self.right && (known(self.passed) || known(self.failed));
    }

    fn middle(&self) -> usize {
        (self.left + self.right) / 2
    }

    fn value(&self, step: usize) -> f64 {
        (step + 1) as f64 * self.step
    }
}

/// Largest number of steps of a grid: 40 trials find one of 10^12, and they are counted exactly.
pub(crate) const STEPS_MAX: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a threshold and returns the values that were tried.
    fn search(step: f64, max: f64, threshold: f64) -> (Grid, Vec<f64>) {
        let mut grid = Grid::new(step, max);
        let mut tried = Vec::new();
        while let Some(value) = grid.next() {
            tried.push(value);
            assert!(tried.len() <= 41, "the search does not end: {tried:?}");
            if value <= threshold { grid.passed() } else { grid.failed() }
        }
        (grid, tried)
    }

    #[test]
    fn every_threshold_of_every_small_grid_is_found_exactly() {
        for steps in 1..=33 {
            for threshold in 0..=steps {
                let (grid, tried) = search(1.0, f64::from(steps), f64::from(threshold) + 0.5);
                let found = (grid.lower(), grid.upper());
                let low = (threshold > 0).then(|| f64::from(threshold));
                let high = (threshold < steps).then(|| f64::from(threshold + 1));
                assert_eq!(found, (low, high), "{threshold} of {steps}: {tried:?}");
                assert_eq!(grid.bounds().regular, low.is_some() && high.is_some());
                let mut once = tried.clone();
                once.sort_by(f64::total_cmp);
                once.dedup();
                assert_eq!(once.len(), tried.len(), "nothing is tried twice: {tried:?}");
                let most = f64::from(steps).log2().floor() as usize + 1;
                assert!(tried.len() <= most, "{} of {most} trials", tried.len());
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_clause() {
        // n = 8: m = 3, then L = 4, m = 5, then R = 4 = L: the last step left.
        let (grid, tried) = search(10.0, 80.0, 55.0);
        assert_eq!(tried, [40.0, 60.0, 50.0]);
        assert_eq!((grid.lower(), grid.upper()), (Some(50.0), Some(60.0)));
    }

    #[test]
    fn the_last_step_covers_the_maximum_and_rounding_adds_none() {
        assert_eq!(search(10.0, 75.0, 1e9).0.lower(), Some(80.0));
        assert_eq!(search(0.1, 0.3, 1e9).0.lower(), Some(0.1 * 3.0));
    }

    #[test]
    fn expected_trials_are_an_upper_bound() {
        for threshold in [0.5, 3.5, 7.5, 99.5] {
            let mut grid = Grid::new(1.0, 100.0);
            let mut left = grid.expected();
            while let Some(value) = grid.next() {
                assert!(left > 0, "{threshold}");
                if value <= threshold {
                    grid.passed()
                } else {
                    grid.failed()
                }
                assert!(grid.expected() < left);
                left = grid.expected();
            }
        }
    }
}
