//! `plumbline`: the command line.
//!
//! One file per command. Results go to standard output, everything said beside them to standard
//! error; a result is text or, with `--json`, one JSON document. Nothing here measures.

mod browser;
mod commands;
mod exit;
mod host;
mod locate;
mod output;
mod problem;
mod progress;
mod remote;
mod scenario;
mod stop;

use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use commands::Command;
use exit::{EXIT_CODES, Exit};

/// Measures network functions, and checks that they forward correctly.
///
/// A scenario file names a function (for example a mobile gateway), its configuration, the traffic
/// and the methods of measurement. One command checks every output frame against a model, measures,
/// and writes a report.
#[derive(Parser)]
#[command(name = "plumbline", version = VERSION, after_help = format!("{FIRST_STEPS}\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    panic::set_hook(Box::new(tell_of_bug));
    match panic::catch_unwind(|| command.run(Cli::command)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(problem)) => {
            output::tell(&problem.to_string());
            problem.exit.into()
        }
        Err(_) => Exit::Environment.into(),
    }
}

/// Panic hook: reports a panic as a bug in this program, whatever the input was.
fn tell_of_bug(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let what =
        text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = panic.location().map_or_else(String::new, |at| format!("  place: {at}\n"));
    output::tell(&format!(
        "error: this is a bug in plumbline: {what}\n{place}  \
         help: please report it with the scenario file; files written before are intact\n"
    ));
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PLUMBLINE_COMMIT"), ")");

const FIRST_STEPS: &str = "\
First steps:
  plumbline doctor                                what this machine can measure
  plumbline check scenarios/mobile-gateway.yaml   does the function forward correctly?
  plumbline bench scenarios/mobile-gateway.yaml   how fast is it? writes runs/…/report.html
  plumbline run gateway.yaml                      run the function as a daemon on real ports
";
