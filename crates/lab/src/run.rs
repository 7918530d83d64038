//! Runs a scenario: each cell is set up, checked against the oracle, and only then measured.
//!
//! The order of measurements is that of `plan`; what earlier runs measured is taken from `cache`,
//! and the record's cells stay in the order of the scenario. The record is handed out to be kept
//! again and again, so whatever happens later leaves finished cells intact. A device that differs
//! from the oracle is not measured; a cell that cannot be set up does not keep the others from
//! running; a stopped run keeps the trials it finished, marked as not valid.

pub mod cache;
mod cell;
mod drops;
mod host;
mod key;
mod measuring;
mod observer;
mod partial;
mod plan;
mod state;
mod thresholds;

use std::time::{Duration, Instant};

use measure::record::{RunRecord, Status, compare_values, point_out_of_line};

use crate::scenario::Scenario;
pub use cache::Reuse;
pub use host::{Host, Naming, options};
pub use observer::{Finished, Phase, RunObserver};
use state::Run;

/// A run that ended because its record could not be written.
#[derive(Debug)]
pub struct Lost<E> {
    /// The results so far.
    pub record: Box<RunRecord>,
    /// Why the record could not be written.
    pub error: E,
}

/// Sets up and checks each cell, without measuring.
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

/// Sets up, checks and measures each cell, except for measurements that `reuse` provides. `keep`
/// receives the record before the first set-up and repeatedly afterwards. Until the last
/// measurement is done, the record's status is [`Status::Interrupted`], so that it is not mistaken
/// for a complete one.
///
/// # Errors
/// The error of `keep`, with the record; nothing is measured after it.
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

/// Upper estimate of the disk space for the files of a run, including the cache.
pub fn needed_bytes(scenario: &Scenario) -> u64 {
    let repetitions = u64::from(scenario.plan.repetitions.max(1));
    let outcomes: usize =
        scenario.benchmarks.iter().map(|one| one.cells.len() * one.methods.len().max(1)).sum();
    ROOM_BYTES_BASE + (outcomes as u64 * repetitions).saturating_mul(2 * ROOM_BYTES_PER_OUTCOME)
}

/// A folder name for a run that starts now: `mobile-gateway-20261121T115022Z`.
pub fn folder_name(scenario: &Scenario) -> String {
    format!("{}-{}", scenario.name, jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))
}

impl Run<'_> {
    /// Computes the results that depend on all cells: status, comparisons and thresholds.
    fn finish(&mut self) {
        self.stamp();
        point_out_of_line(&mut self.record.cells);
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
}

/// Writes the record, at a rate that does not delay the run.
struct Keeper<'a, E> {
    keep: &'a mut dyn FnMut(&RunRecord) -> Result<(), E>,
    /// Duration of the last write.
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

    /// Whether the record should be written now; measurements are safe in the cache in the
    /// meantime.
    fn is_due(&self) -> bool {
        self.last < QUICK || self.at.elapsed() > self.last * 20
    }
}

const ROOM_BYTES_BASE: u64 = 8 << 20;
/// Estimated space of an outcome in bytes: some hundred trials with their histograms.
const ROOM_BYTES_PER_OUTCOME: u64 = 2 << 20;
/// Duration of a write that is short enough to repeat without delay.
const QUICK: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
