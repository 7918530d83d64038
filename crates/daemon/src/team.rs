//! The workers of one function: their state, their threads, and everything asked of them.
//!
//! Whatever is asked waits for the workers' answers, so that it has happened when the call returns.
//! Changes keep their order on each worker; several go through the queue together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{Done, Function, Idle, Order, Port, Refusal, Supervisor, Tap, Worker, WorkerHandle};
use functions::{NetworkFunction, Shard, TablePage};
use machine::clock::{self, Clock, Ticks};
use machine::cpu::pin_current_thread;
use serde_json::Value;
use traffic::workload::worker_of;

use crate::error::RunError;
use crate::state::Memory;
use crate::unit::{self, Launch, Refused, Running, Sizes, Words, Work, parsed, validated};

/// The state of all workers, before they run.
pub(crate) struct Prepared<N: NetworkFunction> {
    config: N::Config,
    functions: Vec<N::Function>,
    clock: Clock,
}

impl<N: NetworkFunction> Prepared<N> {
    /// Builds the state of so many workers.
    pub fn build(
        config: &N::Config,
        workers: usize,
        clock: Clock,
        memory: Option<&Memory>,
    ) -> Result<Prepared<N>, RunError> {
        // The memory tells what came on top of the keys it was kept under.
        let first = match memory {
            None => config.clone(),
            Some(memory) => validated::<N>(memory.function.clone())
                .map_err(|bad| unusable(format!("its function section: {}", bad.what)))?,
        };
        let now = clock::now();
        let mut functions = Vec::with_capacity(workers);
        for index in 0..workers {
            let shard = shard(index, workers);
            let mut function = N::function(&first, shard, clock, now)
                .map_err(|error| RunError::setup(error, "ask for less, or free memory"))?;
            if let Some(memory) = memory {
                remember::<N>(&mut function, memory, index, workers, (&first, config))?;
            }
            functions.push(function);
        }
        Ok(Prepared { config: config.clone(), functions, clock })
    }
}

/// Leads a new function to what a memory holds, then to the keys that hold now.
fn remember<N: NetworkFunction>(
    function: &mut N::Function,
    memory: &Memory,
    index: usize,
    workers: usize,
    (first, wanted): (&N::Config, &N::Config),
) -> Result<(), RunError> {
    let differing = N::difference(first, wanted).map_err(|invalid| {
        unusable(format!("it was kept under another `{}`, which {}", invalid.key, invalid.what))
    })?;
    let kept = memory.updates.iter().map(|update| {
        parsed::<N::Update>(update.clone())
            .map_err(|bad| unusable(format!("an update in it: {}", bad.what)))
    });
    for update in kept.chain(differing.into_iter().map(Ok)) {
        let update = update?;
        let own = N::steering(wanted, &update).is_none_or(|bits| worker(bits, workers) == index);
        if own {
            function
                .apply(update.clone(), clock::now())
                .map_err(|refusal| unusable(format!("{update:?}: {refusal}")))?;
        }
    }
    Ok(())
}

fn unusable(what: String) -> RunError {
    RunError::setup(
        format!("the state file does not fit: {what}"),
        "start with `--without-state` (the file is replaced when the daemon stops), or bring back \
         the configuration it was kept under",
    )
}

fn shard(index: usize, workers: usize) -> Shard {
    Shard { index: index as u32, count: workers as u32 }
}

fn worker(steering: u32, workers: usize) -> usize {
    worker_of(steering, workers as u32) as usize
}

impl<N: NetworkFunction> unit::Prepared for Prepared<N> {
    fn launch(
        self: Box<Self>,
        queues: Vec<Vec<Box<dyn Port>>>,
        launch: &Launch,
    ) -> Result<Box<dyn Running>, RunError> {
        let Prepared { config, functions, clock } = *self;
        let stop = Arc::new(AtomicBool::new(false));
        let mut team = Team::<N> { config, members: Vec::new(), clock, stop };
        let mut mesh = match N::HANDS_OVER && functions.len() > 1 {
            true => port_memory::mesh(functions.len(), N::ports(&team.config).len()).map_err(
                |error| RunError::setup(format!("no memory between workers: {error}"), ""),
            )?,
            false => Vec::new(),
        };
        mesh.resize_with(functions.len(), Vec::new);
        let all = functions.into_iter().zip(queues).zip(mesh).enumerate();
        for (index, ((function, mut queues), towards_workers)) in all {
            queues.extend(towards_workers);
            let core = launch.cores.get(index).copied().unwrap_or_default();
            team.members.push(Member::start(function, queues, core, launch, &team.stop)?);
        }
        Ok(Box::new(team))
    }
}

/// The workers of a function that forwards.
struct Team<N: NetworkFunction> {
    config: N::Config,
    members: Vec<Member<N>>,
    clock: Clock,
    stop: Arc<AtomicBool>,
}

/// A worker with its thread.
struct Member<N: NetworkFunction> {
    core: usize,
    pinned: bool,
    handle: WorkerHandle<N::Update>,
    supervisor: Supervisor<N::Function>,
    thread: Option<JoinHandle<()>>,
}

impl<N: NetworkFunction> Member<N> {
    fn start(
        function: N::Function,
        queues: Vec<Box<dyn Port>>,
        core: usize,
        launch: &Launch,
        stop: &Arc<AtomicBool>,
    ) -> Result<Member<N>, RunError> {
        let no_memory = |error| RunError::setup(format!("no memory for a batch: {error}"), "");
        let (mut worker, handle) =
            Worker::new(function, queues, launch.batch, launch.room).map_err(no_memory)?;
        let supervisor = worker.supervise();
        let (stop, idle) = (Arc::clone(stop), Idle::from(launch.rest));
        let (tell, told) = mpsc::sync_channel(1);
        let body = move || {
            let _ = tell.send(pin_current_thread(core));
            worker.run_resting(&stop, idle);
        };
        let thread = thread::Builder::new()
            .name(format!("worker-{core}"))
            .spawn(body)
            .map_err(|error| RunError::setup(format!("no thread for a worker: {error}"), ""))?;
        let pinned = told.recv().unwrap_or(false);
        if !pinned {
            tracing::warn!(core, "a worker could not be pinned to its core");
        }
        Ok(Member { core, pinned, handle, supervisor, thread: Some(thread) })
    }

    /// Gives an order and waits for what it leaves behind.
    fn carry_out(&mut self, order: Order<N::Function>) -> Result<Done<N::Function>, Refused> {
        self.supervisor.order(order).map_err(|_| silent(self.core))?;
        let mut patience = Patience::new();
        loop {
            match self.supervisor.done() {
                Some(done) => return Ok(done),
                None => patience.wait(self.core, self.thread.as_ref())?,
            }
        }
    }

    /// What a look at the function yields.
    fn look<T: Send + 'static>(
        &mut self,
        mut look: impl FnMut(&mut N::Function) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let (tell, told) = mpsc::sync_channel(1);
        let look = move |function: &mut N::Function| {
            let _ = tell.try_send(look(function));
        };
        self.carry_out(Order::Look(Box::new(look)))?;
        told.try_recv().map_err(|_| silent(self.core))
    }
}

/// Changes under way to one worker: their places in the list, in order.
type UnderWay = VecDeque<usize>;

/// What became of a change.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// The workers that applied it, a bit each.
    applied: u64,
    /// When the last of them did.
    applied_at: Ticks,
    refusal: Option<Refusal>,
}

impl<N: NetworkFunction> Team<N> {
    /// The workers that must know of a change, a bit each.
    fn concerned(&self, update: &N::Update) -> u64 {
        match N::steering(&self.config, update) {
            Some(bits) => 1 << worker(bits, self.members.len()),
            None => u64::MAX >> (64 - self.members.len().clamp(1, 64)),
        }
    }

    /// Applies changes, each on its workers, and tells what became of each.
    fn change(&mut self, changes: &[(N::Update, u64)]) -> Result<Vec<Outcome>, Refused> {
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

    /// Takes what a worker has acknowledged; false when that is nothing.
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

    /// The changes to other keys.
    fn changes_to(&self, wanted: &N::Config) -> Result<Vec<N::Update>, Refused> {
        N::difference(&self.config, wanted).map_err(|invalid| {
            Refused::new(format!("function.{}: {}", invalid.key, invalid.what), invalid.remedy)
        })
    }

    fn wanted(keys: &Value) -> Result<N::Config, Refused> {
        validated::<N>(keys.clone())
            .map_err(|bad| Refused::new(format!("function.{}: {}", bad.key, bad.what), bad.remedy))
    }

    /// Undoes the changes that were applied, the last one first, each on the workers that did.
    fn undo(&mut self, done: &[(N::Update, u64)], outcomes: &[Outcome]) -> Result<(), Refused> {
        let pairs = done.iter().zip(outcomes).filter(|(_, outcome)| outcome.applied != 0);
        let (applied, workers): (Vec<N::Update>, Vec<u64>) =
            pairs.map(|((update, _), outcome)| (update.clone(), outcome.applied)).unzip();
        let back = N::undoing(&self.config, &applied);
        let changes: Vec<(N::Update, u64)> =
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

impl<N: NetworkFunction> Running for Team<N> {
    fn words(&self) -> Words {
        let names = N::names(&self.config);
        Words {
            stages: names.stages,
            drops: names.drops.0,
            tallies: names.tallies,
            tables: N::TABLES,
        }
    }

    fn work(&self) -> Vec<Work> {
        let of = |member: &Member<N>| Work {
            core: member.core,
            pinned: member.pinned,
            counts: member.handle.counters.read(),
            stages: member.supervisor.totals.stages(),
            gaps: member.supervisor.totals.gaps(),
        };
        self.members.iter().map(of).collect()
    }

    fn lost(&self) -> Option<usize> {
        let gone = |member: &Member<N>| member.thread.as_ref().is_none_or(JoinHandle::is_finished);
        self.members.iter().position(gone)
    }

    fn update(&mut self, update: Value) -> Result<Ticks, Refused> {
        let update: N::Update = parsed(update).map_err(|bad| {
            let at = if bad.key.is_empty() { String::new() } else { format!("{}: ", bad.key) };
            Refused::new(format!("{at}{}", bad.what), "`plumbline set --help` shows the forms")
        })?;
        let workers = self.concerned(&update);
        let outcomes = self.change(&[(update, workers)])?;
        let outcome = outcomes.first().copied().unwrap_or_default();
        match outcome.refusal {
            None => Ok(outcome.applied_at),
            Some(refusal) if outcome.applied == 0 => Err(Refused::new(refusal.to_string(), "")),
            Some(refusal) => {
                let what = format!(
                    "{refusal}, on some workers only: {} of {} applied it",
                    outcome.applied.count_ones(),
                    workers.count_ones()
                );
                Err(Refused::new(what, "undo it by the opposite change"))
            }
        }
    }

    fn difference(&self, wanted: &Value) -> Result<usize, Refused> {
        Ok(self.changes_to(&Self::wanted(wanted)?)?.len())
    }

    fn reconfigure(&mut self, wanted: &Value) -> Result<usize, Refused> {
        let wanted = Self::wanted(wanted)?;
        let changes: Vec<(N::Update, u64)> = self
            .changes_to(&wanted)?
            .into_iter()
            .map(|update| (self.concerned(&update), update))
            .map(|(workers, update)| (update, workers))
            .collect();
        let outcomes = self.change(&changes)?;
        let refused = outcomes.iter().position(|outcome| outcome.refusal.is_some());
        if let Some(place) = refused {
            let refusal = outcomes[place].refusal.map(|why| why.to_string()).unwrap_or_default();
            let what = format!("{:?} was refused: {refusal}", changes[place].0);
            self.undo(&changes, &outcomes)
                .map_err(|error| Refused::new(format!("{what}; {}", error.what), error.remedy))?;
            return Err(Refused::new(what, "undo by control what stands against it"));
        }
        self.config = wanted;
        Ok(changes.len())
    }

    fn swap(&mut self, port: usize, queues: Vec<Box<dyn Port>>) -> Result<(), Refused> {
        for (member, queue) in self.members.iter_mut().zip(queues) {
            member.carry_out(Order::Swap(port, queue))?;
        }
        Ok(())
    }

    fn tap(&mut self, taps: Vec<Option<Box<dyn Tap>>>) -> Result<(), Refused> {
        for (member, tap) in self.members.iter_mut().zip(taps) {
            member.carry_out(Order::Tap(tap))?;
        }
        Ok(())
    }

    fn sizes(&mut self) -> Result<Vec<Sizes>, Refused> {
        let look = |function: &mut N::Function| Sizes {
            tables: N::table_sizes(function),
            state_bytes: function.state_bytes(),
            standby: N::standby(function),
        };
        self.members.iter_mut().map(|member| member.look(look)).collect()
    }

    fn page(
        &mut self,
        worker: usize,
        table: usize,
        from: u64,
        limit: usize,
    ) -> Result<TablePage, Refused> {
        let Some(member) = self.members.get_mut(worker) else {
            return Err(Refused::new(format!("there is no worker {worker}"), ""));
        };
        member.look(move |function| N::table_page(function, table, from, limit, clock::now()))
    }

    fn memory(&mut self) -> Result<Memory, Refused> {
        let mut updates: Vec<N::Update> = Vec::new();
        let count = self.members.len();
        for (index, member) in self.members.iter_mut().enumerate() {
            let config = self.config.clone();
            let shard = shard(index, count);
            let found =
                member.look(move |function| N::memory(&config, shard, function, clock::now()))?;
            // What all workers know is kept once.
            let is_new =
                |update: &N::Update| index == 0 || N::steering(&self.config, update).is_some();
            updates.extend(found.into_iter().filter(is_new));
        }
        let updates = updates.iter().map(serde_json::to_value).collect::<Result<_, _>>();
        Ok(Memory {
            function: serde_json::to_value(&self.config).unwrap_or_default(),
            updates: updates.map_err(|error| Refused::new(error.to_string(), ""))?,
        })
    }
}

impl<N: NetworkFunction> Drop for Team<N> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for member in &mut self.members {
            // A worker that panicked has told so already.
            let _ = member.thread.take().map(JoinHandle::join);
        }
        tracing::debug!(ticks_per_second = self.clock.ticks_per_second(), "workers ended");
    }
}

/// A wait for a worker's answer that ends.
struct Patience {
    since: Instant,
    turns: u32,
}

impl Patience {
    fn new() -> Patience {
        Patience { since: Instant::now(), turns: 0 }
    }

    /// Waits a moment, or finds that it has been too long.
    fn wait(&mut self, core: usize, thread: Option<&JoinHandle<()>>) -> Result<(), Refused> {
        self.turns += 1;
        if self.turns < 64 {
            thread::yield_now();
            return Ok(());
        }
        if self.since.elapsed() > PATIENCE || thread.is_none_or(JoinHandle::is_finished) {
            return Err(silent(core));
        }
        thread::park_timeout(Duration::from_micros(50));
        Ok(())
    }
}

fn silent(core: usize) -> Refused {
    Refused::new(format!("the worker on core {core} does not answer"), "look into the log")
}

/// Changes on their way to one worker at most; below the worker's own limit.
const IN_FLIGHT_MAX: usize = 2048;

/// Far more than the longest look takes.
const PATIENCE: Duration = Duration::from_secs(30);
