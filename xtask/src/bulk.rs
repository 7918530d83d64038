//! `cargo xtask bulk`: how long many routes of a file, and many changes, take a router, with a
//! record.

use std::path::PathBuf;

use anyhow::Result;

use crate::invocation::{Invocation, workspace};

/// How many and how often, and where the record goes.
#[derive(clap::Args)]
pub struct Args {
    /// Routes, and changes
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=1_900_000))]
    count: u32,
    /// Turns of each kind of worker
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The file of the record
    #[arg(long, default_value = "results/bulk.json")]
    record: PathBuf,
}

/// Runs it.
///
/// # Errors
/// When something does not take effect, or the test cannot be run.
pub fn run(args: &Args) -> Result<()> {
    let record = workspace().join(&args.record);
    let test = "test --release -p plumbline --test daemon -- --nocapture bulk::";
    Invocation::new("cargo", test)
        .variable("PLUMBLINE_BULK_COUNT", args.count.to_string())
        .variable("PLUMBLINE_BULK_ROUNDS", args.rounds.to_string())
        .variable("PLUMBLINE_BULK_RECORD", record.to_string_lossy())
        .run()?;
    println!("{}", record.display());
    Ok(())
}
