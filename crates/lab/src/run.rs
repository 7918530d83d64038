//! Runs a scenario: each cell is set up, checked against the oracle, and only then measured.
//!
//! The record is handed out to be kept after every cell, so whatever happens later leaves finished
//! cells intact.
//! A device that differs from the oracle is not measured; a cell that cannot be set up does not keep
//! the others from running; a stopped run keeps the trials it finished, marked as not valid.

mod drops;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::clock::Clock;
use measure::record::{
    Cell, HostFacts, Limit, LimitKind, Outcome, PlanRecord, RunRecord, Scenario as ScenarioRecord,
    Status, Tool, TrialRecord, Validity,
};
use measure::{MeasureError, TrialProgress, Watch, validity};
use methods::{Method, Observer, Step};
use serde_json::json;

use crate::scenario::sweep::Combination;
use crate::scenario::{Benchmark, DeviceChoice, Scenario};
use crate::unit::{OpenDevice, OpenOptions};

/// Told how a run goes.
pub trait RunObserver: Observer {
    /// Cell `index` of `count` begins.
    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell);
    /// The cell enters a phase.
    fn phase(&mut self, phase: Phase<'_>);
    /// The cell is finished and kept.
    fn cell_finished(&mut self, cell: &Cell);
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
        /// The longest it can take.
        time_bound: Duration,
        /// The longest that all methods after it, of this cell and later ones, can take.
        time_after: Duration,
    },
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
}

/// Sets up and checks each cell, and measures nothing.
pub fn check(scenario: &Scenario, host: &Host, observer: &mut dyn RunObserver) -> RunRecord {
    let mut run = Run::new(scenario, host, crate::host::facts(&host.clock));
    for (index, (benchmark, combination)) in scenario.cells().enumerate() {
        if !run.cell(index, benchmark, combination, &[], observer) {
            break;
        }
        observer.cell_finished(&run.record.cells[index]);
    }
    run.record.status = run.status();
    run.record
}

/// Sets up, checks and measures each cell. `keep` is given the record before the first cell and
/// after each; until the last is done its status is [`Status::Interrupted`], so that nobody takes
/// it for complete.
///
/// # Errors
/// What `keep` returned; nothing is measured after that.
pub fn measure<E>(
    scenario: &Scenario,
    host: &Host,
    observer: &mut dyn RunObserver,
    keep: &mut dyn FnMut(&RunRecord) -> Result<(), E>,
) -> Result<RunRecord, E> {
    let open = options(&scenario.benchmarks[0].device, host);
    let worker = open.worker_cores.first().copied().unwrap_or(0);
    let facts = crate::doctor::glance(&host.clock, worker, open.tester_core);
    let mut run = Run::new(scenario, host, facts);
    keep(&run.record)?;
    let count = scenario.cells().count();
    for (index, (benchmark, combination)) in scenario.cells().enumerate() {
        let methods = methods_of(benchmark);
        let goes_on = run.cell(index, benchmark, combination, &methods, observer);
        run.record.finished = jiff::Timestamp::now().to_string();
        if goes_on && index + 1 < count {
            keep(&run.record)?;
        }
        if let Some(cell) = run.record.cells.get(index) {
            observer.cell_finished(cell);
        }
        if !goes_on {
            break;
        }
    }
    run.record.status = run.status();
    keep(&run.record)?;
    Ok(run.record)
}

/// How much room the files of a run may take.
pub fn needed_bytes(scenario: &Scenario) -> u64 {
    let of = |one: &Benchmark| one.cells.len() * one.methods.len().max(1);
    let outcomes: usize = scenario.benchmarks.iter().map(of).sum();
    ROOM_BYTES_BASE + outcomes as u64 * ROOM_BYTES_PER_OUTCOME
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

fn methods_of(benchmark: &Benchmark) -> Vec<&dyn Method> {
    benchmark.methods.iter().map(|choice| choice.method.as_ref()).collect()
}

/// A run in progress.
struct Run<'a> {
    scenario: &'a Scenario,
    host: &'a Host,
    record: RunRecord,
    /// Set when the user stopped the run; the last cell is then unfinished.
    stopped: Option<Stopped>,
}

/// Where the user stopped the run.
#[derive(Clone, Copy)]
enum Stopped {
    BetweenCells,
    InLastCell,
}

/// Why a cell ended early.
enum Early {
    Interrupted,
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
                text: scenario.text.clone(),
                hash: format!("blake3:{}", blake3::hash(scenario.text.as_bytes()).to_hex()),
            },
            started: now.clone(),
            finished: now,
            host: facts,
            plan: PlanRecord {
                seed: scenario.plan.seed,
                repetitions: scenario.plan.repetitions,
                ..PlanRecord::default()
            },
            cells: Vec::new(),
            comparisons: Vec::new(),
            thresholds: Vec::new(),
            plots: scenario.plots.clone(),
            status: Status::Interrupted,
        };
        Run { scenario, host, record, stopped: None }
    }

    /// One cell, from configuring to the last of `methods`; false when the user stopped the run.
    fn cell(
        &mut self,
        index: usize,
        benchmark: &Benchmark,
        combination: &Combination,
        methods: &[&dyn Method],
        observer: &mut dyn RunObserver,
    ) -> bool {
        if self.host.stop.load(Ordering::Relaxed) {
            self.stopped = Some(Stopped::BetweenCells);
            return false;
        }
        let mut cell = Cell {
            id: combination.id.clone(),
            parameters: combination.parameters.clone(),
            benchmark: benchmark.id.clone(),
            function: benchmark.unit.name().to_owned(),
            device: benchmark.device.name.clone(),
            ..Cell::default()
        };
        let count = self.scenario.cells().count();
        observer.cell_starting(index, count, &cell);
        let cells_after = count - index - 1;
        let ended =
            self.try_cell(&mut cell, (benchmark, combination), methods, cells_after, observer);
        let goes_on = match ended {
            Ok(()) => true,
            Err(Early::Failed(why)) => {
                cell.error = Some(why);
                true
            }
            Err(Early::Interrupted) => {
                cell.error = Some("interrupted before the cell was finished".to_owned());
                self.stopped = Some(Stopped::InLastCell);
                false
            }
        };
        self.record.cells.push(cell);
        goes_on
    }

    fn try_cell(
        &self,
        cell: &mut Cell,
        which: (&Benchmark, &Combination),
        methods: &[&dyn Method],
        cells_after: usize,
        observer: &mut dyn RunObserver,
    ) -> Result<(), Early> {
        observer.phase(Phase::SettingUp);
        let mut device = self.open(cell, which)?;
        observer.phase(Phase::Checking);
        let check = device.check().map_err(|error| self.early(&error))?;
        let passed = check.passed;
        cell.check = Some(check);
        if !passed {
            // A figure of a device that forwards wrongly would only mislead.
            return Ok(());
        }
        let bound =
            |methods: &[&dyn Method]| methods.iter().map(|m| m.time_bound()).sum::<Duration>();
        for (at, method) in methods.iter().enumerate() {
            let later_cells = bound(methods).saturating_mul(cells_after as u32);
            let time_after = bound(&methods[at + 1..]).saturating_add(later_cells);
            let time_bound = method.time_bound();
            observer.phase(Phase::Measuring { method: method.name(), time_bound, time_after });
            let mut keeping = Keeping { inner: observer, trials: Vec::new() };
            match method.run(device.measurer(), &mut keeping) {
                Ok(mut outcome) => {
                    drops::tell(&mut outcome);
                    // A method cannot see the clock or the machine.
                    outcome.add_limits(&validity::host_limits(&self.record.host));
                    outcome.add_limits(crowding(&cell.configuration["device"]).as_slice());
                    cell.outcomes.push(outcome);
                }
                Err(error) => {
                    let trials = keeping.trials;
                    if !trials.is_empty() {
                        cell.outcomes.push(unfinished(*method, &error, trials));
                    }
                    return Err(self.early(&error));
                }
            }
        }
        Ok(())
    }

    fn open(
        &self,
        cell: &mut Cell,
        (benchmark, combination): (&Benchmark, &Combination),
    ) -> Result<Box<dyn OpenDevice>, Early> {
        let configured =
            benchmark.configure(combination).map_err(|error| Early::Failed(error.to_string()))?;
        let options = options(&benchmark.device, self.host);
        cell.configuration = configured.effective();
        cell.configuration["device"] = json!({
            "name": benchmark.device.name,
            "tester-core": options.tester_core,
            "worker-cores": options.worker_cores,
        });
        if let Some(tester) = &benchmark.tester {
            cell.configuration["tester"] = tester.clone();
        }
        cell.seed = configured.seed();
        let mut device =
            configured.open(&options).map_err(|error| self.failed(error.to_string()))?;
        let facts = device.facts();
        for (name, value) in facts.details {
            cell.configuration["device"][name] = value;
        }
        cell.state_bytes = Some(facts.state_bytes);
        cell.state_bytes_per_user = facts.state_bytes_per_user;
        cell.setup_seconds = Some(facts.setup_seconds);
        Ok(device)
    }

    fn early(&self, error: &MeasureError) -> Early {
        match error {
            MeasureError::Interrupted => Early::Interrupted,
            other => self.failed(other.to_string()),
        }
    }

    /// What is stopped while it works may call that a failure.
    fn failed(&self, why: String) -> Early {
        match self.host.stop.load(Ordering::Relaxed) {
            true => Early::Interrupted,
            false => Early::Failed(why),
        }
    }

    /// The status of the finished cells; an unfinished one is no failure of its own.
    fn status(&self) -> Status {
        let cells = &self.record.cells;
        match self.stopped {
            None => Status::of(cells, false),
            Some(Stopped::BetweenCells) => Status::of(cells, true),
            Some(Stopped::InLastCell) => Status::of(&cells[..cells.len().saturating_sub(1)], true),
        }
    }
}

/// Workers that must take turns on a core: this program's own doing, so no other work is to blame.
fn crowding(device: &serde_json::Value) -> Option<Limit> {
    let workers = device["workers"].as_u64()?;
    let cores = device["worker-cores"].as_array()?.len() as u64;
    (workers > cores).then(|| Limit {
        kind: LimitKind::ForeignCpu,
        invalidates: false,
        what: format!("in an open loop {workers} workers take turns on {cores} core(s)"),
        advice: "lower `core` in the function, or name as many `worker-cores` in `device`; a \
                 tester needs one more"
            .to_owned(),
    })
}

/// What a method found before it was stopped: its trials, and no figure.
fn unfinished(method: &dyn Method, error: &MeasureError, trials: Vec<TrialRecord>) -> Outcome {
    let answer = format!("no result: {error} after {} trials", trials.len());
    let limit = Limit {
        kind: LimitKind::Search,
        invalidates: true,
        what: answer.clone(),
        advice: "run the scenario again to its end".to_owned(),
    };
    Outcome {
        method: method.name().to_owned(),
        configuration: method.configuration(),
        answer,
        trials,
        validity: Validity::from_limits(vec![limit]),
        ..Outcome::default()
    }
}

/// Keeps the trials that are told to an observer.
struct Keeping<'a> {
    inner: &'a mut dyn RunObserver,
    trials: Vec<TrialRecord>,
}

impl Watch for Keeping<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.inner.at(progress);
    }
}

impl Observer for Keeping<'_> {
    fn starting(&mut self, step: &Step) {
        self.inner.starting(step);
    }

    fn finished(&mut self, trial: &TrialRecord) {
        self.inner.finished(trial);
        self.trials.push(trial.clone());
    }
}

const ROOM_BYTES_BASE: u64 = 8 << 20;
/// Sixty trials with their histograms.
const ROOM_BYTES_PER_OUTCOME: u64 = 1 << 20;

#[cfg(test)]
mod tests;
