//! Devices that exist only as arithmetic, to prove methods on: the true answer is known.
//!
//! Deterministic from a seed, instantaneous, and free of packets. A device is built from behaviours
//! that can be combined, a file for each kind: what becomes of frames at a steady load
//! (`capacity`: a capacity, noise of it from trial to trial, a bucket of tokens, slowing down with
//! time, loss at low loads, stalls, reordering), what of bursts and of an overload that ends
//! (`burst`: a buffer, and how it comes back), how long frames take (`latency`), what
//! changes at run time cost (`changes`), what age does (`ageing`), policers (`policers`), floods beside
//! the load (`floods`), a restart on the way (`restart`), sessions that it holds (`sessions`), and clients that take
//! up so much in it (`population`).

mod ageing;
mod burst;
mod capacity;
mod changes;
mod floods;
mod latency;
mod policers;
mod population;
mod restart;
mod sessions;

use std::time::Duration;

use measure::{
    Conditions, Load, MeasureError, Measurer, Population, Pps, SessionsThere, Stage, StageRole,
    Trial, TrialProgress, Watch, WorkerTime,
};

pub use ageing::Ageing;
use burst::Buffer;
use capacity::Capacity;
pub use changes::Changes;
pub use floods::Suffered;
pub use sessions::{Sessions, Standby, WhenFull};

/// A simulated device with its tester.
#[derive(Clone, Debug)]
pub struct Simulated {
    capacity: Capacity,
    buffer: Buffer,
    tester_pps_max: f64,
    interrupt_after: Option<usize>,
    conditions: Conditions,
    policers: Option<policers::Policers>,
    changes: Option<Changes>,
    ageing: Option<(Ageing, Duration)>,
    floods: Vec<Suffered>,
    restart: Option<Duration>,
    sessions: Option<sessions::Table>,
    populated: Option<population::Populated>,
    random: SplitMix,
    trials: usize,
    simulated: Duration,
}

impl Simulated {
    /// A device that forwards up to `capacity_pps` in each of two directions and loses the rest.
    pub fn fixed(capacity_pps: f64) -> Self {
        Self {
            capacity: Capacity::fixed(capacity_pps),
            buffer: Buffer::default(),
            tester_pps_max: f64::INFINITY,
            interrupt_after: None,
            conditions: Conditions::default(),
            policers: None,
            changes: None,
            ageing: None,
            floods: Vec::new(),
            restart: None,
            sessions: None,
            populated: None,
            random: SplitMix(1),
            trials: 0,
            simulated: Duration::ZERO,
        }
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

    fn closed_loop(&mut self, load: Load, duration: Duration) -> Trial {
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
        if let Load::Sessions(sessions) = load {
            return self.carry_sessions(sessions, duration, watch);
        }
        self.simulated += duration;
        let whole_pps = self.capacity.pps;
        self.capacity.pps = self.capacity_left() * self.unchanged_share();
        let mut trial = match load {
            Load::ClosedLoop => self.closed_loop(load, duration),
            Load::PerInterface(rate) => self.open_loop(load, rate.0, duration),
            Load::Burst { frames, rate } => self.burst(load, (frames, rate.0), duration),
            Load::Step { first, after, then } => {
                self.step(load, (first.0, after, then.0), duration)
            }
            Load::Sessions(_) => unreachable!("these are carried apart"),
        };
        self.capacity.pps = whole_pps;
        self.change(&mut trial);
        self.police(&mut trial);
        self.age(&mut trial);
        self.flood(&mut trial);
        self.restart_within(&mut trial);
        self.populate(&mut trial, duration);
        watch.at(TrialProgress {
            elapsed: duration,
            sent: trial.sent(),
            received: trial.received(),
        });
        Ok(trial)
    }

    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        if conditions.subscribers_counted > 0 && self.policers.is_none() {
            return Err(MeasureError::Unsupported("it has no policers"));
        }
        if conditions.restart_after.is_some() && self.restart.is_none() {
            return Err(MeasureError::Unsupported("it cannot be restarted"));
        }
        let has_standby = self.sessions.as_ref().is_some_and(|one| one.synchronises().is_some());
        if conditions.fail_over_after.is_some() && !has_standby {
            return Err(MeasureError::Unsupported("it has no standby"));
        }
        self.conditions = *conditions;
        Ok(())
    }

    fn tester_alone(
        &mut self,
        rate: Pps,
        duration: Duration,
        _: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        let sent_pps = rate.0.min(self.tester_pps_max);
        Ok(Some(self.wire(Load::PerInterface(rate), sent_pps, duration)))
    }

    fn floods(&self) -> Vec<&'static str> {
        self.flood_names()
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.sessions.as_ref().map(sessions::Table::there)
    }

    fn synchronise(&mut self, _: Duration) -> Result<bool, MeasureError> {
        let synchronises = self.sessions.as_ref().and_then(sessions::Table::synchronises);
        synchronises.ok_or(MeasureError::Unsupported("it has no standby"))
    }

    fn population(&self) -> Option<Population> {
        self.populated.as_ref().map(|populated| populated.population)
    }

    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        let table = self.sessions.as_mut();
        table.map(sessions::Table::clear).ok_or(MeasureError::Unsupported("it holds no sessions"))
    }
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

/// Ticks of the longest batch.
const LONGEST_BATCH_TICKS: u64 = 50_000;

const TICKS_PER_SECOND: f64 = 2.5e9;
const FRAME_LEN_BYTES: u64 = 64;
