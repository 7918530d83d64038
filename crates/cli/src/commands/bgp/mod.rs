//! `plumbline bgp`: reads files of BGP.

mod dump;
mod line;

use clap::Subcommand;

use crate::exit::Exit;
use crate::problem::Problem;

/// Reads files of BGP routes and messages.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Dump(dump::Args),
}

/// Runs `plumbline bgp`.
///
/// # Errors
/// When a file cannot be read, or is damaged.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    match &args.what {
        What::Dump(args) => dump::run(args),
    }
}
