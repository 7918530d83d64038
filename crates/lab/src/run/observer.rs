//! Who is told how a run goes.

use std::time::Duration;

use measure::record::{Cell, Outcome};
use methods::Observer;

/// Receives the progress of a run.
pub trait RunObserver: Observer {
    /// The order of the measurements is fixed; `from_cache` of them were found in earlier runs.
    fn planned(&mut self, measurements: usize, from_cache: usize);
    /// The device is being set up for cell `index` of `count`. This happens again for each
    /// repetition, and whenever another cell was measured in between.
    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell);
    /// The cell enters a phase.
    fn phase(&mut self, phase: Phase<'_>);
    /// A measurement is finished.
    fn measured(&mut self, finished: &Finished<'_>);
    /// All measurements of a cell are finished, or the cell failed.
    fn cell_finished(&mut self, cell: &Cell);
    /// A note for the user that does not stop the run.
    fn note(&mut self, what: &str);
}

/// Phase of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase<'a> {
    /// The device is being set up.
    SettingUp,
    /// The device is being compared with the oracle.
    Checking,
    /// A method is measuring.
    Measuring {
        /// Name of the method.
        method: &'a str,
        /// Number of the repetition, from 0.
        repetition: u32,
        /// Number of repetitions.
        repetitions: u32,
        /// Upper bound of the duration.
        time_bound: Duration,
        /// Upper bound of the duration of all later measurements.
        time_after: Duration,
        /// Expected durations of the measurement and of all later ones, from similar measurements
        /// so far.
        expected: [Duration; 2],
    },
}

/// A finished measurement.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// The cell that was measured.
    pub cell: &'a Cell,
    /// The outcome of this repetition.
    pub outcome: &'a Outcome,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Number of finished measurements, including those of earlier runs.
    pub done: usize,
    /// Number of all measurements.
    pub measurements: usize,
}
