//! Clients with applications: what they take up in the device, and what it reports of them.

use std::time::Duration;

use measure::{Population, Reports, TableUse, Trial};

/// Clients, their table entries, and log messages per second in both halves of a trial.
#[derive(Clone, Debug)]
pub(super) struct Populated {
    pub(super) population: Population,
    pub(super) tables: Vec<(&'static str, u64)>,
    pub(super) reports_per_s: [f64; 2],
}

impl Populated {
    /// Adds the table entries and log messages to a trial.
    pub(super) fn populate(&self, trial: &mut Trial, duration: Duration) {
        let table =
            |&(name, entries): &(&'static str, u64)| TableUse { name: name.into(), entries };
        trial.tables = self.tables.iter().map(table).collect();
        let each = duration.as_secs_f64() / PIECES as f64;
        let piece = |index: usize| {
            let rate = self.reports_per_s[usize::from(index >= PIECES / 2)];
            let frames = (rate * each).round() as u64;
            Reports { frames, bytes: frames * 100 }
        };
        trial.reports = (0..PIECES).map(piece).collect();
    }
}

const PIECES: usize = 50;
