//! How repetitions spread: a box for each result, with every repetition as a point.

use kuva::plot::boxplot::BoxPlot;
use kuva::prelude::*;
use measure::record::{Cell, Outcome, RunRecord};
use measure::statistics::median;

use super::chart::{
    CHARTS_MAX, Chart, Data, HEIGHT, colour, identifier, left_out_words, short_count, styled,
    ticks, with_validity,
};
use super::curves::{number, range, shortened};
use crate::names::Names;
use crate::summary::figure_name;
use crate::words::{distinct, outcomes};

/// One chart for each method that was repeated at least three times.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    methods.into_iter().filter_map(|method| chart(record, method)).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, method: &str) -> Option<Chart> {
    let names = Names::of(record);
    let mut repeated: Vec<(&Cell, &Outcome)> = outcomes(record)
        .filter(|(_, o)| o.method == method && o.repetitions.len() >= REPETITIONS_MIN)
        .collect();
    let left_out = repeated.len().saturating_sub(BOXES_MAX);
    repeated.truncate(BOXES_MAX);
    let first = repeated.first()?.1.figures.first()?;
    let (factor, unit) =
        if first.unit == "pps" { (1e-6, "Mpps") } else { (1.0, first.unit.as_str()) };
    let values = |outcome: &Outcome| -> Vec<f64> {
        let figures = outcome.repetitions.iter().filter_map(|r| r.figures.first());
        let figures = figures.filter(|f| f.name == first.name && f.value.is_finite());
        figures.map(|f| f.value * factor).collect()
    };
    let boxes: Vec<(String, Vec<f64>)> = repeated
        .iter()
        .map(|(cell, outcome)| (with_validity(names.of_cell(cell), outcome), values(outcome)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    if boxes.is_empty() {
        return None;
    }
    let mut plot = BoxPlot::new().with_color(colour(0)).with_horizontal(true).with_width(0.55);
    // A horizontal chart is drawn from the bottom; the first result belongs on top.
    for (name, values) in boxes.iter().rev() {
        plot = plot.with_group(shortened(name), deviations(values));
    }
    let all: Vec<f64> = boxes.iter().flat_map(|(_, values)| deviations(values)).collect();
    let (min, max) = range(&all);
    let room = ((max - min) * 0.06).max(0.01);
    let plots = vec![Plot::from(plot.with_swarm_overlay().with_overlay_color(colour(1)))];
    let height = (110.0 + 44.0 * boxes.len() as f64).min(HEIGHT * 1.5);
    let layout = styled(Layout::auto_from_plots(&plots))
        .with_height(height)
        .with_x_axis_min(min - room)
        .with_x_axis_max(max + room)
        .with_x_tick_format(ticks(short_count))
        .with_x_label(format!("{}: deviation from the median, %", figure_name(&first.name)));
    let rows = boxes.iter().flat_map(|(name, values)| {
        values
            .iter()
            .enumerate()
            .map(move |(i, v)| vec![name.clone(), (i + 1).to_string(), number(*v)])
    });
    let data = Data {
        head: vec![
            "result".into(),
            "repetition".into(),
            format!("{}, {unit}", figure_name(&first.name)),
        ],
        rows: rows.collect(),
    };
    Some(Chart::new(
        &identifier("boxes", &[method]),
        &format!("Repetitions of {method}"),
        &format!(
            "Deviation of each result's repetitions from their median. The box extends from the \
             first to the third quartile and shows the median; whiskers extend to the last value \
             within 1.5 times the interquartile range; each point is a repetition.{}",
            left_out_words(left_out)
        ),
        plots,
        layout,
        data,
    ))
}

/// Deviations of values from their median, in percent of it.
fn deviations(values: &[f64]) -> Vec<f64> {
    let median = median(values).filter(|m| *m != 0.0).unwrap_or(1.0);
    values.iter().map(|value| (value - median) / median.abs() * 100.0).collect()
}

/// Smallest number of values for a box.
const REPETITIONS_MIN: usize = 3;

/// Largest number of results in a chart.
const BOXES_MAX: usize = 12;
