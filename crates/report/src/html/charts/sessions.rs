//! Sessions of a stateful device: how many opened a second by the rate asked for, how many it held
//! by how many were asked for, and the memory that they took.

use measure::record::{Cell, Outcome, RunRecord, Series};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look};
use super::published::line;
use super::series::{Columns, table};
use crate::names::Names;
use crate::references::{self, Kind};
use crate::words::outcomes;

/// The charts of each outcome that opened sessions at several rates or in several numbers.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    let of_outcome = |(cell, outcome): (&Cell, &Outcome)| {
        let chart = |series| chart(record, &names, cell, outcome, series);
        outcome.series.iter().filter_map(chart).collect::<Vec<_>>()
    };
    outcomes(record).flat_map(of_outcome).take(CHARTS_MAX).collect()
}

fn chart(
    record: &RunRecord,
    names: &Names,
    cell: &Cell,
    outcome: &Outcome,
    series: &Series,
) -> Option<Chart> {
    let drawn = DRAWN.iter().find(|drawn| drawn.series == series.name)?;
    let marks = published(record, cell, drawn.unit);
    let columns = Columns(series);
    let pairs = |x: &str, y: &str| Some(columns.pairs(columns.place(x)?, columns.place(y)?));
    let opened = pairs(drawn.asked, drawn.opened)?;
    if opened.len() < 2 {
        return None;
    }
    let asked: Vec<f64> = opened.iter().map(|point| point.0).collect();
    let (least, most) = (min(&asked), max(&asked));
    let all = [(least, least), (most, most)];
    let curves = [Curve::new(drawn.words, Look::Marks, opened), Curve::new("all", Look::Law, all)];
    let mut panels = vec![panel(drawn.asked_words, drawn.words, &curves, marks)];
    let memory = pairs(drawn.asked, "resident_bytes").unwrap_or_default();
    let memory: Vec<(f64, f64)> = memory.into_iter().map(|(x, y)| (x, y * 1e-6)).collect();
    if memory.len() > 1 {
        let curves = [Curve::new("memory", Look::Measured, memory)];
        panels.push(panel(drawn.asked_words, "memory of the device, MB", &curves, Vec::new()));
    }
    let answers: Vec<Curve> = ANSWERS
        .iter()
        .filter_map(|(column, name)| {
            let points = pairs(drawn.asked, column)?;
            let micros = points.into_iter().map(|(x, ns)| (x, ns * 1e-3));
            Some(Curve::new(name, Look::Measured, micros))
        })
        .filter(|curve| curve.points.len() > 1)
        .collect();
    if !answers.is_empty() {
        panels.push(panel(drawn.asked_words, "answer time, µs", &answers, Vec::new()));
    }
    let id = identifier(&series.name, &[&cell.id, &outcome.method]);
    let title = format!("{} ({})", series.title, names.of_cell(cell));
    Some(Chart::panels(&id, &title, drawn.caption, panels, table(series)))
}

/// One panel of a chart.
fn panel(
    x: &str,
    y: &str,
    curves: &[Curve],
    marks: Vec<(f64, String)>,
) -> (Vec<kuva::prelude::Plot>, kuva::prelude::Layout) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let xs: Vec<f64> = points().map(|point| point.x).collect();
    let mut ys: Vec<f64> = points().map(|point| point.y).collect();
    ys.extend(marks.iter().map(|(value, _)| *value));
    let mut drawing = Drawing::new(Axis::spanning(x, &xs), Axis::spanning(y, &ys).with_zero());
    drawing.at_y = marks;
    drawing.half().of(curves)
}

/// Published figures of the function in a unit: rates per core, numbers as published.
fn published(record: &RunRecord, cell: &Cell, unit: &str) -> Vec<(f64, String)> {
    let chosen = references::chosen(&cell.function, &record.scenario.references);
    let is_it = |r: &references::Reference| {
        r.chart && r.kind == Kind::Published && r.function == cell.function && r.unit == unit
    };
    let mark = |r: &references::Reference| match (unit, r.per_core()) {
        ("1/s", Some(value)) => {
            let (value, words) = line(r, value);
            (value, format!("{words}, per core"))
        }
        _ => line(r, r.value),
    };
    chosen.iter().filter(|r| is_it(r)).map(mark).collect()
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The drawn columns of a series.
struct Drawn {
    series: &'static str,
    asked: &'static str,
    opened: &'static str,
    asked_words: &'static str,
    words: &'static str,
    /// Unit of the published figures in the chart.
    unit: &'static str,
    caption: &'static str,
}

const DRAWN: [Drawn; 2] = [
    Drawn {
        series: "session-rates",
        asked: "asked_rate",
        opened: "opened_rate",
        asked_words: "requested sessions per second",
        words: "opened sessions per second",
        unit: "1/s",
        caption: "Each point is a trial on an empty device. On the line every session opened; \
                  below it some sessions failed.",
    },
    Drawn {
        series: "session-counts",
        asked: "asked",
        opened: "opened",
        asked_words: "requested sessions",
        words: "opened sessions",
        unit: "sessions",
        caption: "Each point is a step of the search. On the line every session opened; where the \
                  points level off, the device is full.",
    },
];

/// Columns of answer times with their names.
const ANSWERS: [(&str, &str); 2] =
    [("answer_p50", "half of the sessions"), ("answer_p99_9", "99.9 % of the sessions")];
