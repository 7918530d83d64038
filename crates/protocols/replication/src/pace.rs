//! How often a machine looks at what its worker does, and how much it sends.

use std::time::Duration;

use protocol_kit::Time;

/// When a machine looks next: soon where there was something to do, later from time to time where
/// there was not.
pub(crate) struct Look {
    at: Time,
    rest: Duration,
}

impl Look {
    /// Looks at once.
    pub fn new(now: Time) -> Look {
        Look { at: now, rest: REST_MIN }
    }

    /// It has looked, and found something to do or not.
    pub fn looked(&mut self, now: Time, is_busy: bool) {
        if is_busy {
            (self.rest, self.at) = (REST_MIN, now.after(REST_MIN));
        } else if now >= self.at {
            self.at = now.after(self.rest);
            self.rest = (self.rest * 2).min(REST_MAX);
        }
    }

    /// Returns when it looks next.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// How many changes per second are sent.
pub(crate) struct Pace {
    per_s: f64,
    /// Changes that may be sent.
    allowed: f64,
    filled: Option<Time>,
}

impl Pace {
    /// A pace of so many changes per second; 0 for as many as can be.
    pub fn new(per_s: u32) -> Pace {
        Pace { per_s: per_s.into(), allowed: 0.0, filled: None }
    }

    /// Returns how many may be sent now.
    pub fn allowed(&mut self, now: Time) -> usize {
        if self.per_s == 0.0 {
            return usize::MAX;
        }
        let passed = now.since(self.filled.unwrap_or(now)).as_secs_f64();
        self.filled = Some(now);
        self.allowed = (self.allowed + passed * self.per_s).min((self.per_s * BURST_S).max(1.0));
        self.allowed as usize
    }

    /// So many were sent.
    pub fn used(&mut self, count: usize) {
        self.allowed -= count as f64;
    }
}

/// The shortest time between two looks.
const REST_MIN: Duration = Duration::from_micros(500);

/// The longest.
pub(crate) const REST_MAX: Duration = Duration::from_millis(16);

/// Seconds of a pace that may be sent at once.
const BURST_S: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_than_the_pace_allows() {
        let begin = Time(7);
        let mut pace = Pace::new(1000);
        let mut sent = 0;
        for step in 0..=3000 {
            let allowed = pace.allowed(begin.after(Duration::from_millis(step))).min(7);
            pace.used(allowed);
            sent += allowed;
            assert!(sent as u64 <= step + 50, "{sent} after {step} ms");
        }
        assert!(sent >= 2990, "{sent} in 3 s");
        assert_eq!(Pace::new(0).allowed(begin), usize::MAX);
    }

    #[test]
    fn who_has_nothing_to_do_looks_seldom_and_soon_again_when_there_is() {
        let mut look = Look::new(Time(0));
        let mut looks = 0;
        let second = Time(1_000_000_000);
        while look.at() < second {
            look.looked(look.at(), false);
            looks += 1;
        }
        assert_eq!(looks, 67, "in the first second, 62 or 63 in the following ones");
        look.looked(second, true);
        assert_eq!(look.at(), second.after(REST_MIN));
        // Whoever is polled for another reason looks no later for that.
        look.looked(second, false);
        assert_eq!(look.at(), second.after(REST_MIN));
    }
}
