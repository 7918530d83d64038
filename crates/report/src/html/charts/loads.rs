//! Latency at several loads: a curve of percentiles for each, a chart for each direction.

use measure::record::{Cell, DirectionRecord, Outcome, RunRecord};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look};
use super::percentiles;
use super::series::{Columns, table};
use crate::names::Names;
use crate::words::{distinct, outcomes};

/// The charts of the method `latency`, whose trials have their load in their purpose.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    let of_outcome = |(cell, outcome): (&Cell, &Outcome)| {
        let mut charts = charts_of(&names, cell, outcome);
        charts.extend(against_load(&names, cell, outcome));
        charts
    };
    outcomes(record).flat_map(of_outcome).take(CHARTS_MAX).collect()
}

fn charts_of(names: &Names, cell: &Cell, outcome: &Outcome) -> Vec<Chart> {
    let is_load = |purpose: &&str| purpose.starts_with(PURPOSE);
    let purposes: Vec<&str> = distinct(outcome.trials.iter().map(|t| t.purpose.as_str()))
        .into_iter()
        .filter(is_load)
        .collect();
    let directions =
        distinct(outcome.trials.iter().flat_map(|t| t.directions.iter().map(|d| d.name.as_str())));
    let chart = |direction: &&str| {
        let series: Vec<_> = purposes
            .iter()
            .filter_map(|purpose| {
                let name = purpose.trim_start_matches(PURPOSE).trim();
                Some((name.to_string(), merged(outcome, purpose, direction)?))
            })
            .collect();
        let wire = outcome.baseline.and_then(|b| b.latency_p50_ns).map_or(String::new(), |ns| {
            format!(" The tester alone contributes {} (median).", measure::Nanos(ns))
        });
        percentiles::chart(
            &identifier("latency-by-load", &[&cell.id, &outcome.method, direction]),
            &format!("Latency at each load, {direction} ({})", names.of_cell(cell)),
            &format!(
                "Time from transmission to reception by percentile of the frames, at each load in \
                 percent of the throughput.{wire}"
            ),
            &series,
        )
    };
    directions.iter().filter_map(chart).collect()
}

/// Median and 99.9th percentile against the load, by direction.
fn against_load(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let series = outcome.series.iter().find(|s| s.name == "latency-by-load")?;
    let columns = Columns(series);
    let (x, of) = (columns.place("load_percent")?, columns.place("direction")?);
    let mut curves = Vec::new();
    for (index, direction) in directions(outcome).iter().enumerate() {
        for (column, name) in
            [("p50_ns", "median"), ("p50", "median"), ("p99_9_ns", "99.9 %"), ("p99_9", "99.9 %")]
        {
            let Some(y) = columns.place(column) else { continue };
            let value = |row: &[Option<f64>], place: usize| row.get(place).copied().flatten();
            let rows = series.rows.iter().filter(|row| value(row, of) == Some(index as f64));
            let points = rows.filter_map(|row| Some((value(row, x)?, value(row, y)?)));
            curves.push(Curve::new(&format!("{direction}, {name}"), Look::Measured, points));
        }
    }
    curves.retain(|curve| curve.points.len() > 1);
    if curves.is_empty() {
        return None;
    }
    let x_axis = Axis::linear("load, % of the throughput").with_zero();
    let drawing = Drawing::new(x_axis, Axis::log("time").in_words(percentiles::short_time));
    let (plots, layout) = drawing.of(&curves);
    Some(Chart::new(
        &identifier("latency-load", &[&cell.id, &outcome.method]),
        &format!("Latency against load ({})", names.of_cell(cell)),
        "Median and 99.9th percentile of the frames of each direction, against the load.",
        plots,
        layout,
        table(series),
    ))
}

fn directions(outcome: &Outcome) -> Vec<&str> {
    distinct(outcome.trials.iter().flat_map(|t| t.directions.iter().map(|d| d.name.as_str())))
}

/// The merged latency of a direction over the trials with a purpose.
fn merged(
    outcome: &Outcome,
    purpose: &str,
    direction: &str,
) -> Option<hdrhistogram::Histogram<u64>> {
    let trials = outcome.trials.iter().filter(|t| t.purpose == purpose);
    let of_direction = |d: &&DirectionRecord| d.name == direction;
    let mut histograms = trials
        .flat_map(|t| t.directions.iter().filter(of_direction))
        .filter_map(|d| d.latency.as_ref()?.histogram());
    let mut all = histograms.next()?;
    for histogram in histograms {
        // Values out of the first one's range would be an error; they are all of one kind.
        all.auto(true);
        if all.add(&histogram).is_err() {
            return None;
        }
    }
    Some(all)
}

/// Prefix of the purposes of the method's trials.
const PURPOSE: &str = "latency ";
