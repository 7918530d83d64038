//! What the cells of a record sweep: numbers against which figures can be drawn, each benchmark by
//! itself, with one curve for each combination of the other keys.

use measure::record::{Cell, Figure, Outcome, RunRecord};

use super::curves::{Curve, Look, Point};
use crate::names::Names;
use crate::words::{distinct, leaf};

/// A swept number, and its cells.
pub(super) struct Sweep<'a> {
    /// The key, as a dotted path from the top of the scenario.
    pub(super) key: String,
    groups: Vec<Group<'a>>,
}

/// Cells that differ in the key alone.
struct Group<'a> {
    name: Option<String>,
    cells: Vec<(f64, &'a Cell)>,
}

/// The swept numbers of a record, in the order of the scenario.
pub(super) fn of(record: &RunRecord) -> Vec<Sweep<'_>> {
    let benchmarks = distinct(record.cells.iter().map(|c| c.benchmark.as_str()));
    let mut sweeps: Vec<Sweep<'_>> = Vec::new();
    for benchmark in &benchmarks {
        let cells: Vec<&Cell> = record.cells.iter().filter(|c| c.benchmark == *benchmark).collect();
        let names = Names::of_cells(&cells);
        for key in names.keys() {
            let mut groups = groups(&cells, &names, key);
            if benchmarks.len() > 1 {
                for group in &mut groups {
                    let parts = [Some(benchmark.to_string()), group.name.take()];
                    group.name = Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
                }
            }
            match sweeps.iter_mut().find(|sweep| sweep.key == *key) {
                Some(sweep) => sweep.groups.extend(groups),
                None if groups.is_empty() => {}
                None => sweeps.push(Sweep { key: key.clone(), groups }),
            }
        }
    }
    sweeps
}

fn groups<'a>(cells: &[&'a Cell], names: &Names, key: &str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for cell in cells {
        let Some(x) = number(cell, key) else { continue };
        let name = names.without(cell, key);
        match groups.iter_mut().find(|g| g.name == name) {
            Some(group) => group.cells.push((x, cell)),
            None => groups.push(Group { name, cells: vec![(x, cell)] }),
        }
    }
    groups.retain(|group| group.cells.len() > 1);
    groups
}

/// The positive number that a cell has for a key; for a named mix of frame sizes, the mean.
fn number(cell: &Cell, key: &str) -> Option<f64> {
    let value = cell.parameters.get(key)?;
    value.as_f64().filter(|x| *x >= 0.0).or_else(|| {
        let trials = || cell.outcomes.iter().flat_map(|o| &o.trials).flat_map(|t| &t.directions);
        let (bytes, frames) =
            trials().fold((0, 0), |(bytes, frames), d| (bytes + d.sent_bytes, frames + d.sent));
        (is_size(key) && value.is_string() && frames > 0).then(|| bytes as f64 / frames as f64)
    })
}

/// Whether a key is the size of frames.
pub(super) fn is_size(key: &str) -> bool {
    ["pkt-size", "frame-size", "frame-len"].contains(&leaf(key))
}

/// Whether a key is the number of workers.
pub(super) fn is_workers(key: &str) -> bool {
    ["workers", "core", "cores"].contains(&leaf(key))
}

impl Sweep<'_> {
    /// Last part of the key.
    pub(super) fn leaf(&self) -> &str {
        leaf(&self.key)
    }

    /// The curves of a method's figure, with error bars from its confidence interval or its spread.
    pub(super) fn curves(&self, method: &str, figure: &str, name: &str, factor: f64) -> Vec<Curve> {
        self.read(name, |cell| {
            let found = outcome_of(cell, method)?.figure(figure)?;
            let bar = bar(found).map(|bar| bar.map(|end| end * factor));
            Some((found.value * factor, bar))
        })
    }

    /// Position of the cells whose value of the key is wanted.
    pub(super) fn place_of(&self, wanted: impl Fn(&serde_json::Value) -> bool) -> Option<f64> {
        let mut cells = self.groups.iter().flat_map(|g| &g.cells);
        cells.find(|(_, cell)| cell.parameters.get(&self.key).is_some_and(&wanted)).map(|c| c.0)
    }

    /// Curves of the values that `value` reads from each cell; `name` follows the name of each
    /// group.
    pub(super) fn read(
        &self,
        name: &str,
        value: impl Fn(&Cell) -> Option<(f64, Option<[f64; 2]>)>,
    ) -> Vec<Curve> {
        let curve = |group: &Group<'_>| {
            let point = |(x, cell): &(f64, &Cell)| {
                let (y, bar) = value(cell)?;
                Some(Point { x: *x, y, bar })
            };
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

    /// The cells of the sweep.
    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.groups.iter().flat_map(|g| g.cells.iter().map(|(_, cell)| *cell))
    }
}

/// The valid outcome of a method in a cell; invalid figures are not drawn.
pub(super) fn outcome_of<'a>(cell: &'a Cell, method: &str) -> Option<&'a Outcome> {
    cell.outcomes.iter().find(|o| o.method == method && o.validity.valid)
}

/// The ends of a figure's error bar: the 95 % confidence interval of the mean, or minimum and
/// maximum for too few repetitions.
pub(super) fn bar(figure: &Figure) -> Option<[f64; 2]> {
    let spread = figure.spread.filter(|s| s.n > 1)?;
    // A bar around the drawn median that holds the interval of the mean.
    let [low, high] = spread.confidence_95.unwrap_or([spread.min, spread.max]);
    Some([low.min(figure.value), high.max(figure.value)])
}

/// A sentence that explains the error bars; empty if there are none.
pub(super) fn bar_words(curves: &[Curve]) -> &'static str {
    match curves.iter().flat_map(|c| &c.points).any(|p| p.bar.is_some()) {
        true => {
            " Points are medians; bars are the 95 % confidence interval of the mean, or minimum \
             and maximum for fewer than three repetitions."
        }
        false => "",
    }
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
