//! `cargo xtask test`: everything CI runs.
//!
//! First what the rest needs: the set-up, the format, and the programs of the tests, built by the
//! compiler that lints. Then those programs, and what else is checked, in two lanes beside each
//! other. Nothing is begun after the set-up, the format, or a build has failed; all else runs. What
//! fails says how to repeat it.
//! The last line counts: every test is one, every other step is one. Nothing is downloaded but
//! crates and what `setup` installs.

mod lanes;
mod programs;
mod selection;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use self::lanes::{Done, Job, Lane};
use self::programs::Program;
use self::selection::Selection;
use crate::invocation::{Ended, Invocation, ONE_PASSED, is_installed, workspace};
use crate::setup;

/// What of the tests runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run only what a change since this commit concerns: lints of all packages that depend on a
    /// changed one, tests of the changed ones and of those that depend on them directly
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    changed: Option<String>,
    /// Run random tests in full length, which takes far longer, and build the documents of the code
    #[arg(long)]
    thorough: bool,
}

/// Sums so far.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    times: Vec<(String, Duration)>,
    /// What failed, and how to repeat it.
    problems: Vec<String>,
}

/// Runs all steps.
///
/// # Errors
/// When one fails.
pub fn run(args: &Args) -> Result<()> {
    let begun = Instant::now();
    let mut tally = Tally::default();
    if let Err(problem) = steps(args, &mut tally) {
        tally.problems.push(format!("{problem:#}"));
    }
    println!("\n== times; the lanes run beside each other");
    tally.times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    for (name, time) in tally.times.iter().take(TIMES_SHOWN) {
        println!("{:>8.1} s  {name}", time.as_secs_f64());
    }
    println!("{:>8.1} s  in all", begun.elapsed().as_secs_f64());
    for problem in &tally.problems {
        println!("\n{problem}");
    }
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    if tally.problems.is_empty() { Ok(()) } else { Err(anyhow!("not everything passed")) }
}

fn steps(args: &Args, tally: &mut Tally) -> Result<()> {
    let selection = args.changed.as_deref().map(Selection::since).transpose()?;
    if selection.is_none() {
        tally.step("setup", "cargo xtask setup", setup::run)?;
    }
    tally.invoke("format", &cargo("fmt --all -- --check"))?;
    let (build, lints) = match &selection {
        None => (linting(cargo("test --locked --workspace --all-targets --no-run")), None),
        Some(of) => {
            let [linted, tested] = [&of.linted, &of.tested].map(|names| Selection::flags(names));
            let lints = format!("clippy --locked {linted} --all-targets -- -D warnings");
            (cargo(&format!("test --locked {tested} --tests --no-run")), Some(cargo(&lints)))
        }
    };
    let mut programs = Vec::new();
    tally.step("programs of the tests", &build.to_string(), || {
        programs = programs::build(&build.argument("--message-format=json-render-diagnostics"))?;
        Ok(())
    })?;
    programs.sort_by_key(Program::place);
    let mut jobs: Vec<Job> = lints.into_iter().map(|lints| needed("lints", lints)).collect();
    if args.thorough {
        let docs = cargo("doc --locked --workspace --no-deps");
        jobs.push(step("docs", docs.variable("RUSTDOCFLAGS", "-D warnings")));
    }
    if selection.is_none() {
        jobs.extend(dependencies());
        jobs.push(smoke()?);
    }
    jobs.extend(programs.iter().map(|program| tests(program, args.thorough)));
    let logs = workspace().join("target/xtask-test");
    fs::create_dir_all(&logs)?;
    lanes::run(jobs, &logs, |done| tally.hear(done));
    if let Some(left_out) = selection.map(|one| one.left_out).filter(|names| !names.is_empty()) {
        println!(
            "\n== not run: tests of packages that depend on the change by others: {}; \
             `cargo xtask test` runs them",
            left_out.join(", ")
        );
    }
    Ok(())
}

/// Cargo. Where CI runs, nothing is built a second time, and what a second build would need costs a
/// seventh of the first.
fn cargo(arguments: &str) -> Invocation {
    let cargo = Invocation::new("cargo", arguments);
    match std::env::var_os("CI") {
        Some(_) => cargo.variable("CARGO_INCREMENTAL", "0"),
        None => cargo,
    }
}

/// The same build by the compiler that lints, with warnings as errors: what `cargo clippy` has
/// cargo call, and what it tells it. By itself it would read every crate a second time.
fn linting(build: Invocation) -> Invocation {
    build
        .variable("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .variable("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
}

/// A command that has to succeed before more is begun.
fn needed(name: &str, invocation: Invocation) -> Job {
    Job { is_needed: true, ..step(name, invocation) }
}

/// A command. Where its output tells of tests, they count, else it counts as one.
fn step(name: &str, invocation: Invocation) -> Job {
    Job {
        name: name.to_owned(),
        repeat: invocation.to_string(),
        lane: Lane::Computing,
        is_needed: false,
        work: Box::new(move |log| {
            let ended = invocation.run_into(log)?;
            let counts_itself = ended.tests_passed + ended.tests_failed == 0;
            let tests_passed =
                ended.tests_passed + u64::from(counts_itself && ended.code == Some(0));
            Ok(Ended { tests_passed, ..ended })
        }),
    }
}

/// The tests of a program.
fn tests(program: &Program, is_thorough: bool) -> Job {
    let (lane, _) = program.place();
    let mut invocation = program.invocation();
    if is_thorough {
        invocation = invocation.variable("PLUMBLINE_THOROUGH", "1");
    }
    Job {
        name: program.name(),
        repeat: program.repeat().to_string(),
        lane,
        is_needed: false,
        work: Box::new(move |log| invocation.run_into(log)),
    }
}

/// Licences and advisories by the tools for it, where they are installed; a test holds the licences
/// in any case.
fn dependencies() -> Vec<Job> {
    if !is_installed(&["cargo-deny"]) {
        println!("\n== advisories: skipped: cargo-deny is not installed");
        return Vec::new();
    }
    let mut jobs = vec![needed("licences", cargo("deny check licenses bans sources"))];
    if has_advisories() {
        jobs.push(needed("advisories", cargo("deny --offline check advisories")));
    } else {
        println!(
            "\n== advisories: skipped: no copy of their database; `cargo deny fetch` makes it"
        );
    }
    jobs
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
fn smoke() -> Result<Job> {
    let folder = workspace().join("target/xtask-smoke");
    let program = std::env::current_exe()?.with_file_name("plumbline");
    let bench = Invocation::new(program.to_string_lossy(), "bench")
        .argument(SMOKE_SCENARIO)
        .argument("--quiet")
        .argument("--output-dir")
        .argument("target/xtask-smoke");
    Ok(Job {
        name: "small scenario".to_owned(),
        repeat: bench.to_string(),
        lane: Lane::Waiting,
        is_needed: false,
        work: Box::new(move |log| smoke_into(&bench, &folder, log)),
    })
}

fn smoke_into(bench: &Invocation, folder: &Path, log: &Path) -> Result<Ended> {
    // What an earlier run left says nothing about this one.
    let _ = fs::remove_dir_all(folder);
    let ended = bench.run_into(log)?;
    // A shared machine may spoil a measurement, and the program then says so with 3.
    if !matches!(ended.code, Some(0 | 3)) {
        bail!("it ended with {:?}, expected 0 or 3", ended.code);
    }
    // Beside the run is what later runs may take from it, in a hidden folder.
    let is_run = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
    let runs: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(Result::ok).filter(is_run).map(|run| run.path()).collect();
    let [run] = runs.as_slice() else { bail!("expected one folder in {}", folder.display()) };
    for name in ["run.json", "trials.csv", "figures.csv", "run.jsonl", "junit.xml", "report.html"] {
        let file = run.join(name);
        if fs::metadata(&file)?.len() == 0 {
            bail!("{} is empty", file.display());
        }
    }
    Ok(ONE_PASSED)
}

impl Tally {
    /// A step that is a command, with the terminal's input and output.
    fn invoke(&mut self, name: &str, invocation: &Invocation) -> Result<()> {
        self.step(name, &invocation.to_string(), || invocation.run())
    }

    /// A step with a heading and its time, that counts as one; `repeat` is how to run it alone.
    fn step(&mut self, name: &str, repeat: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n== {name}: {repeat}");
        let begun = Instant::now();
        let ended = work();
        self.times.push((name.to_owned(), begun.elapsed()));
        println!("== {name}: {:.1} s", begun.elapsed().as_secs_f64());
        match ended {
            Ok(()) => {
                self.passed += 1;
                Ok(())
            }
            Err(error) => {
                self.failed += 1;
                bail!("{name} failed: {error:#}\nrepeat it with: {repeat}")
            }
        }
    }

    /// Counts a job of a lane, and shows what it printed if it failed; whether to go on.
    fn hear(&mut self, done: Done) -> bool {
        let Done { name, repeat, is_needed, ended, output, time } = done;
        let failure = match &ended {
            Ok(Ended { code: Some(0), tests_failed: 0, .. }) => None,
            Ok(Ended { tests_failed: 0, code: Some(code), .. }) => {
                Some(format!("it ended with code {code}"))
            }
            Ok(Ended { tests_failed: 0, code: None, .. }) => Some("it was killed".to_owned()),
            Ok(Ended { tests_failed, .. }) => Some(format!("{tests_failed} tests failed")),
            Err(error) => Some(format!("{error:#}")),
        };
        let (passed, failed) =
            ended.map_or((0, 0), |ended| (ended.tests_passed, ended.tests_failed));
        self.passed += passed;
        // What does not compile or was killed has no test that failed.
        self.failed += failed.max(u64::from(failure.is_some()));
        let seconds = time.as_secs_f64();
        self.times.push((name.clone(), time));
        match &failure {
            None => println!("{seconds:>8.1} s  {passed:>4} passed  {name}"),
            Some(why) => {
                println!("\n== {name}: {repeat}\n{output}\n== {name}: {seconds:.1} s: {why}\n");
                self.problems.push(format!("{name} failed: {why}\nrepeat it with: {repeat}"));
            }
        }
        failure.is_none() || !is_needed
    }
}

/// Ends within seconds, and exercises check, capacity and throughput.
const SMOKE_SCENARIO: &str = "scenarios/mobile-gateway-small.yaml";

/// Most times that are listed, the longest first.
const TIMES_SHOWN: usize = 20;
