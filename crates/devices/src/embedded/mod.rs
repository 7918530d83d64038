//! A function of this program as a device: its workers on pinned threads of this process.
//!
//! ```text
//! closed loop   core 1: generator > worker > generator            how fast is the worker itself
//! open loop     core 0: tester ==ring==> core 1: worker           how fast without loss
//!                       tester <==ring==
//! check         one thread, frame by frame, simulated time        is it right
//! ```
//! The worker and its function are the same in all three; only what its ports are differs. The
//! tester steers frames to workers by subscriber, as a network card with the right filter would.

mod check;
mod closed_loop;
mod device;
mod generator;
mod links;
mod open_loop;
mod restart;
mod standby;
mod wire;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use device::Lane;
pub use device::{Embedded, Host};
use engine::{Counts, Drops, Function, StageTotals, Worker};
use function_kit::{NetworkFunction, SetupError, Shard};
use measure::record::Check;
use measure::{
    Conditions, Load, MeasureError, Measurer, Population, Pps, SessionLoad, SessionsThere, Stage,
    StageRole, TableUse, Trial, Watch,
};
use model_kit::{Configured, Model, WorkloadOf};
use packet::BATCH_MAX;
use traffic::{Floods, Frames, Workload};

use crate::room;
use crate::sessions::{self, Opened};
use crate::tester::thread::{device_error, stalls};

impl<N: Model> Embedded<N> {
    /// Creates the function with the configured number of workers.
    ///
    /// # Errors
    /// When the state does not fit into memory.
    pub fn open(model: Configured<N>, host: Host) -> Result<Embedded<N>, SetupError> {
        let start = Instant::now();
        let workload = model.workload(host.clock);
        let lanes = lanes(&model, &workload, &host)?;
        let setup = start.elapsed();
        let conditions = Conditions::default();
        let sessions = Opened::new(workload);
        Ok(Embedded { model, host, lanes, setup, conditions, changed: false, sessions })
    }

    /// Returns the time that the set-up took.
    pub fn setup_time(&self) -> Duration {
        self.setup
    }

    /// Returns the bytes of state of all workers.
    pub fn state_bytes(&mut self) -> u64 {
        self.lanes.iter_mut().map(|lane| lane.worker.function_mut().state_bytes() as u64).sum()
    }

    /// Compares a sample that covers every verdict with the oracle, on each worker.
    ///
    /// # Errors
    /// When memory or the state is not available.
    pub fn check(&mut self) -> Result<Check, MeasureError> {
        self.restore()?;
        self.changed = true;
        check::check(self)
    }

    /// Restores the configured state if changes were applied.
    fn restore(&mut self) -> Result<(), MeasureError> {
        if self.changed {
            self.lanes.clear();
            let workload = self.model.workload(self.host.clock);
            self.lanes = lanes(&self.model, &workload, &self.host).map_err(device_error)?;
            self.changed = false;
            self.sessions = Opened::new(workload);
        }
        Ok(())
    }

    fn shards(&self) -> u32 {
        self.lanes.len() as u32
    }

    fn workload(&self) -> WorkloadOf<N> {
        let twin = self.sessions.twin();
        twin.unwrap_or_else(|| self.model.workload(self.host.clock))
    }

    /// Opens, uses or closes sessions of the traffic.
    fn run_sessions(
        &mut self,
        load: SessionLoad,
        wait: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        self.sessions.accept(&load)?;
        let mut trial = open_loop::run_sessions(self, (load, wait), watch)?;
        if let Some(counts) = &mut trial.sessions {
            counts.held = self.held();
            self.sessions.note(&load, counts);
        }
        Ok(trial)
    }

    /// Returns the number of sessions that the function reports.
    fn held(&mut self) -> Option<u64> {
        self.tables().into_iter().find(|table| table.name == "sessions").map(|table| table.entries)
    }

    /// Returns the occupancy of the function's tables, summed over all workers.
    fn tables(&mut self) -> Vec<TableUse> {
        let empty = |name: &&str| TableUse { name: (*name).to_owned(), entries: 0 };
        let mut tables: Vec<TableUse> = N::Unit::TABLES.iter().map(empty).collect();
        for lane in &mut self.lanes {
            let sizes = N::Unit::table_sizes(lane.worker.function_mut());
            tables.iter_mut().zip(sizes).for_each(|(table, size)| table.entries += size.used);
        }
        tables
    }

    fn is_interrupted(&self) -> bool {
        self.host.stop.load(Ordering::Relaxed)
    }

    fn counts(&self) -> Counts {
        let names = N::Unit::names(&self.model.config);
        let mut sum = Counts::zero(names.drops, names.tallies.len());
        self.lanes.iter().for_each(|lane| sum.add(&lane.worker.counts()));
        sum
    }

    /// Adds the stages, drops and stalls of all workers since `before` to a trial, whose rings
    /// bridge a gap of `bridged`.
    fn finish(&mut self, trial: &mut Trial, before: &Counts, bridged: Duration) {
        let names = N::Unit::names(&self.model.config);
        let mut stages = StageTotals::default();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let taken = lane.worker.take_stages();
            stages.ticks.iter_mut().zip(taken.ticks).for_each(|(sum, ticks)| *sum += ticks);
            stages.packets.iter_mut().zip(taken.packets).for_each(|(sum, count)| *sum += count);
            stages.longest_batch = stages.longest_batch.max(taken.longest_batch);
            let gaps = lane.worker.take_gaps();
            trial.stalls.push(stalls(format!("worker {index}"), gaps, bridged, &self.host.clock));
        }
        trial.stages = stages_of(names.stages, &stages);
        trial.longest_batch_ticks = Some(stages.longest_batch);
        let counts = self.counts().since(before);
        trial.drops = drops_of(names.drops, &counts);
        trial.tester_ring_full = counts.transmit_full;
        trial.resident_bytes = Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0);
    }
}

impl<N: Model> Measurer for Embedded<N> {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        self.restore()?;
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
        }
        if let Load::Sessions(load) = load {
            let trial = self.run_sessions(load, duration, watch);
            return if self.is_interrupted() { Err(MeasureError::Interrupted) } else { trial };
        }
        if self.conditions.fail_over_after.is_some() {
            return Err(MeasureError::Unsupported(SESSIONS_ONLY));
        }
        if let Some(load) = self.sessions.missing() {
            let trial = self.run_sessions(load, sessions::WAIT, watch)?;
            if self.is_interrupted() {
                return Err(MeasureError::Interrupted);
            }
            sessions::all_open(&trial)?;
        }
        let trial = match load {
            Load::ClosedLoop if !is_plain(&self.conditions) => {
                return Err(MeasureError::Unsupported(OPEN_LOOP_ONLY));
            }
            Load::ClosedLoop if self.population().is_some() => {
                return Err(MeasureError::Unsupported(BY_THE_CLOCK));
            }
            Load::ClosedLoop if self.model.replay.as_ref().is_some_and(|it| it.is_timed()) => {
                return Err(MeasureError::Unsupported(AS_FAST_AS_CAN_BE));
            }
            Load::ClosedLoop => closed_loop::run(self, duration, watch),
            open_loop => open_loop::run(self, open_loop, duration, watch)
                .map(|trial| Trial { tables: self.tables(), ..trial }),
        };
        self.changed |= self.sessions.are_others_behind_a_trial();
        self.sessions.restarted(self.conditions.restart_after.is_some());
        if self.is_interrupted() { Err(MeasureError::Interrupted) } else { trial }
    }

    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        has_what_is_asked(&self.workload(), conditions)?;
        if conditions.fail_over_after.is_some() && !self.has_standby() {
            return Err(MeasureError::Unsupported(standby::NO_STANDBY));
        }
        self.conditions = *conditions;
        Ok(())
    }

    fn synchronise(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        self.follow(patience)
    }

    fn tester_alone(
        &mut self,
        rate: Pps,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
        }
        let trial = open_loop::run_wire(self, Load::PerInterface(rate), duration, watch)?;
        if self.is_interrupted() { Err(MeasureError::Interrupted) } else { Ok(Some(trial)) }
    }

    fn floods(&self) -> Vec<&'static str> {
        self.workload().floods().iter().map(|flood| flood.name).collect()
    }

    fn captured_rate(&self) -> Option<Pps> {
        self.model.replay.as_ref()?.rate_per_s().map(Pps)
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.sessions.there()
    }

    fn population(&self) -> Option<Population> {
        self.workload().population().map(sessions::population)
    }

    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        self.changed = true;
        self.restore()
    }
}

/// Returns true if the conditions consist of the load only.
fn is_plain(conditions: &Conditions) -> bool {
    let Conditions { restart_after, path_failing, floods, .. } = *conditions;
    restart_after.is_none() && path_failing.is_none() && floods == [None; 2]
}

/// Checks that a workload has the changes, subscribers and floods that the conditions request;
/// applies to any device.
///
/// # Errors
/// The missing part.
pub(crate) fn has_what_is_asked(
    workload: &impl Workload,
    conditions: &Conditions,
) -> Result<(), MeasureError> {
    if conditions.updates_per_s.is_some_and(|rate| rate > 0.0) && workload.events().is_empty() {
        return Err(MeasureError::Unsupported(NOTHING_CHANGES));
    }
    if conditions.subscribers_counted > 0 && workload.policer().is_none() {
        return Err(MeasureError::Unsupported(NO_POLICER));
    }
    if conditions.path_failing.is_some() && workload.far_end().is_none() {
        return Err(MeasureError::Unsupported(NOT_WATCHED));
    }
    let floods = workload.floods().len();
    if conditions.floods.iter().flatten().any(|flood| flood.kind >= floods) {
        return Err(MeasureError::Unsupported(NO_FLOODS));
    }
    Ok(())
}

fn lanes<N: Model>(
    model: &Configured<N>,
    workload: &WorkloadOf<N>,
    host: &Host,
) -> Result<Vec<Lane<N>>, SetupError> {
    let count = model.workers() as u32;
    let room = room::room_for(workload);
    (0..count)
        .map(|index| {
            let shard = Shard { index, count };
            let mut function = model.function(shard, host.clock, machine::clock::now())?;
            let machines = device::drive::<N::Unit>(&mut function)?;
            let (worker, handle) = Worker::new(function, Vec::new(), BATCH_MAX, room)
                .map_err(|source| SetupError::Memory { what: "a batch", source })?;
            let core = host.worker_cores[index as usize % host.worker_cores.len()];
            Ok(Lane { worker, handle, core, machines })
        })
        .collect()
}

fn stages_of(names: &[&str], totals: &StageTotals) -> Vec<Stage> {
    let transmit = names.len() + 1;
    std::iter::once("receive")
        .chain(names.iter().copied())
        .chain(["transmit", "tick"])
        .enumerate()
        .map(|(index, name)| Stage {
            name: name.to_owned(),
            role: if index == 0 || index == transmit {
                StageRole::Bench
            } else {
                StageRole::Function
            },
            packets: totals.packets[index],
            ticks: totals.ticks[index],
        })
        .collect()
}

fn drops_of(names: Drops, counts: &Counts) -> Vec<(String, u64)> {
    let named = names.0.iter().zip(&counts.dropped).filter(|&(_, &count)| count > 0);
    let mut drops: Vec<_> = named.map(|(name, &count)| ((*name).to_owned(), count)).collect();
    if counts.transmit_full > 0 {
        drops.push(("transmit-ring-full".to_owned(), counts.transmit_full));
    }
    drops
}

/// Error text: why updates at a rate cannot be requested.
const NOTHING_CHANGES: &str =
    "this traffic has no changes; set the rate of a kind of change in `function`";

/// Error text: why no path can fail.
const NOT_WATCHED: &str = "this function watches no neighbour; give a next hop of l3-router `bfd`";

/// Error text: why there are no floods.
const NO_FLOODS: &str = "this function has no address of its own, so floods cannot be sent to it";

/// Error text: why a closed loop supports neither floods nor restarts.
const OPEN_LOOP_ONLY: &str = "a closed loop supports no floods, restarts and failures";

/// Error text: in which trials a standby can take over.
pub(crate) const SESSIONS_ONLY: &str = "a standby can only take over while sessions are opened or \
                                        used";

/// Error text: why clients cannot be accelerated.
const BY_THE_CLOCK: &str = "its clients act in real time; use the method `occupancy`";

/// Error text: why a closed loop cannot keep the times of a capture.
const AS_FAST_AS_CAN_BE: &str =
    "a closed loop sends as fast as it can; set `pcap-timing: even`, or measure with a load";

/// Error text: why bytes by subscriber cannot be counted.
const NO_POLICER: &str = "this function has no policers for subscribers";
