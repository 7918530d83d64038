//! `plumbline new`: a scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lab::registry::FUNCTIONS;
use lab::schema::scenario_schema;
use lab::starter::{Starter, starter};
use serde_json::json;

use crate::exit::Exit;
use crate::output::{print, print_json, tell};
use crate::problem::Problem;

/// Writes a scenario to start from: a function with every key, its meaning and its default.
///
/// The scenario runs as it stands. Beside it goes the JSON Schema of scenarios, if there is none
/// yet, by which editors complete keys, show their meaning and mark mistakes. A file that exists is
/// never overwritten.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The function; `plumbline list` names all
    function: String,
    /// The file to write, or `-` for standard output [default: FUNCTION.yaml]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the names of the written files as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline new l3-router
  plumbline new cgnat --output scenarios/our-nat.yaml
  plumbline new l2-switch --output - | less";

/// Runs `plumbline new`.
///
/// # Errors
/// When there is no such function, or the file exists or cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let unit = FUNCTIONS.iter().find(|unit| {
        unit.name() == args.function || unit.aliases().contains(&args.function.as_str())
    });
    let name = unit.map_or(args.function.as_str(), |unit| unit.name());
    let path = args.output.clone().unwrap_or_else(|| format!("{name}.yaml").into());
    let to_stdout = path.as_os_str() == "-";
    if to_stdout && args.json {
        let what = "standard output cannot take both the scenario and JSON";
        return Err(Problem::of_usage(what, "write to a file, or leave --json out"));
    }
    let file = if to_stdout { format!("{name}.yaml") } else { path.display().to_string() };
    let Starter { function, text } = starter(&args.function, (&file, SCHEMA), FUNCTIONS)?;
    if to_stdout {
        print(&text)?;
        return Ok(Exit::Passed);
    }
    write_new(&path, text.as_bytes())?;
    let schema = path.with_file_name(SCHEMA);
    let is_new = !schema.exists();
    if is_new {
        let text = serde_json::to_vec_pretty(&scenario_schema(FUNCTIONS)).unwrap_or_default();
        write_new(&schema, &text)?;
    }
    if args.json {
        let schema = schema.display().to_string();
        print_json(&json!({"file": file, "function": function, "schema": schema}))?;
        return Ok(Exit::Passed);
    }
    tell(&format!("written: {file}, a scenario of {function} that runs as it stands\n"));
    if is_new {
        let schema = schema.display();
        tell(&format!("written: {schema}, by which editors complete and check scenarios\n"));
    }
    tell(&format!("next: plumbline bench {file}\n"));
    Ok(Exit::Passed)
}

/// Writes a file that must not exist.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let remedy = "name another one with --output, or remove this one";
            return Err(Problem::of_usage("the file exists", remedy).at("file", path.display()));
        }
        Err(error) => return Err(Problem::of_writing(path, &error)),
    };
    file.write_all(bytes).map_err(|error| Problem::of_writing(path, &error))
}

/// File name of the JSON Schema of scenarios.
const SCHEMA: &str = "scenario.schema.json";
