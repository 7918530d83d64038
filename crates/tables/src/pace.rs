//! What a byte costs at a rate, in time: what all token buckets here go by that are kept as a time.
//!
//! Times are in units of 1/64 tick of the caller's clock, so that the cost of a short frame at a
//! high rate is not rounded to nothing. It deliberately holds no state: what a bucket remembers,
//! and which side of the burst it counts from, is each bucket's own.

use zerocopy::FromZeros;

/// A rate and a burst; zeroed, no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromZeros)]
#[repr(C)]
pub(crate) struct Pace {
    /// What a byte costs; zero is no limit.
    pub units_per_byte: f32,
    /// How long the burst takes at the rate.
    pub burst_units: f32,
}

impl Pace {
    /// That of a clock of `ticks_per_s`. An infinite rate is no limit, and needs no burst: an
    /// infinite one would be no number here.
    pub fn new(bytes_per_s: f64, burst_bytes: f64, ticks_per_s: f64) -> Pace {
        let units_per_s = ticks_per_s * UNITS_PER_TICK;
        let units_per_byte = (units_per_s / bytes_per_s) as f32;
        let burst_s = if units_per_byte > 0.0 { burst_bytes / bytes_per_s } else { 0.0 };
        Pace { units_per_byte, burst_units: (burst_s * units_per_s) as f32 }
    }
}

pub(crate) const UNIT_BITS: u32 = 6;
pub(crate) const UNITS_PER_TICK: f64 = (1 << UNIT_BITS) as f64;
