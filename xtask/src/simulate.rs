//! `cargo xtask simulate`: a protocol in a simulated network, with those who use it, for as many
//! seeds as wanted.

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
    /// How many hours runs have that are long by themselves
    #[arg(long)]
    hours: Option<u64>,
}

/// Crates that simulate more with a protocol than it does itself, by the protocol's name.
const USERS: &[(&str, &str)] = &[("bgp", "controller-route-reflector")];

/// Runs them.
///
/// # Errors
/// When a seed fails, or there is no such protocol.
pub fn run(args: &Args) -> Result<()> {
    let protocol = args.protocol.replace('_', "-");
    let mut packages = format!("-p protocol-{protocol}");
    let users = USERS.iter().filter(|(used, _)| *used == protocol);
    users.for_each(|(_, package)| packages += &format!(" -p {package}"));
    let words = format!("test --release {packages} -- --nocapture simulated::");
    let test = Invocation::new("cargo", &words);
    let test = match args.hours {
        Some(hours) => test.variable("PLUMBLINE_HOURS", hours.to_string()),
        None => test,
    };
    match args.seed {
        Some(seed) => test.variable("PLUMBLINE_SEED", seed.to_string()),
        None => test.variable("PLUMBLINE_SEEDS", args.seeds.to_string()),
    }
    .run()
}
