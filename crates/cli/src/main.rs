//! `plumbline`: the command line.
//!
//! One file per command. Results go to standard output, everything said beside them to standard
//! error; a result is text or, with `--json`, one JSON document. Nothing here measures.

mod commands;
mod exit;
mod output;
mod problem;
mod progress;
mod stop;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use exit::EXIT_CODES;

/// Measures network functions, and proves that they forward as they should.
///
/// A scenario file names a function (a mobile gateway, say), its configuration, the traffic and the
/// question. One command checks every output frame against a model, measures, and writes a report.
#[derive(Parser)]
#[command(name = "plumbline", version = VERSION, after_help = format!("{FIRST_STEPS}\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(exit) => exit.into(),
        Err(problem) => {
            output::tell(&problem.to_string());
            problem.exit.into()
        }
    }
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PLUMBLINE_COMMIT"), ")");

const FIRST_STEPS: &str = "\
First steps:
  plumbline doctor                                what this machine can do
  plumbline check scenarios/mobile-gateway.yaml   does the function forward as it should?
  plumbline bench scenarios/mobile-gateway.yaml   how fast is it? writes runs/…/report.html
";
