//! The time of a machine: an argument, never fetched.

use std::fmt;
use std::time::Duration;

/// A time: nanoseconds since a start that the driver has chosen. It never goes backwards, and 64
/// bits last 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start.
    pub const ZERO: Time = Time(0);

    /// Returns the time that lies this much later; the last time there is if none does.
    pub fn after(self, duration: Duration) -> Time {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(ns))
    }

    /// Returns how long an earlier time ago is; zero if it is no earlier one.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / NS_PER_SECOND, self.0 % NS_PER_SECOND)
    }
}

const NS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stops_at_its_ends() {
        let time = Time(1_500_000_000);
        assert_eq!(time.after(Duration::from_millis(20)), Time(1_520_000_000));
        assert_eq!(time.after(Duration::MAX), Time(u64::MAX));
        assert_eq!(time.since(Time(500_000_000)), Duration::from_secs(1));
        assert_eq!(Time::ZERO.since(time), Duration::ZERO);
        assert_eq!(time.to_string(), "1.500000000");
    }
}
