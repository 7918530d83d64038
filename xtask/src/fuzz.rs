//! `cargo xtask fuzz`: coverage-guided fuzzing of the targets in testkit's list, by the program in
//! `fuzz/`.
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
    let listed = Invocation::new("cargo", "run --quiet -p testkit --example fuzz_targets");
    let listed = listed.output()?;
    let targets: Vec<&str> = listed.lines().collect();
    let chosen: Vec<&str> = match &args.target {
        None => targets.clone(),
        Some(name) => targets.iter().copied().filter(|target| target == name).collect(),
    };
    if chosen.is_empty() {
        bail!("there is no such target; known are {}", targets.join(", "));
    }
    for target in chosen {
        println!("\n== {target}, {} s", args.seconds);
        // Each target has its own inputs and finds.
        for folder in ["corpus", "artifacts"] {
            let folder = workspace().join("fuzz").join(folder).join(target);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let rest = format!(
            "+nightly fuzz run any fuzz/corpus/{target} -- -max_total_time={} \
             -artifact_prefix=fuzz/artifacts/{target}/",
            args.seconds
        );
        Invocation::new("cargo", &rest).variable("PLUMBLINE_FUZZ", target).run().context(
            "put the input that broke it into a folder `regressions` of the crate it breaks",
        )?;
    }
    Ok(())
}
