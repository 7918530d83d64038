//! A figure over the runs of a scenario.

use measure::figure_words;

use super::chart::{Chart, Data};
use super::curves::{Axis, Curve, Drawing, Look, Point};
use crate::trend::{self, Line};

/// A line with its steps and baselines; `head` and `rows` are its data.
pub(in crate::html) fn trend_chart(
    id: &str,
    title: &str,
    line: &Line,
    (head, rows): (Vec<String>, Vec<Vec<String>>),
) -> Chart {
    let place = |at: usize| at as f64 + 1.0;
    let point = |(at, point): (usize, &trend::Point)| Point {
        x: place(at),
        y: point.value,
        bar: point.range,
        is_bound: point.is_bound,
    };
    let is_hollow = |point: &trend::Point| !point.is_sure() && !point.is_bound;
    // Without a legend, whose markers would all be filled: the page says what is hollow.
    let curve = |look, wanted: &dyn Fn(&trend::Point) -> bool| {
        let chosen = line.points.iter().enumerate().filter(|(_, point)| wanted(point));
        Curve { name: String::new(), points: chosen.map(point).collect(), look, like: Some(0) }
    };
    let curves = [curve(Look::Marks, &|point| !is_hollow(point)), curve(Look::Hollow, &is_hollow)];
    let days: Vec<String> =
        line.points.iter().map(|point| point.started.chars().take(10).collect()).collect();
    let day = move |x: f64| {
        let at = (x - 1.0).round();
        let is_run = (x - 1.0 - at).abs() < 0.01 && at >= 0.0;
        days.get(at as usize).filter(|_| is_run).cloned().unwrap_or_default()
    };
    let ends = line.points.iter().flat_map(|point| point.range.unwrap_or([point.value; 2]));
    let unit = line.unit.clone();
    let y = Axis::spanning(&line.figure, &ends.collect::<Vec<f64>>())
        .in_words(move |value| figure_words(value, &unit));
    let x = Axis {
        min: Some(0.5),
        max: Some(line.points.len() as f64 + 0.5),
        ..Axis::linear("run").in_words(day)
    };
    let mut drawing = Drawing::new(x, y);
    let baselines = line.points.iter().enumerate().filter(|(_, point)| !point.baselines.is_empty());
    drawing.at_x = line.steps.iter().map(|step| (place(step.at) - 0.5, true)).collect();
    drawing.at_x.extend(baselines.map(|(at, _)| (place(at), false)));
    let (plots, layout) = drawing.of(&curves);
    let caption = match (line.points.len(), line.steps.len()) {
        (count, 0) => format!("{count} results, no step."),
        (count, 1) => format!("{count} results, 1 step."),
        (count, steps) => format!("{count} results, {steps} steps."),
    };
    Chart::new(id, title, &caption, plots, layout, Data { head, rows })
}
