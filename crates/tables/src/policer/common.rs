//! Policers that several workers have in common: one rate for all of them.
//!
//! ```text
//!                    common buckets of a policer
//!                     |  a lot, when one is short
//!            +--------+--------+
//!            v                 v
//!   tokens of worker 0   tokens of worker 1      frames take from their worker's tokens alone
//! ```
//! A common bucket is the time at which it will be full again, as in [`crate::meter`], so whoever
//! takes from it changes one number, and nobody waits for anybody. A worker takes a lot when its
//! own tokens are short of a frame: an eighth of the burst, divided by the workers, or the frame
//! where that is more. What does not give a lot is left alone until it may.
//!
//! **Law.** In any interval of length T, all workers together let at most `rate * T`, nine eighths
//! of the burst and a frame each pass; and where more than the rate keeps coming, to whichever of
//! them, at least `rate * T` less than that. The two buckets of RFC 2697 have one rate: the common
//! second one counts the tokens of both, and what is not in the first is in the second.
//!
//! A rate of zero gives nothing, not even the burst.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::pace::{UNIT_BITS, UNITS_PER_TICK};

/// The common buckets of a policer; zeroed, they are full.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    first: Bucket,
    second: Bucket,
}

/// What of a policer's figures its common buckets go by: bytes, and bytes a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub first_burst: f64,
    pub first_per_tick: f64,
    pub second_burst: f64,
    pub second_per_tick: f64,
    /// Whether what overflows the first bucket fills the second (RFC 2697).
    pub overflows: bool,
}

impl Buckets {
    /// Fills both.
    pub fn fill(&self) {
        for bucket in [&self.first, &self.second] {
            bucket.0.store(0, Ordering::Relaxed);
        }
    }

    /// Takes a lot of the first bucket.
    ///
    /// # Errors
    /// The tick from which on there may be one.
    pub fn take_first(&self, of: &Figures, lot: f64, now: u64) -> Result<(), u64> {
        let units = units(lot, of.first_per_tick);
        self.first.take(units, units_of(of.first_burst, of.first_per_tick), now << UNIT_BITS)?;
        if of.overflows {
            self.second.charge(units, now << UNIT_BITS);
        }
        Ok(())
    }

    /// Takes a lot of the second bucket.
    ///
    /// # Errors
    /// The tick from which on there may be one.
    pub fn take_second(&self, of: &Figures, lot: f64, now: u64) -> Result<(), u64> {
        let at = now << UNIT_BITS;
        if !of.overflows {
            let burst = units_of(of.second_burst, of.second_per_tick);
            return self.second.take(units(lot, of.second_per_tick), burst, at);
        }
        // What both have, less what the first has.
        let first_missing = self.first.0.load(Ordering::Relaxed).saturating_sub(at);
        let burst = units_of(of.second_burst, of.first_per_tick).saturating_add(first_missing);
        self.second.take(units(lot, of.first_per_tick), burst, at)
    }
}

/// The time at which a bucket will be full, in units of 1/64 tick.
#[derive(Debug, Default)]
struct Bucket(AtomicU64);

impl Bucket {
    /// Takes `cost` of a bucket of `burst`, all of it in units of time.
    fn take(&self, cost: u64, burst: u64, now: u64) -> Result<(), u64> {
        let limit = now.saturating_add(burst);
        let mut full_at = self.0.load(Ordering::Relaxed);
        loop {
            let after = full_at.max(now).saturating_add(cost);
            if after > limit {
                return Err((after.saturating_sub(burst) >> UNIT_BITS).saturating_add(1));
            }
            let done =
                self.0.compare_exchange_weak(full_at, after, Ordering::Relaxed, Ordering::Relaxed);
            match done {
                Ok(_) => return Ok(()),
                Err(found) => full_at = found,
            }
        }
    }

    /// Takes `cost` whether there is so much or not.
    fn charge(&self, cost: u64, now: u64) {
        let charged = |full_at: u64| Some(full_at.max(now).saturating_add(cost));
        // The closure always says a number.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charged);
    }
}

/// How long bytes take at a rate: at least a unit, and for ever without a rate.
fn units(bytes: f64, per_tick: f64) -> u64 {
    units_of(bytes, per_tick).max(1)
}

/// The same of a burst, which may be nothing.
fn units_of(bytes: f64, per_tick: f64) -> u64 {
    match per_tick > 0.0 {
        true => (bytes / per_tick * UNITS_PER_TICK) as u64,
        false if bytes > 0.0 => u64::MAX >> 1,
        false => 0,
    }
}
