//! What becomes of frames at a steady load: capacities that hold, that wander, that wear off.

use std::time::Duration;

use measure::{Direction, Load, Stage, StageRole, Stalls, Trial, WorkerTime, validity};

use super::latency::{self, latency};
use super::random::SplitMix;

/// Forwarding capacity in frames per second, and its disturbances.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    pub(super) pps: f64,
    pub(super) noise: f64,
    pub(super) low_load_loss: Option<(f64, f64)>,
    pub(super) stall: Option<(f64, u64)>,
    pub(super) bucket_frames: u64,
    pub(super) slower: Option<(Duration, f64)>,
    pub(super) reordering: Option<(f64, f64)>,
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

    /// Factor by which a trial's capacity differs.
    pub(super) fn noise(&self, random: &mut SplitMix) -> f64 {
        1.0 + self.noise * (2.0 * random.fraction() - 1.0)
    }

    /// Duration of the worker's stalls in a trial, in nanoseconds.
    pub(super) fn stall_ns(&self, random: &mut SplitMix) -> u64 {
        match self.stall {
            Some((probability, ns)) if random.fraction() < probability => ns,
            _ => 0,
        }
    }

    /// Number of frames that it can forward in the given number of seconds.
    fn frames(&self, seconds: f64, noise: f64) -> u64 {
        let (fast, slow_pps) = match self.slower {
            Some((after, pps)) => (seconds.min(after.as_secs_f64()), pps),
            None => (seconds, 0.0),
        };
        let frames = self.pps * noise * fast + slow_pps * noise * (seconds - fast);
        (frames as u64).saturating_add(self.bucket_frames)
    }
}

/// A tester, and a device that forwards what it sends.
#[derive(Clone, Debug)]
pub(super) struct Forwarding {
    pub(super) capacity: Capacity,
    pub(super) tester_pps_max: f64,
    /// Part of the tester's rate that a wire carries.
    pub(super) wire_share: f64,
    /// Part of that which it carries of a higher load.
    pub(super) flooded_share: f64,
    pub(super) random: SplitMix,
}

impl Forwarding {
    pub(super) fn closed_loop(&mut self, load: Load, duration: Duration) -> Trial {
        let noise = self.capacity.noise(&mut self.random);
        let packets = (self.capacity.pps * noise * duration.as_secs_f64()) as u64;
        let ticks = TICKS_PER_SECOND * duration.as_secs_f64();
        let stage = |name: &str, role, share: f64, packets| Stage {
            name: name.into(),
            role,
            packets,
            ticks: (ticks * share) as u64,
        };
        Trial {
            stages: vec![
                stage("source", StageRole::Bench, 0.2, packets),
                stage("decap", StageRole::Function, 0.3, packets / 2),
                stage("route", StageRole::Function, 0.4, packets),
                stage("sink", StageRole::Bench, 0.1, packets),
            ],
            longest_batch_ticks: Some(LONGEST_BATCH_TICKS),
            ..empty(load, duration, packets)
        }
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
            ..empty(load, duration, 2 * (sent - lost))
        }
    }

    /// A wire in the device's place: it forwards everything that the tester sends.
    pub(super) fn wire(&self, load: Load, duration: Duration) -> Trial {
        let seconds = duration.as_secs_f64();
        let asked_pps = load.rate().map_or(0.0, |rate| rate.0);
        let most_pps = self.tester_pps_max * self.wire_share;
        let sent_pps = match asked_pps > most_pps {
            true => most_pps * self.flooded_share,
            false => asked_pps,
        };
        let intended = (asked_pps * seconds).round() as u64;
        let sent = intended.min((sent_pps * seconds).round() as u64);
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
            ..empty(load, duration, 0)
        }
    }
}

/// A trial of which only the worker is known.
pub(super) fn empty(load: Load, duration: Duration, packets: u64) -> Trial {
    let wall_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Trial {
        effective: duration,
        workers: vec![WorkerTime { worker: 0, core: Some(0), cpu_ns: wall_ns, wall_ns, packets }],
        ..Trial::new(load, duration, TICKS_PER_SECOND)
    }
}

/// The stall record of the worker.
pub(super) fn stalls(stall_ns: u64) -> Stalls {
    Stalls {
        thread: "worker 0".into(),
        count: u64::from(stall_ns > 0),
        total_ns: stall_ns,
        longest_ns: stall_ns,
        threshold_ns: 10_000,
        long_ns: if stall_ns > validity::STALL_NS_HARMLESS { stall_ns } else { 0 },
    }
}

/// Number of frames that the receive ring holds while the worker stalls.
const RING_FRAMES: u64 = 4096;

/// Ticks of the longest batch.
const LONGEST_BATCH_TICKS: u64 = 50_000;

pub(super) const TICKS_PER_SECOND: f64 = 2.5e9;
pub(super) const FRAME_LEN_BYTES: u64 = 64;
