//! Curves of what the cells of a record sweep, and the rates that are drawn.

use measure::record::Cell;

use super::curves::{Curve, Look, Point};
use crate::sweeps::{Group, Sweep, bar, outcome_of};

impl Sweep<'_> {
    /// The curves of a method's figure, with error bars from its confidence interval or its spread.
    pub(super) fn curves(&self, method: &str, figure: &str, name: &str, factor: f64) -> Vec<Curve> {
        self.read(name, |cell| {
            let found = outcome_of(cell, method)?.figure(figure)?;
            let bar = bar(found).map(|bar| bar.map(|end| end * factor));
            Some(Point { x: 0.0, y: found.value * factor, bar, is_bound: found.bound.is_some() })
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
    ("capacity", &[("function_pps", "function alone"), ("total_pps", "with source and sink")]),
    ("throughput", &[("throughput", "on each interface"), ("throughput_aggregate", "aggregate")]),
    ("forwarding-rate", &[("forwarding_rate", "")]),
];

/// Bits of a frame on the wire; preamble, start delimiter and gap are 20 bytes (IEEE 802.3).
pub(super) fn wire_bits(size: f64) -> f64 {
    (size + 20.0) * 8.0
}
