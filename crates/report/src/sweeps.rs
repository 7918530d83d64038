//! What the cells of a record sweep: numbers against which figures can be drawn, each benchmark by
//! itself, with one curve for each combination of the other keys.

use measure::record::{Cell, Figure, Outcome};

use crate::names::Names;
use crate::words::{distinct, leaf};

/// A swept number, and its cells.
pub(crate) struct Sweep<'a> {
    /// The key, as a dotted path from the top of the scenario.
    pub(crate) key: String,
    /// The cells, by what they have in common.
    pub(crate) groups: Vec<Group<'a>>,
}

/// Cells that differ in the key alone.
pub(crate) struct Group<'a> {
    /// What they have in common; none if that is said of all cells.
    pub(crate) name: Option<String>,
    /// Cells with the number that each has for the key.
    pub(crate) cells: Vec<(f64, &'a Cell)>,
}

/// The swept numbers of all cells of a record, in the order of the scenario.
pub(crate) fn of(all: &[Cell]) -> Vec<Sweep<'_>> {
    let benchmarks = distinct(all.iter().map(|c| c.benchmark.as_str()));
    let mut sweeps: Vec<Sweep<'_>> = Vec::new();
    for benchmark in &benchmarks {
        let cells: Vec<&Cell> = all.iter().filter(|c| c.benchmark == *benchmark).collect();
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

/// The number that a cell has for a key; none below zero, and none for a mix of frame sizes, which
/// has no place on an axis of sizes.
fn number(cell: &Cell, key: &str) -> Option<f64> {
    cell.parameters.get(key)?.as_f64().filter(|x| *x >= 0.0)
}

/// Whether a key is the size of frames.
pub(crate) fn is_size(key: &str) -> bool {
    ["pkt-size", "frame-size", "frame-len"].contains(&leaf(key))
}

/// Whether a key is the number of workers.
pub(crate) fn is_workers(key: &str) -> bool {
    ["workers", "core", "cores"].contains(&leaf(key))
}

impl Sweep<'_> {
    /// Last part of the key.
    pub(crate) fn leaf(&self) -> &str {
        leaf(&self.key)
    }

    /// Position of the cells whose value of the key is wanted.
    pub(crate) fn place_of(&self, wanted: impl Fn(&serde_json::Value) -> bool) -> Option<f64> {
        let mut cells = self.groups.iter().flat_map(|g| &g.cells);
        cells.find(|(_, cell)| cell.parameters.get(&self.key).is_some_and(&wanted)).map(|c| c.0)
    }

    /// The cells of the sweep.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.groups.iter().flat_map(|g| g.cells.iter().map(|(_, cell)| *cell))
    }
}

/// The valid outcome of a method in a cell; invalid figures are not drawn.
pub(crate) fn outcome_of<'a>(cell: &'a Cell, method: &str) -> Option<&'a Outcome> {
    cell.outcomes.iter().find(|o| o.method == method && o.validity.valid)
}

/// The ends of a figure's error bar: the 95 % confidence interval of the mean, or minimum and
/// maximum for too few repetitions.
pub(crate) fn bar(figure: &Figure) -> Option<[f64; 2]> {
    let spread = figure.spread.filter(|s| s.n > 1)?;
    // A bar around the drawn median that holds the interval of the mean.
    let [low, high] = spread.confidence_95.unwrap_or([spread.min, spread.max]);
    Some([low.min(figure.value), high.max(figure.value)])
}
