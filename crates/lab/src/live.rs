//! Where a bench that is running stands, as a file in the folder of its run.
//!
//! The bench writes it whole, a few times a second at most; whoever shows it (a browser, a script)
//! reads it when it likes. It is a help, not a result: nothing is lost without it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use measure::record::{Cell, TrialRecord};
use measure::{TrialProgress, Watch};
use methods::{Observer, Step};
use serde::{Deserialize, Serialize};

use crate::run::{Finished, Phase, RunObserver};

/// Name of the progress file in the folder of a run.
pub const FILE: &str = "progress.json";

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// Identifier of the measuring process; a killed process leaves a file that says running.
    pub pid: u32,
    /// Whether the run is in progress.
    pub running: bool,
    /// Time of writing, RFC 3339 in UTC.
    pub updated: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The current cell: `user 1,000, pkt-size 64`.
    pub cell: String,
    /// The current phase: `setting up`, `checking`, or the method.
    pub phase: String,
    /// The current trial: `search 3 of 12, 5.2 Mpps each way`.
    pub trial: String,
    /// Number of finished measurements, including reused ones.
    pub measurements_done: usize,
    /// Number of all measurements.
    pub measurements: usize,
    /// Time since the start of the run, in seconds.
    pub elapsed_seconds: f64,
    /// Expected remaining time, in seconds; none if unknown.
    pub eta_seconds: Option<f64>,
}

/// Writes the progress file, and forwards all events to another observer.
///
/// On drop, the file is marked as not running; only a killed process leaves it marked as running.
pub struct Telling<'a> {
    inner: &'a mut dyn RunObserver,
    path: PathBuf,
    live: Live,
    begun: Instant,
    written: Option<Instant>,
    /// Start of the current measurement, and the expected durations of it and of all later
    /// measurements.
    expected: Option<(Instant, [Duration; 2])>,
}

impl<'a> Telling<'a> {
    /// Creates an observer for the run of a scenario in a folder.
    pub fn new(inner: &'a mut dyn RunObserver, folder: &Path, scenario: &str) -> Telling<'a> {
        let live = Live {
            pid: std::process::id(),
            running: true,
            scenario: scenario.to_owned(),
            ..Live::default()
        };
        let path = folder.join(FILE);
        let begun = Instant::now();
        let mut telling = Telling { inner, path, live, begun, written: None, expected: None };
        telling.write();
        telling
    }

    /// Writes the file unless it was written a moment ago.
    fn tell(&mut self) {
        if self.written.is_none_or(|at| at.elapsed() >= BETWEEN) {
            self.write();
        }
    }

    fn write(&mut self) {
        self.written = Some(Instant::now());
        self.live.updated = jiff::Timestamp::now().to_string();
        self.live.elapsed_seconds = self.begun.elapsed().as_secs_f64();
        self.live.eta_seconds = self.expected.map(|(begun, [this, after])| {
            this.saturating_sub(begun.elapsed()).saturating_add(after).as_secs_f64()
        });
        // It is only a help: a disk that is full is told where results are written.
        if let Ok(text) = serde_json::to_vec_pretty(&self.live) {
            let _ = files::write_whole_unsynced(&self.path, &text);
        }
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.live.running = false;
        self.live.phase.clear();
        self.live.trial.clear();
        self.expected = None;
        self.write();
    }
}

impl Watch for Telling<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.tell();
        self.inner.at(progress);
    }
}

impl Observer for Telling<'_> {
    fn starting(&mut self, step: &Step) {
        self.live.trial = step.words();
        self.tell();
        self.inner.starting(step);
    }

    fn finished(&mut self, trial: &TrialRecord) {
        self.inner.finished(trial);
    }
}

impl RunObserver for Telling<'_> {
    fn planned(&mut self, measurements: usize, from_cache: usize) {
        self.live.measurements = measurements;
        self.live.measurements_done = from_cache;
        self.write();
        self.inner.planned(measurements, from_cache);
    }

    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell) {
        self.live.cell = cell.label();
        self.live.trial.clear();
        self.inner.cell_starting(index, count, cell);
    }

    fn phase(&mut self, phase: Phase<'_>) {
        self.live.trial.clear();
        self.live.phase = match phase {
            Phase::SettingUp => "setting up".to_owned(),
            Phase::Checking => "checking".to_owned(),
            Phase::Measuring { method, expected, .. } => {
                self.expected = Some((Instant::now(), expected));
                method.to_owned()
            }
        };
        self.tell();
        self.inner.phase(phase);
    }

    fn measured(&mut self, finished: &Finished<'_>) {
        self.live.measurements_done = finished.done;
        self.tell();
        self.inner.measured(finished);
    }

    fn cell_finished(&mut self, cell: &Cell) {
        self.inner.cell_finished(cell);
    }

    fn note(&mut self, what: &str) {
        self.inner.note(what);
    }
}

/// Shortest interval between two writes of the file.
const BETWEEN: Duration = Duration::from_millis(500);
