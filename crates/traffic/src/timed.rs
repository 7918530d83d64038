//! Pacing by recorded times: frames are due with the intervals that they had.

use std::sync::Arc;

use machine::clock::Ticks;

/// Times at which the frames of a direction were recorded; behind the last one they begin anew.
#[derive(Clone, Debug)]
pub struct Times {
    /// Nanoseconds since the beginning of the recording, in ascending order; never empty.
    pub at_ns: Arc<[u64]>,
    /// Time from the beginning of one pass to that of the next, in nanoseconds; at least the last
    /// time.
    pub period_ns: u64,
    /// Frames per second of the direction that has the most, as recorded: a load at this rate has
    /// the recorded times.
    pub most_per_s: f64,
}

impl Times {
    /// Returns the time of a frame in nanoseconds since the first pass began, as recorded.
    pub fn at_ns(&self, number: u64) -> f64 {
        let count = self.at_ns.len().max(1) as u64;
        let within = self.at_ns.get((number % count) as usize).copied().unwrap_or(0);
        (number / count) as f64 * self.period_ns as f64 + within as f64
    }

    /// Returns how many frames are due before a recorded time in nanoseconds.
    pub fn count_before(&self, until_ns: f64) -> u64 {
        let period = self.period_ns.max(1) as f64;
        let passes = (until_ns / period).floor().max(0.0);
        let rest = until_ns - passes * period;
        let within = self.at_ns.partition_point(|&at| (at as f64) < rest);
        passes as u64 * self.at_ns.len() as u64 + within as u64
    }
}

/// Computes how many frames are due at a given time, as [`crate::Pacer`] does for even intervals:
/// the schedule counts from the start, so that a late poll does not slow it down.
#[derive(Clone, Debug)]
pub struct Timed {
    times: Times,
    start: Ticks,
    /// Ticks for each nanosecond of the recording.
    ticks_per_ns: f64,
    given: u64,
}

impl Timed {
    /// Creates a schedule from `start` in which the direction with the most frames has
    /// `rate_per_s`, for a clock of `ticks_per_s`; with a rate of 0 no frame is ever due.
    pub fn new(times: Times, rate_per_s: f64, ticks_per_s: f64, start: Ticks) -> Timed {
        let speed = rate_per_s / times.most_per_s;
        let ticks_per_ns = if speed > 0.0 { ticks_per_s / 1e9 / speed } else { f64::INFINITY };
        Timed { times, start, ticks_per_ns, given: 0 }
    }

    /// Returns the number of frames that are due within `ticks` of the start.
    pub fn within(&self, ticks: f64) -> u64 {
        if self.ticks_per_ns.is_finite() {
            self.times.count_before(ticks / self.ticks_per_ns)
        } else {
            0
        }
    }

    /// Returns the number of frames that are due at `now` and not yet taken, at most `limit`.
    #[inline]
    pub fn due(&self, now: Ticks, limit: u64) -> u64 {
        let Some(elapsed) = now.checked_sub(self.start) else { return 0 };
        let elapsed_ns = elapsed as f64 / self.ticks_per_ns;
        let is_due = |frame: &u64| {
            self.ticks_per_ns.is_finite() && self.times.at_ns(self.given + frame) <= elapsed_ns
        };
        (0..limit).take_while(is_due).count() as u64
    }

    /// Takes `count` of the due frames.
    #[inline]
    pub fn take(&mut self, count: u64) {
        self.given += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        // Two frames at once, one 3 us later, and 10 us until all begin anew.
        Times { at_ns: [1000, 1000, 4000].into(), period_ns: 10_000, most_per_s: 300_000.0 }
    }

    /// The ticks at which frames become due on a clock of 1 GHz.
    fn ticks(rate_per_s: f64, until: Ticks) -> Vec<Ticks> {
        let mut timed = Timed::new(times(), rate_per_s, 1e9, 0);
        let mut at = Vec::new();
        for now in 0..until {
            let due = timed.due(now, 32);
            timed.take(due);
            at.extend(std::iter::repeat_n(now, due as usize));
        }
        at
    }

    #[test]
    fn frames_have_their_recorded_intervals_pass_by_pass() {
        assert_eq!(ticks(300_000.0, 15_000), [1000, 1000, 4000, 11_000, 11_000, 14_000]);
        assert_eq!(ticks(600_000.0, 7_500), [500, 500, 2000, 5_500, 5_500, 7_000], "twice as fast");
        assert!(ticks(0.0, 2_000).is_empty());
    }

    #[test]
    fn what_is_intended_is_what_becomes_due() {
        for rate in [300_000.0, 600_000.0, 70_000.0] {
            for until in [0, 999, 1001, 4001, 9_999, 35_017] {
                let timed = Timed::new(times(), rate, 1e9, 0);
                let due = ticks(rate, until).len() as u64;
                assert_eq!(timed.within(until as f64 - 0.5), due, "{rate} {until}");
            }
        }
    }

    #[test]
    fn a_late_poll_catches_up_to_the_limit() {
        let mut timed = Timed::new(times(), 300_000.0, 1e9, 500);
        assert_eq!(timed.due(499, 9), 0, "before the start");
        assert_eq!(timed.due(20_000, 9), 6);
        assert_eq!(timed.due(20_000, 4), 4);
        timed.take(4);
        assert_eq!(timed.due(20_000, 4), 2);
    }
}
