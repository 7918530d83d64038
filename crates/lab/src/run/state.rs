//! A run in progress: its record, its cells, and what is still to be measured.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use measure::MeasureError;
use measure::record::{
    HostFacts, Measured, PlanRecord, RunRecord, Scenario as ScenarioRecord, Status, Unavailable,
};

use super::cache::Cache;
use super::host::Host;
use super::key::Surroundings;
use super::plan::Measurement;
use crate::scenario::sweep::Combination;
use crate::scenario::{Benchmark, Scenario};

/// A run in progress.
pub(super) struct Run<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) host: &'a Host,
    pub(super) record: RunRecord,
    /// One slot per cell, in the order of the scenario.
    pub(super) slots: Vec<Slot<'a>>,
    /// The store of measurements; none if nothing is stored.
    pub(super) store: Option<Store>,
    /// Measurements in the order in which they are made.
    pub(super) queue: Vec<Measurement>,
    /// Number of measurements made so far.
    pub(super) made: usize,
    pub(super) times: Times,
    pub(super) began: Instant,
    /// Whether the user stopped the run.
    pub(super) stopped: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(scenario: &'a Scenario, host: &'a Host, facts: HostFacts) -> Run<'a> {
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
            slots: slots(scenario),
            store: None,
            queue: Vec::new(),
            made: 0,
            times: Times::default(),
            began: Instant::now(),
            stopped: false,
        }
    }

    /// Sets the time at which the record is written.
    pub(super) fn stamp(&mut self) {
        self.record.finished = jiff::Timestamp::now().to_string();
        self.record.seconds = self.began.elapsed().as_secs_f64();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.host.stop.load(Ordering::Relaxed)
    }

    pub(super) fn early(&self, error: &MeasureError) -> Early {
        match error {
            MeasureError::Interrupted => Early::Interrupted,
            other => self.failed(other.to_string()),
        }
    }

    /// The reason of a failure; an interruption if the user stopped the run, because stopping may
    /// cause the failure.
    pub(super) fn failed(&self, why: String) -> Early {
        if self.is_stopping() { Early::Interrupted } else { Early::Failed(why) }
    }
}

/// The store of measurements.
pub(super) struct Store {
    pub(super) cache: Cache,
    pub(super) surroundings: Surroundings,
    pub(super) fresh: bool,
    /// Identifier that distinguishes this run from others.
    pub(super) run: String,
}

/// Why a cell ended early.
pub(super) enum Early {
    Interrupted,
    Unavailable(Unavailable),
    Failed(String),
}

/// A cell of the scenario in this run.
pub(super) struct Slot<'a> {
    pub benchmark: &'a Benchmark,
    pub combination: &'a Combination,
    /// Index of the benchmark to which the cell belongs.
    pub group: usize,
    /// Hash of the inputs of each method; empty if nothing is stored.
    pub questions: Vec<String>,
    /// Measurements made so far, by method.
    pub measured: Vec<Vec<Measured>>,
    /// Number of measurements still to make.
    pub left: usize,
    /// Whether the cell is in the record.
    pub(super) begun: bool,
    /// Whether the cell passed its check in this run.
    pub(super) checked: bool,
    /// Whether the cell failed, so that nothing more is measured in it.
    pub(super) closed: bool,
}

/// Slots for all cells of a scenario, in its order.
pub(super) fn slots(scenario: &Scenario) -> Vec<Slot<'_>> {
    let of = |(group, benchmark): (usize, &'_ Benchmark)| (group, benchmark.methods.len());
    let methods: Vec<(usize, usize)> = scenario.benchmarks.iter().enumerate().map(of).collect();
    let mut slots = Vec::new();
    for ((group, methods), benchmark) in methods.into_iter().zip(&scenario.benchmarks) {
        slots.extend(benchmark.cells.iter().map(|combination| Slot {
            benchmark,
            combination,
            group,
            questions: Vec::new(),
            measured: vec![Vec::new(); methods],
            left: 0,
            begun: false,
            checked: false,
            closed: false,
        }));
    }
    slots
}

/// Durations of measurements so far, by benchmark and method.
#[derive(Default)]
pub(super) struct Times(HashMap<(usize, usize), (f64, u32)>);

impl Times {
    pub(super) fn add(&mut self, group: usize, method: usize, seconds: f64) {
        let (sum, count) = self.0.entry((group, method)).or_default();
        *sum += seconds;
        *count += 1;
    }

    pub(super) fn mean(&self, group: usize, method: usize) -> Option<f64> {
        self.0.get(&(group, method)).map(|(sum, count)| sum / f64::from(*count))
    }
}
