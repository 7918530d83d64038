//! A maximum rate: a token bucket in 16 bytes, kept as the time from which on there is credit.
//!
//! As [`crate::meter`] has it, a frame needs no tokens of its own: it leaves where there is no
//! debt, and may make one. So whether there is credit does not depend on the frame, and a tree of
//! buckets can be asked before anybody knows which frame comes next.

use zerocopy::FromZeros;

use super::setting::Shape;
use crate::pace::{Pace, UNIT_BITS};

/// A bucket; zeroed, it has no limit.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C)]
pub(super) struct Bucket {
    /// From when on there is credit, in units of 1/64 tick; before the clock's start in a full one.
    ready_at: i64,
    pace: Pace,
}

impl Bucket {
    /// A full bucket.
    pub fn full(shape: &Shape, ticks_per_s: f64) -> Bucket {
        let burst_bytes = shape.burst_bytes.max(SLACK_S * shape.bytes_per_s);
        let pace = Pace::new(shape.bytes_per_s, burst_bytes, ticks_per_s);
        Bucket { ready_at: i64::MIN, pace }
    }

    /// One that takes the place of another: it has no tokens, and the debt of that one in bytes.
    #[must_use]
    pub fn in_place_of(self, before: &Bucket, now: u64) -> Bucket {
        let debt = self.cost(before.debt_bytes(now));
        Bucket { ready_at: units(now).saturating_add(debt), ..self }
    }

    /// Whether a frame may leave.
    #[inline(always)]
    pub fn has_credit(&self, now: u64) -> bool {
        self.ready_at <= units(now)
    }

    /// A frame leaves that counts for so many bytes.
    #[inline(always)]
    pub fn charge(&mut self, now: u64, bytes: u32) {
        let cost = self.cost(f64::from(bytes));
        let full = units(now) - self.pace.burst_units as i64;
        self.ready_at = self.ready_at.max(full).saturating_add(cost);
    }

    /// Bytes that have left for which there is no credit yet, rounded up to 1/64.
    fn debt_bytes(&self, now: u64) -> f64 {
        let units = self.ready_at.saturating_sub(units(now)).max(0);
        match self.pace.units_per_byte > 0.0 {
            true => (units as f64 * 64.0 / f64::from(self.pace.units_per_byte)).ceil() / 64.0,
            false => 0.0,
        }
    }

    /// What bytes cost, in units.
    #[inline(always)]
    fn cost(&self, bytes: f64) -> i64 {
        (bytes * f64::from(self.pace.units_per_byte) + 0.5) as i64
    }

    /// The first tick at which there is credit.
    pub fn ready_at(&self) -> u64 {
        let whole = self.ready_at.saturating_add((1 << UNIT_BITS) - 1) >> UNIT_BITS;
        whole.max(0) as u64
    }
}

#[inline(always)]
fn units(ticks: u64) -> i64 {
    (ticks << UNIT_BITS) as i64
}

/// The least burst, as a time of the rate: what a tier may be late without losing credit.
const SLACK_S: f64 = 100e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_sixteen_bytes_and_zeroed_without_a_limit() {
        assert_eq!(size_of::<Bucket>(), 16);
        let mut none = Bucket::default();
        for now in [0, 5, 1 << 56] {
            none.charge(now, 1 << 20);
            assert!(none.has_credit(now));
        }
        let mut unlimited = Bucket::full(&Shape::UNLIMITED, 1e9);
        unlimited.charge(0, u32::MAX);
        assert!(unlimited.has_credit(0));
    }

    #[test]
    fn the_burst_and_a_frame_leave_at_once_and_then_the_rate() {
        let shape = Shape { bytes_per_s: 1e6, burst_bytes: 1000.0, overhead_bytes: 0 };
        let mut bucket = Bucket::full(&shape, 1e9);
        let sent = (0..100).take_while(|_| {
            let has_credit = bucket.has_credit(0);
            bucket.charge(0, 300);
            has_credit
        });
        // 0, 300, 600 and 900 are within the burst.
        assert_eq!(sent.count(), 4);
        let full = Bucket::full(&shape, 1e9);
        let mut bucket = full.in_place_of(&full, 500);
        assert!(bucket.has_credit(500) && !bucket.has_credit(499));
        bucket.charge(500, 300);
        assert_eq!(bucket.ready_at(), 300_500);
        assert!(bucket.has_credit(300_500) && !bucket.has_credit(300_499));
        assert_eq!(Bucket { ready_at: 1, ..bucket }.ready_at(), 1);
        assert_eq!(Bucket { ready_at: i64::MAX, ..bucket }.ready_at(), i64::MAX as u64 >> 6);
    }

    #[test]
    fn another_rate_keeps_the_debt_in_bytes_and_no_tokens() {
        let full = |bytes_per_s| {
            Bucket::full(&Shape { bytes_per_s, burst_bytes: 1000.0, overhead_bytes: 0 }, 1e9)
        };
        let mut slow = full(1e3);
        slow.charge(0, 1500);
        assert_eq!(slow.ready_at(), 500_000_000, "500 bytes beyond the burst");
        assert_eq!(full(1e6).in_place_of(&slow, 0).ready_at(), 500_000);
        assert_eq!(full(1e3).in_place_of(&slow, 100_000_000).ready_at(), 500_000_000);
        assert_eq!(full(1e3).in_place_of(&slow, 500_000_000).ready_at(), 500_000_000);
        assert_eq!(full(1e3).in_place_of(&slow, 900_000_000).ready_at(), 900_000_000);
        let unlimited = Bucket::full(&Shape::UNLIMITED, 1e9);
        assert!(unlimited.in_place_of(&slow, 7).has_credit(7));
        assert_eq!(full(1e3).in_place_of(&unlimited, 7).ready_at(), 7);
    }
}
