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
    /// Send a file of this many bytes, and many short ones, through switch, router and NAT in all
    /// combinations of ports, MTUs and offloads instead; 10 GB take some hours
    #[arg(long, value_name = "BYTES")]
    files: Option<u64>,
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
    let test = if args.files.is_some() { "offloads::files_" } else { "rates::" };
    let test =
        format!("test --release -p plumbline --test daemon -- --nocapture real_hosts::{test}");
    let test = Invocation::new("cargo", &test);
    if let Some(bytes) = args.files {
        return test.variable("PLUMBLINE_FILE_BYTES", bytes.to_string()).run();
    }
    test.variable("PLUMBLINE_RATES_SECONDS", args.seconds.to_string())
        .variable("PLUMBLINE_RATES_ROUNDS", args.rounds.to_string())
        .variable("PLUMBLINE_RATES_IDLE", &args.idle)
        .variable("PLUMBLINE_RATES_RECORD", record.to_string_lossy())
        .run()?;
    println!("{}", record.display());
    Ok(())
}
