//! Days and times of day, as people write them.

/// A day and a time of day, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: u32,
    /// The month, from 1.
    pub month: u32,
    /// The day of the month, from 1.
    pub day: u32,
    /// The hour, from 0.
    pub hour: u32,
    /// The minute, from 0.
    pub minute: u32,
    /// The second, from 0.
    pub second: u32,
    /// The millisecond, from 0.
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
