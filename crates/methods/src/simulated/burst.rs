//! Bursts, and an overload that ends, against a buffer of known size.
//!
//! Frames come at a rate, leave at the capacity, and wait in the buffer in between; what finds it
//! full is lost. So a burst of `buffer / (1 - capacity / rate)` frames is the longest without loss,
//! and an overload leaves the buffer full. A device that drains first takes nothing in until its
//! buffer has emptied, which takes `buffer / capacity` after the overload has ended.

use std::time::Duration;

use measure::{Direction, Load, Trial};

use super::capacity::{FRAME_LEN_BYTES, Forwarding, empty, stalls};
use super::latency::{UTILISATION_MAX, latency};

/// The buffer in front of the worker, in each direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffer {
    pub(super) frames: u64,
    pub(super) drains_first: bool,
}

impl Buffer {
    pub(super) fn burst(
        self,
        by: &mut Forwarding,
        load: Load,
        burst: (u64, f64),
        duration: Duration,
    ) -> Trial {
        let (intended, rate) = (burst.0, burst.1.min(by.tester_pps_max));
        let noise = by.capacity.noise(&mut by.random);
        let stall_ns = by.capacity.stall_ns(&mut by.random);
        let sent = intended.min((rate * duration.as_secs_f64()) as u64);
        let seconds = sent as f64 / rate;
        let served = by.capacity.pps * noise * (seconds - stall_ns as f64 * 1e-9).max(0.0);
        let lost = (sent as f64 - served - self.frames as f64).max(0.0).ceil() as u64;
        let counts = Counts { intended, sent, lost, last_lost: seconds };
        let effective = Duration::from_secs_f64(seconds);
        trial_of(load, (duration, effective), counts, stall_ns)
    }

    pub(super) fn step(
        self,
        by: &mut Forwarding,
        load: Load,
        step: (f64, Duration, f64),
        duration: Duration,
    ) -> Trial {
        let (over, rest) = (step.1.min(duration), duration.saturating_sub(step.1));
        let capacity = by.capacity.pps * by.capacity.noise(&mut by.random);
        let (before, after) = (over.as_secs_f64(), rest.as_secs_f64());
        let sent_at = |pps: f64, seconds: f64| (pps.min(by.tester_pps_max) * seconds) as u64;
        let (first, then) = (sent_at(step.0, before), sent_at(step.2, after));
        let waiting = (first as f64 - capacity * before).max(0.0);
        let buffer = self.frames as f64;
        let lost_first = (waiting - buffer).max(0.0);
        let draining = match self.drains_first && lost_first > 0.0 {
            true => (buffer / capacity).min(after),
            false => 0.0,
        };
        let lost = (lost_first + step.2 * draining).round() as u64;
        let intended = ((step.0 * before).round() + (step.2 * after).round()) as u64;
        let counts = Counts { intended, sent: first + then, lost, last_lost: before + draining };
        trial_of(load, (duration, duration), counts, 0)
    }
}

/// Counters of one direction.
struct Counts {
    intended: u64,
    sent: u64,
    lost: u64,
    /// Time at which the last lost frame was sent, in seconds.
    last_lost: f64,
}

fn trial_of(
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
        ..empty(load, duration, 2 * received)
    }
}
