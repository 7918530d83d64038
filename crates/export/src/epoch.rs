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

/// A day and a time of day, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Civil {
    pub year: u32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub millisecond: u32,
}

impl Civil {
    /// Of milliseconds since 1970, in the Gregorian calendar: years begin in March, so that the day
    /// that comes and goes is the last one, and repeat every 400.
    pub fn of(unix_ms: u64) -> Civil {
        let (seconds, millisecond) = (unix_ms / 1000, unix_ms % 1000);
        let (days, in_day) = (seconds / 86_400, seconds % 86_400);
        // From the first of March of the year 0.
        let days = days + 719_468;
        let (era, in_era) = (days / 146_097, days % 146_097);
        let year_of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * in_year + 2) / 153;
        let day = in_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        Civil {
            year: year as u32,
            month: month as u32,
            day: day as u32,
            hour: (in_day / 3600) as u32,
            minute: (in_day / 60 % 60) as u32,
            second: (in_day % 60) as u32,
            millisecond: millisecond as u32,
        }
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

    #[test]
    fn days_are_those_of_the_calendar() {
        let date = |civil: Civil| (civil.year, civil.month, civil.day);
        let day = 86_400_000;
        assert_eq!(date(Civil::of(0)), (1970, 1, 1));
        assert_eq!(date(Civil::of(58 * day)), (1970, 2, 28));
        assert_eq!(date(Civil::of(59 * day)), (1970, 3, 1));
        // 29 February 2000 and 1 March 2100, of which only the first year has a leap day.
        assert_eq!(date(Civil::of(11_016 * day)), (2000, 2, 29));
        assert_eq!(date(Civil::of(47_540 * day)), (2100, 2, 28));
        assert_eq!(date(Civil::of(47_541 * day)), (2100, 3, 1));
        // Every day is the one after the day before.
        let mut before = Civil::of(0);
        for number in 1..60_000 {
            let civil = Civil::of(number * day);
            let next_day = civil.day == before.day + 1 && civil.month == before.month;
            let next_month = civil.day == 1 && before.day >= 28;
            assert!(next_day || next_month, "{before:?} is followed by {civil:?}");
            before = civil;
        }
        let late = Civil::of(946_684_799_999);
        assert_eq!((late.hour, late.minute, late.second, late.millisecond), (23, 59, 59, 999));
    }
}
