//! The time of day of a moment of the time-stamp clock.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use machine::clock::{self, Clock, Ticks};

/// Relation between the time-stamp clock and wall-clock time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    clock: Clock,
    ticks: Ticks,
    unix_ns: u64,
}

impl WallClock {
    /// Reads both clocks now.
    pub fn new(clock: Clock) -> WallClock {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallClock { clock, ticks: clock::now(), unix_ns: unix.as_nanos() as u64 }
    }

    /// Returns the nanoseconds since 1970.
    pub fn unix_ns(&self, at: Ticks) -> u64 {
        match at.checked_sub(self.ticks) {
            Some(since) => self.unix_ns.saturating_add(self.clock.nanos(since)),
            None => self.unix_ns.saturating_sub(self.clock.nanos(self.ticks - at)),
        }
    }

    /// Returns the time in RFC 3339 form in UTC, with microseconds.
    pub fn text(&self, at: Ticks) -> String {
        let ns = i128::from(self.unix_ns(at));
        let time = Timestamp::from_nanosecond(ns).unwrap_or(Timestamp::UNIX_EPOCH);
        format!("{time:.6}")
    }
}
