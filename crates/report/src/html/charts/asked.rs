//! The plots that a scenario asks for, with TIPSY's meaning: dotted paths as axes, a curve for each
//! combination of the keys to group by, a filter on cells, four kinds and four pairs of scales.

use measure::record::{AxisType, Cell, Plot as Asked, PlotKind, RunRecord};
use serde_json::Value;

use super::chart::{Chart, Data, identifier};
use super::curves::{Axis, Curve, Drawing, Look, data, range};
use super::heat::{Surface, Tile};
use super::workers::with_laws;
use crate::words::{leaf, value_words};

/// One chart for each plot of the scenario; a plot without data says so.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let chart = |(index, plot): (usize, &Asked)| draw(record, index, plot);
    record.plots.iter().enumerate().map(chart).collect()
}

fn draw(record: &RunRecord, index: usize, plot: &Asked) -> Chart {
    let id = identifier("plot", &[&(index + 1).to_string()]);
    let cells: Vec<&Cell> = record.cells.iter().filter(|c| c.passes(&plot.filter)).collect();
    let title = match (cells.first(), plot.title.is_empty()) {
        (_, true) => format!("{} against {}", plot.y_axis.join(", "), plot.x_axis),
        (Some(cell), false) => cell.fill(&plot.title),
        (None, false) => plot.title.clone(),
    };
    let drawn = match plot.kind {
        PlotKind::Simple | PlotKind::Usl => curves(&id, &title, &cells, plot),
        PlotKind::Table => table(&id, &title, &cells, plot),
        PlotKind::Contour => contour(&id, &title, &cells, plot),
    };
    drawn.unwrap_or_else(|| nothing(&id, &title, cells.len(), plot))
}

fn label(cells: &[&Cell], path: &str) -> String {
    let unit = cells.iter().map(|cell| cell.unit_at(path)).find(|unit| !unit.is_empty());
    unit.map_or_else(|| path.to_string(), |unit| format!("{path}, {unit}"))
}

/// Name of a curve: the drawn figure, if there are several, and the values of the grouping keys.
fn group_name(cell: &Cell, plot: &Asked, y: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend((plot.y_axis.len() > 1).then(|| y.to_string()));
    words.extend(plot.group_by.iter().map(|key| {
        let value = cell.value_at(key).map_or("–".into(), |value| value_words(&value));
        format!("{} {value}", leaf(key))
    }));
    words.join(", ")
}

fn curves(id: &str, title: &str, cells: &[&Cell], plot: &Asked) -> Option<Chart> {
    let mut curves: Vec<Curve> = Vec::new();
    for y in &plot.y_axis {
        for cell in cells {
            let point = cell.number_at(&plot.x_axis).zip(cell.number_at(y));
            let Some(point) = point else { continue };
            let name = group_name(cell, plot, y);
            let mut added = Curve::new(&name, Look::Measured, [point]);
            for point in &mut added.points {
                point.is_bound = cell.is_bound_at(y);
            }
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.extend(added.points),
                None => curves.push(added),
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    if curves.is_empty() {
        return None;
    }
    let y_path = plot.y_axis.first().map_or("", String::as_str);
    let (x_label, y_label) = (label(cells, &plot.x_axis), label(cells, y_path));
    let table = data(&x_label, &y_label, &curves);
    let (shown, caption) = match plot.kind {
        PlotKind::Usl => {
            let (shown, laws) = with_laws(&curves);
            (shown, format!("Universal scalability law: {}.", laws.join("; ")))
        }
        _ => (curves, format!("{y_label} against {x_label}, requested by the scenario.")),
    };
    let all = |of: fn(&super::curves::Point) -> f64| -> Vec<f64> {
        shown.iter().flat_map(|c| c.points.iter().map(of)).collect()
    };
    let [x_log, y_log] = match plot.axis_type {
        AxisType::Normal => [false, false],
        AxisType::SemilogX => [true, false],
        AxisType::SemilogY => [false, true],
        AxisType::LogLog => [true, true],
    };
    let x = axis(&x_label, &all(|p| p.x), x_log)?;
    let y = axis(&y_label, &all(|p| p.y), y_log)?;
    let (plots, layout) = Drawing::new(x, y).of(&shown);
    Some(Chart::new(id, title, &caption, plots, layout, table))
}

/// An axis with the requested scale; none if a logarithmic scale is impossible.
fn axis(label: &str, values: &[f64], is_log: bool) -> Option<Axis> {
    let (min, max) = range(values);
    if !is_log {
        let room = ((max - min) * 0.05).max(max.abs() * 0.01);
        return Some(Axis {
            min: Some(min.min(0.0)),
            max: Some(max + room),
            ..Axis::linear(label)
        });
    }
    (min > 0.0).then(|| Axis { min: Some(min / 1.4), max: Some(max * 1.4), ..Axis::log(label) })
}

fn table(id: &str, title: &str, cells: &[&Cell], plot: &Asked) -> Option<Chart> {
    let mut head: Vec<String> = plot.group_by.iter().map(|key| leaf(key).to_string()).collect();
    head.push(label(cells, &plot.x_axis));
    head.extend(plot.y_axis.iter().map(|path| label(cells, path)));
    let words = |cell: &Cell, path: &str| match cell.value_at(path) {
        Some(Value::Number(n)) => n.as_f64().map_or(String::new(), super::curves::number),
        Some(value) => value_words(&value),
        None => String::new(),
    };
    let row = |cell: &&Cell| {
        let paths = plot.group_by.iter().chain([&plot.x_axis]).chain(&plot.y_axis);
        paths.map(|path| words(cell, path)).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> =
        cells.iter().map(row).filter(|row| row.iter().any(|text| !text.is_empty())).collect();
    let caption = "A table, requested by the scenario.";
    (!rows.is_empty()).then(|| Chart::table(id, title, caption, Data { head, rows }))
}

fn contour(id: &str, title: &str, cells: &[&Cell], plot: &Asked) -> Option<Chart> {
    let (y, z) = (plot.y_axis.first()?, plot.z_axis.as_ref()?);
    let tile = |cell: &&Cell| {
        let (x, y, value) = (cell.number_at(&plot.x_axis)?, cell.number_at(y)?, cell.number_at(z)?);
        Some(Tile { x, y, value, is_bound: cell.is_bound_at(z) })
    };
    let tiles: Vec<Tile> = cells.iter().filter_map(tile).collect();
    let [x_label, y_label, z_label] = [&plot.x_axis, y, z].map(|path| label(cells, path));
    let mut caption = format!("{z_label} over {x_label} and {y_label}, requested by the scenario.");
    let surface = Surface { x: x_label, y: y_label, z: z_label, tiles }.placed();
    if surface.is_crowded() {
        caption += " Several cells share a tile, which shows the first; the data has all of them.";
    }
    (!surface.tiles.is_empty()).then(|| {
        Chart::drawn(id, title, &caption, surface.svg(id, title, &caption), surface.data())
    })
}

/// A placeholder for a plot without data.
fn nothing(id: &str, title: &str, cells: usize, plot: &Asked) -> Chart {
    let paths: Vec<&str> = [plot.x_axis.as_str()]
        .into_iter()
        .chain(plot.y_axis.iter().map(String::as_str))
        .chain(plot.z_axis.as_deref())
        .collect();
    let reason = match cells {
        0 => "No cell passes the filter.".into(),
        _ => format!(
            "Nothing to draw: no cell has a value for all of {} (or a logarithmic axis has a value \
             that is not above zero).",
            paths.join(", ")
        ),
    };
    Chart::table(id, title, &reason, Data { head: Vec::new(), rows: Vec::new() })
}
