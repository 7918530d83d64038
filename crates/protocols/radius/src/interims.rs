//! When each session's interim records are due: spread over time, whenever sessions have begun.

use std::time::Duration;

use protocol_kit::{Random, Time};
use tables::wheel::Wheel;

/// The next interim record of each session, by the owner's numbers.
#[derive(Debug)]
pub struct Interims {
    wheel: Wheel,
    intervals: Vec<Duration>,
    random: Random,
}

impl Interims {
    /// For sessions with numbers below `count`, spread by the random numbers of a seed.
    pub fn new(count: u32, seed: u64) -> Interims {
        Interims {
            wheel: Wheel::new(count as usize, STEP_BITS),
            intervals: vec![Duration::ZERO; count as usize],
            random: Random::new(seed),
        }
    }

    /// A session has interim records from now on. The first one is due after half an interval to a
    /// whole one, so that of sessions that have begun at once not all are due at once.
    ///
    /// # Panics
    /// With a number that is too large.
    pub fn begin(&mut self, number: u32, interval: Duration, now: Time) {
        let interval = interval.max(INTERVAL_MIN);
        self.intervals[number as usize] = interval;
        let first = self.random.shortened(interval, 0, 50);
        self.wheel.set(number, now.after(first).0);
    }

    /// A session has none any more.
    ///
    /// # Panics
    /// With a number that is too large.
    pub fn end(&mut self, number: u32) {
        self.wheel.cancel(number);
    }

    /// Returns a session whose record is due; the next one is an interval later.
    pub fn due(&mut self, now: Time) -> Option<u32> {
        let number = self.wheel.due(now.0)?;
        self.wheel.set(number, now.after(self.intervals[number as usize]).0);
        Some(number)
    }

    /// Returns when the next one is due; `None` if none is.
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline().map(Time)
    }
}

/// The shortest interval (RFC 2869 section 2.1).
pub const INTERVAL_MIN: Duration = Duration::from_secs(60);

/// Timers are exact to 2^26 ns, 67 ms.
const STEP_BITS: u32 = 26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_spread_and_come_every_interval() {
        let interval = Duration::from_secs(600);
        let mut interims = Interims::new(1_000, 1);
        (0..1_000).for_each(|number| interims.begin(number, interval, Time::ZERO));
        interims.end(999);
        let mut times = vec![Vec::new(); 1_000];
        let mut most = 0;
        for second in 1..=1_800 {
            let now = Time::ZERO.after(Duration::from_secs(second));
            let due: Vec<u32> = std::iter::from_fn(|| interims.due(now)).collect();
            most = most.max(due.len());
            due.into_iter().for_each(|number| times[number as usize].push(second));
        }
        assert!(times[999].is_empty());
        for times in &times[..999] {
            assert!((300..=601).contains(&times[0]), "{times:?}");
            assert!(times.windows(2).all(|pair| (600..=601).contains(&(pair[1] - pair[0]))));
        }
        // A thousand over 300 s.
        assert!(most < 20, "{most} in one second");
    }
}
