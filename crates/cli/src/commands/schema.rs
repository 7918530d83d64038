//! `plumbline schema`: every key of a scenario, for editors and people.

use crate::exit::Exit;
use crate::output::print_json;
use crate::problem::Problem;

/// Prints the JSON Schema of scenario files: every key, its meaning, its default.
///
/// Editors that know JSON Schema complete and check scenario files with it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Taken for uniformity: the schema always is JSON
    #[arg(long)]
    json: bool,
    /// Print the schema of `run.json` instead
    #[arg(long)]
    record: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline schema > scenario.schema.json
  plumbline schema | jq '.\"$defs\".function'";

/// Does it.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    if args.record {
        print_json(&measure::record::record_schema())?;
    } else {
        print_json(&lab::schema::scenario_schema(lab::registry::FUNCTIONS))?;
    }
    Ok(Exit::Passed)
}
