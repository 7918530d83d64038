//! `cargo xtask test`: everything CI runs, in the order in which a mistake is found cheapest.
//!
//! It stops at the first step that fails and says how to repeat it. The last line counts: every test
//! is one, every other step is one. Nothing is downloaded but crates and what `setup` installs.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::invocation::{Ended, Invocation, is_installed, workspace};
use crate::setup;

/// Sums so far.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    times: Vec<(&'static str, Duration)>,
}

/// Runs all steps.
///
/// # Errors
/// When one fails.
pub fn run() -> Result<()> {
    let mut tally = Tally::default();
    let done = steps(&mut tally);
    println!("\n== times");
    for (name, time) in &tally.times {
        println!("{:>8.1} s  {name}", time.as_secs_f64());
    }
    let total: Duration = tally.times.iter().map(|(_, time)| *time).sum();
    println!("{:>8.1} s  in all", total.as_secs_f64());
    if let Err(problem) = &done {
        println!("\n{problem:#}");
    }
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    match done {
        Ok(()) => Ok(()),
        Err(_) => bail!("not everything passed"),
    }
}

fn steps(tally: &mut Tally) -> Result<()> {
    tally.step("setup", "cargo xtask setup", || setup::run().map(|()| ONE_PASSED))?;
    let cargo = |arguments: &str| Invocation::new("cargo", arguments);
    tally.check("format", &cargo("fmt --all -- --check"))?;
    tally.check("lints", &cargo("clippy --locked --workspace --all-targets -- -D warnings"))?;
    let docs = cargo("doc --locked --workspace --no-deps").variable("RUSTDOCFLAGS", "-D warnings");
    tally.check("docs", &docs)?;
    tally.tests("tests", &cargo("test --locked --workspace --tests --no-fail-fast"))?;
    tally
        .tests("examples in the docs", &cargo("test --locked --workspace --doc --no-fail-fast"))?;
    dependencies(tally)?;
    smoke(tally)
}

/// Licences and advisories by the tools for it, where they are installed; a test holds the licences
/// in any case.
fn dependencies(tally: &mut Tally) -> Result<()> {
    if !is_installed(&["cargo-deny"]) {
        skip("advisories", "cargo-deny is not installed; a test has compared the licences");
        return Ok(());
    }
    tally.check("licences", &Invocation::new("cargo", "deny check licenses bans sources"))?;
    if !has_advisories() {
        skip(
            "advisories",
            "there is no copy of the advisory database; `cargo deny fetch` makes it",
        );
        return Ok(());
    }
    tally.check("advisories", &Invocation::new("cargo", "deny --offline check advisories"))
}

/// Whether cargo-deny has fetched the advisory database before.
fn has_advisories() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    home.and_then(|home| fs::read_dir(home.join("advisory-dbs")).ok())
        .is_some_and(|mut copies| copies.next().is_some())
}

/// The program as a user runs it: a small scenario, from file to report. It is the one beside this,
/// which the tests have made: one built by itself, with all optimisations or only with the features
/// that it alone wants, would be a build of its own.
fn smoke(tally: &mut Tally) -> Result<()> {
    let folder = workspace().join("target/xtask-smoke");
    let program = std::env::current_exe()?.with_file_name("plumbline");
    let bench = Invocation::new(program.to_string_lossy(), "bench")
        .argument(SMOKE_SCENARIO)
        .argument("--quiet")
        .argument("--output-dir")
        .argument("target/xtask-smoke");
    tally.step("small scenario", &bench.to_string(), || {
        // What an earlier run left says nothing about this one.
        let _ = fs::remove_dir_all(&folder);
        let ended = bench.run_counting()?;
        // A shared machine may spoil a measurement, and the program then says so with 3.
        if !matches!(ended.code, Some(0 | 3)) {
            bail!("it ended with {:?}, expected 0 or 3", ended.code);
        }
        // Beside the run is what later runs may take from it, in a hidden folder.
        let is_run = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
        let runs: Vec<_> = fs::read_dir(&folder)?.filter_map(Result::ok).filter(is_run).collect();
        let [run] = runs.as_slice() else { bail!("expected one folder in {}", folder.display()) };
        for name in
            ["run.json", "trials.csv", "figures.csv", "run.jsonl", "junit.xml", "report.html"]
        {
            let file = run.path().join(name);
            if fs::metadata(&file)?.len() == 0 {
                bail!("{} is empty", file.display());
            }
        }
        Ok(ONE_PASSED)
    })
}

impl Tally {
    /// A step that counts as one.
    fn check(&mut self, name: &'static str, invocation: &Invocation) -> Result<()> {
        self.step(name, &invocation.to_string(), || invocation.run().map(|()| ONE_PASSED))
    }

    /// A step whose tests are counted.
    fn tests(&mut self, name: &'static str, invocation: &Invocation) -> Result<()> {
        self.step(name, &invocation.to_string(), || invocation.run_counting())
    }

    /// A step with a heading and its time; `repeat` is how to run it alone.
    fn step(
        &mut self,
        name: &'static str,
        repeat: &str,
        work: impl FnOnce() -> Result<Ended>,
    ) -> Result<()> {
        println!("\n== {name}: {repeat}");
        let begun = Instant::now();
        let ended = work();
        self.times.push((name, begun.elapsed()));
        println!("== {name}: {:.1} s", begun.elapsed().as_secs_f64());
        let why = match ended {
            Ok(ended) => {
                self.passed += ended.tests_passed;
                self.failed += ended.tests_failed;
                if ended.code == Some(0) && ended.tests_failed == 0 {
                    return Ok(());
                }
                // A crate that does not compile has no test that failed.
                self.failed += u64::from(ended.tests_failed == 0);
                match (ended.tests_failed, ended.code) {
                    (0, Some(code)) => format!("it ended with code {code}"),
                    (0, None) => "it was killed".to_owned(),
                    (count, _) => format!("{count} tests failed"),
                }
            }
            Err(error) => {
                self.failed += 1;
                format!("{error:#}")
            }
        };
        bail!("{name} failed: {why}\nrepeat it with: {repeat}")
    }
}

fn skip(name: &str, why: &str) {
    println!("\n== {name}: skipped: {why}");
}

/// Ends within seconds, and exercises check, capacity and throughput.
const SMOKE_SCENARIO: &str = "scenarios/mobile-gateway-small.yaml";

const ONE_PASSED: Ended = Ended { code: Some(0), tests_passed: 1, tests_failed: 0 };
