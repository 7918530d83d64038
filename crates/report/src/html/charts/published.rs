//! Figures that others published, as curves, marks and lines on the axes of ours.
//!
//! They are facts with a source, which stands in the table of the comparison; nothing is done to
//! them but to change their unit and to divide rates by cores. A reference is drawn where it says
//! on which axis it stands: at a number of users or addresses, at a size of frames, or at none.

use measure::record::RunRecord;

use super::curves::{Curve, Look, Point};
use crate::references::{self, Counts, Kind, Reference};
use crate::sweeps::Sweep;
use crate::words::distinct;

/// Published figures that charts of a sweep may show: those of the functions that it sweeps.
pub(super) fn of(record: &RunRecord, sweep: &Sweep<'_>) -> Vec<Reference> {
    let functions = distinct(sweep.cells().map(|cell| cell.function.as_str()));
    let chosen = &record.scenario.references;
    let of_function = |function: &&str| references::chosen(function, chosen);
    let mut found: Vec<Reference> = functions.iter().flat_map(of_function).collect();
    // Those chosen by name are the same for every function.
    let is_ours = |r: &Reference| chosen.is_empty() || functions.contains(&r.function.as_str());
    found.retain(|r| r.chart && r.kind == Kind::Published && is_ours(r));
    found.dedup();
    found
}

/// Published figures as curves, one per name; `place` and `value` compute the coordinates.
pub(super) fn curves(
    references: &[&Reference],
    place: impl Fn(&Reference) -> Option<f64>,
    value: impl Fn(&Reference, f64) -> Option<f64>,
) -> Vec<Curve> {
    let point = |r: &&&Reference| {
        let x = place(r)?;
        Some(Point { x, y: value(r, x)?, bar: None, is_bound: false })
    };
    let of_name = |name: &&str| {
        let mut points: Vec<Point> =
            references.iter().filter(|r| r.mark == **name).filter_map(|r| point(&r)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let per_core = references.iter().any(|r| r.mark == **name && is_divided(r));
        let name = format!("{name}, published{}", if per_core { ", per core" } else { "" });
        Curve { name, points, look: Look::Published, like: None }
    };
    let names = distinct(references.iter().map(|r| r.mark.as_str()));
    names.iter().map(of_name).filter(|curve| !curve.points.is_empty()).collect()
}

/// Whether a rate was divided by the number of cores.
fn is_divided(reference: &Reference) -> bool {
    let is_rate = !matches!(reference.counts, Counts::Time | Counts::Part);
    is_rate && reference.cores.is_some_and(|cores| cores > 1.0)
}

/// A rate in Mpps at a frame size, per core if the number of cores is known.
pub(super) fn mpps(reference: &Reference, size: f64) -> Option<f64> {
    let value = reference.per_core().unwrap_or(reference.value);
    match reference.unit.as_str() {
        "Mpps" => Some(value),
        "Gbit/s" => Some(value * 1e3 / super::swept::wire_bits(size)),
        _ => None,
    }
}

/// A time in microseconds.
pub(super) fn micros(reference: &Reference) -> Option<f64> {
    match reference.unit.as_str() {
        "us" => Some(reference.value),
        "ms" => Some(reference.value * 1e3),
        _ => None,
    }
}

/// The position of a published figure on an axis of sizes, in bytes; none for that of a mix.
pub(super) fn size_place(reference: &Reference) -> Option<f64> {
    reference.size.as_deref()?.parse().ok()
}

/// The position of a published figure on an axis of users, tunnels or addresses.
pub(super) fn user_place(reference: &Reference) -> Option<f64> {
    reference.user
}

/// A published figure without a position: a line with its name.
pub(super) fn line(reference: &Reference, value: f64) -> (f64, String) {
    (value, format!("{}, published", reference.mark))
}
