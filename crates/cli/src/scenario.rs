//! The scenario that a command is about.

use std::path::Path;

use keys::nearest;
use lab::scenario::sweep::Combination;
use lab::scenario::{Benchmark, Scenario};

use crate::output::tell;
use crate::problem::Problem;

/// Reads a scenario, and prints notes on how it was interpreted.
pub fn read(path: &Path) -> Result<Scenario, Problem> {
    let scenario = Scenario::read(path, lab::registry::FUNCTIONS)?;
    for note in &scenario.notes {
        tell(&format!("note: {note}\n"));
    }
    Ok(scenario)
}

/// Chooses a benchmark and one of its cells: the cell with this `id`, or else the first one. In the
/// latter case a note tells the user which cell is `done` ("traced", for example).
pub fn choose<'a>(
    scenario: &'a Scenario,
    id: Option<&str>,
    done: &str,
) -> Result<(&'a Benchmark, &'a Combination), Problem> {
    let first = (&scenario.benchmarks[0], &scenario.benchmarks[0].cells[0]);
    let Some(id) = id else {
        let count = scenario.cells().count();
        if count > 1 {
            tell(&format!(
                "note: of {count} cells the first is {done}, {}; --cell ID chooses another\n",
                first.1.id
            ));
        }
        return Ok(first);
    };
    scenario.cells().find(|(_, cell)| cell.id == id).ok_or_else(|| {
        let ids = scenario.cells().map(|(_, cell)| cell.id.as_str());
        let remedy = match nearest(id, ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the first cell is `{}`", first.1.id),
        };
        Problem::of_usage(format!("the scenario has no cell `{id}`"), remedy)
    })
}
