//! Latency percentiles of each direction at the load that passed.

use measure::Pps;
use measure::record::{Cell, Outcome, RunRecord, TrialRecord};

use super::{CHARTS_MAX, Chart, percentiles};
use crate::summary::{cell_words, outcomes};

/// One chart for each cell and method whose result has a latency.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    outcomes(record).filter_map(|(cell, outcome)| chart(cell, outcome)).take(CHARTS_MAX).collect()
}

fn chart(cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let trial = deciding(outcome)?;
    let load = trial.load_pps()?;
    let series: Vec<_> = trial
        .directions
        .iter()
        .filter_map(|d| Some((d.name.clone(), d.latency.as_ref()?.histogram()?)))
        .collect();
    percentiles::chart(
        &format!("latency-{}-{}", cell.id, outcome.method),
        &format!("Latency at the {} ({})", outcome.method, cell_words(cell)),
        &format!(
            "Time from sending to receiving, by percentile of the frames, at {} on each interface \
             (trial {}).",
            Pps(load),
            trial.index
        ),
        &series,
    )
}

/// The last trial at the load that passed, which is the one that was reported.
fn deciding(outcome: &Outcome) -> Option<&TrialRecord> {
    let lower = outcome.bounds?.lower_pps?;
    outcome.trials.iter().rev().find(|t| t.load_pps() == Some(lower))
}
