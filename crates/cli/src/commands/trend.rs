//! `plumbline runs trend`: the headline figures of a scenario over its runs, with their steps.

use std::path::{Path, PathBuf};

use report::archive::Listing;
use report::trend;
use serde_json::json;

use super::report::put;
use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;

/// Of which scenario, and where the page goes.
#[derive(clap::Args)]
pub struct Asked {
    /// The name of the scenario, as its runs have it; without one that of the newest run
    scenario: Option<String>,
    /// The page to write, or `-` for standard output in place of the table
    #[arg(long, short, value_name = "FILE", default_value = "trend.html")]
    output: PathBuf,
}

/// Prints the lines of a scenario with their steps, and writes the page.
///
/// # Errors
/// When there is no run of the scenario, or the page cannot be written.
pub fn trend(
    asked: &Asked,
    runs_dir: &Path,
    listing: Listing,
    as_json: bool,
) -> Result<Exit, Problem> {
    let trend = trend::read(listing, asked.scenario.as_deref());
    if trend.runs == 0 {
        let what = match &asked.scenario {
            Some(name) => format!("there is no run of the scenario `{name}`"),
            None => "there is no run".to_owned(),
        };
        let remedy = match trend.scenarios.is_empty() {
            true => "make one with `plumbline bench SCENARIO`".to_owned(),
            false => format!("scenarios: {}", trend.scenarios.join(", ")),
        };
        return Err(Problem::of_usage(what, remedy).at("folder", runs_dir.display()));
    }
    if as_json {
        print_json(&json!(trend))?;
        return Ok(Exit::Passed);
    }
    if asked.output.as_os_str() != "-" {
        print(&trend::table(&trend))?;
    }
    put(&asked.output, &report::trend_page(&trend))?;
    Ok(Exit::Passed)
}
