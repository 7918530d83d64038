//! How long a random walk is.
//!
//! A walk in full length is for [`is_thorough`]. Otherwise it ends when it has met each verdict of
//! a list often enough, and its second half has met no verdict that the first half had not.

use std::collections::BTreeMap;

/// Whether random tests run in full length, as under `cargo xtask test --thorough`.
pub fn is_thorough() -> bool {
    std::env::var_os("PLUMBLINE_THOROUGH").is_some_and(|value| value == "1")
}

/// The number of cases of a test without verdicts: all of them in full length, else some.
pub fn cases(all: u32, some: u32) -> u32 {
    if is_thorough() { all } else { some }
}

/// The steps of one walk.
pub struct Steps {
    needed: Vec<String>,
    max: usize,
    next: usize,
    verdicts: usize,
    /// Step after which the newest verdict was met.
    newest: usize,
}

impl Steps {
    /// A walk of at most `max` steps that has to meet each of these verdicts twenty times.
    pub fn new(max: usize, needed: &[&str]) -> Steps {
        let needed = needed.iter().map(|name| (*name).to_owned()).collect();
        Steps { needed, max, next: 0, verdicts: 0, newest: 0 }
    }

    /// Returns the number of the next step; `None` at the end. `coverage` counts the frames so far
    /// by their verdicts.
    pub fn next(&mut self, coverage: &BTreeMap<String, u64>) -> Option<usize> {
        if coverage.len() > self.verdicts {
            (self.verdicts, self.newest) = (coverage.len(), self.next);
        }
        let is_settled = self.next >= STEPS_MIN.max(2 * self.newest);
        let ends = is_settled && self.rare(coverage).is_none() && !is_thorough();
        if self.next == self.max || ends {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Asserts that the walk has met what it has to meet.
    ///
    /// # Panics
    /// With the first verdict that was met too rarely.
    #[track_caller]
    pub fn assert_met(&self, coverage: &BTreeMap<String, u64>) {
        assert_eq!(self.rare(coverage), None, "the frames are too much alike: {coverage:?}");
    }

    fn rare(&self, coverage: &BTreeMap<String, u64>) -> Option<&str> {
        let count = |name: &str| coverage.get(name).copied().unwrap_or(0);
        self.needed.iter().map(String::as_str).find(|name| count(name) < OFTEN)
    }
}

/// How often a walk has to meet a verdict.
const OFTEN: u64 = 20;

/// Steps of the shortest walk.
const STEPS_MIN: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    fn length(max: usize, met: impl Fn(usize) -> &'static str) -> (usize, bool) {
        let mut coverage = BTreeMap::new();
        let mut steps = Steps::new(max, &["often"]);
        while let Some(step) = steps.next(&coverage) {
            *coverage.entry(met(step).to_owned()).or_default() += 1;
        }
        (steps.next, steps.rare(&coverage).is_none())
    }

    #[test]
    fn a_walk_ends_when_its_second_half_is_nothing_new() {
        let full = is_thorough().then_some((9000, true));
        let expect = |steps, is_met| full.unwrap_or((steps, is_met));
        assert_eq!(length(9000, |_| "often"), expect(STEPS_MIN, true));
        let late = |step| if step == 1499 { "rare" } else { "often" };
        assert_eq!(length(9000, late), expect(3000, true));
        assert_eq!(length(2500, late), (2500, true), "no longer than it may be");
        let seldom = |step| if step % 200 == 0 { "often" } else { "other" };
        assert_eq!(length(9000, seldom), expect(3801, true));
        assert_eq!(length(3000, seldom), (3000, false), "what it has to meet was too rare");
    }
}
