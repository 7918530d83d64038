//! A method's figures against a swept number, with the figures of others as marks.

use kuva::plot::line::LinePlot;
use kuva::plot::scatter::{MarkerShape, ScatterPlot};
use kuva::prelude::*;
use measure::record::{Cell, Figure, RunRecord};

use super::{Chart, Data, HEIGHT, colour, short_count, styled, ticks};
use crate::names::Names;
use crate::references::{self, Counts, Reference};
use crate::summary::{figure_name, grouped, leaf, mpps};

/// One chart for each method whose cells differ in a number.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let Some(key) = numeric_key(record) else { return Vec::new() };
    METHODS
        .iter()
        .filter_map(|(method, figures, counts)| {
            let lines = lines(record, method, figures, &key);
            (!lines.is_empty()).then(|| chart(record, method, &key, lines, counts))
        })
        .collect()
}

/// One line of the chart: a figure over the key, the other keys being fixed.
struct Line {
    name: String,
    points: Vec<(f64, Figure)>,
}

/// The first key that names cells and takes two or more numbers.
fn numeric_key(record: &RunRecord) -> Option<String> {
    Names::of(record)
        .keys()
        .iter()
        .find(|key| {
            let mut values: Vec<f64> =
                record.cells.iter().filter_map(|c| number(c, key)).filter(|v| *v > 0.0).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.len() > 1
        })
        .cloned()
}

fn number(cell: &Cell, key: &str) -> Option<f64> {
    cell.parameters.get(key)?.as_f64()
}

fn lines(record: &RunRecord, method: &str, figures: &[&str], key: &str) -> Vec<Line> {
    let names = Names::of(record);
    let mut lines: Vec<Line> = Vec::new();
    for name in figures {
        for cell in &record.cells {
            let outcome = cell.outcomes.iter().find(|o| o.method == method);
            let Some(figure) = outcome.and_then(|o| o.figure(name)) else { continue };
            let Some(x) = number(cell, key).filter(|x| *x > 0.0) else { continue };
            let others = names.without(cell, key);
            let name =
                std::iter::once(figure_name(name)).chain(others).collect::<Vec<_>>().join(", ");
            match lines.iter_mut().find(|l| l.name == name) {
                Some(line) => line.points.push((x, figure.clone())),
                None => lines.push(Line { name, points: vec![(x, figure.clone())] }),
            }
        }
    }
    lines.retain(|line| line.points.len() > 1);
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

fn chart(
    record: &RunRecord,
    method: &str,
    key: &str,
    lines: Vec<Line>,
    counts: &[Counts],
) -> Chart {
    let function = record.cells.first().map_or("", |c| c.function.as_str());
    let marks: Vec<Reference> = references::of(function)
        .into_iter()
        .filter(|r| r.chart && leaf(key) == "user" && counts.contains(&r.counts))
        .collect();
    let mut plots = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        plots.extend(drawn(line, index));
    }
    plots.extend(drawn_marks(&marks, lines.len()));
    let xs: Vec<f64> = lines.iter().flat_map(|l| l.points.iter().map(|p| p.0)).collect();
    let (min, max) =
        xs.iter().fold((f64::INFINITY, 0f64), |(min, max), x| (min.min(*x), max.max(*x)));
    let mut layout = styled(Layout::auto_from_plots(&plots))
        .with_height(HEIGHT)
        .with_x_label(leaf(key))
        .with_y_label("Mpps")
        .with_y_axis_min(0.0)
        .with_x_tick_format(ticks(short_count))
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    // Room beside the outermost points, so that their markers are whole.
    layout = if max / min >= 10.0 {
        layout.with_log_x().with_x_axis_min(min / 1.4).with_x_axis_max(max * 1.4)
    } else {
        layout.with_x_axis_min(0.0).with_x_axis_max(max * 1.05)
    };
    let spread = if lines.iter().any(|l| l.points.iter().any(|(_, f)| f.spread.is_some())) {
        " Points are medians, bars reach from the smallest to the largest repetition."
    } else {
        ""
    };
    let others =
        if marks.is_empty() { "" } else { " Single marks are figures of others, listed below." };
    Chart::new(
        &format!("sweep-{method}"),
        &format!("{method} against {}", leaf(key)),
        &format!("Packets a second of the {function} by {}.{spread}{others}", leaf(key)),
        plots,
        layout,
        data(key, &lines),
    )
}

/// A line, its points, and their spread.
fn drawn(line: &Line, index: usize) -> Vec<Plot> {
    let points: Vec<(f64, f64)> = line.points.iter().map(|(x, f)| (*x, mpps(f.value))).collect();
    let errors: Vec<(f64, f64)> = line
        .points
        .iter()
        .map(|(_, f)| {
            f.spread.map_or((0.0, 0.0), |s| (mpps(f.value - s.min), mpps(s.max - f.value)))
        })
        .collect();
    let mut curve = LinePlot::new()
        .with_data(points.clone())
        .with_color(colour(index))
        .with_stroke_width(2.5)
        .with_legend(line.name.as_str());
    if index % 2 == 1 {
        curve = curve.with_dashed();
    }
    let dots = ScatterPlot::new()
        .with_data(points)
        .with_y_err_asymmetric(errors)
        .with_color(colour(index))
        .with_size(5.0);
    vec![curve.into(), dots.into()]
}

/// The figures of others, those of one name as one series.
fn drawn_marks(marks: &[Reference], lines: usize) -> Vec<Plot> {
    let mut names: Vec<&str> = Vec::new();
    for mark in marks {
        if !names.contains(&mark.mark.as_str()) {
            names.push(&mark.mark);
        }
    }
    let shapes =
        [MarkerShape::Diamond, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Cross];
    let one = |(index, name): (usize, &&str)| {
        let points: Vec<(f64, f64)> = marks
            .iter()
            .filter(|m| m.mark == **name && m.unit == "Mpps")
            .filter_map(|m| Some((m.user?, m.value)))
            .collect();
        ScatterPlot::new()
            .with_data(points)
            .with_marker(shapes[index % shapes.len()])
            .with_color(colour(lines + index))
            .with_size(7.0)
            .with_legend(*name)
            .into()
    };
    names.iter().enumerate().map(one).collect()
}

fn data(key: &str, lines: &[Line]) -> Data {
    let head = [leaf(key), "series", "Mpps", "smallest", "largest", "repetitions"];
    let mut rows = Vec::new();
    for line in lines {
        for (x, figure) in &line.points {
            let number = |value: f64| format!("{:.3}", mpps(value));
            let spread = figure.spread;
            rows.push(vec![
                grouped(*x as u64),
                line.name.clone(),
                number(figure.value),
                spread.map_or(String::new(), |s| number(s.min)),
                spread.map_or(String::new(), |s| number(s.max)),
                spread.map_or("1".into(), |s| s.n.to_string()),
            ]);
        }
    }
    Data { head: head.map(String::from).into(), rows }
}

/// Methods, the figures of each that are drawn, and which references compare.
const METHODS: &[(&str, &[&str], &[Counts])] = &[
    ("capacity", &["function_pps", "total_pps"], &[Counts::Function]),
    ("throughput", &["throughput", "throughput_aggregate"], &[Counts::Throughput]),
];
