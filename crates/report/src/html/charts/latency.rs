//! Latency percentiles of each direction at the load that passed.

use measure::Pps;
use measure::record::{Cell, Outcome, RunRecord, TrialRecord};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::percentiles;
use crate::names::Names;
use crate::words::outcomes;

/// One chart for each cell and method whose result has a latency.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record).filter_map(|(c, o)| chart(&names, c, o)).take(CHARTS_MAX).collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let trial = deciding(outcome)?;
    let load = outcome.bounds?.lower_pps?;
    let series: Vec<_> = trial
        .directions
        .iter()
        .filter_map(|d| Some((d.name.clone(), d.latency.as_ref()?.histogram()?)))
        .collect();
    percentiles::chart(
        &identifier("latency", &[&cell.id, &outcome.method]),
        &format!("Latency at the {} ({})", outcome.method, names.of_cell(cell)),
        &format!(
            "Time from transmission to reception, by percentile of the frames, at {} per port and \
             direction (trial {}).",
            Pps(load),
            trial.index
        ),
        &series,
    )
}

/// The last trial at the load that passed, or the trial with about the same offered load if the
/// tester sent less than requested.
fn deciding(outcome: &Outcome) -> Option<&TrialRecord> {
    let lower = outcome.bounds?.lower_pps?;
    let offered = |t: &&TrialRecord| t.directions.iter().any(|d| d.offered_pps == lower);
    let mut latest = outcome.trials.iter().rev();
    latest.clone().find(|t| t.load_pps() == Some(lower)).or_else(|| latest.find(offered))
}
