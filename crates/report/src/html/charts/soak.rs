//! A soak: what loss, latency and memory do over time under one load.

use measure::record::RunRecord;

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::series::trend;
use crate::names::Names;
use crate::words::outcomes;

/// One chart for each trend, with one panel per unit.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .flat_map(|(cell, outcome)| outcome.series.iter().map(move |s| (cell, outcome, s)))
        .filter(|(_, _, series)| series.name == "soak-trend")
        .filter_map(|(cell, outcome, series)| {
            trend(
                &identifier("soak", &[&cell.id, &outcome.method]),
                &format!("Trend under a fixed load ({})", names.of_cell(cell)),
                "Each point is one interval of the soak: loss, latency and memory of the process, \
                 against the time since the start.",
                series,
            )
        })
        .take(CHARTS_MAX)
        .collect()
}
