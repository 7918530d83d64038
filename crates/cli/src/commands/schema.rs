//! `plumbline schema`: every key of a scenario, for editors and people.

use daemon::Parts;

use crate::exit::Exit;
use crate::output::print_json;
use crate::problem::Problem;

/// Prints the JSON Schema of scenario files: every key, its meaning, its default.
///
/// Editors that support JSON Schema use it to complete and validate scenario files.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Accepted for consistency with other commands; the schema is always JSON
    #[arg(long)]
    json: bool,
    /// Print the schema of `run.json` instead
    #[arg(long)]
    record: bool,
    /// Print the schema of files for `plumbline run` instead
    #[arg(long, conflicts_with = "record")]
    run: bool,
    /// Print the schema of what `plumbline set` accepts for a function or a controller instead
    #[arg(long, value_name = "NAME", conflicts_with_all = ["record", "run"])]
    updates: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  plumbline schema > scenario.schema.json
  plumbline schema | jq '.\"$defs\".function'";

/// Runs `plumbline schema`.
///
/// # Errors
/// When standard output cannot be written, or the unit does not exist.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    if args.record {
        print_json(&measure::record::record_schema())?;
    } else if args.run {
        print_json(&daemon::file_schema(Parts::all()))?;
    } else if let Some(function) = &args.updates {
        let Some(schema) = daemon::update_schema(Parts::all(), function) else {
            let what = format!("there is no function or controller `{function}`");
            return Err(Problem::of_usage(what, "`plumbline list` lists all"));
        };
        print_json(&schema)?;
    } else {
        print_json(&lab::schema::scenario_schema(lab::registry::FUNCTIONS))?;
    }
    Ok(Exit::Passed)
}
