//! Rates of messages by line, by MAC address on a line, and of all together.
//!
//! A line falls on two places of a table of fixed size, by a keyed hash, and a message passes if
//! either of them lets it: a flood on one line fills its two places, and another line is slowed
//! down only if both of its own are among them. The same holds for MAC addresses, of which each is
//! that of one line: the same one on another line has a rate of its own.

use protocol_kit::{Secret, Time};
use tables::hash::Keyed;
use tables::meter::Meter;
use wire::MacAddr;

use crate::access::Line;
use crate::config::{Rate, Rates};

/// The meters of all rates.
#[derive(Debug)]
pub(crate) struct Limits {
    key: Secret<Keyed>,
    lines: Vec<Meter>,
    macs: Vec<Meter>,
    all: Meter,
    /// The time of the first message: a clock may begin anywhere, and meters last nine years.
    start: Option<Time>,
}

/// Above which rate a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Line,
    Mac,
    All,
}

impl Limits {
    /// Full buckets.
    pub fn new(rates: Rates, seed: Secret<u64>) -> Limits {
        let meter = |rate: Rate| {
            Meter::of_packets(rate.per_second.max(1), rate.burst.max(1), NS_PER_SECOND)
        };
        let places = rates.places.clamp(2, PLACES_MAX).next_power_of_two() as usize;
        Limits {
            key: Secret(Keyed::new([seed.0, SALT])),
            lines: vec![meter(rates.line); places],
            macs: vec![meter(rates.mac); places],
            all: meter(rates.all),
            start: None,
        }
    }

    /// Whether a message may come in: a flood of one line ends there, and takes nothing from the
    /// rate of all.
    pub fn admit(&mut self, line: Line, mac: MacAddr, now: Time) -> Result<(), Over> {
        let start = *self.start.get_or_insert(now);
        let now = Time(now.0.saturating_sub(start.0));
        let hash = self.key.0.of2(u64::from(line.0), 0);
        if !admits(&mut self.lines, hash, now) {
            return Err(Over::Line);
        }
        let [a, b, c, d, e, f] = mac.0;
        let hash =
            self.key.0.of4(u64::from_be_bytes([0, 0, a, b, c, d, e, f]), u64::from(line.0), 0, 0);
        if !admits(&mut self.macs, hash, now) {
            return Err(Over::Mac);
        }
        if !self.all.conforms(now.0, 1) {
            return Err(Over::All);
        }
        Ok(())
    }

    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        (self.lines.len() + self.macs.len()) * size_of::<Meter>()
    }
}

fn admits(meters: &mut [Meter], hash: u64, now: Time) -> bool {
    let mask = meters.len() as u64 - 1;
    let [first, second] = [hash & mask, hash >> 32 & mask].map(|place| place as usize);
    // Both are charged.
    let first = meters[first].conforms(now.0, 1);
    meters[second].conforms(now.0, 1) || first
}

const NS_PER_SECOND: f64 = 1e9;

/// Most places of each kind: 64 MiB of meters.
const PLACES_MAX: u32 = 1 << 22;

/// Tells this use of the seed from others.
const SALT: u64 = 0x6468_6370_6c69_6d69;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits(rate: Rate, places: u32) -> Limits {
        let all = Rate { per_second: 1_000_000_000, burst: 1_000_000_000 };
        Limits::new(Rates { line: rate, mac: rate, all, places }, Secret(1))
    }

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    #[test]
    fn a_mac_address_on_one_line_takes_nothing_from_the_same_one_on_another() {
        let mut rates = limits(Rate { per_second: 1, burst: 2 }, 1 << 10);
        // The rate of lines is far above.
        rates.lines = limits(Rate { per_second: 1000, burst: 1000 }, 1 << 10).lines;
        let mut admit = |line| rates.admit(Line(line), MAC, Time::ZERO);
        let all: Vec<_> = (0..100).map(|_| admit(1)).collect();
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 2);
        assert_eq!(all.last(), Some(&Err(Over::Mac)));
        assert_eq!([admit(2), admit(2), admit(2)], [Ok(()), Ok(()), Err(Over::Mac)]);
    }

    #[test]
    fn a_flood_on_some_lines_slows_down_hardly_any_other() {
        const LINES: u32 = 1 << 13;
        let mut rates = limits(Rate { per_second: 1, burst: 20 }, 4 * LINES);
        let floods = |line: u32| line.is_multiple_of(100);
        let mac = |line: u32| {
            let [a, b, c, d] = line.to_be_bytes();
            MacAddr([2, 0, a, b, c, d])
        };
        for now in (0..10).map(|s| Time::ZERO.after(Duration::from_secs(s))) {
            for line in (0..LINES).filter(|line| floods(*line)) {
                (0..60).for_each(|_| _ = rates.admit(Line(line), mac(line), now));
            }
        }
        let now = Time::ZERO.after(Duration::from_secs(9));
        let others = (0..LINES).filter(|line| !floods(*line));
        let slowed = others.filter(|line| rates.admit(Line(*line), mac(*line), now).is_err());
        let slowed = slowed.count();
        // One in 40,000 of 8,110 by chance.
        assert!(slowed <= 3, "{slowed} lines are slowed down");
    }
}
