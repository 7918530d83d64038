//! Bursts from idle (RFC 9004): what was lost of bursts of each length.

use measure::record::{Cell, LoadRecord, Outcome, RunRecord};

use super::chart::{CHARTS_MAX, Chart, LOSS_FLOOR, identifier, loss_words};
use super::curves::{Axis, Curve, Drawing, Look, data};
use crate::names::Names;
use crate::words::outcomes;

/// One chart for each cell and method that sent bursts of several lengths.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record).filter_map(|(c, o)| chart(&names, c, o)).take(CHARTS_MAX).collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let burst = |load: &LoadRecord| match load {
        LoadRecord::Burst { frames, .. } => Some(*frames as f64),
        _ => None,
    };
    let points: Vec<(f64, f64)> = outcome
        .trials
        .iter()
        .filter_map(|t| Some((burst(&t.load)?, t.loss_percent.max(LOSS_FLOOR))))
        .collect();
    let mut lengths: Vec<f64> = points.iter().map(|p| p.0).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    if lengths.len() < 2 {
        return None;
    }
    let curves = [Curve::new("bursts", Look::Marks, points)];
    let y = Axis { min: Some(LOSS_FLOOR / 2.0), max: Some(200.0), ..Axis::log("frames lost") };
    let mut drawing =
        Drawing::new(Axis::spanning("burst length, frames", &lengths), y.in_words(loss_words));
    let length = |f: &measure::record::Figure| f.unit == "frames" && f.of.is_none();
    let found = outcome.figures.iter().find(|f| length(f)).map(|f| f.value);
    drawing.at_x.extend(found.map(|frames| (frames, true)));
    let words = found.map_or(String::new(), |frames| {
        format!(" The line is the result: {} frames.", crate::words::grouped(frames as u64))
    });
    let (plots, layout) = drawing.of(&curves);
    Some(Chart::new(
        &identifier("bursts", &[&cell.id, &outcome.method]),
        &format!("Loss of bursts by length ({})", names.of_cell(cell)),
        &format!("Each point is one burst, sent back to back from idle.{words}"),
        plots,
        layout,
        data("burst length, frames", "frames lost, %", &curves),
    ))
}
