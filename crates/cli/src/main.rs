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

use std::env;
use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use commands::Command;
use exit::{EXIT_CODES, Exit};
use problem::Problem;

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
    let as_json = wants_json(env::args_os().skip(1));
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) if as_json && error.use_stderr() => {
            return answer(&of_arguments(&error), true);
        }
        Err(error) => error.exit(),
    };
    panic::set_hook(Box::new(move |panic| tell_of_bug(panic, as_json)));
    match panic::catch_unwind(|| command.run(Cli::command)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(problem)) => answer(&problem, as_json),
        Err(_) => Exit::Environment.into(),
    }
}

/// Prints a problem on standard error, and returns its exit code. For a program it is one line of
/// JSON.
fn answer(problem: &Problem, as_json: bool) -> ExitCode {
    output::tell(&match as_json {
        true => problem.to_json() + "\n",
        false => problem.to_string(),
    });
    problem.exit.into()
}

/// Whether the arguments ask for JSON, even if they cannot be used otherwise.
fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// What the parser of arguments says, without the usage: the error, and its tips.
fn of_arguments(error: &clap::Error) -> Problem {
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let is_tip = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
    let tips: Vec<&str> =
        lines.take_while(is_tip).map(|line| line.trim_start_matches("tip: ")).collect();
    match tips.is_empty() {
        true => Problem::of_usage(what, "`plumbline help` shows what each command takes"),
        false => Problem::of_usage(what, tips.join("; ")),
    }
}

/// Panic hook: reports a panic as a bug in this program, whatever the input was.
fn tell_of_bug(panic: &PanicHookInfo<'_>, as_json: bool) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let what =
        text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let problem = Problem::of_environment(
        format!("this is a bug in plumbline: {what}"),
        "please report it with the scenario file; files written before are intact",
    );
    answer(
        &match panic.location() {
            Some(at) => problem.at("place", at),
            None => problem,
        },
        as_json,
    );
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PLUMBLINE_COMMIT"), ")");

const FIRST_STEPS: &str = "\
First steps:
  plumbline doctor                                what this machine can measure
  plumbline check scenarios/mobile-gateway.yaml   does the function forward correctly?
  plumbline bench scenarios/mobile-gateway.yaml   how fast is it? writes runs/…/report.html
  plumbline bench --function l3-router            the same without a file, with defaults
  plumbline new l3-router                         a scenario to start from, with every key
  plumbline run gateway.yaml                      run the function as a daemon on real ports
";
