//! Rates of messages by line, by MAC address, and of all together.
//!
//! A line falls on two places of a table of fixed size, by a keyed hash, and a message passes if
//! either of them lets it: a flood on one line fills its two places, and another line is slowed
//! down only if both of its own are among them. The same holds for MAC addresses.

use protocol_kit::Time;
use tables::hash::Keyed;
use tables::meter::Meter;

use crate::access::{Line, Mac};
use crate::config::{Rate, Rates};

/// The meters of all rates.
#[derive(Debug)]
pub(crate) struct Limits {
    key: Keyed,
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
    pub fn new(rates: Rates, seed: u64) -> Limits {
        let meter = |rate: Rate| {
            Meter::of_packets(rate.per_second.max(1), rate.burst.max(1), NS_PER_SECOND)
        };
        let places = rates.places.clamp(2, PLACES_MAX).next_power_of_two() as usize;
        Limits {
            key: Keyed::new([seed, SALT]),
            lines: vec![meter(rates.line); places],
            macs: vec![meter(rates.mac); places],
            all: meter(rates.all),
            start: None,
        }
    }

    /// Whether a message may come in: a flood of one line ends there, and takes nothing from the
    /// rate of all.
    pub fn admit(&mut self, line: Line, mac: Mac, now: Time) -> Result<(), Over> {
        let start = *self.start.get_or_insert(now);
        let now = Time(now.0.saturating_sub(start.0));
        let hash = self.key.of2(u64::from(line.0), 0);
        if !admits(&mut self.lines, hash, now) {
            return Err(Over::Line);
        }
        let [a, b, c, d, e, f] = mac.0;
        let hash = self.key.of2(u64::from_be_bytes([0, 0, a, b, c, d, e, f]), 1);
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
