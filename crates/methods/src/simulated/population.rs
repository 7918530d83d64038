//! Clients with applications: what they take up in the device, and what it reports of them.

use std::time::Duration;

use measure::{Population, Reports, TableUse, Trial};

use super::Simulated;

/// Clients, what they take up, and reports a second in the first and in the second half of a trial.
#[derive(Clone, Debug)]
pub(super) struct Populated {
    pub(super) population: Population,
    tables: Vec<(&'static str, u64)>,
    reports_per_s: [f64; 2],
}

impl Simulated {
    /// Its traffic is that of clients, which hold so many entries; each report has 100 bytes.
    pub fn populated(
        mut self,
        population: Population,
        tables: &[(&'static str, u64)],
        reports_per_s: [f64; 2],
    ) -> Self {
        self.populated = Some(Populated { population, tables: tables.to_vec(), reports_per_s });
        self
    }

    /// What they take up at the end of a trial.
    pub(super) fn populate(&self, trial: &mut Trial, duration: Duration) {
        let Some(populated) = &self.populated else { return };
        let table =
            |&(name, entries): &(&'static str, u64)| TableUse { name: name.into(), entries };
        trial.tables = populated.tables.iter().map(table).collect();
        let each = duration.as_secs_f64() / PIECES as f64;
        let piece = |index: usize| {
            let rate = populated.reports_per_s[usize::from(index >= PIECES / 2)];
            let frames = (rate * each).round() as u64;
            Reports { frames, bytes: frames * 100 }
        };
        trial.reports = (0..PIECES).map(piece).collect();
    }
}

const PIECES: usize = 50;
