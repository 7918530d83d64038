//! `cargo xtask build-cost`: what building the program from nothing takes, by profile, as a record.
//!
//! Each profile is built in a folder of its own, which stays: `cargo xtask dist --program` takes
//! the program from there. Time by the clock counts what others do on the machine; processor time
//! does not. A block of a document shows the record (`figures of build.json /profiles`).

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
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--package", "plumbline", "--profile", profile]);
    cargo.env("CARGO_TARGET_DIR", folder);
    let took = timed(&cargo).with_context(|| format!("the profile {profile} was not built"))?;
    let program = folder.join(profile).join("plumbline");
    Ok(json!({
        "profile": profile,
        "minutes": took.seconds / 60.0,
        "cpu_minutes": took.cpu_seconds / 60.0,
        "folder_bytes": bytes_of(folder)?,
        "program_bytes": fs::metadata(&program)?.len(),
    }))
}

/// What a command took.
#[derive(Clone, Copy, Debug)]
struct Took {
    seconds: f64,
    cpu_seconds: f64,
}

/// Runs a command in the workspace's folder to its end.
fn timed(command: &Command) -> Result<Took> {
    // The shell adds up the processor time of everything that the command starts.
    const SCRIPT: &str = "TIMEFORMAT='%R %U %S'; { time \"$@\" 2>&4; } 4>&2";
    let mut shell = Command::new("bash");
    shell.args(["-c", SCRIPT, "bash"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("LC_ALL", "C").current_dir(workspace()).stdin(Stdio::null());
    let ended = shell.output().context("cannot start bash")?;
    let told = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        bail!("{command:?} failed:\n{told}");
    }
    let last = told.lines().last().unwrap_or_default();
    let times: Vec<f64> = last.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [seconds, user, system] = times[..] else { bail!("the shell told no times: {told}") };
    Ok(Took { seconds, cpu_seconds: user + system })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_took_is_read_behind_all_that_it_says() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"$WORDS\" >&2; echo '1 2 3' >&2"]).env("WORDS", "a warning");
        let took = timed(&command).expect("it ends well");
        assert!(took.seconds >= 0.0 && took.cpu_seconds >= 0.0, "{took:?}");
        assert!(took.seconds + took.cpu_seconds < 6.0, "these are no times: {took:?}");
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'no space left' >&2; exit 101"]);
        let problem = timed(&command).expect_err("it fails").to_string();
        assert!(problem.contains("no space left"), "{problem}");
    }

    #[test]
    fn profiles_that_are_built_are_those_of_the_manifest() {
        let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("it is there");
        let command = <Args as clap::Args>::augment_args(clap::Command::new("build-cost"));
        let matches = command.get_matches_from(["build-cost"]);
        let profiles: Vec<&String> = matches.get_many("profiles").expect("a default").collect();
        assert_eq!(profiles, ["release", "dist"]);
        for profile in profiles {
            assert!(manifest.contains(&format!("[profile.{profile}]\n")), "{profile}");
        }
        let matches = <Args as clap::Args>::augment_args(clap::Command::new("build-cost"))
            .get_matches_from(["build-cost", "--profiles", "dist"]);
        let profiles: Vec<&String> = matches.get_many("profiles").expect("given").collect();
        assert_eq!(profiles, ["dist"]);
    }

    #[test]
    fn a_folder_that_is_there_is_not_built_over() {
        let args = Args {
            profiles: vec!["src".into()],
            folder: "xtask".into(),
            output: "target/none.json".into(),
        };
        let problem = run(&args).expect_err("it is there").to_string();
        assert!(problem.contains("not everything would be built"), "{problem}");
        assert!(!workspace().join("target/none.json").exists());
    }

    #[test]
    fn bytes_are_those_of_files_in_folders_of_folders() {
        let folder = std::env::temp_dir().join(format!("xtask-cost-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).expect("a folder for temporary files");
        fs::write(folder.join("a/b/c"), [0; 10]).expect("written");
        fs::write(folder.join("d"), [0; 5]).expect("written");
        assert_eq!(bytes_of(&folder).expect("it is read"), 15);
        fs::remove_dir_all(folder).expect("it was made here");
    }
}
