//! Curves of what the cells of a record sweep, and the rates that are drawn.

use measure::record::{Cell, Outcome};

use super::curves::{Curve, Look, Point};
use crate::sweeps::{Group, Sweep, bar, outcome_of};

impl Sweep<'_> {
    /// The curves of a method's figure, with error bars from its confidence interval or its spread.
    pub(super) fn curves(&self, method: &str, figure: &str, name: &str, factor: f64) -> Vec<Curve> {
        self.read(name, |cell| point(outcome_of(cell, method)?, figure, factor))
    }

    /// The same curves in Gbit/s on the wire: each point by the frames that were sent in its cell,
    /// tunnel and tag included. Cells of which that is not known have no point.
    pub(super) fn curves_in_bits(&self, method: &str, figure: &str, name: &str) -> Vec<Curve> {
        self.read(name, |cell| {
            let outcome = outcome_of(cell, method)?;
            point(outcome, figure, wire_bits(frame_len(outcome)?) * 1e-9)
        })
    }

    /// Curves of the points that `value` reads from each cell, whose places are the cells'; `name`
    /// follows the name of each group.
    pub(super) fn read(&self, name: &str, value: impl Fn(&Cell) -> Option<Point>) -> Vec<Curve> {
        let curve = |group: &Group<'_>| {
            let point = |(x, cell): &(f64, &Cell)| Some(Point { x: *x, ..value(cell)? });
            let mut points: Vec<Point> = group.cells.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let words: Vec<&str> = [Some(name), group.name.as_deref()]
                .into_iter()
                .flatten()
                .filter(|w| !w.is_empty())
                .collect();
            Curve { name: words.join(", "), points, look: Look::Measured, like: None }
        };
        self.groups.iter().map(curve).filter(|c| c.points.len() > 1).collect()
    }
}

/// A point without a place: a figure with the ends of its bar.
fn point(outcome: &Outcome, figure: &str, factor: f64) -> Option<Point> {
    let found = outcome.figure(figure)?;
    let bar = bar(found).map(|bar| bar.map(|end| end * factor));
    Some(Point { x: 0.0, y: found.value * factor, bar, is_bound: found.bound.is_some() })
}

/// Mean length of the frames that the tester sent for an outcome in bytes, including the frame
/// check sequence; none if it sent none, as in a closed loop, which has no wire.
pub(super) fn frame_len(outcome: &Outcome) -> Option<f64> {
    let of_load = || outcome.trials.iter().filter(|trial| trial.load_pps().is_some());
    let directions = || of_load().flat_map(|trial| &trial.directions);
    let sent: u64 = directions().map(|direction| direction.sent).sum();
    let bytes: u64 = directions().map(|direction| direction.sent_bytes).sum();
    (sent > 0 && bytes > 0).then(|| bytes as f64 / sent as f64)
}

/// Sentences that explain error bars and bounds; empty if there are none.
pub(super) fn bar_words(curves: &[Curve]) -> String {
    let any = |is_meant: fn(&Point) -> bool| curves.iter().flat_map(|c| &c.points).any(is_meant);
    let mut words = String::new();
    if any(|point| point.bar.is_some()) {
        words += " Points are medians; bars are the 95 % confidence interval of the mean, or \
                  minimum and maximum for fewer than three repetitions.";
    }
    if any(|point| point.is_bound) {
        words += " Triangles are lower bounds: the device may do more.";
    }
    words
}

/// Methods whose headline is a rate, with the drawn figures and their names.
pub(super) const RATES: &[(&str, &[(&str, &str)])] = &[
    (
        "capacity",
        &[
            ("total_pps", "including generator and sink"),
            ("function_pps", "excluding Rx/Tx"),
            ("function_cold_pps", "excluding Rx/Tx, cold frames"),
        ],
    ),
    (
        "throughput",
        &[("throughput", "per port and direction"), ("throughput_aggregate", "aggregate")],
    ),
    ("forwarding-rate", &[("forwarding_rate", "")]),
];

/// Bits that a frame takes on the wire, by its length in bytes with the frame check sequence:
/// preamble, start delimiter and gap are 20 bytes more (IEEE 802.3).
pub(super) fn wire_bits(size: f64) -> f64 {
    (size + 20.0) * 8.0
}
