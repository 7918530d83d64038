//! Pacing: when the next frame or event is due.

use machine::clock::Ticks;
use rand::distr::Distribution as _;
use rand_distr::Exp1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Random;

/// Distribution of the intervals between frames or events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Equal intervals.
    #[default]
    Constant,
    /// Exponentially distributed intervals: arrivals are independent of each other.
    Poisson,
}

/// Computes how many items are due at a given time. Rates hold over any length of time: the
/// schedule counts from the start, so that a late poll does not slow it down.
#[derive(Clone, Debug)]
pub struct Pacer {
    start: Ticks,
    ticks_each: f64,
    pacing: Pacing,
    random: Random,
    given: u64,
    /// Time of the next item in ticks since the start, for Poisson pacing.
    next: f64,
}

impl Pacer {
    /// Creates a pacer for `rate_per_s` items per second from `start`, for a clock of
    /// `ticks_per_s`; with a rate of 0 no item is ever due.
    pub fn new(
        pacing: Pacing,
        rate_per_s: f64,
        ticks_per_s: f64,
        start: Ticks,
        random: Random,
    ) -> Pacer {
        let ticks_each = if rate_per_s > 0.0 { ticks_per_s / rate_per_s } else { f64::INFINITY };
        let mut pacer = Pacer { start, ticks_each, pacing, random, given: 0, next: 0.0 };
        if pacing == Pacing::Poisson {
            pacer.next = pacer.gap(0);
        }
        pacer
    }

    /// Returns the number of items that are due at `now` and not yet taken, at most `limit`; 0
    /// before the start.
    #[inline]
    pub fn due(&self, now: Ticks, limit: u64) -> u64 {
        let Some(elapsed) = now.checked_sub(self.start) else { return 0 };
        let elapsed = elapsed as f64;
        match self.pacing {
            Pacing::Constant => {
                let scheduled = (elapsed / self.ticks_each) as u64 + 1;
                let scheduled = if self.ticks_each.is_finite() { scheduled } else { 0 };
                scheduled.saturating_sub(self.given).min(limit)
            }
            Pacing::Poisson => u64::from(self.next <= elapsed).min(limit),
        }
    }

    /// Takes `count` of the due items.
    #[inline]
    pub fn take(&mut self, count: u64) {
        for _ in 0..count {
            self.given += 1;
            if self.pacing == Pacing::Poisson {
                self.next += self.gap(self.given);
            }
        }
    }

    /// Returns the number of items taken so far.
    pub fn taken(&self) -> u64 {
        self.given
    }

    /// Returns the time at which the next item is due.
    pub fn next_due(&self) -> Ticks {
        let after = match self.pacing {
            Pacing::Constant => self.given as f64 * self.ticks_each,
            Pacing::Poisson => self.next,
        };
        self.start.saturating_add(after as Ticks)
    }

    fn gap(&self, number: u64) -> f64 {
        let unit: f64 = Exp1.sample(&mut self.random.sequence(number));
        unit * self.ticks_each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_poll_does_not_slow_the_schedule_down() {
        let mut pacer = Pacer::new(Pacing::Constant, 1000.0, 1e6, 500, Random::new(1, 0));
        assert_eq!(pacer.due(499, 100), 0);
        assert_eq!(pacer.due(500, 100), 1, "the first is due at the start");
        pacer.take(1);
        assert_eq!(pacer.due(1499, 100), 0);
        assert_eq!(pacer.next_due(), 1500);
        assert_eq!(pacer.due(1500, 100), 1);
        assert_eq!(pacer.due(10_500, 100), 10);
        assert_eq!(pacer.due(10_500, 4), 4);
        pacer.take(10);
        assert_eq!(pacer.due(11_500, 100), 1);
        assert_eq!(pacer.taken(), 11);
    }

    #[test]
    fn poisson_has_the_mean_and_the_spread_of_its_kind() {
        let mut pacer = Pacer::new(Pacing::Poisson, 1000.0, 1e9, 0, Random::new(9, 0));
        let mut times = vec![0];
        for _ in 0..20_000 {
            times.push(pacer.next_due());
            pacer.take(1);
        }
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "mean {mean}");
        assert!((deviation / mean - 1.0).abs() < 0.05, "deviation {deviation}");
    }

    #[test]
    fn a_rate_of_zero_has_nothing_due() {
        for pacing in [Pacing::Constant, Pacing::Poisson] {
            let pacer = Pacer::new(pacing, 0.0, 1e9, 0, Random::new(1, 0));
            assert_eq!(pacer.due(u64::MAX, 10), 0);
        }
    }
}
