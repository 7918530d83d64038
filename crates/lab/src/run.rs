//! Runs a scenario: each cell is set up, checked against the oracle, and only then measured.
//!
//! The order of measurements is that of `plan`; what earlier runs measured is taken from `cache`, and
//! the record's cells stay in the order of the scenario. The record is handed out to be kept again
//! and again, so whatever happens later leaves finished cells intact.
//! A device that differs from the oracle is not measured; a cell that cannot be set up does not keep
//! the others from running; a stopped run keeps the trials it finished, marked as not valid.

pub mod cache;
mod cell;
mod drops;
mod key;
mod measuring;
mod partial;
mod plan;
mod thresholds;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::clock::Clock;
use measure::MeasureError;
use measure::record::{
    Cell, HostFacts, Outcome, PlanRecord, RunRecord, Scenario as ScenarioRecord, Status, Tool,
    Unavailable, compare_values,
};
use methods::Observer;

use crate::scenario::{DeviceChoice, Scenario};
use crate::unit::OpenOptions;
use cache::Cache;
use cell::Slot;
use key::Surroundings;
use measuring::Times;
use plan::Measurement;

/// Told how a run goes.
pub trait RunObserver: Observer {
    /// The order is made: so many measurements, of which so many were found in earlier runs.
    fn planned(&mut self, measurements: usize, from_cache: usize);
    /// The device is set up for cell `index` of `count`: again for each repetition, and whenever
    /// another cell was in between.
    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell);
    /// The cell enters a phase.
    fn phase(&mut self, phase: Phase<'_>);
    /// A measurement is finished.
    fn measured(&mut self, finished: &Finished<'_>);
    /// All measurements of a cell are finished, or it failed.
    fn cell_finished(&mut self, cell: &Cell);
    /// Something that the user should know, and that keeps nothing from running.
    fn note(&mut self, what: &str);
}

/// What is being done with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase<'a> {
    /// The device builds its state.
    SettingUp,
    /// The device is compared with the oracle.
    Checking,
    /// A method measures.
    Measuring {
        /// Its name.
        method: &'a str,
        /// Which repetition, from 0.
        repetition: u32,
        /// Of how many.
        repetitions: u32,
        /// The longest it can take.
        time_bound: Duration,
        /// The longest that all measurements after it can take.
        time_after: Duration,
        /// The time it is expected to take, by those like it so far, and the same for all after it.
        expected: [Duration; 2],
    },
}

/// A measurement that is finished.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Of which cell.
    pub cell: &'a Cell,
    /// What was found in this repetition.
    pub outcome: &'a Outcome,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Measurements finished, those of earlier runs included.
    pub done: usize,
    /// Measurements in all.
    pub measurements: usize,
}

/// Where and by what a run is done.
#[derive(Clone, Debug)]
pub struct Host {
    /// The program, for the record.
    pub tool: Tool,
    /// The calibrated clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
    /// What the run is called.
    pub naming: Naming,
}

/// What a run is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// The name of its folder; empty where it has none.
    pub id: String,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// What is done with measurements of earlier runs.
#[derive(Clone, Debug)]
pub enum Reuse {
    /// Nothing is taken from anywhere, and nothing is kept for later runs.
    Nothing,
    /// Only what is missing is measured.
    Missing(Cache),
    /// Everything is measured, and takes the place of what was there.
    Fresh(Cache),
}

/// A run that ended because its record could not be kept.
#[derive(Debug)]
pub struct Lost<E> {
    /// What was measured.
    pub record: Box<RunRecord>,
    /// Why it could not be kept.
    pub error: E,
}

/// Sets up and checks each cell, and measures nothing.
pub fn check(scenario: &Scenario, host: &Host, observer: &mut dyn RunObserver) -> RunRecord {
    let mut run = Run::new(scenario, host, crate::host::facts(&host.clock));
    for index in 0..run.slots.len() {
        if !run.check(index, observer) {
            break;
        }
    }
    run.finish();
    run.record
}

/// Sets up, checks and measures each cell, as far as `reuse` does not have its measurements. `keep`
/// is given the record before the first set-up and again and again after that; until the last
/// measurement is done its status is [`Status::Interrupted`], so that nobody takes it for complete.
///
/// # Errors
/// What `keep` returned, with the record; nothing is measured after that.
pub fn measure<E>(
    scenario: &Scenario,
    host: &Host,
    reuse: &Reuse,
    observer: &mut dyn RunObserver,
    keep: &mut dyn FnMut(&RunRecord) -> Result<(), E>,
) -> Result<RunRecord, Lost<E>> {
    let open = options(&scenario.benchmarks[0].devices[0], host);
    let worker = open.worker_cores.first().copied().unwrap_or(0);
    let facts = crate::doctor::glance(&host.clock, worker, open.tester_core);
    let mut run = Run::new(scenario, host, facts);
    run.plan(reuse, observer);
    let mut keeping = Keeper { keep, last: Duration::ZERO, at: Instant::now() };
    let mut kept = keeping.keep(&run.record);
    let queue = run.queue.clone();
    let visits = queue.chunk_by(|a, b| (a.cell, a.repetition) == (b.cell, b.repetition));
    for visit in visits {
        if kept.is_err() || !run.visit(visit, observer) {
            break;
        }
        if run.made < queue.len() && keeping.is_due() {
            run.stamp();
            kept = keeping.keep(&run.record);
        }
    }
    run.finish();
    match kept.and_then(|()| keeping.keep(&run.record)) {
        Ok(()) => Ok(run.record),
        Err(error) => Err(Lost { record: Box::new(run.record), error }),
    }
}

/// How much room the files of a run may take, those for later runs included.
pub fn needed_bytes(scenario: &Scenario) -> u64 {
    let repetitions = u64::from(scenario.plan.repetitions.max(1));
    let outcomes: usize =
        scenario.benchmarks.iter().map(|one| one.cells.len() * one.methods.len().max(1)).sum();
    ROOM_BYTES_BASE + (outcomes as u64 * repetitions).saturating_mul(2 * ROOM_BYTES_PER_OUTCOME)
}

/// A name for the folder of a run that begins now: `mobile-gateway-20261121T115022Z`.
pub fn folder_name(scenario: &Scenario) -> String {
    format!("{}-{}", scenario.name, jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))
}

/// The cores for a device, and what else the host gives it.
///
/// The tester gets the first core, where the kernel's own work tends to be: a disturbed tester is
/// seen in its own log, a disturbed worker in the figures.
pub fn options(device: &DeviceChoice, host: &Host) -> OpenOptions {
    let available = machine::cpu::available_cores();
    let taken = device.worker_cores.clone().unwrap_or_default();
    let tester_core = device.tester_core.or_else(|| {
        available.iter().copied().find(|core| !taken.contains(core)).filter(|_| available.len() > 1)
    });
    let worker_cores = device.worker_cores.clone().unwrap_or_else(|| {
        let others: Vec<usize> =
            available.iter().copied().filter(|&core| Some(core) != tester_core).collect();
        if others.is_empty() { available } else { others }
    });
    OpenOptions { tester_core, worker_cores, clock: host.clock, stop: Arc::clone(&host.stop) }
}

/// A run in progress.
struct Run<'a> {
    scenario: &'a Scenario,
    host: &'a Host,
    record: RunRecord,
    /// One for each cell, in the order of the scenario.
    slots: Vec<Slot<'a>>,
    /// Where measurements are kept, and whether those that are there are used.
    store: Option<Store>,
    /// What is to be measured, in order.
    queue: Vec<Measurement>,
    /// How many of these were made.
    made: usize,
    times: Times,
    began: Instant,
    /// Set when the user stopped the run.
    stopped: bool,
}

/// Where measurements are kept.
struct Store {
    cache: Cache,
    surroundings: Surroundings,
    fresh: bool,
    /// Tells this run from others.
    run: String,
}

/// Why a cell ended early.
enum Early {
    Interrupted,
    Unavailable(Unavailable),
    Failed(String),
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, host: &'a Host, facts: HostFacts) -> Run<'a> {
        let now = jiff::Timestamp::now().to_string();
        let record = RunRecord {
            schema_version: RunRecord::SCHEMA_VERSION,
            tool: host.tool.clone(),
            scenario: ScenarioRecord {
                name: scenario.name.clone(),
                file: scenario.file.clone(),
                description: scenario.description.clone(),
                references: scenario.references.clone(),
                text: scenario.text.clone(),
                hash: format!("blake3:{}", blake3::hash(scenario.text.as_bytes()).to_hex()),
            },
            id: host.naming.id.clone(),
            started: now.clone(),
            finished: now,
            seconds: 0.0,
            tags: host.naming.tags.clone(),
            host: facts,
            plan: PlanRecord {
                seed: scenario.plan.seed,
                repetitions: scenario.plan.repetitions.max(1),
                compare: scenario.plan.compare.clone(),
                ..PlanRecord::default()
            },
            cells: Vec::new(),
            comparisons: Vec::new(),
            thresholds: Vec::new(),
            plots: scenario.plots.clone(),
            status: Status::Interrupted,
            message: "not finished".to_owned(),
        };
        Run {
            scenario,
            host,
            record,
            slots: cell::slots(scenario),
            store: None,
            queue: Vec::new(),
            made: 0,
            times: Times::default(),
            began: Instant::now(),
            stopped: false,
        }
    }

    /// Notes that the record is written now.
    fn stamp(&mut self) {
        self.record.finished = jiff::Timestamp::now().to_string();
        self.record.seconds = self.began.elapsed().as_secs_f64();
    }

    /// What all cells together amount to.
    fn finish(&mut self) {
        self.stamp();
        if let Some(key) = &self.scenario.plan.compare {
            self.record.comparisons = compare_values(key, &self.record.cells);
        }
        let cells = &self.record.cells;
        self.record.thresholds = thresholds::verdicts(&self.scenario.thresholds, cells);
        let status = Status::of(cells, self.stopped);
        let missed = self.record.thresholds.iter().any(|verdict| !verdict.met);
        self.record.status = match status {
            Status::Passed if missed => Status::ThresholdMissed,
            status => status,
        };
        if self.stopped {
            self.mark_unfinished();
        }
        self.record.set_message();
    }

    fn is_stopping(&self) -> bool {
        self.host.stop.load(Ordering::Relaxed)
    }

    fn early(&self, error: &MeasureError) -> Early {
        match error {
            MeasureError::Interrupted => Early::Interrupted,
            other => self.failed(other.to_string()),
        }
    }

    /// What is stopped while it works may call that a failure.
    fn failed(&self, why: String) -> Early {
        if self.is_stopping() { Early::Interrupted } else { Early::Failed(why) }
    }
}

/// Keeps the record, but not so often that a large one delays the run.
struct Keeper<'a, E> {
    keep: &'a mut dyn FnMut(&RunRecord) -> Result<(), E>,
    /// How long the last time took.
    last: Duration,
    at: Instant,
}

impl<E> Keeper<'_, E> {
    fn keep(&mut self, record: &RunRecord) -> Result<(), E> {
        let begun = Instant::now();
        let kept = (self.keep)(record);
        (self.last, self.at) = (begun.elapsed(), Instant::now());
        kept
    }

    /// Measurements are safe in the cache meanwhile.
    fn is_due(&self) -> bool {
        self.last < QUICK || self.at.elapsed() > self.last * 20
    }
}

const ROOM_BYTES_BASE: u64 = 8 << 20;
/// Some hundred trials with their histograms.
const ROOM_BYTES_PER_OUTCOME: u64 = 2 << 20;
/// Writing a record that takes no longer than this delays nobody.
const QUICK: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
