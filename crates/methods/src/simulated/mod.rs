//! Devices that exist only as arithmetic, to prove methods on: the true answer is known.
//!
//! Deterministic from a seed, instantaneous, and free of packets. A device is built from behaviours
//! that can be combined, a file for each kind: what becomes of frames at a steady load (`capacity`:
//! a capacity, noise of it from trial to trial, a bucket of tokens, slowing down with time, loss at
//! low loads, stalls, reordering), what of bursts and of an overload that ends (`burst`: a buffer,
//! and how it comes back), how long frames take (`latency`), what changes at run time cost
//! (`changes`), what age does (`ageing`), policers (`policers`), floods beside the load (`floods`),
//! a restart on the way (`restart`), a path that fails (`path`), sessions that it holds
//! (`sessions`), and clients that take up so much in it (`population`).

mod ageing;
mod burst;
mod capacity;
mod changes;
mod floods;
mod latency;
mod path;
mod policers;
mod population;
mod random;
mod restart;
mod routing;
mod sessions;

use std::time::Duration;

use measure::{
    Conditions, Load, MeasureError, Measurer, Population, Pps, SessionLoad, SessionsThere, Stage,
    StageRole, Trial, TrialProgress, Watch,
};

pub use ageing::Ageing;
pub use changes::Changes;
pub use floods::Suffered;
pub use path::WatchedPath;
pub use routing::Reflecting;
pub use sessions::{Sessions, Standby, WhenFull};

use burst::Buffer;
use capacity::{Capacity, Forwarding, TICKS_PER_SECOND};
use floods::Floods;
use policers::{Policers, User};
use population::Populated;
use random::SplitMix;
use restart::restart;
use sessions::Table;

/// A simulated device with its tester.
#[derive(Clone, Debug)]
pub struct Simulated {
    forwarding: Forwarding,
    buffer: Buffer,
    interrupt_after: Option<usize>,
    conditions: Conditions,
    policers: Option<Policers>,
    changes: Option<Changes>,
    ageing: Option<(Ageing, Duration)>,
    floods: Floods,
    restart: Option<Duration>,
    path: Option<WatchedPath>,
    sessions: Option<Table>,
    populated: Option<Populated>,
    trials: usize,
    simulated: Duration,
}

impl Simulated {
    /// A device that forwards up to `capacity_pps` in each of two directions and loses the rest.
    pub fn fixed(capacity_pps: f64) -> Self {
        Self {
            forwarding: Forwarding {
                capacity: Capacity::fixed(capacity_pps),
                tester_pps_max: f64::INFINITY,
                wire_share: 1.0,
                flooded_share: 1.0,
                random: SplitMix(1),
            },
            buffer: Buffer::default(),
            interrupt_after: None,
            conditions: Conditions::default(),
            policers: None,
            changes: None,
            ageing: None,
            floods: Floods::default(),
            restart: None,
            path: None,
            sessions: None,
            populated: None,
            trials: 0,
            simulated: Duration::ZERO,
        }
    }

    /// Limits the tester's rate per port and direction.
    pub fn tester_limited(mut self, pps: f64) -> Self {
        self.forwarding.tester_pps_max = pps;
        self
    }

    /// Makes the wire in the device's place carry this fraction of the tester's rate only.
    pub fn slow_wire(mut self, share: f64) -> Self {
        self.forwarding.wire_share = share;
        self
    }

    /// Makes the wire carry this fraction only while it is asked for more than the tester's rate.
    pub fn flooded_wire(mut self, share: f64) -> Self {
        self.forwarding.flooded_share = share;
        self
    }

    /// Makes the user stop the run after this number of trials.
    pub fn interrupted_after(mut self, trials: usize) -> Self {
        self.interrupt_after = Some(trials);
        self
    }

    /// Sets the seed of all random numbers.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.forwarding.random = SplitMix(seed);
        self
    }

    /// Makes the device age from now on.
    pub fn ageing(mut self, ageing: Ageing) -> Self {
        self.ageing = Some((ageing, self.simulated));
        self
    }

    /// A new device of the same kind, with an age of zero.
    pub fn restarted(mut self) -> Self {
        let now = self.simulated;
        self.ageing.iter_mut().for_each(|(_, since)| *since = now);
        self
    }

    /// Makes the capacity differ from trial to trial by up to this fraction.
    pub fn noisy(mut self, fraction: f64) -> Self {
        self.forwarding.capacity.noise = fraction;
        self
    }

    /// Makes the device lose this fraction of the frames below `pps`.
    pub fn lossy_below(mut self, pps: f64, fraction: f64) -> Self {
        self.forwarding.capacity.low_load_loss = Some((pps, fraction));
        self
    }

    /// Makes the worker stall once in a trial with this probability, for this time in nanoseconds.
    pub fn stalling(mut self, probability: f64, stall_ns: u64) -> Self {
        self.forwarding.capacity.stall = Some((probability, stall_ns));
        self
    }

    /// Makes the device forward this number of frames per trial above its capacity, like a full
    /// token bucket or a large buffer.
    pub fn bucket(mut self, frames: u64) -> Self {
        self.forwarding.capacity.bucket_frames = frames;
        self
    }

    /// Reduces the capacity to `pps` after this time of a trial, so that only longer trials show
    /// loss above that load.
    pub fn slower_after(mut self, time: Duration, pps: f64) -> Self {
        self.forwarding.capacity.slower = Some((time, pps));
        self
    }

    /// Makes this fraction of the frames arrive late, behind their successors, above `pps`.
    pub fn reordering_above(mut self, pps: f64, fraction: f64) -> Self {
        self.forwarding.capacity.reordering = Some((pps, fraction));
        self
    }

    /// Gives the device a buffer of this number of frames per direction, for bursts and steps of
    /// the load.
    pub fn buffered(mut self, frames: u64) -> Self {
        self.buffer.frames = frames;
        self
    }

    /// Makes the device accept no frames after an overflow until its buffer is empty, once the load
    /// falls.
    pub fn draining_first(mut self) -> Self {
        self.buffer.drains_first = true;
        self
    }

    /// Makes the device change at run time, at the rate of the conditions; never by itself.
    pub fn changing(mut self, changes: Changes) -> Self {
        self.changes = Some(changes);
        self
    }

    /// Makes the device suffer these floods; it answers all pings, which are the last kind.
    pub fn suffering(mut self, floods: &[Suffered]) -> Self {
        self.floods = Floods(floods.to_vec());
        self
    }

    /// Polices the traffic of `users` subscribers at `bytes_per_s` in each direction, with bursts
    /// of `burst_bytes`.
    pub fn policing(mut self, users: usize, bytes_per_s: f64, burst_bytes: f64) -> Self {
        self.policers = Some(Policers::new(users, bytes_per_s, burst_bytes));
        self
    }

    /// Makes the policer of subscriber *n* wrong by this fraction of its rate.
    pub fn policer_errors(mut self, error: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.error = error(number));
        self
    }

    /// Sets the rate of subscriber *n*, in bytes per second.
    pub fn policer_rates(mut self, bytes_per_s: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.bytes_per_s = bytes_per_s(number));
        self
    }

    /// Sets the weight of subscriber *n* in the traffic; the default is 1.
    pub fn traffic_weights(mut self, weight: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.weight = weight(number));
        self
    }

    /// Draws the frames of subscribers at random: their number has a Poisson deviation.
    pub fn scattered(mut self) -> Self {
        self.policers.iter_mut().for_each(|policers| policers.scattered = true);
        self
    }

    /// Makes the device lose this fraction of conforming frames, too.
    pub fn losing_conforming(mut self, fraction: f64) -> Self {
        self.policers.iter_mut().for_each(|policers| policers.conforming_lost = fraction);
        self
    }

    fn each_user(&mut self, change: impl Fn(usize, &mut User)) {
        let users = self.policers.iter_mut().flat_map(|policers| &mut policers.users);
        users.enumerate().for_each(|(number, user)| change(number, user));
    }

    /// Makes the traffic that of clients with this number of entries; each log message has 100
    /// bytes.
    pub fn populated(
        mut self,
        population: Population,
        tables: &[(&'static str, u64)],
        reports_per_s: [f64; 2],
    ) -> Self {
        self.populated = Some(Populated { population, tables: tables.to_vec(), reports_per_s });
        self
    }

    /// Makes the device restartable, with this outage.
    pub fn restarting_in(mut self, outage: Duration) -> Self {
        self.restart = Some(outage);
        self
    }

    /// Makes the device watch the path to a neighbour.
    pub fn watching(mut self, path: WatchedPath) -> Self {
        self.path = Some(path);
        self
    }

    /// A device whose traffic opens sessions.
    pub fn holding(mut self, behaviour: Sessions) -> Self {
        self.sessions = Some(Table::new(behaviour));
        self
    }

    /// Number of trials carried out.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// Number of sessions that the device holds.
    pub fn sessions_open(&self) -> u64 {
        self.sessions.as_ref().map_or(0, |table| table.open)
    }

    /// Total simulated duration of the trials.
    pub fn simulated(&self) -> Duration {
        self.simulated
    }

    /// What its behaviours do to a trial that was carried out.
    fn behave(&mut self, trial: &mut Trial, duration: Duration) {
        let conditions = &self.conditions;
        let random = &mut self.forwarding.random;
        if conditions.cold_frames {
            let of_function = |stage: &&mut Stage| stage.role == StageRole::Function;
            trial.stages.iter_mut().filter(of_function).for_each(|stage| stage.ticks *= 2);
        }
        if let Some(changes) = &self.changes {
            changes.change(trial, conditions.updates_per_s.unwrap_or(0.0));
        }
        if let Some(policers) = &mut self.policers {
            policers.police(trial, conditions.subscribers_counted as usize, random);
        }
        if let Some((ageing, since)) = self.ageing {
            ageing.age(trial, self.simulated.saturating_sub(since), random);
        }
        self.floods.flood(trial, &conditions.floods);
        if let (Some(outage), Some(after)) = (self.restart, conditions.restart_after) {
            restart(trial, after, outage);
        }
        if let (Some(path), Some(failing)) = (&self.path, &conditions.path_failing) {
            path.fail(trial, failing);
        }
        if let Some(populated) = &self.populated {
            populated.populate(trial, duration);
        }
    }

    /// Makes a trial of sessions, whose duration follows from their rate, plus the wait if one
    /// failed.
    fn carry_sessions(
        &mut self,
        load: SessionLoad,
        wait: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let empty = Trial::new(Load::Sessions(load), wait, TICKS_PER_SECOND);
        let table =
            self.sessions.as_mut().ok_or(MeasureError::Unsupported("it holds no sessions"))?;
        let (mut trial, progress) = table.trial(&load, empty);
        if let Some(after) = self.conditions.fail_over_after {
            table.fail_over(&load, after, &mut trial);
        }
        let is_whole = progress.sent == progress.received;
        self.simulated += trial.effective + if is_whole { Duration::ZERO } else { wait };
        watch.at(progress);
        Ok(trial)
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
        let by = &mut self.forwarding;
        let asked_per_s = self.conditions.updates_per_s.unwrap_or(0.0);
        let unchanged = self.changes.as_ref().map_or(1.0, |one| one.unchanged_share(asked_per_s));
        let whole_pps = by.capacity.pps;
        let left_pps = (whole_pps - self.floods.cost_pps(&self.conditions.floods)).max(0.0);
        by.capacity.pps = left_pps * unchanged;
        let mut trial = match load {
            Load::ClosedLoop => by.closed_loop(load, duration),
            Load::PerInterface(rate) => by.open_loop(load, rate.0, duration),
            Load::Burst { frames, rate } => self.buffer.burst(by, load, (frames, rate.0), duration),
            Load::Step { first, after, then } => {
                self.buffer.step(by, load, (first.0, after, then.0), duration)
            }
            Load::Sessions(_) => unreachable!("these are carried apart"),
        };
        by.capacity.pps = whole_pps;
        self.behave(&mut trial, duration);
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
        if conditions.path_failing.is_some() && self.path.is_none() {
            return Err(MeasureError::Unsupported("it watches no neighbour"));
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
        Ok(Some(self.forwarding.wire(Load::PerInterface(rate), duration)))
    }

    fn floods(&self) -> Vec<&'static str> {
        self.floods.names()
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.sessions.as_ref().map(Table::there)
    }

    fn synchronise(&mut self, _: Duration) -> Result<bool, MeasureError> {
        let synchronises = self.sessions.as_ref().and_then(Table::synchronises);
        synchronises.ok_or(MeasureError::Unsupported("it has no standby"))
    }

    fn population(&self) -> Option<Population> {
        self.populated.as_ref().map(|populated| populated.population)
    }

    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        let table = self.sessions.as_mut();
        table.map(Table::clear).ok_or(MeasureError::Unsupported("it holds no sessions"))
    }
}
