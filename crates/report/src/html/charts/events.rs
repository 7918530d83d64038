//! How long changes at run time take: until acknowledged, and until a frame shows them.

use measure::record::{Cell, Outcome, RunRecord};

use super::chart::{Chart, diagnoses, identifier};
use super::percentiles;
use crate::names::Names;

/// One chart for each cell and method whose last trial with events has acknowledged events.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    diagnoses(record, chart)
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let trial = outcome.trials.iter().rev().find(|t| t.events.iter().any(|e| e.requested > 0))?;
    let mut series = Vec::new();
    for events in &trial.events {
        for (name, times) in [("accepted", &events.accepted), ("visible", &events.visible)] {
            let histogram = times.as_ref().and_then(measure::record::Distribution::histogram);
            series.extend(histogram.map(|h| (format!("{} {name}", events.kind), h)));
        }
    }
    percentiles::chart(
        &identifier("events", &[&cell.id, &outcome.method]),
        &format!("Changes under load ({})", names.of_cell(cell)),
        &format!(
            "Time from the request of a change to its acknowledgement (accepted) and to the first \
             frame that shows it (visible), by percentile of the changes (trial {}).",
            trial.index
        ),
        &series,
    )
}
