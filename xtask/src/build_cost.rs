//! `cargo xtask build-cost`: what building the program from nothing takes, by profile, as a record.
//!
//! Each profile is built in a folder of its own, which stays: `cargo xtask dist --program` takes
//! the program from there. Time in seconds counts what others do on the machine; processor time
//! does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::invocation::workspace;

/// What is built, and where the record is written.
#[derive(clap::Args)]
pub struct Args {
    /// Profiles to build, in this order
    #[arg(long, value_delimiter = ',', default_value = "release,dist")]
    profiles: Vec<String>,

    /// Folder of the builds; one for each profile is made in it, and must not be there
    #[arg(long, value_name = "FOLDER", default_value = "target/build-cost")]
    folder: PathBuf,

    /// File of the record
    #[arg(long, value_name = "FILE", default_value = "results/build.json")]
    output: PathBuf,
}

/// Builds each profile and writes the record.
///
/// # Errors
/// When a build fails, or its folder is there already.
pub fn run(args: &Args) -> Result<()> {
    let described = text_of("git", &["describe", "--always", "--dirty", "--abbrev=12"])?;
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let names: Vec<&str> = names.map(|(_, name)| name).collect();
    let mut record = json!({
        "commit": described.trim(),
        "rustc": text_of("rustc", &["--version"])?.trim(),
        "cpu": names.first(),
        "cores": names.len(),
        "profiles": [],
    });
    let path = workspace().join(&args.output);
    for profile in &args.profiles {
        let folder = workspace().join(&args.folder).join(profile);
        if folder.exists() {
            bail!("{} is there, so that not everything would be built", folder.display());
        }
        let one = build(profile, &folder)?;
        println!("{one}");
        if let Some(profiles) = record["profiles"].as_array_mut() {
            profiles.push(one);
        }
        let ended = text_of("date", &["--utc", "+%Y-%m-%dT%H:%M:%SZ"])?;
        record["ended"] = ended.trim().into();
        // What is known is kept, should a later build fail.
        fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Builds in an empty folder; returns what that took.
fn build(profile: &str, folder: &Path) -> Result<Value> {
    // The shell adds up the processor time of everything that the build starts.
    const SCRIPT: &str = "TIMEFORMAT='%R %U %S'; { time cargo build --quiet --locked --package \
                          plumbline --profile \"$0\" 2>&4; } 4>&2";
    let ended = Command::new("bash")
        .args(["-c", SCRIPT, profile])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot start bash")?;
    let told = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        bail!("the build of profile {profile} failed:\n{told}");
    }
    let times: Vec<f64> = told
        .lines()
        .last()
        .unwrap_or_default()
        .split(' ')
        .filter_map(|number| number.parse().ok())
        .collect();
    let [seconds, user, system] = times[..] else { bail!("the shell told no times: {told}") };
    let program = folder.join(profile).join("plumbline");
    Ok(json!({
        "profile": profile,
        "seconds": seconds,
        "cpu_seconds": user + system,
        "folder_bytes": bytes_of(folder)?,
        "program_bytes": fs::metadata(&program)?.len(),
    }))
}

/// Bytes of all files in a folder.
fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let (path, entry) = entry.map(|entry| (entry.path(), entry))?;
        let facts = entry.metadata()?;
        bytes += if facts.is_dir() { bytes_of(&path)? } else { facts.len() };
    }
    Ok(bytes)
}

fn text_of(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(workspace()).output()?;
    Ok(String::from_utf8(output.stdout)?)
}
