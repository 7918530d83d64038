//! The commands, a file each, in the order of the help text.

mod baseline;
mod bench;
mod bgp;
mod capture;
mod check;
mod doctor;
mod fail_if;
mod generate;
mod list;
mod nat;
mod new;
mod report;
mod run;
mod runs;
mod schema;
mod serve;
mod set;
mod show;
mod trace;
mod trend;

use clap::Subcommand;

use crate::exit::Exit;
use crate::problem::Problem;

/// The subcommand that the user chose; its help text stands at its arguments.
#[derive(Subcommand)]
pub enum Command {
    Bench(bench::Args),
    Check(check::Args),
    New(new::Args),
    Report(report::Args),
    Runs(runs::Args),
    Serve(serve::Args),
    Trace(trace::Args),
    Nat(nat::Args),
    Bgp(bgp::Args),
    Run(run::Args),
    Show(show::Args),
    Set(set::Args),
    Capture(capture::Args),
    Schema(schema::Args),
    Doctor(doctor::Args),
    List(list::Args),
    Generate(generate::Args),
}

impl Command {
    /// Runs the chosen subcommand of the program that `definition` describes.
    ///
    /// # Errors
    /// When the subcommand fails; each subcommand documents its errors.
    pub fn run(self, definition: fn() -> clap::Command) -> Result<Exit, Problem> {
        match self {
            Command::Bench(args) => bench::run(&args),
            Command::Check(args) => check::run(&args),
            Command::New(args) => new::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Runs(args) => runs::run(&args),
            Command::Serve(args) => serve::run(&args),
            Command::Trace(args) => trace::run(&args),
            Command::Nat(args) => nat::run(&args),
            Command::Bgp(args) => bgp::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Set(args) => set::run(&args),
            Command::Capture(args) => capture::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::List(args) => list::run(&args),
            Command::Generate(args) => generate::run(&args, definition()),
        }
    }
}
