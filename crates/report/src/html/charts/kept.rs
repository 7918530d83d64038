//! What is left of the throughput as a table grows, beside what others published of theirs: curves
//! relative to the smallest table, which machines of different speed can be compared by.

use measure::record::RunRecord;

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Point, data};
use super::published;
use crate::references::{Counts, Reference};
use crate::sweeps::{self, Sweep, is_size, is_workers};

/// One chart for each swept number with published curves.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let sweeps = sweeps::of(&record.cells);
    let wanted = sweeps.iter().filter(|s| !is_size(&s.key) && !is_workers(&s.key));
    wanted.filter_map(|sweep| chart(record, sweep)).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, sweep: &Sweep<'_>) -> Option<Chart> {
    let references = published::of(record, sweep);
    let counted: Vec<&Reference> = references
        .iter()
        .filter(|r| matches!(r.counts, Counts::Throughput | Counts::Part) && r.reading.is_none())
        .collect();
    let others =
        published::curves(&counted, published::user_place, |reference, _| Some(reference.value));
    let others: Vec<Curve> = others.into_iter().filter_map(relative).collect();
    let ours = sweep.curves("throughput", "throughput", "", 1.0);
    let mut curves: Vec<Curve> = ours.into_iter().filter_map(relative).collect();
    if curves.is_empty() || others.is_empty() {
        return None;
    }
    let xs: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    curves.extend(others);
    let label = format!("throughput relative to that with the smallest {}, %", sweep.leaf());
    let table = data(sweep.leaf(), &label, &curves);
    let x = Axis::spanning(sweep.leaf(), &xs);
    let (plots, layout) = Drawing::new(x, Axis::linear("left, %").with_zero()).of(&curves);
    Some(Chart::new(
        &identifier("kept", &[&sweep.key]),
        &format!("Relative throughput as {} grows", sweep.leaf()),
        "Each curve in percent of its first point, so that the cost of a table can be compared \
         between machines. Dotted curves are published figures; their sources are listed below.",
        plots,
        layout,
        table,
    ))
}

/// A curve in percent of its first point; none if it has fewer than two points, or starts at zero
/// or with a bound, of which nothing is a known part.
fn relative(mut curve: Curve) -> Option<Curve> {
    let is_known = |p: &&Point| !p.is_bound && p.y > 0.0 && p.y.is_finite();
    let first = curve.points.first().filter(is_known).map(|p| p.y)?;
    for point in &mut curve.points {
        point.y *= 100.0 / first;
        point.bar = point.bar.map(|bar| bar.map(|end| end * 100.0 / first));
    }
    (curve.points.len() > 1).then_some(curve)
}
