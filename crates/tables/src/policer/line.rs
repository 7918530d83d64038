//! A policer in a cache line: two buckets, what fills them, and what a frame takes out of them.

use zerocopy::FromZeros;

use super::common::{Buckets, Figures};
use super::profile::{Colour, Policing, Profile};

/// The state of a policer; zeroed, it is none.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// When the buckets were last filled, in ticks; of common buckets, until when those that are
    /// noted in `waits` give nothing.
    filled_at: u64,
    /// Tokens of the committed rate, in bytes, and how many there can be.
    first: f64,
    first_burst: f64,
    first_per_tick: f64,
    /// Those of the excess or the peak rate.
    second: f64,
    second_burst: f64,
    second_per_tick: f64,
    /// One more than the number of the parent; 0 for none.
    parent: u32,
    algorithm: u8,
    is_colour_aware: u8,
    /// Which of the common buckets have given nothing.
    waits: u8,
    unused: u8,
}

impl Line {
    /// A policer with full buckets; none where a figure is no rate or burst.
    pub fn new(policing: &Policing, ticks_per_s: f64, now: u64) -> Option<Line> {
        let (algorithm, first_rate, first, second_rate, second) = match policing.profile {
            Profile::SingleRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_burst_bytes,
            } => {
                (SINGLE_RATE, committed_bytes_per_s, committed_burst_bytes, 0.0, excess_burst_bytes)
            }
            Profile::TwoRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                peak_bytes_per_s,
                peak_burst_bytes,
            } => (
                TWO_RATE,
                committed_bytes_per_s,
                committed_burst_bytes,
                peak_bytes_per_s,
                peak_burst_bytes,
            ),
            Profile::InProfile {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_bytes_per_s,
                excess_burst_bytes,
            } => (
                IN_PROFILE,
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_bytes_per_s,
                excess_burst_bytes,
            ),
        };
        let figures = [first_rate, first, second_rate, second];
        let are_figures = figures.iter().all(|&figure| figure.is_finite() && figure >= 0.0);
        are_figures.then(|| Line {
            filled_at: now,
            first,
            first_burst: first,
            first_per_tick: first_rate / ticks_per_s,
            second,
            second_burst: second,
            second_per_tick: second_rate / ticks_per_s,
            parent: policing.parent.map_or(0, |parent| parent + 1),
            algorithm,
            is_colour_aware: policing.is_colour_aware.into(),
            waits: 0,
            unused: 0,
        })
    }

    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.algorithm != 0
    }

    #[inline(always)]
    pub fn parent(&self) -> Option<u32> {
        self.parent.checked_sub(1)
    }

    /// What came in since the last frame; what does not fit is lost, but for RFC 2697's overflow.
    #[inline(always)]
    pub fn refill(&mut self, now: u64) {
        let ticks = now.saturating_sub(self.filled_at) as f64;
        self.filled_at = self.filled_at.max(now);
        let first = self.first + ticks * self.first_per_tick;
        self.first = first.min(self.first_burst);
        let overflow = if self.algorithm == SINGLE_RATE { first - self.first } else { 0.0 };
        let second = self.second + ticks * self.second_per_tick + overflow;
        self.second = second.min(self.second_burst);
    }

    /// The same policer without tokens of its own, which it gets from common buckets.
    #[must_use]
    pub fn emptied(self) -> Line {
        Line { first: 0.0, second: 0.0, filled_at: 0, waits: 0, ..self }
    }

    /// What comes of common buckets, so that there is enough for a frame if they have it.
    #[inline]
    pub fn refill_of(&mut self, common: &Buckets, lots: f64, length: f64, now: u64) {
        if now >= self.filled_at {
            self.waits = 0;
        }
        let is_short = [self.first < length, self.second < length];
        let asks =
            [is_short[0] && self.waits & FIRST == 0, is_short[1] && self.waits & SECOND == 0];
        if asks == [false; 2] {
            return;
        }
        let figures = Figures {
            first_burst: self.first_burst,
            first_per_tick: self.first_per_tick,
            second_burst: self.second_burst,
            second_per_tick: self.second_per_tick,
            overflows: self.algorithm == SINGLE_RATE,
        };
        if asks[0] {
            let lot = (length - self.first).max(self.first_burst * lots);
            match common.take_first(&figures, lot, now) {
                Ok(()) => self.first += lot,
                Err(until) => self.wait(FIRST, until),
            }
        }
        if asks[1] {
            let lot = (length - self.second).max(self.second_burst * lots);
            match common.take_second(&figures, lot, now) {
                Ok(()) => self.second += lot,
                Err(until) => self.wait(SECOND, until),
            }
        }
    }

    /// A common bucket gives nothing until then.
    fn wait(&mut self, bucket: u8, until: u64) {
        self.filled_at = if self.waits == 0 { until } else { self.filled_at.min(until) };
        self.waits |= bucket;
    }

    /// The colour of a frame, by RFC 2697 section 3, RFC 2698 section 3, RFC 4115 section 3.
    #[inline(always)]
    pub fn judge(&self, length: f64, colour: Colour) -> Colour {
        let colour = if self.is_colour_aware != 0 { colour } else { Colour::Green };
        let (in_first, in_second) = (length <= self.first, length <= self.second);
        let is_green =
            colour == Colour::Green && in_first && (in_second || self.algorithm != TWO_RATE);
        let is_yellow = colour != Colour::Red && in_second;
        match (is_green, is_yellow) {
            (true, _) => Colour::Green,
            (false, true) => Colour::Yellow,
            (false, false) => Colour::Red,
        }
    }

    /// Takes a frame's tokens for the colour that [`Line::judge`] gave it.
    #[inline(always)]
    pub fn charge(&mut self, length: f64, colour: Colour) {
        let takes_second =
            colour == Colour::Yellow || colour == Colour::Green && self.algorithm == TWO_RATE;
        self.first -= if colour == Colour::Green { length } else { 0.0 };
        self.second -= if takes_second { length } else { 0.0 };
    }
}

/// Values of `algorithm`; 0 is no policer.
const SINGLE_RATE: u8 = 1;
const TWO_RATE: u8 = 2;
const IN_PROFILE: u8 = 3;

/// Bits of `waits`.
const FIRST: u8 = 1;
const SECOND: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_is_a_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }
}
