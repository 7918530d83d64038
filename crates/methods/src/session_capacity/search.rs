//! The search for the most sessions: doubling until some fail, then bisection of what lies between.
//!
//! What a trial opened before it failed is most likely the capacity itself, so that it is tried
//! first, and then what is more than it by the precision; where that is wrong, the middle is.

/// The state of a search over numbers of sessions.
#[derive(Clone, Debug)]
pub(super) struct LargestCount {
    precision: f64,
    start: u64,
    ceiling: u64,
    passed: u64,
    failed: Option<u64>,
    guess: Option<u64>,
}

impl LargestCount {
    /// A search from `start` to `ceiling` that ends when the bounds are closer than `precision`
    /// times the upper one.
    pub(super) fn new(start: u64, ceiling: u64, precision: f64) -> Self {
        let start = start.clamp(1, ceiling.max(1));
        Self { precision, start, ceiling, passed: 0, failed: None, guess: None }
    }

    /// The number of sessions to try next; none if the search is over.
    pub(super) fn next(&self) -> Option<u64> {
        let Some(failed) = self.failed else {
            let more = self.passed.saturating_mul(2).clamp(self.start, self.ceiling);
            return (self.passed < self.ceiling).then_some(more);
        };
        if failed - self.passed <= self.resolution(failed) {
            return None;
        }
        let fits = |guess: &u64| (self.passed + 1..failed).contains(guess);
        Some(self.guess.filter(fits).unwrap_or(self.passed + (failed - self.passed) / 2))
    }

    /// Records that this number passed.
    pub(super) fn passed(&mut self, count: u64) {
        self.passed = self.passed.max(count);
        let was_guess = self.guess.take() == Some(count);
        // If that fails, what is left is as narrow as it must be.
        self.guess = was_guess.then(|| count + self.resolution(count));
    }

    /// Records that this number failed; `opened` of them seemed to fit, if known.
    pub(super) fn failed(&mut self, count: u64, opened: Option<u64>) {
        // Only the first failure tells of the device as a whole; the next ones are close to it.
        self.guess = if self.failed.is_none() { opened } else { None };
        self.failed = Some(self.failed.map_or(count, |failed| failed.min(count)));
    }

    /// The largest number that passed; none if even a single session failed.
    pub(super) fn lower(&self) -> Option<u64> {
        (self.passed > 0).then_some(self.passed)
    }

    /// The smallest number that failed.
    pub(super) fn upper(&self) -> Option<u64> {
        self.failed
    }

    /// Expected number of further steps.
    pub(super) fn expected(&self) -> usize {
        let halvings = (1.0 / self.precision).log2().ceil() as usize;
        match self.failed {
            Some(failed) => {
                let steps = (failed - self.passed) / self.resolution(failed);
                (steps.max(2) as f64).log2().ceil() as usize
            }
            None => {
                let doublings = self.ceiling / self.passed.max(self.start);
                (doublings.max(2) as f64).log2().ceil() as usize + halvings
            }
        }
    }

    fn resolution(&self, failed: u64) -> u64 {
        ((failed as f64 * self.precision) as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a capacity. A device that `tells` opens as many sessions as fit; another device
    /// fails completely.
    fn search(ceiling: u64, precision: f64, truth: u64, tells: bool) -> (LargestCount, Vec<u64>) {
        let mut search = LargestCount::new(10, ceiling, precision);
        let mut tried = Vec::new();
        while let Some(count) = search.next() {
            assert!(!tried.contains(&count), "{count} again after {tried:?}");
            assert!(count <= ceiling);
            tried.push(count);
            match count <= truth {
                true => search.passed(count),
                false => search.failed(count, tells.then_some(truth)),
            }
        }
        (search, tried)
    }

    #[test]
    fn every_capacity_is_found_within_the_precision() {
        for tells in [false, true] {
            for truth in 0..700 {
                let (found, tried) = search(600, 0.01, truth, tells);
                let lower = found.lower().unwrap_or(0);
                match found.upper() {
                    None => assert_eq!(lower, 600),
                    Some(upper) => {
                        assert!(lower <= truth && truth < upper, "{truth}: {tried:?}");
                        assert!(upper - lower <= (upper / 100).max(1), "{truth}: {tried:?}");
                    }
                }
                assert!(tried.len() <= 14, "{truth}: {tried:?}");
            }
        }
    }

    #[test]
    fn a_device_that_refuses_what_it_has_no_room_for_is_found_at_once() {
        let (found, tried) = search(1 << 40, 0.001, 123_456_789, true);
        assert_eq!(found.lower(), Some(123_456_789));
        let doublings = (123_456_789.0_f64 / 10.0).log2().ceil() as usize + 1;
        assert!(tried.len() <= doublings + 2, "{tried:?}");
    }

    #[test]
    fn a_wrong_guess_costs_a_step_and_no_more() {
        let mut search = LargestCount::new(1000, 100_000, 0.01);
        search.passed(1000);
        search.failed(2000, Some(1990));
        assert_eq!(search.next(), Some(1990));
        search.failed(1990, Some(1980));
        assert_eq!(search.next(), Some(1495), "the middle");
    }

    #[test]
    fn a_start_beyond_the_ceiling_is_the_ceiling() {
        assert_eq!(LargestCount::new(1000, 10, 0.01).next(), Some(10));
    }
}
