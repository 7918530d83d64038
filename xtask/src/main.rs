//! `cargo xtask`: everything a developer runs beside cargo's own commands.
//!
//! One file per command; `invocation` runs a program and says how to repeat it. Nothing here is
//! part of the product. Nothing is downloaded but what `setup` asks apt for and, by `site` alone,
//! mdBook.

mod build_cost;
mod bulk;
mod dist;
mod fuzz;
mod golden;
mod invocation;
mod markdown;
mod miri;
mod real_hosts;
mod results;
mod setup;
mod simulate;
mod site;
mod soak;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything a developer runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

/// The commands, in the order of the help text.
#[derive(Subcommand)]
enum Command {
    /// Install what the tests need and cargo does not bring: tshark and chromium, by apt
    Setup,
    /// Run everything that CI runs, or what a change concerns
    Test(test::Args),
    /// Rewrite all golden files from what the tests see now; review the difference
    Golden,
    /// Fuzz the targets of `fuzz/`; needs a nightly toolchain and cargo-fuzz
    Fuzz(fuzz::Args),
    /// Run the tests of the packet memory and the memory port under Miri; needs a nightly toolchain
    Miri,
    /// Run a protocol in a simulated network, for as many seeds as wanted
    Simulate(simulate::Args),
    /// Let a daemon under load be reloaded, captured and cut off for long, and record it
    Soak(soak::Args),
    /// Measure what hosts get of a router and a NAT beside the kernel's, and record it
    RealHosts(real_hosts::Args),
    /// Measure what building the program from nothing takes, and record it
    BuildCost(build_cost::Args),
    /// Build the program as people install it: packages, image, list of parts, checksums
    Dist(dist::Args),
    /// Make the documents a site that can be searched; installs mdBook where it is absent
    Site(site::Args),
    /// Write the figures of documents from the records in `results/`; review the difference
    Results,
    /// Measure how long many routes and changes take a router, and record it
    Bulk(bulk::Args),
}

fn main() -> ExitCode {
    let done = match Xtask::parse().command {
        Command::Setup => setup::run(),
        Command::Test(args) => test::run(&args),
        Command::Golden => golden::run(),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Miri => miri::run(),
        Command::Simulate(args) => simulate::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::RealHosts(args) => real_hosts::run(&args),
        Command::BuildCost(args) => build_cost::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Results => results::run(),
        Command::Bulk(args) => bulk::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
