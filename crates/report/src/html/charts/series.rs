//! Series that a method recorded: columns by name, the data as a table, and a plain chart for a
//! series of a kind that has no chart of its own.

use measure::record::{Column, RunRecord, Series};

use super::chart::{CHARTS_MAX, Chart, Data, identifier};
use super::curves::{Axis, Curve, Drawing, Look, number};
use crate::names::Names;
use crate::summary::figure_name;
use crate::words::outcomes;

/// The columns of a series.
pub(super) struct Columns<'a>(pub(super) &'a Series);

impl Columns<'_> {
    /// Index of the column with this name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.0.columns.iter().position(|c| c.name == name)
    }

    /// The values of each row in two columns, if both are known.
    pub(super) fn pairs(&self, x: usize, y: usize) -> Vec<(f64, f64)> {
        let value = |row: &[Option<f64>], place: usize| row.get(place).copied().flatten();
        self.0.rows.iter().filter_map(|row| value(row, x).zip(value(row, y))).collect()
    }

    /// The known values of a column.
    pub(super) fn values(&self, place: usize) -> Vec<f64> {
        self.pairs(place, place).into_iter().map(|(value, _)| value).collect()
    }

    /// Label of a column, with the unit of its `scaled` values.
    pub(super) fn label(&self, place: usize) -> String {
        self.0.columns.get(place).map_or(String::new(), label)
    }

    /// The values of two columns in the units of the axes.
    pub(super) fn scaled(&self, x: usize, y: usize) -> Vec<(f64, f64)> {
        let factor = |place: usize| self.0.columns.get(place).map_or(1.0, |c| scale(&c.unit).0);
        let (fx, fy) = (factor(x), factor(y));
        self.pairs(x, y).into_iter().map(|(x, y)| (x * fx, y * fy)).collect()
    }
}

/// A label from a name without its unit and the unit of the axis.
fn label(column: &Column) -> String {
    match scale(&column.unit).1 {
        "" => name(column),
        unit => format!("{}, {unit}", name(column)),
    }
}

/// A column's name as text, without the unit at its end.
fn name(column: &Column) -> String {
    let suffix = match column.unit.as_str() {
        "percent" => "_percent",
        "1/s" => "_per_s",
        "B/s" => "_bytes_per_s",
        "B" | "bytes" => "_bytes",
        "bit/s" => "_bps",
        "s" => "_s",
        "pps" => "_pps",
        "ns" => "_ns",
        "fraction" => "_fraction",
        _ => "",
    };
    figure_name(column.name.strip_suffix(suffix).unwrap_or(&column.name))
}

/// The factor that scales the values of a unit for an axis, and the unit afterwards.
fn scale(unit: &str) -> (f64, &str) {
    match unit {
        "pps" => (1e-6, "Mpps"),
        "ns" => (1e-3, "µs"),
        "percent" => (1.0, "%"),
        "bytes" | "B" => (1e-6, "MB"),
        "B/s" => (8e-6, "Mbit/s"),
        "bit/s" => (1e-6, "Mbit/s"),
        "fraction" => (100.0, "%"),
        "index" => (1.0, ""),
        other => (1.0, other),
    }
}

/// The data table of a series, with the numbers of the record.
pub(super) fn table(series: &Series) -> Data {
    let head = series.columns.iter().map(|c| match c.unit.as_str() {
        "" => c.name.clone(),
        unit => format!("{}, {unit}", c.name),
    });
    let row = |row: &Vec<Option<f64>>| {
        row.iter().map(|value| value.map_or(String::new(), number)).collect()
    };
    Data { head: head.collect(), rows: series.rows.iter().map(row).collect() }
}

/// A plain chart of each series that has no chart of its own: the first column against the others,
/// one panel per unit.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .flat_map(|(cell, outcome)| outcome.series.iter().map(move |s| (cell, outcome, s)))
        .filter(|(_, _, series)| !DRAWN.contains(&series.name.as_str()))
        .filter_map(|(cell, outcome, series)| {
            let id = identifier("series", &[&series.name, &cell.id, &outcome.method]);
            plain(&id, &format!("{} ({})", series.title, names.of_cell(cell)), "", series, &[])
        })
        .take(CHARTS_MAX)
        .collect()
}

/// The first column against each other column (or those in `only`), with one panel per unit.
pub(super) fn plain(
    id: &str,
    title: &str,
    caption: &str,
    series: &Series,
    only: &[&str],
) -> Option<Chart> {
    drawn(id, title, caption, series, only, Axis::with_zero)
}

/// A plain chart whose axes show the change, even if it is small compared with the value.
pub(super) fn trend(id: &str, title: &str, caption: &str, series: &Series) -> Option<Chart> {
    drawn(id, title, caption, series, &[], |axis| axis)
}

fn drawn(
    id: &str,
    title: &str,
    caption: &str,
    series: &Series,
    only: &[&str],
    fitted: fn(Axis) -> Axis,
) -> Option<Chart> {
    let columns = Columns(series);
    let mut units: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, column) in series.columns.iter().enumerate().skip(1) {
        let wanted = only.is_empty() || only.contains(&column.name.as_str());
        if !wanted || columns.values(place).is_empty() {
            continue;
        }
        match units.iter_mut().find(|(unit, _)| *unit == column.unit) {
            Some((_, places)) => places.push(place),
            None => units.push((column.unit.clone(), vec![place])),
        }
    }
    let xs: Vec<f64> = columns.scaled(0, 0).iter().map(|p| p.0).collect();
    // Time, parts and numbers of repetitions are not of decades.
    let not_of_decades = ["s", "index", "fraction", "percent"];
    let is_plain =
        series.columns.first().is_some_and(|c| not_of_decades.contains(&c.unit.as_str()));
    let (x_axis, place_of) = match is_plain {
        true => (Axis::linear(&columns.label(0)), None),
        false => Some(Axis::of_free(&columns.label(0), &xs)).map(|(a, p)| (a, Some(p)))?,
    };
    let look = if xs.len() > MARKS_MAX { Look::Law } else { Look::Measured };
    if xs.len() < 2 || units.is_empty() {
        return None;
    }
    let panel = |(unit, places): &(String, Vec<usize>)| {
        let curve = |place: &usize| {
            let name = series.columns.get(*place).map_or(String::new(), name);
            let points = columns
                .scaled(0, *place)
                .into_iter()
                .map(|(x, y)| (place_of.as_ref().map_or(x, |place_of| place_of(x)), y));
            Curve::new(&name, look, points)
        };
        let curves: Vec<Curve> = places.iter().map(curve).collect();
        let ys: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.y)).collect();
        let y_label = match places.as_slice() {
            [place] => columns.label(*place),
            _ => scale(unit).1.to_string(),
        };
        let drawing = Drawing::new(x_axis.clone(), fitted(Axis::spanning(&y_label, &ys)));
        if units.len() > 1 { drawing.half().of(&curves) } else { drawing.of(&curves) }
    };
    let panels = units.iter().map(panel).collect();
    let caption = if caption.is_empty() { &series.title } else { caption };
    Some(Chart::panels(id, title, caption, panels, table(series)))
}

/// Largest number of points that get markers.
const MARKS_MAX: usize = 40;

/// Series that have charts of their own.
const DRAWN: &[&str] = &[
    "loss-curve",
    "latency-by-load",
    "churn-surface",
    "churn-loss",
    "policer-precision",
    "soak-trend",
    "denial-of-service",
    "session-rates",
    "session-counts",
    // Its rows are events of different kinds.
    "convergence",
];
