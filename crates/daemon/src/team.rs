//! The workers of one function: their state, their threads, and everything asked of them.
//!
//! Whatever is asked waits for the workers' answers, so that it has happened when the call returns.
//! Changes keep their order on each worker; several go through the queue together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};

use engine::steering::worker_of;
use engine::{Function, Order, Plane, Port, Refusal, Tap};
use function_kit::Sought;
use functions::{AnyUpdate, Configured, Invalid, Running, Shard, TablePage};
use host::Machines;
use machine::clock::{self, Clock, Ticks};
use serde_json::{Value, json};

use crate::controller::Settled;
use crate::member::{Member, Patience};
use crate::piece::unreadable;
use crate::state::Memory;
use crate::unit::{Refused, Sizes, Words, Work};

pub(crate) mod prepared;
mod shown;

/// The workers of a running function. Dropping it ends them.
pub(crate) struct Team {
    config: Arc<dyn Configured>,
    members: Vec<Member>,
    /// What is beside their functions.
    machines: Machines,
    clock: Clock,
    stop: Arc<AtomicBool>,
}

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

    /// Applies changes, each on its workers, and returns the outcomes. Many go to a worker
    /// together, which applies a number of them between two batches.
    fn change(&mut self, changes: &[(AnyUpdate, u64)]) -> Result<Vec<Outcome>, Refused> {
        let mut outcomes = vec![Outcome::default(); changes.len()];
        for (part, outcomes) in changes.chunks(BULK_MAX).zip(outcomes.chunks_mut(BULK_MAX)) {
            let mut under_way = Vec::with_capacity(self.members.len());
            for (index, member) in self.members.iter_mut().enumerate() {
                let its = part.iter().enumerate().filter(|(_, (_, to))| to >> index & 1 == 1);
                let (places, updates): (Vec<usize>, Vec<AnyUpdate>) =
                    its.map(|(place, (update, _))| (place, update.clone())).unzip();
                member.request(updates)?;
                under_way.push(places);
            }
            for (index, (member, places)) in self.members.iter_mut().zip(under_way).enumerate() {
                let (mut places, mut patience) = (places.into_iter().peekable(), Patience::new());
                while places.peek().is_some() {
                    let Some(told) = member.handle.controller.acknowledged() else {
                        patience.wait(member.core, member.thread.as_ref())?;
                        continue;
                    };
                    patience = Patience::new();
                    for place in places.by_ref().take(told.count as usize) {
                        let Some(outcome) = outcomes.get_mut(place) else { continue };
                        match told.outcome {
                            Ok(()) => {
                                outcome.applied |= 1 << index;
                                outcome.applied_at = outcome.applied_at.max(told.applied_at);
                            }
                            Err(refusal) => outcome.refusal = Some(refusal),
                        }
                    }
                }
            }
        }
        Ok(outcomes)
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
            let remedy = match &*bad.remedy {
                "" => "`plumbline set --help` shows the forms".to_owned(),
                remedy => remedy.to_owned(),
            };
            Refused::new(Invalid { section: "", ..bad }.to_string(), remedy)
        })?;
        let workers = self.concerned(&update);
        let changes = [(update, workers)];
        let outcomes = self.change(&changes)?;
        let advice = |why| self.config.advice(&changes[0].0, why);
        let outcome = outcomes.first().copied().unwrap_or_default();
        match outcome.refusal {
            None => Ok(outcome.applied_at),
            Some(refusal) if outcome.applied == 0 => {
                Err(Refused::new(refusal.to_string(), advice(refusal)))
            }
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
        let changes: Vec<(AnyUpdate, u64)> =
            updates.into_iter().map(|update| (self.concerned(&update), update)).map(swap).collect();
        let mut settled = Vec::new();
        for outcome in self.change(&changes)? {
            match (outcome.refusal, settled.last_mut()) {
                (Some(refusal), _) => settled.push(Settled::Refused(refusal)),
                (None, Some(Settled::Applied { count, at })) => {
                    *count += 1;
                    *at = outcome.applied_at.max(*at);
                }
                (None, _) => {
                    settled.push(Settled::Applied { count: 1, at: outcome.applied_at });
                }
            }
        }
        Ok(settled)
    }

    /// Reads a change from the text of its JSON.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub fn read(&self, text: &[u8]) -> Result<AnyUpdate, String> {
        match self.config.update_of(text) {
            Some(read) => read.map_err(|bad| unreadable(Some(bad))),
            None => Err(unreadable(None)),
        }
    }

    /// Returns what helps where a change was refused, by the text of its JSON.
    pub fn advice(&self, text: &[u8], why: Refusal) -> String {
        match self.config.update_of(text) {
            Some(Ok(update)) => self.config.advice(&update, why),
            _ => String::new(),
        }
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

    /// Returns a page of entries of a table of one worker, or those that something is found by;
    /// none if nothing is found in that table. Where no worker is named, it is the first one's,
    /// with the sums of what each worker counts for itself.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn page(
        &mut self,
        (worker, table): (Option<usize>, usize),
        from: u64,
        limit: usize,
        of: Option<Sought>,
    ) -> Result<Option<TablePage>, Refused> {
        let place = (from, limit, of);
        let mut page = self.page_of((worker.unwrap_or(0), table), place)?;
        let name = self.config.tables().get(table).copied().unwrap_or_default();
        let summed = self.config.summed().iter().find(|one| one.table == name);
        if let (Some(page), Some(summed), None) = (&mut page, summed, worker) {
            for other in 1..self.members.len() {
                let others = self.page_of((other, table), place)?.unwrap_or_default();
                add(&mut page.entries, &others.entries, summed.columns);
            }
        }
        Ok(page)
    }

    /// Returns the same of one worker.
    fn page_of(
        &mut self,
        (worker, table): (usize, usize),
        (from, limit, of): (u64, usize, Option<Sought>),
    ) -> Result<Option<TablePage>, Refused> {
        let Some(member) = self.members.get_mut(worker) else {
            return Err(Refused::new(format!("there is no worker {worker}"), ""));
        };
        member.look(move |function| match of {
            None => Some(function.table_page(table, from, limit, clock::now())),
            Some(sought) => function.table_found(table, sought, from, limit, clock::now()),
        })
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

/// Adds what another worker has counted for the same entries, which are otherwise the same and in
/// the same order; a change in between may be missing on either.
fn add(entries: &mut [Value], others: &[Value], columns: &[&str]) {
    let mut others = others.iter();
    for entry in entries {
        let mut rest = others.clone();
        let Some(other) = rest.find(|other| is_same(entry, other, columns)) else { continue };
        others = rest;
        for column in columns {
            let sum = [&entry[*column], &other[*column]].map(|count| count.as_u64().unwrap_or(0));
            entry[*column] = json!(sum[0].saturating_add(sum[1]));
        }
    }
}

/// Whether two entries are the same but for what is counted.
fn is_same(one: &Value, other: &Value, columns: &[&str]) -> bool {
    let counts = |key: &String| columns.contains(&key.as_str());
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return false };
    one.iter().all(|(key, value)| counts(key) || other.get(key) == Some(value))
}

fn shard(index: usize, workers: usize) -> Shard {
    Shard { index: index as u32, count: workers as u32 }
}

fn worker(steering: u32, workers: usize) -> usize {
    worker_of(steering, workers as u32) as usize
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

/// Most changes that go to a worker together.
const BULK_MAX: usize = 1 << 15;
