//! Throughput and times as a function of how often the state changes, and loss over changes and
//! load.

use measure::record::{Cell, Outcome, RunRecord, Series};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::heat::{Surface, Tile};
use super::series::{Columns, plain};
use crate::names::Names;
use crate::words::outcomes;

/// The charts of each outcome with changes under traffic.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    let of_outcome = |(cell, outcome): (&Cell, &Outcome)| {
        let charts =
            outcome.series.iter().filter_map(|series| chart(&names, cell, outcome, series));
        charts.collect::<Vec<_>>()
    };
    outcomes(record).flat_map(of_outcome).take(CHARTS_MAX).collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome, series: &Series) -> Option<Chart> {
    let id = identifier(&series.name, &[&cell.id, &outcome.method]);
    let name = names.of_cell(cell);
    match series.name.as_str() {
        "churn-surface" => plain(
            &id,
            &format!("Throughput and times under change ({name})"),
            "Against the rate of changes: throughput per port and direction; time until a change \
             is accepted, and until a frame shows it; outage time around changes.",
            series,
            SURFACE,
        ),
        "churn-loss" => surface(&id, &format!("Loss over changes and load ({name})"), series),
        _ => None,
    }
}

fn surface(id: &str, title: &str, series: &Series) -> Option<Chart> {
    let columns = Columns(series);
    let place = |name| columns.place(name);
    let (x, y, z) = (place("updates_per_s")?, place("load_pps")?, place("loss_percent")?);
    let tile = |row: &Vec<Option<f64>>| {
        let value = |place: usize| row.get(place).copied().flatten();
        Some(Tile { x: value(x)?, y: value(y)?, value: value(z)?, is_bound: false })
    };
    let surface = Surface {
        x: "changes per second".into(),
        y: "load per port and direction, pps".into(),
        z: "frames lost, %".into(),
        tiles: series.rows.iter().filter_map(tile).collect(),
    }
    .placed();
    if surface.tiles.is_empty() {
        return None;
    }
    let caption = "Each tile is the loss in percent at a rate of changes (horizontal) and a load \
                   (vertical); combinations that were not measured are empty.";
    Some(Chart::drawn(id, title, caption, surface.svg(id, title, caption), surface.data()))
}

/// Drawn columns of a churn surface; the data table has the rest.
const SURFACE: &[&str] = &[
    "throughput_pps",
    "accepted_p50_ns",
    "accepted_p99_ns",
    "visible_p50_ns",
    "visible_p99_ns",
    "blackout_p50_ns",
    "blackout_p99_ns",
    "blackout_max_ns",
];
