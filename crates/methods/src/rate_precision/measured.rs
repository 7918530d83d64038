//! What the phases showed of the policers.

use measure::{Pps, Trial};

use super::table::Table;

/// Results of both phases.
pub(super) struct Measured {
    pub(super) load: Pps,
    /// Table of each repetition.
    pub(super) repetitions: Vec<Table>,
    /// Table of all repetitions together.
    pub(super) overloaded: Table,
    pub(super) underloaded: Option<Table>,
    /// Mean frame length on the wire, in bytes.
    pub(super) frame_bytes: f64,
    /// Whether a repetition was disturbed in every attempt.
    pub(super) disturbed: bool,
}

impl Measured {
    pub(super) fn overloaded(&mut self, trial: &Trial) {
        let mut table = Table::default();
        table.add(trial);
        self.repetitions.push(table);
        self.overloaded.add(trial);
        self.frame_bytes = frame_len_bytes(trial);
    }
}

/// Mean length of a trial's frames on the wire, in bytes.
pub(super) fn frame_len_bytes(trial: &Trial) -> f64 {
    let bytes: u64 = trial.directions.iter().map(|d| d.sent_bytes).sum();
    bytes as f64 / trial.sent().max(1) as f64
}
