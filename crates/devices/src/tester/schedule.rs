//! When the frames of a load are due: at one rate, in one burst, or at two rates in turn.

use std::time::Duration;

use machine::clock::{Clock, Ticks};
use measure::{Load, Pps};
use traffic::{Pacer, Pacing, Random, Timed, Times};

/// Sending schedule of one direction.
#[derive(Debug)]
pub(crate) struct Schedule {
    pacer: Beat,
    /// Number of frames until the rate changes, or in total.
    until: u64,
    /// The second rate, if the rate changes.
    then: Option<Then>,
    intended: u64,
}

#[derive(Debug)]
struct Then {
    pacer: Beat,
    from: Ticks,
    frames: u64,
}

/// Intervals of frames: even, or as they were captured.
#[derive(Debug)]
enum Beat {
    Even(Pacer),
    Timed(Timed),
}

impl Beat {
    #[inline]
    fn due(&self, now: Ticks, limit: u64) -> u64 {
        match self {
            Beat::Even(pacer) => pacer.due(now, limit),
            Beat::Timed(timed) => timed.due(now, limit),
        }
    }
}

impl Schedule {
    /// Creates the schedule of `load` for `duration` from `start`. With `times`, a load at one rate
    /// has these in place of even intervals.
    pub fn new(
        load: Load,
        times: Option<Times>,
        duration: Duration,
        start: Ticks,
        clock: &Clock,
    ) -> Schedule {
        if let (Load::PerInterface(rate), Some(times)) = (load, times) {
            let timed = Timed::new(times, rate.0, clock.ticks_per_second(), start);
            let until = timed.within(clock.ticks(duration) as f64);
            return Schedule { pacer: Beat::Timed(timed), until, then: None, intended: until };
        }
        let pacer = |rate: Pps, from| {
            let random = Random::new(0, 0);
            let ticks_per_s = clock.ticks_per_second();
            Beat::Even(Pacer::new(Pacing::Constant, rate.0, ticks_per_s, from, random))
        };
        let frames = |rate: Pps, time: Duration| (rate.0 * time.as_secs_f64()).round() as u64;
        let (first, until, then) = match load {
            // Sessions are begun by the engine of their own.
            Load::ClosedLoop | Load::Sessions(_) => (Pps(0.0), 0, None),
            Load::PerInterface(rate) => (rate, frames(rate, duration), None),
            Load::Burst { frames, rate } => (rate, frames, None),
            Load::Step { first, after, then } => {
                let after = after.min(duration);
                let from = start + clock.ticks(after);
                let frames_then = frames(then, duration - after);
                let then = Then { pacer: pacer(then, from), from, frames: frames_then };
                (first, frames(first, after), Some(then))
            }
        };
        let intended = until + then.as_ref().map_or(0, |then| then.frames);
        Schedule { pacer: pacer(first, start), until, then, intended }
    }

    /// Returns the number of frames that the load requires.
    pub fn intended(&self) -> u64 {
        self.intended
    }

    /// Returns the number of due frames at `now`, at most `limit`, after `sent` frames. Frames that
    /// were missed at the first rate are not made up at the second.
    #[inline]
    pub fn due(&mut self, now: Ticks, limit: u64, sent: u64) -> u64 {
        if let Some(then) = self.then.take_if(|then| now >= then.from) {
            self.pacer = then.pacer;
            self.until = sent + then.frames;
        }
        self.pacer.due(now, limit.min(self.until - sent))
    }

    /// Takes `count` of the due frames.
    #[inline]
    pub fn take(&mut self, count: u64) {
        match &mut self.pacer {
            Beat::Even(pacer) => pacer.take(count),
            Beat::Timed(timed) => timed.take(count),
        }
    }
}

/// Number of frames of a direction that are sent at once.
pub(super) const BURST: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Sends the due frames at every tick of a clock of 1 MHz, and returns the number sent by each
    /// given time.
    fn sent_by(load: Load, duration: Duration, times: &[Ticks]) -> Vec<u64> {
        sent_of(Schedule::new(load, None, duration, 0, &Clock::with_rate(1e6)), times)
    }

    fn sent_of(mut schedule: Schedule, times: &[Ticks]) -> Vec<u64> {
        let mut sent = 0;
        let mut at = Vec::new();
        for now in 0..=*times.last().expect("a time") {
            let due = schedule.due(now, 32, sent);
            schedule.take(due);
            sent += due;
            if times.contains(&now) {
                at.push(sent);
            }
        }
        at
    }

    #[test]
    fn a_rate_is_kept_to_the_end() {
        let load = Load::PerInterface(Pps(1000.0));
        assert_eq!(sent_by(load, SECOND, &[0, 499_500, 999_999]), [1, 500, 1000]);
    }

    #[test]
    fn a_burst_ends_with_its_last_frame() {
        let load = Load::Burst { frames: 100, rate: Pps(100_000.0) };
        assert_eq!(sent_by(load, SECOND, &[495, 990, 500_000]), [50, 100, 100]);
    }

    #[test]
    fn a_step_changes_the_rate_at_its_time() {
        let after = Duration::from_millis(500);
        let load = Load::Step { first: Pps(2000.0), after, then: Pps(100.0) };
        assert_eq!(sent_by(load, SECOND, &[499_999, 500_000, 999_999]), [1000, 1001, 1050]);
    }

    #[test]
    fn captured_frames_keep_their_intervals_at_the_speed_of_the_load() {
        // Three frames in 100 ms, captured: at once, at once, and 60 ms later.
        let times =
            Times { at_ns: [0, 0, 60_000_000].into(), period_ns: 100_000_000, most_per_s: 30.0 };
        let sent = |load| {
            let clock = Clock::with_rate(1e6);
            let schedule = Schedule::new(load, Some(times.clone()), SECOND, 0, &clock);
            let at = [0, 59_999, 60_000, 99_999, 100_000, 999_999];
            (schedule.intended(), sent_of(schedule, &at))
        };
        let rate = |pps| Load::PerInterface(Pps(pps));
        assert_eq!(sent(rate(30.0)), (30, vec![2, 2, 3, 3, 5, 30]), "as captured");
        assert_eq!(sent(rate(60.0)), (60, vec![2, 5, 5, 6, 8, 60]), "twice as fast");
        let burst = Load::Burst { frames: 4, rate: Pps(1000.0) };
        assert_eq!(sent(burst), (4, vec![1, 4, 4, 4, 4, 4]), "a burst is even");
    }

    #[test]
    fn what_a_late_sender_missed_of_the_first_rate_is_not_made_up_for() {
        let load = Load::Step { first: Pps(1e6), after: SECOND / 2, then: Pps(100.0) };
        let mut schedule = Schedule::new(load, None, SECOND, 0, &Clock::with_rate(1e6));
        assert_eq!(schedule.due(10, 4, 0), 4);
        schedule.take(4);
        assert_eq!(schedule.due(600_000, 1000, 4), 11, "100 ms at the second rate");
        assert_eq!(schedule.intended(), 500_050);
    }
}
