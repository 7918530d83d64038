//! The scenario that a command is about.

use std::path::{Path, PathBuf};

use keys::nearest;
use lab::scenario::sweep::Combination;
use lab::scenario::{Benchmark, Given, Scenario};

use crate::output::tell;
use crate::problem::Problem;

/// A scenario as it is named on the command line: a file, or a function without one.
#[derive(clap::Args)]
pub struct Wanted {
    /// The scenario file, YAML or JSON; files of TIPSY work too
    scenario: Option<PathBuf>,
    /// Take this function with its defaults, without a scenario file
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    function: Option<String>,
    /// Measure by this method, in place of the scenario's; may be repeated
    #[arg(long, value_name = "NAME")]
    method: Vec<String>,
    /// Set a key of the scenario to a YAML value, as in `traffic.pkt-size=64` or
    /// `methods[0].duration=1 s`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Wanted {
    /// Reads the scenario, and prints notes on how it was interpreted.
    ///
    /// # Errors
    /// When the file, the function, a method or a key is not one.
    pub fn read(&self) -> Result<Scenario, Problem> {
        read(&Given {
            path: self.scenario.clone(),
            function: self.function.clone(),
            methods: self.method.clone(),
            set: self.set.clone(),
        })
    }
}

/// Reads a scenario file with keys that are set over it, and prints notes on how it was
/// interpreted.
pub fn read_file(path: &Path, set: &[String]) -> Result<Scenario, Problem> {
    read(&Given { path: Some(path.to_owned()), set: set.to_vec(), ..Given::default() })
}

fn read(given: &Given) -> Result<Scenario, Problem> {
    let scenario = Scenario::given(given, lab::registry::FUNCTIONS)?;
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
    scenario.cells().find(|(_, cell)| cell.id == id).ok_or_else(|| no_cell(scenario, id))
}

/// The problem that a scenario has no cell of this id.
pub fn no_cell(scenario: &Scenario, id: &str) -> Problem {
    let ids = || scenario.cells().map(|(_, cell)| cell.id.as_str());
    let remedy = match nearest(id, ids()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the first cell is `{}`", ids().next().unwrap_or_default()),
    };
    Problem::of_usage(format!("the scenario has no cell `{id}`"), remedy)
}
