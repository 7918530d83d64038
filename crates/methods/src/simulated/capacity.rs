//! What becomes of frames at a steady load: capacities that hold, that wander, that wear off.

use std::time::Duration;

use measure::{Direction, Load, Stalls, Trial};

use super::latency::{self, latency};
use super::{FRAME_LEN_BYTES, Simulated, SplitMix};

/// How many frames a second are forwarded, and what disturbs that.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    pub(super) pps: f64,
    noise: f64,
    low_load_loss: Option<(f64, f64)>,
    stall: Option<(f64, u64)>,
    bucket_frames: u64,
    slower: Option<(Duration, f64)>,
    reordering: Option<(f64, f64)>,
}

impl Capacity {
    pub(super) fn fixed(pps: f64) -> Self {
        Self {
            pps,
            noise: 0.0,
            low_load_loss: None,
            stall: None,
            bucket_frames: 0,
            slower: None,
            reordering: None,
        }
    }

    /// The factor by which a trial's capacity differs.
    pub(super) fn noise(&self, random: &mut SplitMix) -> f64 {
        1.0 + self.noise * (2.0 * random.fraction() - 1.0)
    }

    /// How long its worker stalls in a trial, in nanoseconds.
    pub(super) fn stall_ns(&self, random: &mut SplitMix) -> u64 {
        match self.stall {
            Some((probability, ns)) if random.fraction() < probability => ns,
            _ => 0,
        }
    }

    /// How many frames it can forward in so many seconds.
    fn frames(&self, seconds: f64, noise: f64) -> u64 {
        let (fast, slow_pps) = match self.slower {
            Some((after, pps)) => (seconds.min(after.as_secs_f64()), pps),
            None => (seconds, 0.0),
        };
        let frames = self.pps * noise * fast + slow_pps * noise * (seconds - fast);
        (frames as u64).saturating_add(self.bucket_frames)
    }
}

/// Behaviours that can be combined.
impl Simulated {
    /// Its capacity differs from trial to trial by up to this fraction either way.
    pub fn noisy(mut self, fraction: f64) -> Self {
        self.capacity.noise = fraction;
        self
    }

    /// Below `pps` it loses this fraction of the frames, however few there are.
    pub fn lossy_below(mut self, pps: f64, fraction: f64) -> Self {
        self.capacity.low_load_loss = Some((pps, fraction));
        self
    }

    /// With this probability its worker stalls once in a trial, for so many nanoseconds.
    pub fn stalling(mut self, probability: f64, stall_ns: u64) -> Self {
        self.capacity.stall = Some((probability, stall_ns));
        self
    }

    /// It forwards so many frames of a trial above its capacity, as a full bucket of tokens or a
    /// large buffer does.
    pub fn bucket(mut self, frames: u64) -> Self {
        self.capacity.bucket_frames = frames;
        self
    }

    /// After so much of a trial its capacity is only `pps`, so that loss at loads above that shows
    /// in longer trials alone.
    pub fn slower_after(mut self, time: Duration, pps: f64) -> Self {
        self.capacity.slower = Some((time, pps));
        self
    }

    /// Above `pps` this fraction of the frames comes late, behind their successors.
    pub fn reordering_above(mut self, pps: f64, fraction: f64) -> Self {
        self.capacity.reordering = Some((pps, fraction));
        self
    }

    pub(super) fn open_loop(&mut self, load: Load, pps: f64, duration: Duration) -> Trial {
        let seconds = duration.as_secs_f64();
        let noise = self.capacity.noise(&mut self.random);
        let stall_ns = self.capacity.stall_ns(&mut self.random);
        let intended = (pps * seconds).round() as u64;
        let sent = intended.min((self.tester_pps_max * seconds) as u64);
        let taken = sent.min(self.capacity.frames(seconds, noise));
        let stalled = ((pps * stall_ns as f64 * 1e-9) as u64).saturating_sub(RING_FRAMES);
        let share = |part: Option<(f64, f64)>, holds: fn(f64, f64) -> bool| match part {
            Some((limit, fraction)) if holds(pps, limit) => (sent as f64 * fraction).ceil() as u64,
            _ => 0,
        };
        let low = share(self.capacity.low_load_loss, |pps, limit| pps < limit);
        let reordered = share(self.capacity.reordering, |pps, limit| pps > limit);
        let lost = (sent - taken + stalled + low).min(sent);
        let utilisation = (pps / self.capacity.pps).min(latency::UTILISATION_MAX);
        let direction = |name: &str| Direction {
            name: name.into(),
            intended,
            sent,
            received: sent - lost,
            lost,
            ring_full: (lost - low.min(lost)).min(lost),
            duplicated: 0,
            reordered: reordered.min(sent - lost),
            misdelivered: 0,
            sent_bytes: sent * FRAME_LEN_BYTES,
            latency_ns: latency(utilisation, stall_ns),
            last_lost_ns: None,
        };
        Trial {
            directions: vec![direction("uplink"), direction("downlink")],
            stalls: vec![stalls(stall_ns)],
            ..self.empty(load, duration, 2 * (sent - lost))
        }
    }

    /// A wire in the device's place: it forwards whatever the tester sends.
    pub(super) fn wire(&self, load: Load, sent_pps: f64, duration: Duration) -> Trial {
        let seconds = duration.as_secs_f64();
        let intended = (load.rate().map_or(0.0, |rate| rate.0) * seconds).round() as u64;
        let sent = intended.min((sent_pps * seconds) as u64);
        let direction = |name: &str| Direction {
            name: name.into(),
            intended,
            sent,
            received: sent,
            lost: 0,
            ring_full: 0,
            duplicated: 0,
            reordered: 0,
            misdelivered: 0,
            sent_bytes: sent * FRAME_LEN_BYTES,
            latency_ns: latency(0.0, 0),
            last_lost_ns: None,
        };
        Trial {
            directions: vec![direction("uplink"), direction("downlink")],
            ..self.empty(load, duration, 0)
        }
    }
}

/// What the worker notices of a stall.
pub(super) fn stalls(stall_ns: u64) -> Stalls {
    Stalls {
        thread: "worker 0".into(),
        count: u64::from(stall_ns > 0),
        total_ns: stall_ns,
        longest_ns: stall_ns,
        threshold_ns: 10_000,
    }
}

/// What the receive ring holds while the worker stalls.
const RING_FRAMES: u64 = 4096;
