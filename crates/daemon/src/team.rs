//! The workers of one function: their state, their threads, and everything asked of them.
//!
//! Whatever is asked waits for the workers' answers, so that it has happened when the call returns.
//! Changes keep their order on each worker; several go through the queue together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};

use engine::steering::worker_of;
use engine::{Function, Order, Plane, Port, Refusal, Tap};
use functions::{AnyUpdate, Configured, Invalid, Running, Shard, TablePage};
use host::Machines;
use machine::clock::{self, Clock, Ticks};
use serde_json::Value;

use crate::before::{Before, unusable};
use crate::controller::Settled;
use crate::error::RunError;
use crate::machines;
use crate::member::{Member, Patience};
use crate::read;
use crate::state::Memory;
use crate::unit::{Launch, Refused, Sizes, Words, Work};

mod shown;

/// State of all workers before they run.
pub(crate) struct Prepared {
    config: Arc<dyn Configured>,
    functions: Vec<Box<dyn Running>>,
    clock: Clock,
}

impl Prepared {
    /// Builds the state of this number of workers, and lets them know what was known before.
    pub fn build(
        function: &read::Function,
        workers: usize,
        clock: Clock,
        before: Option<&mut Before>,
    ) -> Result<Prepared, RunError> {
        let config = &function.configured;
        // What was known came on top of the keys under which it was kept.
        let first = match &before {
            None => Arc::clone(config),
            Some(before) => {
                let keys = before.function().as_object().cloned().unwrap_or_default();
                let bad = |bad: Invalid| unusable(format!("its function section: {}", bad.what));
                function.kind.read(keys).map_err(bad)?.with_secrets_of(&**config)
            }
        };
        let now = clock::now();
        let build = |index| first.function(shard(index, workers), clock, now);
        let functions = (0..workers).map(build).collect::<Result<_, _>>();
        let functions =
            functions.map_err(|error| RunError::setup(error, "configure less, or free memory"))?;
        let mut prepared = Prepared { config: Arc::clone(config), functions, clock };
        if let Some(before) = before {
            prepared.remember(before, &*first)?;
        }
        Ok(prepared)
    }

    /// Applies what was known before, then the difference to the current keys.
    fn remember(&mut self, before: &mut Before, first: &dyn Configured) -> Result<(), RunError> {
        let differing =
            first.difference(&*self.config).map_err(|Invalid { key, what, .. }| {
                unusable(format!("it was saved under another `{key}`, which {what}"))
            })?;
        while let Some(update) = before.next(&*self.config)? {
            self.apply(&update).or_else(|why| before.refuse(why))?;
        }
        before.tell()?;
        differing.iter().try_for_each(|update| self.apply(update).map_err(unusable))
    }

    /// Applies a change on the workers that it concerns, and returns why one of them refuses it.
    fn apply(&mut self, update: &AnyUpdate) -> Result<(), String> {
        let (count, steering) = (self.functions.len(), self.config.steering(update));
        let mut outcome = Ok(());
        for (index, function) in self.functions.iter_mut().enumerate() {
            if steering.is_none_or(|bits| worker(bits, count) == index)
                && let Err(why) = function.apply(update.clone(), clock::now())
            {
                outcome = Err(format!("{update:?}: {why}"));
            }
        }
        outcome
    }

    /// Returns what [`Team::changes`] does once they run, without waiting for any of them.
    pub fn changes(&self) -> Vec<AnyUpdate> {
        let (now, count) = (clock::now(), self.functions.len());
        let of = |(index, function): (usize, &dyn Running)| {
            let found = self.config.memory(shard(index, count), function, now);
            found.into_iter().filter(move |update| {
                // What all workers know is told once.
                index == 0 || self.config.steering(update).is_some()
            })
        };
        self.functions.iter().map(|function| &**function).enumerate().flat_map(of).collect()
    }
}

fn shard(index: usize, workers: usize) -> Shard {
    Shard { index: index as u32, count: workers as u32 }
}

fn worker(steering: u32, workers: usize) -> usize {
    worker_of(steering, workers as u32) as usize
}

impl Prepared {
    /// Starts a worker for each list of queues.
    ///
    /// # Errors
    /// When a thread or the memory of a batch is not available.
    pub fn launch(
        self,
        queues: Vec<Vec<Box<dyn Port>>>,
        launch: &Launch,
    ) -> Result<Team, RunError> {
        let Prepared { config, mut functions, clock } = self;
        let stop = Arc::new(AtomicBool::new(false));
        let machines = Machines::default();
        let mut team = Team { config, members: Vec::new(), machines, clock, stop };
        let mut mesh =
            match team.config.hands_over() && functions.len() > 1 {
                true => port_memory::mesh(functions.len(), team.config.ports().len()).map_err(
                    |error| RunError::setup(format!("no memory between workers: {error}"), ""),
                )?,
                false => Vec::new(),
            };
        mesh.resize_with(functions.len(), Vec::new);
        let machines = functions.iter_mut().flat_map(|function| function.machines()).collect();
        team.machines = machines::drive(machines, &launch.observer)?;
        let all = functions.into_iter().zip(queues).zip(mesh).enumerate();
        for (index, ((function, mut queues), towards_workers)) in all {
            queues.extend(towards_workers);
            let core = launch.cores.get(index).copied().unwrap_or_default();
            team.members.push(Member::start(function, queues, core, launch, &team.stop)?);
        }
        Ok(team)
    }
}

/// The workers of a running function. Dropping it ends them.
pub(crate) struct Team {
    config: Arc<dyn Configured>,
    members: Vec<Member>,
    /// What is beside their functions.
    machines: Machines,
    clock: Clock,
    stop: Arc<AtomicBool>,
}

/// Pending changes of one worker: their indices in the list, in order.
type UnderWay = VecDeque<usize>;

/// Outcome of a change.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// Bit mask of the workers that applied it.
    applied: u64,
    /// Time at which the last worker applied it.
    applied_at: Ticks,
    refusal: Option<Refusal>,
}

impl Team {
    /// Returns a bit mask of the workers that a change concerns.
    fn concerned(&self, update: &AnyUpdate) -> u64 {
        match self.config.steering(update) {
            Some(bits) => 1 << worker(bits, self.members.len()),
            None => u64::MAX >> (64 - self.members.len().clamp(1, 64)),
        }
    }

    /// Applies changes, each on its workers, and returns the outcomes.
    fn change(&mut self, changes: &[(AnyUpdate, u64)]) -> Result<Vec<Outcome>, Refused> {
        let mut outcomes = vec![Outcome::default(); changes.len()];
        let mut under_way: Vec<UnderWay> = self.members.iter().map(|_| UnderWay::new()).collect();
        for (place, (update, workers)) in changes.iter().enumerate() {
            for index in (0..self.members.len()).filter(|index| workers >> index & 1 == 1) {
                let mut patience = Patience::new();
                while under_way[index].len() >= IN_FLIGHT_MAX
                    || self.members[index].handle.controller.request(update.clone()).is_err()
                {
                    if !self.settle(index, &mut under_way[index], &mut outcomes) {
                        let member = &self.members[index];
                        patience.wait(member.core, member.thread.as_ref())?;
                    }
                }
                under_way[index].push_back(place);
            }
        }
        for (index, waiting) in under_way.iter_mut().enumerate() {
            let mut patience = Patience::new();
            while !waiting.is_empty() {
                if self.settle(index, waiting, &mut outcomes) {
                    patience = Patience::new();
                } else {
                    let member = &self.members[index];
                    patience.wait(member.core, member.thread.as_ref())?;
                }
            }
        }
        Ok(outcomes)
    }

    /// Processes a worker's acknowledgement; returns false if there is none.
    fn settle(&mut self, index: usize, waiting: &mut UnderWay, outcomes: &mut [Outcome]) -> bool {
        let mut any = false;
        while let Some(told) = self.members[index].handle.controller.acknowledged() {
            any = true;
            let Some(place) = waiting.pop_front() else { continue };
            let outcome = &mut outcomes[place];
            match told.outcome {
                Ok(()) => {
                    outcome.applied |= 1 << index;
                    outcome.applied_at = outcome.applied_at.max(told.applied_at);
                }
                Err(refusal) => outcome.refusal = Some(refusal),
            }
        }
        any
    }

    /// Undoes the applied changes in reverse order, each on the workers that applied it.
    fn undo(&mut self, done: &[(AnyUpdate, u64)], outcomes: &[Outcome]) -> Result<(), Refused> {
        let pairs = done.iter().zip(outcomes).filter(|(_, outcome)| outcome.applied != 0);
        let (applied, workers): (Vec<AnyUpdate>, Vec<u64>) =
            pairs.map(|((update, _), outcome)| (update.clone(), outcome.applied)).unzip();
        let back = self.config.undoing(&applied);
        let changes: Vec<(AnyUpdate, u64)> =
            back.into_iter().zip(workers.into_iter().rev()).collect();
        let outcomes = self.change(&changes)?;
        let failed = outcomes.iter().filter(|outcome| outcome.refusal.is_some()).count();
        if failed > 0 {
            let what = format!("{failed} of {} changes could not be undone", changes.len());
            return Err(Refused::new(what, "restart the daemon"));
        }
        Ok(())
    }
}

impl Team {
    /// Returns the names of the counters.
    pub fn words(&self) -> Words {
        let names = self.config.names();
        Words {
            stages: names.stages,
            drops: names.drops.0,
            tallies: names.tallies,
            tables: self.config.tables(),
        }
    }

    /// Takes the other ends of the workers' planes, in the order of the workers.
    pub fn take_planes(&mut self) -> Vec<Plane> {
        self.members.iter_mut().filter_map(|member| member.plane.take()).collect()
    }

    /// The thread of the first worker, who takes what the host sends.
    pub fn first_thread(&self) -> Option<Thread> {
        self.members.first()?.thread.as_ref().map(|thread| thread.thread().clone())
    }

    /// Returns each worker's counters and times.
    pub fn work(&self) -> Vec<Work> {
        let of = |member: &Member| Work {
            core: member.core,
            pinned: member.pinned,
            counts: member.handle.counters.read(),
            stages: member.supervisor.totals.stages(),
            gaps: member.supervisor.totals.gaps(),
        };
        self.members.iter().map(of).collect()
    }

    /// Returns the first worker whose thread has ended.
    pub fn lost(&self) -> Option<usize> {
        let gone = |member: &Member| member.thread.as_ref().is_none_or(JoinHandle::is_finished);
        self.members.iter().position(gone)
    }

    /// Applies one change, in the form of the function's control, and returns the time at which it
    /// took effect.
    ///
    /// # Errors
    /// Why the change was refused; the function is then unchanged.
    pub fn update(&mut self, update: &Value) -> Result<Ticks, Refused> {
        let update = self.config.update(update).map_err(|bad| {
            let what = Invalid { section: "", ..bad }.to_string();
            Refused::new(what, "`plumbline set --help` shows the forms")
        })?;
        let workers = self.concerned(&update);
        let outcomes = self.change(&[(update, workers)])?;
        let outcome = outcomes.first().copied().unwrap_or_default();
        match outcome.refusal {
            None => Ok(outcome.applied_at),
            Some(refusal) if outcome.applied == 0 => Err(Refused::new(refusal.to_string(), "")),
            Some(refusal) => {
                let what = format!(
                    "{refusal}, but only on some workers: {} of {} applied the change",
                    outcome.applied.count_ones(),
                    workers.count_ones()
                );
                Err(Refused::new(what, "revert it by the opposite change"))
            }
        }
    }

    /// Applies the updates of a controller in their order, and returns what became of them, in
    /// runs.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn control(&mut self, updates: Vec<AnyUpdate>) -> Result<Vec<Settled>, Refused> {
        if self.members.len() == 1 {
            return self.control_one(updates);
        }
        let changes: Vec<(AnyUpdate, u64)> =
            updates.into_iter().map(|update| (self.concerned(&update), update)).map(swap).collect();
        let outcomes = self.change(&changes)?;
        let settled = |outcome: &Outcome| match outcome.refusal {
            None => Settled::Applied { count: 1, at: outcome.applied_at },
            Some(refusal) => Settled::Refused(refusal),
        };
        Ok(outcomes.iter().map(settled).collect())
    }

    /// The same for a single worker, in bulk.
    fn control_one(&mut self, mut updates: Vec<AnyUpdate>) -> Result<Vec<Settled>, Refused> {
        let Some(Member { core, handle, thread, .. }) = self.members.first_mut() else {
            return Ok(Vec::new());
        };
        let (mut left, mut settled) = (updates.len() as u64, Vec::new());
        let mut patience = Patience::new();
        while let Err(back) = handle.controller.request_bulk(updates) {
            updates = back;
            patience.wait(*core, thread.as_ref())?;
        }
        let mut patience = Patience::new();
        while left > 0 {
            let Some(told) = handle.controller.acknowledged() else {
                patience.wait(*core, thread.as_ref())?;
                continue;
            };
            patience = Patience::new();
            left = left.saturating_sub(told.count);
            settled.push(match told.outcome {
                Ok(()) => Settled::Applied { count: told.count, at: told.applied_at },
                Err(refusal) => Settled::Refused(refusal),
            });
        }
        Ok(settled)
    }

    /// Returns the number of changes that [`Team::reconfigure`] would apply.
    ///
    /// # Errors
    /// A key that needs a restart.
    pub fn difference(&self, wanted: &dyn Configured) -> Result<usize, Refused> {
        Ok(self.config.difference(wanted)?.len())
    }

    /// Applies the difference to another configuration as a whole.
    ///
    /// # Errors
    /// A key that needs a restart, or a change that was refused; the function is then unchanged.
    pub fn reconfigure(&mut self, wanted: Arc<dyn Configured>) -> Result<(), Refused> {
        let changes: Vec<(AnyUpdate, u64)> = self
            .config
            .difference(&*wanted)?
            .into_iter()
            .map(|update| (self.concerned(&update), update))
            .map(swap)
            .collect();
        let outcomes = self.change(&changes)?;
        let refused = outcomes.iter().position(|outcome| outcome.refusal.is_some());
        if let Some(place) = refused {
            let refusal = outcomes[place].refusal.map(|why| why.to_string()).unwrap_or_default();
            let what = format!("{:?} was refused: {refusal}", changes[place].0);
            self.undo(&changes, &outcomes)
                .map_err(|error| Refused::new(format!("{what}; {}", error.what), error.remedy))?;
            return Err(Refused::new(what, "first revert the conflicting change by control"));
        }
        self.config = wanted;
        Ok(())
    }

    /// Replaces the queues of a port, one for each worker; the old ones are dropped.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn swap(&mut self, port: usize, queues: Vec<Box<dyn Port>>) -> Result<(), Refused> {
        for (member, queue) in self.members.iter_mut().zip(queues) {
            member.carry_out(Order::Swap(port, queue))?;
        }
        Ok(())
    }

    /// Sets or removes a tap on each worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn tap(&mut self, taps: Vec<Option<Box<dyn Tap>>>) -> Result<(), Refused> {
        for (member, tap) in self.members.iter_mut().zip(taps) {
            member.carry_out(Order::Tap(tap))?;
        }
        Ok(())
    }

    /// Returns the occupancy of each table and the bytes of state, by worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn sizes(&mut self) -> Result<Vec<Sizes>, Refused> {
        let look = |function: &mut Box<dyn Running>| Sizes {
            tables: function.table_sizes(),
            state_bytes: function.state_bytes(),
            standby: function.standby(),
        };
        self.members.iter_mut().map(|member| member.look(look)).collect()
    }

    /// Returns a page of entries of a table of one worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn page(
        &mut self,
        worker: usize,
        table: usize,
        from: u64,
        limit: usize,
    ) -> Result<TablePage, Refused> {
        let Some(member) = self.members.get_mut(worker) else {
            return Err(Refused::new(format!("there is no worker {worker}"), ""));
        };
        member.look(move |function| function.table_page(table, from, limit, clock::now()))
    }

    /// Returns the changes that came by control or were learned.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn memory(&mut self) -> Result<Memory, Refused> {
        let updates = self.changes()?.iter().map(AnyUpdate::value).collect();
        Ok(Memory { function: Value::Object(self.config.keys()), updates })
    }

    /// Returns the same as updates.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn changes(&mut self) -> Result<Vec<AnyUpdate>, Refused> {
        let mut updates = Vec::new();
        let count = self.members.len();
        for (index, member) in self.members.iter_mut().enumerate() {
            let config = Arc::clone(&self.config);
            let shard = shard(index, count);
            let mut parts: Vec<AnyUpdate> = Vec::new();
            loop {
                // Between two batches each, so that no packet waits for all of it.
                let (config, last) = (Arc::clone(&config), parts.last().cloned());
                let part = member.look(move |function| {
                    config.memory_part(shard, &**function, clock::now(), last.as_ref())
                })?;
                if part.is_empty() {
                    break;
                }
                parts.extend(part);
            }
            let found = self.config.remembered(parts);
            // What all workers know is kept once.
            let is_new = |update: &&AnyUpdate| index == 0 || self.config.steering(update).is_some();
            updates.extend(found.into_iter().filter(|update| is_new(&update)));
        }
        Ok(updates)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for member in &mut self.members {
            // A worker that panicked has told so already.
            let _ = member.thread.take().map(JoinHandle::join);
        }
        tracing::debug!(ticks_per_second = self.clock.ticks_per_second(), "workers ended");
    }
}

fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

/// Largest number of pending changes per worker; below the worker's own limit.
const IN_FLIGHT_MAX: usize = 2048;
