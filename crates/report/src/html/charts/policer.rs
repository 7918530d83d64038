//! How exactly policers keep their rates: the distribution of their errors against the tolerance,
//! and measured against configured rates.

use measure::record::{Cell, Outcome, RunRecord, Series};

use super::chart::{CHARTS_MAX, Chart, identifier, trimmed};
use super::curves::{Axis, Curve, Drawing, Look, range};
use super::series::{Columns, table};
use crate::names::Names;
use crate::words::outcomes;

/// One chart for each outcome that judged policers.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .flat_map(|(cell, outcome)| outcome.series.iter().map(move |s| (cell, outcome, s)))
        .filter(|(_, _, series)| series.name == "policer-precision")
        .filter_map(|(cell, outcome, series)| chart(&names, cell, outcome, series))
        .take(CHARTS_MAX)
        .collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome, series: &Series) -> Option<Chart> {
    let columns = Columns(series);
    let errors = columns.values(columns.place("error_percent")?);
    if errors.is_empty() {
        return None;
    }
    // The configuration has it as a fraction.
    let tolerance = outcome.configuration.get("tolerance").and_then(serde_json::Value::as_f64);
    let mut panels = vec![distribution(errors, tolerance.map(|t| t * 100.0))];
    let configured = columns.place("configured_bytes_per_s");
    let passed = columns.place("passed_bytes_per_s");
    if let Some((x, y)) = configured.zip(passed) {
        panels.push(against(&columns.scaled(x, y)));
    }
    let band = tolerance.map_or(String::new(), |t| {
        format!(" The grey band is the tolerance of {} %.", trimmed(t * 100.0))
    });
    Some(Chart::panels(
        &identifier("policer", &[&cell.id, &outcome.method]),
        &format!("Precision of the policers ({})", names.of_cell(cell)),
        &format!(
            "Left: cumulative distribution of the policers' errors. Right: passed rate against \
             configured rate.{band}"
        ),
        panels,
        table(series),
    ))
}

/// The errors as a cumulative distribution, which needs no choice of bins.
fn distribution(
    mut errors: Vec<f64>,
    tolerance: Option<f64>,
) -> (Vec<kuva::prelude::Plot>, kuva::prelude::Layout) {
    errors.sort_by(f64::total_cmp);
    let count = errors.len() as f64;
    let mut points = Vec::with_capacity(errors.len() * 2);
    for (index, error) in errors.iter().enumerate() {
        points.push((*error, index as f64 / count * 100.0));
        points.push((*error, (index + 1) as f64 / count * 100.0));
    }
    let (min, max) = range(&errors);
    let least = tolerance.unwrap_or(0.0);
    let (min, max) = (min.min(-least), max.max(least));
    let room = ((max - min) * 0.08).max(1e-6);
    let x = Axis {
        min: Some(min - room),
        max: Some(max + room),
        ..Axis::linear("error, % of the configured traffic")
    };
    let y = Axis { max: Some(100.0), ..Axis::linear("policers, %").with_zero() };
    let mut drawing = Drawing::new(x, y).half();
    drawing.band_x = tolerance.map(|t| [-t, t]);
    drawing.of(&[Curve::new("policers", Look::Law, points)])
}

/// The passed against the configured rate, with the line of equality.
fn against(points: &[(f64, f64)]) -> (Vec<kuva::prelude::Plot>, kuva::prelude::Layout) {
    let values: Vec<f64> = points.iter().flat_map(|(x, y)| [*x, *y]).collect();
    let (min, max) = range(&values);
    let axis = |label: &str| Axis::spanning(label, &values);
    let (low, high) = if max > min { (min, max) } else { (min * 0.95, max * 1.05) };
    let curves = [
        Curve::new("policers", Look::Marks, points.iter().copied()),
        Curve::new("as configured", Look::Law, [(low, low), (high, high)]),
    ];
    Drawing::new(axis("configured, Mbit/s"), axis("passed, Mbit/s")).half().of(&curves)
}
