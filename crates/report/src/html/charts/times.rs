//! Latency against a swept number - sizes of frames, addresses -: mean beside greatest, each load a
//! curve, with what others published on the same axes.

use measure::record::{Cell, RunRecord};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Point, data, range};
use super::percentiles::short_time;
use super::published;
use crate::references::Reference;
use crate::sweeps::{self, Sweep, bar, is_size, is_workers, outcome_of};
use crate::words::distinct;

/// One chart for each swept number.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let sweeps = sweeps::of(&record.cells);
    let wanted = sweeps.iter().filter(|s| !is_workers(&s.key));
    wanted.filter_map(|sweep| chart(record, sweep)).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, sweep: &Sweep<'_>) -> Option<Chart> {
    let references = published::of(record, sweep);
    let panels: Vec<Panel> =
        FIGURES.iter().filter_map(|(f, n)| Panel::of(f, n, &references, sweep)).collect();
    let first = panels.first()?;
    let mut table = data(sweep.leaf(), &format!("{}, µs", first.name), &first.curves);
    for panel in panels.iter().skip(1) {
        let more = data("", "", &panel.curves);
        let named = |mut row: Vec<String>| {
            row[0] = format!("{}: {}", panel.name, row[0]);
            row.resize(table.head.len(), String::new());
            row
        };
        let rows: Vec<_> = more.rows.into_iter().map(named).collect();
        table.rows.extend(rows);
    }
    let others = match panels.iter().any(|p| p.has_others) {
        true => {
            " Dotted curves, single marks and dashed lines with a name were published by others; their sources are listed below."
        }
        false => "",
    };
    let drawings = panels.iter().map(|panel| panel.drawing(sweep)).collect();
    Some(Chart::panels(
        &identifier("times", &[&sweep.key]),
        &format!("Latency against {}", sweep.leaf()),
        &format!(
            "Mean and maximum latency of the slower direction at each load, in percent of the \
             throughput of the cell.{others}"
        ),
        drawings,
        table,
    ))
}

/// One panel of the chart.
struct Panel {
    name: &'static str,
    curves: Vec<Curve>,
    /// Published times without a position.
    lines: Vec<(f64, String)>,
    has_others: bool,
}

impl Panel {
    fn of(
        figure: &str,
        name: &'static str,
        references: &[Reference],
        sweep: &Sweep<'_>,
    ) -> Option<Panel> {
        let loads = distinct(sweep.cells().flat_map(loads));
        let of_load = |load: &&str| {
            let name = if loads.len() > 1 { load } else { "" };
            sweep.read(name, |cell| slowest(cell, figure, load))
        };
        let mut curves: Vec<Curve> = loads.iter().flat_map(of_load).take(CURVES_MAX).collect();
        if curves.is_empty() {
            return None;
        }
        let alike: Vec<&Reference> =
            references.iter().filter(|r| r.reading.as_deref() == Some(figure)).collect();
        let of_sizes = is_size(&sweep.key);
        let place = |r: &Reference| match of_sizes {
            true => published::size_place(r),
            false => published::user_place(r),
        };
        let others = published::curves(&alike, place, |r, _| published::micros(r));
        let is_free = |r: &&&Reference| r.size.is_none() && r.user.is_none();
        let lines: Vec<(f64, String)> = alike
            .iter()
            .filter(is_free)
            .filter_map(|r| Some(published::line(r, published::micros(r)?)))
            .collect();
        let has_others = !others.is_empty() || !lines.is_empty();
        curves.extend(others);
        Some(Panel { name, curves, lines, has_others })
    }

    fn drawing(&self, sweep: &Sweep<'_>) -> (Vec<kuva::prelude::Plot>, kuva::prelude::Layout) {
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let xs: Vec<f64> = points().map(|p| p.x).collect();
        let x = match is_size(&sweep.key) {
            true => Axis {
                min: Some(0.0),
                max: Some(range(&xs).1 * 1.05),
                ..Axis::linear("frame size, bytes")
            },
            false => Axis::spanning(sweep.leaf(), &xs),
        };
        let ys: Vec<f64> = points()
            .flat_map(|p| p.bar.map_or([p.y; 2], |bar| bar))
            .chain(self.lines.iter().map(|line| line.0))
            .filter(|y| *y > 0.0)
            .collect();
        let (min, max) = range(&ys);
        let y = Axis { min: Some(min / 1.5), max: Some(max * 1.5), ..Axis::log(self.name) };
        let y = y.in_words(|micros| short_time(micros * 1e3));
        Drawing { at_y: self.lines.clone(), ..Drawing::new(x, y).half() }.of(&self.curves)
    }
}

/// The loads at which a cell's latency was measured, as text: `50 %`.
fn loads(cell: &Cell) -> impl Iterator<Item = &str> {
    let figures = outcome_of(cell, METHOD).into_iter().flat_map(|o| &o.figures);
    let timed = figures.filter(|f| FIGURES.iter().any(|(name, _)| *name == f.name));
    timed.filter_map(|f| Some(f.of.as_deref()?.split_once(", ")?.0))
}

/// A time at a load in the slower direction, in microseconds, with its error bar.
fn slowest(cell: &Cell, figure: &str, load: &str) -> Option<Point> {
    let is_of_load = |of: &str| of.split_once(", ").is_some_and(|(at, _)| at == load);
    let all = outcome_of(cell, METHOD)?.figures.iter().filter(|f| f.name == figure);
    let of_load = all.filter(|f| f.of.as_deref().is_some_and(is_of_load));
    let worst = of_load.max_by(|a, b| a.value.total_cmp(&b.value))?;
    // A mean cannot be below zero, whatever its interval; the axis is logarithmic.
    let bar = bar(worst).map(|bar| bar.map(|ns| (ns * 1e-3).max(worst.value * 1e-3 / 10.0)));
    Some(Point { x: 0.0, y: worst.value * 1e-3, bar, is_bound: worst.bound.is_some() })
}

const METHOD: &str = "latency";

/// Drawn figures with the labels of their axes.
const FIGURES: [(&str, &str); 2] =
    [("latency_mean", "mean latency"), ("latency_max", "maximum latency")];

/// Largest number of curves that can be distinguished.
const CURVES_MAX: usize = 8;
