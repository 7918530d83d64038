//! `cargo xtask real-hosts`: what hosts get of a router and a NAT beside the kernel's, with a
//! record.

use std::path::PathBuf;

use anyhow::Result;

use crate::invocation::{Invocation, workspace};

/// How long and how often, and where the record goes.
#[derive(clap::Args)]
pub struct Args {
    /// Seconds of each measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Pairs of each kind
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// What the workers do while no packet arrives: poll, yield or sleep
    #[arg(long, default_value = "sleep")]
    idle: String,
    /// Send files through switch, router and NAT in all combinations instead, for about an hour
    #[arg(long)]
    files: bool,
    /// The file of the record
    #[arg(long, default_value = "results/real-hosts.json")]
    record: PathBuf,
}

/// Runs it.
///
/// # Errors
/// When nothing passes, or the tests cannot be run.
pub fn run(args: &Args) -> Result<()> {
    let record = workspace().join(&args.record);
    let test = if args.files { "offloads::files_" } else { "rates::" };
    Invocation::new(
        "cargo",
        &format!("test --release -p plumbline --test daemon -- --nocapture real_hosts::{test}"),
    )
    .variable("PLUMBLINE_REAL_HOSTS", "1")
    .variable("PLUMBLINE_RATES_SECONDS", args.seconds.to_string())
    .variable("PLUMBLINE_RATES_ROUNDS", args.rounds.to_string())
    .variable("PLUMBLINE_RATES_IDLE", &args.idle)
    .variable("PLUMBLINE_RATES_RECORD", record.to_string_lossy())
    .run()?;
    if !args.files {
        println!("{}", record.display());
    }
    Ok(())
}
