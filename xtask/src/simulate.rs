//! `cargo xtask simulate`: a protocol in a simulated network, for as many seeds as wanted.

use anyhow::Result;

use crate::invocation::Invocation;

/// Which protocol, and which seeds.
#[derive(clap::Args)]
pub struct Args {
    /// The protocol, by the name of its folder in `crates/protocols`
    protocol: String,
    /// How many seeds, from 0 on
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// One seed alone, as a failure names it
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
}

/// Runs them.
///
/// # Errors
/// When a seed fails, or there is no such protocol.
pub fn run(args: &Args) -> Result<()> {
    let package = args.protocol.replace('_', "-");
    let words = format!("test --release -p protocol-{package} -- --nocapture simulated::");
    let test = Invocation::new("cargo", &words);
    match args.seed {
        Some(seed) => test.variable("PLUMBLINE_SEED", seed.to_string()),
        None => test.variable("PLUMBLINE_SEEDS", args.seeds.to_string()),
    }
    .run()
}
