//! A method's figures against a swept number - users, prefixes, rules -, one curve for each
//! combination of the other keys, with the figures of others as marks.

use measure::record::RunRecord;

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look, data};
use super::swept::{RATES, bar_words};
use crate::references::{self, Counts, Reference};
use crate::summary::{figure_name, headline};
use crate::sweeps::{self, Sweep, is_size, is_workers};
use crate::words::{distinct, outcomes};

/// One chart for each method and swept number, except frame sizes and workers, which have charts of
/// their own.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    // Latency has charts of its own.
    let mut methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    methods.retain(|method| *method != "latency");
    let sweeps: Vec<Sweep<'_>> = sweeps::of(&record.cells)
        .into_iter()
        .filter(|s| !is_size(&s.key) && !is_workers(&s.key))
        .collect();
    let of_method = |method: &&str| {
        sweeps.iter().filter_map(|sweep| chart(record, method, sweep)).collect::<Vec<_>>()
    };
    methods.iter().flat_map(of_method).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, method: &str, sweep: &Sweep<'_>) -> Option<Chart> {
    let (mut curves, unit) = curves(record, method, sweep)?;
    let left_out = curves.len().saturating_sub(CURVES_MAX);
    curves.truncate(CURVES_MAX);
    let function = record.cells.first().map_or("", |c| c.function.as_str());
    let chosen = &record.scenario.references;
    let marks = marks((function, chosen), (method, &unit), sweep);
    let table = data(sweep.leaf(), &unit, &curves);
    let words = bar_words(&curves);
    let xs: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    let others =
        if marks.is_empty() { "" } else { " Single marks are published figures, listed below." };
    let more = match left_out {
        0 => String::new(),
        n => format!(" {n} more curves are in the table of results."),
    };
    let (x, place) = Axis::of_free(sweep.leaf(), &xs);
    let points = curves.iter_mut().flat_map(|curve| &mut curve.points);
    points.for_each(|point| point.x = place(point.x));
    curves.extend(marks);
    let y = Axis::linear(&unit).with_zero();
    let (plots, layout) = Drawing::new(x, y).of(&curves);
    Some(Chart::new(
        &identifier("sweep", &[method, &sweep.key]),
        &format!("{method} against {}", sweep.leaf()),
        &format!("{method} of the {function} by {}.{words}{others}{more}", sweep.leaf()),
        plots,
        layout,
        table,
    ))
}

/// The curves of a method and their unit: its rates in Mpps, or its headline figure.
fn curves(record: &RunRecord, method: &str, sweep: &Sweep<'_>) -> Option<(Vec<Curve>, String)> {
    if let Some((_, figures)) = RATES.iter().find(|(name, _)| *name == method) {
        let mut curves = Vec::new();
        for (figure, name) in *figures {
            // Many curves of the first figure leave no room for those of others, which follow it.
            if curves.len() <= CURVES_OF_FIRST_MAX {
                let more = sweep.curves(method, figure, name, 1e-6);
                // One way, all interfaces together are that one.
                let known: Vec<_> = curves.iter().map(|c: &Curve| c.points.clone()).collect();
                curves.extend(more.into_iter().filter(|c| !known.contains(&c.points)));
            }
        }
        return (!curves.is_empty()).then(|| (curves, "Mpps".into()));
    }
    let figure =
        outcomes(record).filter(|(_, o)| o.method == method).find_map(|(_, o)| headline(o))?;
    let name = figure_name(&figure.name);
    let mut curves = sweep.curves(method, &figure.name, &name, 1.0);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (factor, unit) = readable(&figure.unit, points().map(|point| point.y).fold(0.0, f64::max));
    for point in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        point.y *= factor;
        point.bar = point.bar.map(|bar| bar.map(|end| end * factor));
    }
    (!curves.is_empty()).then(|| (curves, unit.to_owned()))
}

/// The unit of an axis whose largest value is known, and the factor that leads to it.
fn readable(unit: &str, most: f64) -> (f64, &str) {
    match unit {
        "pps" => (1e-6, "Mpps"),
        "ns" if most >= 1e9 => (1e-9, "s"),
        "ns" if most >= 1e6 => (1e-6, "ms"),
        "ns" if most >= 1e3 => (1e-3, "µs"),
        unit => (1.0, unit),
    }
}

/// Published figures over users, one series per name.
fn marks(
    (function, chosen): (&str, &[String]),
    (method, unit): (&str, &str),
    sweep: &Sweep<'_>,
) -> Vec<Curve> {
    let counts = match (method, unit) {
        ("capacity", "Mpps") => Counts::Function,
        ("throughput", "Mpps") => Counts::Throughput,
        ("convergence", "s") => Counts::Time,
        _ => return Vec::new(),
    };
    let marks: Vec<Reference> = references::chosen(function, chosen)
        .into_iter()
        .filter(|r| {
            let is_over = r.user.is_some() && OVER.contains(&sweep.leaf());
            r.chart && r.unit == unit && r.counts == counts && is_over
        })
        .collect();
    let points = |name: &str| {
        marks
            .iter()
            .filter(|m| m.mark == name)
            .filter_map(|m| Some((m.user?, m.value)))
            .collect::<Vec<_>>()
    };
    distinct(marks.iter().map(|m| m.mark.as_str()))
        .into_iter()
        .map(|name| Curve::new(name, Look::Marks, points(name)))
        .collect()
}

/// Keys over which published figures are known.
const OVER: [&str; 4] = ["user", "upstream-table-size", "upstream-l3-table-size", "clients"];

/// Largest number of curves with which published figures are drawn; with more, the table has them.
const CURVES_OF_FIRST_MAX: usize = 2;

/// Largest number of curves that can be distinguished.
const CURVES_MAX: usize = 8;
