//! What a search tried: loss against load, with the bounds it ended at.

use kuva::plot::scatter::{MarkerShape, ScatterPlot};
use kuva::prelude::*;
use kuva::render::annotations::ReferenceLine;
use measure::Pps;
use measure::record::{Cell, Outcome, RunRecord, TrialRecord};

use super::chart::{
    Chart, Data, HEIGHT, LOSS_FLOOR, MUTED, colour, diagnoses, identifier, loss_words, styled,
    ticks,
};
use crate::names::Names;
use crate::summary::mpps;
use crate::words::grouped;

/// One chart for each cell and method that searched.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    diagnoses(record, chart)
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let bounds = outcome.bounds?;
    let mut plots = Vec::new();
    for (purpose, marker, series) in KINDS {
        let points: Vec<(f64, f64)> = outcome
            .trials
            .iter()
            .filter(|t| t.purpose == *purpose)
            .filter_map(|t| Some((mpps(t.load_pps()?), t.loss_percent.max(LOSS_FLOOR))))
            .filter(|(load, loss)| load.is_finite() && loss.is_finite())
            .collect();
        if !points.is_empty() {
            let plot = ScatterPlot::new()
                .with_data(points)
                .with_color(colour(*series))
                .with_marker(*marker)
                .with_size(6.0)
                .with_legend(*purpose);
            plots.push(Plot::from(plot));
        }
    }
    if plots.is_empty() {
        return None;
    }
    let (min, max) = range(outcome);
    let mut layout = styled(Layout::auto_from_plots(&plots))
        .with_height(HEIGHT)
        .with_log_y()
        .with_x_axis_min(min)
        .with_x_axis_max(max)
        .with_y_axis_min(LOSS_FLOOR / 2.0)
        .with_y_axis_max(200.0)
        .with_x_label("load per port and direction, Mpps")
        .with_y_label("frames lost")
        .with_y_label_offset(-24.0, 0.0)
        .with_force_margins(100.0, 150.0)
        .with_y_tick_format(ticks(loss_words))
        .with_legend_position(LegendPosition::OutsideRightTop);
    for (bound, dash) in [(bounds.lower_pps, "1 0"), (bounds.upper_pps, "6 4")] {
        if let Some(pps) = bound {
            let line = ReferenceLine::vertical(mpps(pps)).with_color(MUTED);
            layout = layout.with_reference_line(line.with_dasharray(dash).with_stroke_width(1.5));
        }
    }
    let words = |bound: Option<f64>| bound.map_or("none".into(), |pps| Pps(pps).to_string());
    let caption = format!(
        "Each point is a trial after the warm-up. Highest load that passed: {} (solid line); \
         lowest load that failed: {} (dashed).",
        words(bounds.lower_pps),
        words(bounds.upper_pps)
    );
    let rows = outcome.trials.iter().map(row).collect();
    let head = ["trial", "purpose", "load", "sent", "lost", "loss"].map(String::from).into();
    Some(Chart::new(
        &identifier("search", &[&cell.id, &outcome.method]),
        &format!("Search of the {} ({})", outcome.method, names.of_cell(cell)),
        &caption,
        plots,
        layout,
        Data { head, rows },
    ))
}

/// The range of searched loads in Mpps, with margins.
fn range(outcome: &Outcome) -> (f64, f64) {
    let loads =
        outcome.trials.iter().filter(|t| t.purpose != "warm-up").filter_map(|t| t.load_pps());
    let bounds = outcome.bounds.iter().flat_map(|b| [b.lower_pps, b.upper_pps]).flatten();
    let (min, max) = loads
        .chain(bounds)
        .map(mpps)
        .filter(|load| load.is_finite())
        .fold((f64::INFINITY, 0f64), |(min, max), load| (min.min(load), max.max(load)));
    let min = min.min(max);
    let room = (max - min).max(max * 0.02).max(1e-6) * 0.06;
    ((min - room).max(0.0), max + room)
}

fn row(trial: &TrialRecord) -> Vec<String> {
    let sum = |value: fn(&measure::record::DirectionRecord) -> u64| {
        grouped(trial.directions.iter().map(value).sum())
    };
    vec![
        trial.index.to_string(),
        trial.purpose.clone(),
        trial.load_pps().map_or(String::new(), |pps| Pps(pps).to_string()),
        sum(|d| d.sent),
        sum(|d| d.lost),
        measure::Ratio(trial.loss_fraction).to_string(),
    ]
}

/// Purposes of trials with their markers and series.
const KINDS: &[(&str, MarkerShape, usize)] = &[
    ("search", MarkerShape::Circle, 0),
    ("verification", MarkerShape::Square, 1),
    ("confirmation", MarkerShape::Diamond, 2),
    ("stall-repetition", MarkerShape::Triangle, 3),
];
