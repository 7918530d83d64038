//! Wall-clock time of ticks: a function knows ticks only, so whoever starts it says where they
//! began.

use machine::clock::{Clock, Ticks};

/// What the time of day was at ticks 0, and how long a tick is.
///
/// It is not adjusted later: when the system's clock is set, logs keep the old time until the
/// function is started again, and drift with the time-stamp counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    unix_ns: i128,
    clock: Clock,
}

impl Epoch {
    /// From the nanoseconds since 1970 at ticks 0.
    pub fn new(unix_ns: i128, clock: Clock) -> Epoch {
        Epoch { unix_ns, clock }
    }

    /// From the nanoseconds since 1970 at some other moment.
    pub fn at(unix_ns: i128, now: Ticks, clock: Clock) -> Epoch {
        Epoch { unix_ns: unix_ns - i128::from(clock.nanos(now)), clock }
    }

    /// Milliseconds since 1970 of a moment; 0 before.
    #[inline]
    pub fn unix_ms(&self, at: Ticks) -> u64 {
        let unix_ns = self.unix_ns + i128::from(self.clock.nanos(at));
        u64::try_from(unix_ns).unwrap_or(0) / 1_000_000
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_follows_from_ticks() {
        let clock = Clock::with_rate(2e9);
        let epoch = Epoch::new(1_000_000_000_000_000_000, clock);
        assert_eq!(epoch.unix_ms(0), 1_000_000_000_000);
        assert_eq!(epoch.unix_ms(3_000_000), 1_000_000_000_001);
        let same = Epoch::at(1_000_000_000_001_500_000, 3_000_000, clock);
        assert_eq!(same, epoch);
        assert_eq!(Epoch::new(-1, clock).unix_ms(0), 0, "before 1970 there is no time");
    }
}
