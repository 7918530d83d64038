//! Bursts, and an overload that ends, against a buffer of known size.
//!
//! Frames come at a rate, leave at the capacity, and wait in the buffer in between; what finds it
//! full is lost. So a burst of `buffer / (1 - capacity / rate)` frames is the longest without loss,
//! and an overload leaves the buffer full. A device that drains first takes nothing in until its
//! buffer has emptied, which takes `buffer / capacity` after the overload has ended.

use std::time::Duration;

use measure::{Direction, Load, Trial};

use super::capacity::stalls;
use super::latency::{UTILISATION_MAX, latency};
use super::{FRAME_LEN_BYTES, Simulated};

/// What waits in front of the worker, in each direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffer {
    frames: u64,
    drains_first: bool,
}

/// Behaviours that can be combined.
impl Simulated {
    /// Its buffer holds so many frames of each direction in bursts and at steps of the load.
    pub fn buffered(mut self, frames: u64) -> Self {
        self.buffer.frames = frames;
        self
    }

    /// Once its buffer overflowed and the load falls, it takes nothing in until the buffer is empty.
    pub fn draining_first(mut self) -> Self {
        self.buffer.drains_first = true;
        self
    }

    pub(super) fn burst(&mut self, load: Load, burst: (u64, f64), duration: Duration) -> Trial {
        let (intended, rate) = (burst.0, burst.1.min(self.tester_pps_max));
        let noise = self.capacity.noise(&mut self.random);
        let stall_ns = self.capacity.stall_ns(&mut self.random);
        let sent = intended.min((rate * duration.as_secs_f64()) as u64);
        let seconds = sent as f64 / rate;
        let served = self.capacity.pps * noise * (seconds - stall_ns as f64 * 1e-9).max(0.0);
        let lost = (sent as f64 - served - self.buffer.frames as f64).max(0.0).ceil() as u64;
        let counts = Counts { intended, sent, lost, last_lost: seconds };
        let effective = Duration::from_secs_f64(seconds);
        self.trial_of(load, (duration, effective), counts, stall_ns)
    }

    pub(super) fn step(
        &mut self,
        load: Load,
        step: (f64, Duration, f64),
        duration: Duration,
    ) -> Trial {
        let (over, rest) = (step.1.min(duration), duration.saturating_sub(step.1));
        let capacity = self.capacity.pps * self.capacity.noise(&mut self.random);
        let (before, after) = (over.as_secs_f64(), rest.as_secs_f64());
        let sent_at = |pps: f64, seconds: f64| (pps.min(self.tester_pps_max) * seconds) as u64;
        let (first, then) = (sent_at(step.0, before), sent_at(step.2, after));
        let waiting = (first as f64 - capacity * before).max(0.0);
        let buffer = self.buffer.frames as f64;
        let lost_first = (waiting - buffer).max(0.0);
        let draining = match self.buffer.drains_first && lost_first > 0.0 {
            true => (buffer / capacity).min(after),
            false => 0.0,
        };
        let lost = (lost_first + step.2 * draining).round() as u64;
        let intended = ((step.0 * before).round() + (step.2 * after).round()) as u64;
        let counts = Counts { intended, sent: first + then, lost, last_lost: before + draining };
        self.trial_of(load, (duration, duration), counts, 0)
    }

    fn trial_of(
        &self,
        load: Load,
        (duration, effective): (Duration, Duration),
        counts: Counts,
        stall_ns: u64,
    ) -> Trial {
        let lost = counts.lost.min(counts.sent);
        let received = counts.sent - lost;
        let direction = |name: &str| Direction {
            name: name.into(),
            intended: counts.intended,
            sent: counts.sent,
            received,
            lost,
            ring_full: lost,
            duplicated: 0,
            reordered: 0,
            misdelivered: 0,
            sent_bytes: counts.sent * FRAME_LEN_BYTES,
            latency_ns: latency(UTILISATION_MAX, stall_ns),
            last_lost_ns: (lost > 0).then_some((counts.last_lost * 1e9) as u64),
        };
        Trial {
            effective,
            directions: vec![direction("uplink"), direction("downlink")],
            stalls: vec![stalls(stall_ns)],
            ..self.empty(load, duration, 2 * received)
        }
    }
}

/// What became of the frames of one direction.
struct Counts {
    intended: u64,
    sent: u64,
    lost: u64,
    /// When the last lost frame was sent, in seconds.
    last_lost: f64,
}
