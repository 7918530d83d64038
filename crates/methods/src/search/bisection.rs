//! Bisection of loads: which load to try next, knowing which ones passed and failed.
//!
//! Knows no trials and no clock: a caller asks [`Bisection::next`], tries, and tells
//! [`Bisection::passed`] or [`Bisection::failed`]. Loads lie between the two ends of the range; the
//! middle is the geometric one, because precision is relative. From the first guess the range is
//! widened in doubling steps until it is bracketed, so that a good guess costs few trials.
//!
//! A load that failed once stays failed: the lower bound is the highest passed load below every
//! failed one. When a load that passed fails its (longer) confirmation, what passed briefly is no
//! evidence any more: it is forgotten, and the search goes down from there in steps that grow
//! faster, because confirmations are long.

use measure::record::Bounds;

/// The state of a search over loads in packets per second.
#[derive(Clone, Debug)]
pub(crate) struct Bisection {
    min: f64,
    max: f64,
    precision: f64,
    guess: f64,
    step: f64,
    growth: f64,
    confirmed: Option<f64>,
    passed: Vec<f64>,
    failed: Vec<f64>,
}

impl Bisection {
    /// A search between `min` and `max` that begins at `guess` and ends when the bounds are closer
    /// than `precision` times the upper one.
    pub(crate) fn new(min: f64, max: f64, precision: f64, guess: f64) -> Self {
        Self {
            min,
            max,
            precision,
            guess: snap(guess.clamp(min, max), min, max, precision),
            step: precision,
            growth: 2.0,
            confirmed: None,
            passed: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// The load to try next; none if the search is over.
    pub(crate) fn next(&self) -> Option<f64> {
        match (self.lower(), self.upper()) {
            (None, None) => Some(self.guess),
            (Some(lower), None) if lower >= self.max => None,
            (Some(lower), None) => Some(self.snapped(lower * (1.0 + self.step))),
            (None, Some(upper)) if upper <= self.min => None,
            (None, Some(upper)) => Some(self.snapped(upper / (1.0 + self.step))),
            (Some(lower), Some(upper)) if self.close(lower, upper) => None,
            (Some(lower), Some(upper)) => {
                // Before the bracket is as tight as the widening steps, the middle is the fastest
                // way; the square root cannot overflow as loads are far below 1e150.
                Some((lower * upper).sqrt())
            }
        }
    }

    pub(crate) fn passed(&mut self, load: f64) {
        self.passed.push(load);
        self.widen();
    }

    pub(crate) fn failed(&mut self, load: f64) {
        self.failed.push(load);
        self.widen();
    }

    /// Records that the load passed its confirmation.
    pub(crate) fn confirm(&mut self, load: f64) {
        self.confirmed = Some(load);
    }

    /// Records that the load failed its confirmation; unconfirmed passes are forgotten.
    pub(crate) fn refute(&mut self, load: f64) {
        self.settle();
        self.failed.push(load);
        self.step = self.precision;
        self.growth = 4.0;
    }

    /// Discards unconfirmed passes, so that the bounds are certain.
    pub(crate) fn settle(&mut self) {
        let confirmed = self.confirmed;
        self.passed.retain(|load| confirmed.is_some_and(|c| *load <= c));
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed.is_some() && self.confirmed == self.lower()
    }

    /// The highest passed load below all failed loads.
    pub(crate) fn lower(&self) -> Option<f64> {
        let upper = self.upper().unwrap_or(f64::INFINITY);
        self.passed.iter().copied().filter(|load| *load < upper).max_by(f64::total_cmp)
    }

    /// The lowest failed load.
    pub(crate) fn upper(&self) -> Option<f64> {
        self.failed.iter().copied().min_by(f64::total_cmp)
    }

    /// The bounds for a record; regular if both exist and are close enough.
    pub(crate) fn bounds(&self) -> Bounds {
        let (lower_pps, upper_pps) = (self.lower(), self.upper());
        let regular = lower_pps.zip(upper_pps).is_some_and(|(l, u)| self.close(l, u));
        Bounds { lower_pps, upper_pps, regular }
    }

    /// Number of further loads that the search will try if nothing fails twice.
    pub(crate) fn expected(&self) -> usize {
        let lower = self.lower().unwrap_or(self.min);
        let upper = self.upper().unwrap_or(self.max);
        let width = (upper / lower).ln().max(0.0) / (1.0 + self.precision).ln();
        width.max(1.0).log2().ceil() as usize
    }

    fn widen(&mut self) {
        self.step *= self.growth;
    }

    fn snapped(&self, load: f64) -> f64 {
        snap(load, self.min, self.max, self.precision)
    }

    fn close(&self, lower: f64, upper: f64) -> bool {
        // A hair of tolerance lets a bracket of exactly the precision pass in spite of rounding.
        upper - lower <= self.precision * upper * (1.0 + 1e-9)
    }
}

/// Moves a load within the precision of an end of the range to that end, so that the end itself is
/// tried.
fn snap(load: f64, min: f64, max: f64, precision: f64) -> f64 {
    if load * (1.0 + precision) >= max {
        max
    } else if load <= min * (1.0 + precision) {
        min
    } else {
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a threshold and returns the loads that were tried.
    fn search(threshold: f64, guess: f64) -> (Bisection, Vec<f64>) {
        let mut bisection = Bisection::new(1e4, 1e7, 0.02, guess);
        let mut tried = Vec::new();
        while let Some(load) = bisection.next() {
            tried.push(load);
            assert!(tried.len() < 50, "the search does not end: {tried:?}");
            if load <= threshold { bisection.passed(load) } else { bisection.failed(load) }
        }
        (bisection, tried)
    }

    #[test]
    fn the_bounds_enclose_every_threshold_within_the_precision() {
        for threshold in [1.0001e4, 5e4, 123_456.0, 1e6, 9.9e6] {
            for guess in [1.0, threshold * 0.9, threshold, threshold * 1.1, 1e9] {
                let (bisection, tried) = search(threshold, guess);
                let bounds = bisection.bounds();
                assert!(bounds.regular, "{threshold} from {guess}: {bounds:?}");
                let (lower, upper) = (bounds.lower_pps.unwrap(), bounds.upper_pps.unwrap());
                assert!(lower <= threshold && threshold < upper);
                assert!(tried.len() <= 18, "{} trials from {guess} to {threshold}", tried.len());
            }
        }
    }

    #[test]
    fn a_good_guess_is_cheap() {
        let (_, tried) = search(1e6, 1e6);
        assert!(tried.len() <= 3, "{tried:?}");
    }

    #[test]
    fn the_ends_of_the_range_are_tried_and_end_the_search() {
        let (all, tried) = search(2e7, 9.9e6);
        assert_eq!((all.lower(), all.upper()), (Some(1e7), None));
        assert_eq!(tried, [1e7]);
        let (none, tried) = search(10.0, 1.2e4);
        assert_eq!((none.lower(), none.upper()), (None, Some(1e4)));
        assert_eq!(tried.last(), Some(&1e4));
        assert!(!none.bounds().regular && !all.bounds().regular);
    }

    #[test]
    fn a_refuted_load_takes_the_search_down_in_growing_steps_to_what_was_confirmed() {
        let mut bisection = Bisection::new(1e4, 1e7, 0.02, 1e6);
        bisection.passed(9e5);
        bisection.confirm(9e5);
        bisection.passed(1e6);
        bisection.refute(1e6);
        assert_eq!(bisection.lower(), Some(9e5), "a confirmed load is never doubted");
        assert!(bisection.is_confirmed());

        let mut bisection = Bisection::new(1e4, 1e7, 0.02, 1e6);
        bisection.passed(9e5);
        bisection.passed(1e6);
        bisection.refute(1e6);
        assert_eq!(bisection.lower(), None, "what passed briefly is no evidence");
        assert_eq!(bisection.next(), Some(1e6 / 1.02));
        bisection.failed(1e6 / 1.02);
        assert_eq!(bisection.next(), Some(1e6 / 1.02 / 1.08));
    }
}
