//! `cargo xtask dist`: the program as people install it, from the profile `dist`.
//!
//! A static program where the target for musl and its C compiler are installed, otherwise one that
//! needs the C library of this machine, and says which version. `packaging` makes the packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use packaging::Product;
use serde_json::Value;

use crate::invocation::{Invocation, is_installed, workspace};

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
/// When the build fails, or something that a package has cannot be read.
pub fn run(args: &Args) -> Result<()> {
    let host = host()?;
    let (program, target) = match &args.program {
        Some(program) => (program.clone(), host),
        None => build(&host)?,
    };
    let metadata = metadata(&target)?;
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

/// Builds for musl if that is possible here; returns the program and its target.
fn build(host: &str) -> Result<(PathBuf, String)> {
    let musl = host.replace("-gnu", "-musl");
    let compiler = format!("{}-linux-musl-gcc", host.split('-').next().unwrap_or_default());
    let is_possible = is_target_installed(&musl)? && is_installed(&["musl-gcc", &compiler]);
    let target = if is_possible { musl.clone() } else { host.to_owned() };
    if !is_possible {
        println!(
            "{musl} and musl-gcc are not both installed: the program will need this machine's C \
             library (rustup target add {musl}; apt install musl-tools)"
        );
    }
    let arguments = format!("build --profile dist --package plumbline --locked --target {target}");
    Invocation::new("cargo", &arguments).run()?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let program = workspace().join(folder).join(&target).join("dist/plumbline");
    Ok((program, target))
}

/// The target of this compiler.
fn host() -> Result<String> {
    let text = output(Command::new("rustc").args(["--version", "--verbose"]))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for which target it compiles")
}

/// Whether the standard library of a target is there.
fn is_target_installed(target: &str) -> Result<bool> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir())
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
