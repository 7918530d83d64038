//! `cargo xtask fuzz`: coverage-guided fuzzing of the targets in `fuzz/`.
//!
//! CI does not run this: `cargo test` gives every target seeded inputs on the stable toolchain.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::invocation::{Invocation, workspace};

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub struct Args {
    /// One target; default: each in turn
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value = "60")]
    seconds: u32,
}

/// Fuzzes.
///
/// # Errors
/// When the tools are absent, there is no such target, or a target found something.
pub fn run(args: &Args) -> Result<()> {
    if !Invocation::new("cargo", "+nightly fuzz --version").succeeds() {
        bail!(
            "fuzzing needs a nightly toolchain and cargo-fuzz:\n  \
             rustup toolchain install nightly\n  \
             cargo install cargo-fuzz\n\
             without them, `cargo test -p testkit` gives every target seeded inputs"
        );
    }
    let targets = targets()?;
    let chosen: Vec<&String> = match &args.target {
        None => targets.iter().collect(),
        Some(name) => targets.iter().filter(|target| *target == name).collect(),
    };
    if chosen.is_empty() {
        bail!("there is no such target; known are {}", targets.join(", "));
    }
    for target in chosen {
        println!("\n== {target}, {} s", args.seconds);
        let rest = format!("+nightly fuzz run {target} -- -max_total_time={}", args.seconds);
        Invocation::new("cargo", &rest).run().context(
            "put the input that broke it into a folder `regressions` of the crate it breaks",
        )?;
    }
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    let folder = workspace().join("fuzz/fuzz_targets");
    let files =
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}
