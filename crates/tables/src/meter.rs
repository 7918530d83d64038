//! A policer: a token bucket in 16 bytes, kept as the time at which it will be full again.
//!
//! The conformance rule is the virtual scheduling algorithm of the GCRA (ITU-T I.371, annex A):
//! a frame that arrives at `now` conforms iff `allowed_at <= now + burst`, and then
//! `allowed_at = max(allowed_at, now) + cost`, where the cost of a frame is its length times the
//! time one byte takes at the configured rate. A frame that does not conform changes nothing.
//!
//! This is a token bucket (RFC 2697's committed bucket, one rate and two colours, colour-blind)
//! seen from its other end: the tokens are `(now + burst - allowed_at) / ticks_per_byte`, never
//! more than the burst. They grow with time and stop at the burst, which is what the `max` does;
//! a frame takes its length from them, and it conforms iff they are not below zero *before* it.
//!
//! That last point is the one deliberate difference from RFC 2697, which wants the whole length
//! there: here the bucket may go into debt by one frame. So frames of any size pass even where
//! the burst is smaller than a frame (RFC 2697 would then drop them for ever) and the first frame
//! always conforms. In any interval of length T at most `rate * T + burst + one frame` bytes
//! conform.
//!
//! **A burst of at least the largest frame is needed for the whole rate to pass.** A token bucket
//! throws away what comes in while it is full; one without a burst is full as soon as it has no
//! debt, so the time until the next frame arrives is lost. Under a load of x times the rate in
//! equal frames, no burst can let as little as x / (1 + x) of the rate pass: half of it at x = 1.
//!
//! | | |
//! |---|---|
//! | memory | 16 bytes, four meters a cache line |
//! | clock | ticks that do not run backwards (a step back makes the meter wait, no more), below 2^58: 3.5 years after the counter's start at 2.6 GHz |
//! | precision | the cost of a frame is rounded to 1/64 tick: below 0.8 % where a frame takes a tick, 0.001 % at 1 Gbit/s; a rate is stored with 24 bits |
//!
//! A meter of zero bytes, as fresh memory has it, has no limit: every frame conforms whatever the
//! time. It deliberately has no colours, no second rate, no counters, and reads no clock.

use std::hint::select_unpredictable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zerocopy::FromZeros;

use crate::pace::{Pace, UNIT_BITS};

/// A single-rate policer; see the module's text.
///
/// Times are in units of 1/64 tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromZeros)]
#[repr(C)]
pub struct Meter {
    /// The theoretical arrival time: when the bucket would be full if no further frame came.
    allowed_at: u64,
    /// What a byte costs, and how far `allowed_at` may be ahead of the clock.
    pace: Pace,
}

/// The time of a meter that several workers have in common, each with the same [`Meter`]: together
/// they let pass what one of them would. It changes with each frame that conforms, so it is for
/// rates far below that of all frames; [`crate::policer`] has one for others.
#[derive(Debug, Default)]
pub struct CommonMeter(AtomicU64);

impl CommonMeter {
    /// Fills the bucket.
    pub fn fill(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A meter of a worker, which has its bucket for itself or in common with other workers.
#[derive(Clone, Debug, Default)]
pub struct TeamMeter {
    own: Meter,
    common: Option<Arc<CommonMeter>>,
}

impl TeamMeter {
    /// A meter that a worker has for itself.
    pub fn new(own: Meter) -> TeamMeter {
        TeamMeter { own, common: None }
    }

    /// Has the bucket of the first of some workers, which has the same rate, for its own.
    pub fn join(&mut self, first: &mut TeamMeter) {
        let common = first.common.get_or_insert_with(|| Arc::new(CommonMeter::default()));
        self.common = Some(Arc::clone(common));
    }

    /// Whether a frame conforms, as [`Meter::conforms`] says.
    #[inline]
    pub fn conforms(&mut self, now: u64, length_bytes: u32) -> bool {
        match &self.common {
            None => self.own.conforms(now, length_bytes),
            Some(common) => self.own.conforms_of(common, now, length_bytes),
        }
    }
}

impl Meter {
    /// A meter that lets `bytes_per_s` pass, and `burst_bytes` more after a pause, for a clock of
    /// `ticks_per_s`. An infinite rate is no limit.
    ///
    /// # Panics
    /// When the rate or the clock is not above zero, the burst is below zero, or one is not a
    /// number: whoever reads such figures from a file checks them there.
    pub fn new(bytes_per_s: f64, burst_bytes: f64, ticks_per_s: f64) -> Meter {
        assert!(bytes_per_s > 0.0, "a rate of {bytes_per_s} byte/s");
        assert!(burst_bytes >= 0.0, "a burst of {burst_bytes} byte");
        assert!(ticks_per_s > 0.0 && ticks_per_s.is_finite(), "a clock of {ticks_per_s} Hz");
        Meter { allowed_at: 0, pace: Pace::new(bytes_per_s, burst_bytes, ticks_per_s) }
    }

    /// A meter of packets, each of which costs 1: `packets_per_s` pass, and exactly `burst` at one
    /// moment after a pause.
    ///
    /// # Panics
    /// When the rate, the burst or the clock is not above zero.
    pub fn of_packets(packets_per_s: u32, burst: u32, ticks_per_s: f64) -> Meter {
        // A meter may go into debt by one packet: half a packet less is within all rounding.
        Meter::new(packets_per_s.into(), f64::from(burst) - 0.5, ticks_per_s)
    }

    /// The same meter with no tokens at `now`: a frame then still conforms, by debt, but no burst,
    /// so that the bytes of any interval from now on are the rate's, give or take a frame.
    #[must_use]
    pub fn emptied_at(self, now: u64) -> Meter {
        let full_after = to_units(self.pace.burst_units);
        Meter { allowed_at: (now << UNIT_BITS).saturating_add(full_after), ..self }
    }

    /// What [`Meter::conforms`] says of the bucket that workers have in common.
    #[inline]
    pub fn conforms_of(&self, common: &CommonMeter, now: u64, length_bytes: u32) -> bool {
        if self.pace.units_per_byte.to_bits() == 0 {
            return true;
        }
        let mut allowed_at = common.0.load(Ordering::Relaxed);
        loop {
            let mut own = Meter { allowed_at, ..*self };
            if !own.conforms(now, length_bytes) {
                return false;
            }
            let (order, after) = (Ordering::Relaxed, own.allowed_at);
            match common.0.compare_exchange_weak(allowed_at, after, order, order) {
                Ok(_) => return true,
                Err(found) => allowed_at = found,
            }
        }
    }

    /// Whether a frame of `length_bytes` that arrives at `now`, in ticks, conforms; if so, the
    /// meter is charged for it.
    #[inline]
    pub fn conforms(&mut self, now: u64, length_bytes: u32) -> bool {
        let now = now << UNIT_BITS;
        let ahead = self.allowed_at.saturating_sub(now);
        let cost = to_units(length_bytes as f32 * self.pace.units_per_byte);
        let is_unlimited = self.pace.units_per_byte.to_bits() == 0;
        // Signed numbers convert in one instruction; 2^63 units are more than any burst.
        let ahead_signed = ahead.min(i64::MAX as u64) as i64;
        let conforms = (ahead_signed as f32 <= self.pace.burst_units) | is_unlimited;
        // Now and ahead are the later of allowed_at and now; whether a frame conforms is what no
        // branch predictor can know.
        let charged = (now + ahead).saturating_add(cost);
        self.allowed_at = select_unpredictable(conforms, charged, self.allowed_at);
        conforms
    }
}

/// Rounds to the nearest unit; more than an i64 holds becomes its maximum, more than any clock.
#[inline(always)]
fn to_units(units: f32) -> u64 {
    (units + 0.5) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_is_sixteen_bytes() {
        assert_eq!(size_of::<Meter>(), 16);
    }

    #[test]
    fn a_meter_of_zeroes_has_no_limit_even_when_time_steps_back() {
        let mut meter = Meter::default();
        for now in [0, 1 << 57, 5, 5, 0, 1 << 40] {
            assert!((0..100).all(|_| meter.conforms(now, u32::MAX)));
        }
        assert_eq!(Meter::new(f64::INFINITY, f64::INFINITY, 1e9), Meter::default());
    }

    #[test]
    fn a_rate_next_to_nothing_lets_one_frame_pass() {
        let mut meter = Meter::new(1e-300, 0.0, 1e9);
        assert!(meter.conforms(1 << 57, 64));
        assert!([0, 1 << 57, 1 << 58, 0].iter().all(|&now| !meter.conforms(now, 64)));
    }

    #[test]
    fn an_emptied_meter_lets_one_frame_pass_and_then_the_rate() {
        let mut meter = Meter::new(1000.0, 500.0, 1e6).emptied_at(7_000_000);
        assert!(meter.conforms(7_000_000, 100));
        assert!(!meter.conforms(7_099_000, 100));
        assert!(meter.conforms(7_100_000, 100));
        assert!(
            Meter::default().emptied_at(5)
                == Meter { allowed_at: 5 << UNIT_BITS, ..Meter::default() }
        );
    }

    #[test]
    fn workers_with_one_bucket_let_pass_what_one_of_them_would() {
        let mut alone = Meter::of_packets(1000, 20, 1e6);
        let (common, same) = (CommonMeter::default(), alone);
        let now = |frame: u64| (1 << 30) + frame * 400;
        let passed = (0..20_000).filter(|frame| alone.conforms(now(*frame), 1)).count();
        let of_all = (0..20_000).filter(|frame| same.conforms_of(&common, now(*frame), 1)).count();
        assert_eq!(
            (of_all, passed),
            (8020, 8020),
            "8 s at 1,000 packets per second, and the burst"
        );
        common.fill();
        assert_eq!((0..100).filter(|_| same.conforms_of(&common, now(0), 1)).count(), 20);
        assert!((0..100).all(|_| Meter::default().conforms_of(&common, 0, 1)));
    }

    #[test]
    fn costs_are_rounded_to_the_nearest_unit() {
        for (units, expected) in [
            (0.0, 0),
            (0.49, 0),
            (0.51, 1),
            (1.6, 2),
            (102.4, 102),
            // From 2^23 on adding the half rounds too, to a part in 2^24.
            (8_388_607.0, 8_388_607),
            (2f32.powi(62), 1 << 62),
            (2f32.powi(63), i64::MAX as u64),
            (f32::INFINITY, i64::MAX as u64),
        ] {
            assert_eq!(to_units(units), expected, "{units}");
        }
    }
}
