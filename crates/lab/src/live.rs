//! Where a bench that is running stands, as a file in the folder of its run.
//!
//! The bench writes it whole, a few times a second at most; whoever shows it (a browser, a script)
//! reads it when it likes. It is a help, not a result: nothing is lost without it.

use serde::{Deserialize, Serialize};

/// The name of the file in the folder of the run.
pub const FILE: &str = "progress.json";

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// The process that measures; it may be gone, killed, while the file still says running.
    pub pid: u32,
    /// Whether it measures still.
    pub running: bool,
    /// When this was written, RFC 3339 in UTC.
    pub updated: String,
    /// The scenario's name.
    pub scenario: String,
    /// The cell that is measured, in words: `user 1,000, pkt-size 64`.
    pub cell: String,
    /// `setting up`, `checking`, or the method.
    pub phase: String,
    /// The trial, in words: `search 3 of 12, 5.2 Mpps each way`.
    pub trial: String,
    /// Measurements finished, those taken from an earlier run included.
    pub measurements_done: usize,
    /// Measurements in all.
    pub measurements: usize,
    /// Time since the run began.
    pub elapsed_seconds: f64,
    /// Time it is expected to take still; none where that is not known.
    pub eta_seconds: Option<f64>,
}
