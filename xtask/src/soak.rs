//! `cargo xtask soak`: the daemon's soak for as long as wanted, with a record of it.

use std::path::PathBuf;

use anyhow::Result;

use crate::invocation::{Invocation, workspace};

/// For how long, and where the record goes.
#[derive(clap::Args)]
pub struct Args {
    /// Minutes
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// The file of the record
    #[arg(long, default_value = "results/soak-of-run.json")]
    record: PathBuf,
}

/// Runs it.
///
/// # Errors
/// When a frame was lost without a counter, memory grew, or the tests cannot be run.
pub fn run(args: &Args) -> Result<()> {
    let record = workspace().join(&args.record);
    let seconds = (args.minutes * 60.0).max(5.0) as u64;
    Invocation::new("cargo", "test --release -p plumbline --test daemon -- --nocapture soak::")
        .variable("PLUMBLINE_SOAK_SECONDS", seconds.to_string())
        .variable("PLUMBLINE_SOAK_RECORD", record.to_string_lossy())
        .run()?;
    println!("{}", record.display());
    Ok(())
}
