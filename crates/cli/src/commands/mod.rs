//! The commands, a file each, in the order of the help text.

mod bench;
mod capture;
mod check;
mod doctor;
mod list;
mod nat;
mod report;
mod run;
mod runs;
mod schema;
mod serve;
mod set;
mod show;
mod trace;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Subcommand;
use lab::run::{Host, Naming};
use lab::scenario::keys::nearest;
use lab::scenario::sweep::Combination;
use lab::scenario::{Benchmark, Scenario};
use machine::clock::Clock;
use measure::record::Tool;

use crate::exit::Exit;
use crate::output::tell;
use crate::problem::Problem;

/// What the user asks for; the help of each command is with its arguments.
#[derive(Subcommand)]
pub enum Command {
    Bench(bench::Args),
    Check(check::Args),
    Report(report::Args),
    Runs(runs::Args),
    Serve(serve::Args),
    Trace(trace::Args),
    Nat(nat::Args),
    Run(run::Args),
    Show(show::Args),
    Set(set::Args),
    Capture(capture::Args),
    Schema(schema::Args),
    Doctor(doctor::Args),
    List(list::Args),
}

impl Command {
    /// Does what was asked for.
    ///
    /// # Errors
    /// What keeps it from being done.
    pub fn run(self) -> Result<Exit, Problem> {
        match self {
            Command::Bench(args) => bench::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Runs(args) => runs::run(&args),
            Command::Serve(args) => serve::run(&args),
            Command::Trace(args) => trace::run(&args),
            Command::Nat(args) => nat::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Set(args) => set::run(&args),
            Command::Capture(args) => capture::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::List(args) => list::run(&args),
        }
    }
}

/// Reads a scenario and tells what the user should know of how it was understood.
fn scenario(path: &Path) -> Result<Scenario, Problem> {
    let scenario = Scenario::read(path, lab::registry::FUNCTIONS)?;
    for note in &scenario.notes {
        tell(&format!("note: {note}\n"));
    }
    Ok(scenario)
}

/// A benchmark and one of its cells: the one of this name, or the first, of which the user is told that it is
/// the one that is `done` (traced, say).
fn choose<'a>(
    scenario: &'a Scenario,
    id: Option<&str>,
    done: &str,
) -> Result<(&'a Benchmark, &'a Combination), Problem> {
    let first = (&scenario.benchmarks[0], &scenario.benchmarks[0].cells[0]);
    let Some(id) = id else {
        let count = scenario.cells().count();
        if count > 1 {
            tell(&format!(
                "note: of {count} cells the first is {done}, {}; --cell ID chooses\n",
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

/// This program on this machine.
fn host(stop: Arc<AtomicBool>) -> Host {
    let clock = Clock::calibrate(Duration::from_millis(100));
    Host { tool: tool(), clock, stop, naming: Naming::default() }
}

fn tool() -> Tool {
    Tool {
        name: "plumbline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("PLUMBLINE_COMMIT").to_owned(),
    }
}
