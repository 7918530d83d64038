//! `cargo xtask dist`: the program as people install it, from the profile `dist`.
//!
//! It is for the C library of Debian 12 or a newer one; a program that needs more is refused, so
//! it has to be built on Debian 12, or in a container of it. Nothing is built for musl, whose
//! standard library no Debian package has. `packaging` makes the packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use packaging::{GLIBC_OF_DEBIAN_12, Needs, Product};
use serde_json::Value;

use crate::invocation::{Invocation, workspace};

/// What is packaged, and where to.
#[derive(clap::Args)]
pub struct Args {
    /// Package this program instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Folder of the packages
    #[arg(long, value_name = "FOLDER", default_value = "target/packages")]
    output: PathBuf,
}

/// Builds the program, if none is named, and writes its packages.
///
/// # Errors
/// When the build fails, the program needs a newer C library than Debian 12 has, or something that
/// a package has cannot be read.
pub fn run(args: &Args) -> Result<()> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let needs = Needs::of(&program)?;
    match &needs.glibc {
        Some(version) => println!(
            "the program needs the C library {version} or newer; Debian 12 has {GLIBC_OF_DEBIAN_12}"
        ),
        None => println!("the program needs no C library"),
    }
    needs.run_on_debian_12()?;
    let metadata = metadata(&host()?)?;
    let product = Product {
        program: &program,
        workspace: &workspace(),
        metadata: &metadata,
        time: time()?,
        effort: 6,
    };
    for path in packaging::write_all(&product, &workspace().join(&args.output))? {
        let bytes = path.metadata()?.len();
        println!("{:>12} bytes  {}", bytes, path.display());
    }
    Ok(())
}

/// Builds the program; returns its path.
fn build() -> Result<PathBuf> {
    Invocation::new("cargo", "build --profile dist --package plumbline --locked").run()?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(workspace().join(folder).join("dist/plumbline"))
}

/// The target of this compiler.
fn host() -> Result<String> {
    let text = output(Command::new("rustc").args(["--version", "--verbose"]))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for which target it compiles")
}

/// What cargo says of the workspace for a target.
fn metadata(target: &str) -> Result<Value> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
    let text = output(cargo.current_dir(workspace()))?;
    Ok(serde_json::from_str(&text)?)
}

/// The time that files in packages have: `SOURCE_DATE_EPOCH`, or that of the commit.
fn time() -> Result<u64> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return time.parse().context("SOURCE_DATE_EPOCH is a number of seconds");
    }
    let mut git = Command::new("git");
    let of_commit = output(git.args(["log", "-1", "--format=%ct"]).current_dir(workspace()));
    Ok(of_commit.ok().and_then(|time| time.trim().parse().ok()).unwrap_or_default())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
