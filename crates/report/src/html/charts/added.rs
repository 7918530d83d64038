//! What a feature adds to latency by frame size, each value of the compared key a curve, with what
//! others published of theirs. The interval of each difference is its bar.

use measure::record::{Addition, RunRecord, additions};

use super::chart::{Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look, Point, data, range};
use super::published;
use crate::references::Reference;
use crate::sweeps::{self, Sweep, is_size};
use crate::words::{distinct, value_words};

/// One chart, if a key was compared at several frame sizes.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let Some(key) = record.plan.compare.as_deref() else { return Vec::new() };
    let sweeps = sweeps::of(&record.cells);
    let sizes = sweeps.iter().find(|sweep| is_size(&sweep.key));
    sizes.and_then(|sweep| chart(record, key, sweep)).into_iter().collect()
}

fn chart(record: &RunRecord, key: &str, sweep: &Sweep<'_>) -> Option<Chart> {
    let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
    let found = additions(key, &record.cells, &names);
    let references = published::of(record, sweep);
    let panel = |figure: &Drawn| Panel::of(figure, &found, &references, sweep);
    let panels: Vec<Panel> = FIGURES.iter().filter_map(panel).collect();
    let first = panels.first()?;
    let mut table = data("frame size, bytes", "added, µs", &first.curves);
    table.head.insert(0, "what".into());
    table.rows.clear();
    for panel in &panels {
        let rows = data("", "", &panel.curves).rows.into_iter();
        table.rows.extend(rows.map(|mut row| {
            row.insert(0, panel.label.into());
            row.resize(table.head.len(), String::new());
            row
        }));
    }
    let others = match panels.iter().any(|panel| panel.has_others) {
        true => {
            " Dotted curves, single marks and dashed lines with a name were published by others; \
                  their sources are listed below."
        }
        false => "",
    };
    let drawings = panels.iter().map(Panel::drawing).collect();
    Some(Chart::panels(
        &identifier("added", &[key, &sweep.key]),
        "Added latency by frame size",
        &format!(
            "Latency with the feature minus latency without it, measured in pairs, in the slower \
             direction; bars are 95 % confidence intervals of the mean, and an interval that \
             contains zero is inconclusive.{others}"
        ),
        drawings,
        table,
    ))
}

/// One panel of the chart.
struct Panel {
    label: &'static str,
    curves: Vec<Curve>,
    lines: Vec<(f64, String)>,
    has_others: bool,
}

impl Panel {
    fn of(
        figure: &Drawn,
        found: &[Addition],
        references: &[Reference],
        sweep: &Sweep<'_>,
    ) -> Option<Panel> {
        let ours: Vec<&Addition> = found.iter().filter(|one| one.figure == figure.name).collect();
        let values: Vec<String> = ours.iter().map(|one| value_words(&one.a)).collect();
        let of_value = |value: &&str| curve(value, &ours, sweep);
        let mut curves: Vec<Curve> =
            distinct(values.iter().map(String::as_str)).iter().map(of_value).collect();
        curves.retain(|curve| curve.points.len() > 1);
        if curves.is_empty() {
            return None;
        }
        let alike: Vec<&Reference> =
            references.iter().filter(|r| r.reading.as_deref() == Some(figure.reading)).collect();
        let others = published::curves(&alike, published::size_place, |r, _| published::micros(r));
        let free = alike.iter().filter(|r| r.size.is_none());
        let lines: Vec<(f64, String)> =
            free.filter_map(|r| Some(published::line(r, published::micros(r)?))).collect();
        let has_others = !others.is_empty() || !lines.is_empty();
        curves.extend(others);
        Some(Panel { label: figure.label, curves, lines, has_others })
    }

    fn drawing(&self) -> (Vec<kuva::prelude::Plot>, kuva::prelude::Layout) {
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let xs: Vec<f64> = points().map(|p| p.x).collect();
        let ys: Vec<f64> = points()
            .flat_map(|p| p.bar.map_or([p.y; 2], |bar| bar))
            .chain(self.lines.iter().map(|line| line.0))
            .chain([0.0])
            .collect();
        let (min, max) = range(&ys);
        let room = ((max - min) * 0.06).max(0.01);
        let x = Axis {
            min: Some(0.0),
            max: Some(range(&xs).1 * 1.05),
            ..Axis::linear("frame size, bytes")
        };
        let label = format!("{}, µs", self.label);
        let y = Axis { min: Some(min - room), max: Some(max + room), ..Axis::linear(&label) };
        Drawing { at_y: self.lines.clone(), ..Drawing::new(x, y).half() }.of(&self.curves)
    }
}

/// The difference that one value makes at each frame size, in the direction with the larger
/// difference.
fn curve(value: &str, ours: &[&Addition], sweep: &Sweep<'_>) -> Curve {
    let mut points: Vec<Point> = Vec::new();
    for one in ours.iter().filter(|one| value_words(&one.a) == value) {
        let wanted = one.parameters.get(&sweep.key);
        let Some(x) = sweep.place_of(|size| Some(size) == wanted) else { continue };
        let bar = one.confidence_95.map(|bar| bar.map(|ns| ns * 1e-3));
        let point = Point { x, y: one.added * 1e-3, bar, is_bound: false };
        match points.iter_mut().find(|known| known.x == x) {
            Some(known) if known.y < point.y => *known = point,
            Some(_) => {}
            None => points.push(point),
        }
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Curve { name: value.to_owned(), points, look: Look::Measured, like: None }
}

/// A figure that is drawn, with its label and its name in references.
struct Drawn {
    name: &'static str,
    label: &'static str,
    reading: &'static str,
}

const FIGURES: [Drawn; 2] = [
    Drawn { name: "latency_mean", label: "added to the mean", reading: "added_latency_mean" },
    Drawn { name: "latency_max", label: "added to the maximum", reading: "added_latency_max" },
];
