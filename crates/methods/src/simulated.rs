//! Devices that exist only as arithmetic, to prove methods on: the true answer is known.
//!
//! Deterministic from a seed, instantaneous, and free of packets. A device is built from behaviours
//! that can be combined: a capacity, noise of it from trial to trial, loss at low loads, stalls, a
//! tester that cannot keep up.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::{
    Direction, Load, MeasureError, Measurer, Stage, StageRole, Stalls, Trial, TrialProgress, Watch,
    WorkerTime,
};

/// A simulated device with its tester.
#[derive(Clone, Debug)]
pub struct Simulated {
    capacity_pps: f64,
    noise: f64,
    low_load_loss: Option<(f64, f64)>,
    stall: Option<(f64, u64)>,
    tester_pps_max: f64,
    interrupt_after: Option<usize>,
    random: SplitMix,
    trials: usize,
    simulated: Duration,
}

impl Simulated {
    /// A device that forwards up to `capacity_pps` in each of two directions and loses the rest.
    pub fn fixed(capacity_pps: f64) -> Self {
        Self {
            capacity_pps,
            noise: 0.0,
            low_load_loss: None,
            stall: None,
            tester_pps_max: f64::INFINITY,
            interrupt_after: None,
            random: SplitMix(1),
            trials: 0,
            simulated: Duration::ZERO,
        }
    }

    /// Its capacity differs from trial to trial by up to this fraction either way.
    pub fn noisy(mut self, fraction: f64) -> Self {
        self.noise = fraction;
        self
    }

    /// Below `pps` it loses this fraction of the frames, however few there are.
    pub fn lossy_below(mut self, pps: f64, fraction: f64) -> Self {
        self.low_load_loss = Some((pps, fraction));
        self
    }

    /// With this probability its worker stalls once in a trial, for so many nanoseconds.
    pub fn stalling(mut self, probability: f64, stall_ns: u64) -> Self {
        self.stall = Some((probability, stall_ns));
        self
    }

    /// The tester sends no more than this on each interface.
    pub fn tester_limited(mut self, pps: f64) -> Self {
        self.tester_pps_max = pps;
        self
    }

    /// The user stops it after so many trials.
    pub fn interrupted_after(mut self, trials: usize) -> Self {
        self.interrupt_after = Some(trials);
        self
    }

    /// Draws everything from this seed.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.random = SplitMix(seed);
        self
    }

    /// How many trials it carried out.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// How long they would have taken.
    pub fn simulated(&self) -> Duration {
        self.simulated
    }

    fn open_loop(&mut self, load: Load, pps: f64, duration: Duration) -> Trial {
        let seconds = duration.as_secs_f64();
        let noise = 1.0 + self.noise * (2.0 * self.random.fraction() - 1.0);
        let stall_ns = match self.stall {
            Some((probability, ns)) if self.random.fraction() < probability => ns,
            _ => 0,
        };
        let intended = (pps * seconds).round() as u64;
        let sent = intended.min((self.tester_pps_max * seconds) as u64);
        let taken = sent.min((self.capacity_pps * noise * seconds) as u64);
        let stalled = ((pps * stall_ns as f64 * 1e-9) as u64).saturating_sub(RING_FRAMES);
        let low = match self.low_load_loss {
            Some((below, fraction)) if pps < below => (sent as f64 * fraction).ceil() as u64,
            _ => 0,
        };
        let lost = (sent - taken + stalled + low).min(sent);
        let utilisation = (pps / self.capacity_pps).min(0.99);
        let direction = |name: &str| Direction {
            name: name.into(),
            intended,
            sent,
            received: sent - lost,
            lost,
            ring_full: (lost - low.min(lost)).min(lost),
            duplicated: 0,
            reordered: 0,
            misdelivered: 0,
            sent_bytes: sent * FRAME_LEN_BYTES,
            latency_ns: latency(utilisation, stall_ns),
            last_lost_ns: None,
        };
        Trial {
            directions: vec![direction("uplink"), direction("downlink")],
            stalls: vec![Stalls {
                thread: "worker 0".into(),
                count: u64::from(stall_ns > 0),
                total_ns: stall_ns,
                longest_ns: stall_ns,
                threshold_ns: 10_000,
            }],
            ..self.empty(load, duration, 2 * (sent - lost))
        }
    }

    fn closed_loop(&mut self, load: Load, duration: Duration) -> Trial {
        let noise = 1.0 + self.noise * (2.0 * self.random.fraction() - 1.0);
        let packets = (self.capacity_pps * noise * duration.as_secs_f64()) as u64;
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
            ..self.empty(load, duration, packets)
        }
    }

    fn empty(&self, load: Load, duration: Duration, packets: u64) -> Trial {
        let wall_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Trial {
            effective: duration,
            workers: vec![WorkerTime {
                worker: 0,
                core: Some(0),
                cpu_ns: wall_ns,
                wall_ns,
                packets,
            }],
            ..Trial::new(load, duration, TICKS_PER_SECOND)
        }
    }
}

impl Measurer for Simulated {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        if self.interrupt_after.is_some_and(|after| self.trials >= after) {
            return Err(MeasureError::Interrupted);
        }
        self.trials += 1;
        self.simulated += duration;
        let trial = match load {
            Load::ClosedLoop => self.closed_loop(load, duration),
            Load::PerInterface(rate) => self.open_loop(load, rate.0, duration),
            Load::Burst { .. } | Load::Step { .. } => {
                return Err(MeasureError::Unsupported("bursts and steps of the load"));
            }
        };
        watch.at(TrialProgress {
            elapsed: duration,
            sent: trial.sent(),
            received: trial.received(),
        });
        Ok(trial)
    }
}

/// Latencies of a queue at that utilisation, evenly spread over quantiles so that no randomness is
/// needed; a stall is the largest of them.
fn latency(utilisation: f64, stall_ns: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3)
        .unwrap_or_else(|_| unreachable!("these bounds are allowed"));
    let mean_ns = 2_000.0 / (1.0 - utilisation);
    for quantile in (0..1000).map(|n| (f64::from(n) + 0.5) / 1000.0) {
        histogram.saturating_record((1_000.0 - mean_ns * (1.0 - quantile).ln()) as u64);
    }
    if stall_ns > 0 {
        histogram.saturating_record(stall_ns);
    }
    histogram
}

/// The generator of Steele, Lea and Flood: enough for noise, and the same on every machine.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// A number from 0 (included) to 1 (excluded).
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

const TICKS_PER_SECOND: f64 = 2.5e9;
const LATENCY_NS_MAX: u64 = 60_000_000_000;
const FRAME_LEN_BYTES: u64 = 64;

/// What the receive ring holds while the worker stalls.
const RING_FRAMES: u64 = 4096;
