//! A bench that is stopped or killed at random points goes on without a lost or doubled
//! measurement.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{Ended, plumbline, run, temporary_folder, write};

/// 20 measurements of a moment each.
const MANY: &str = "\
function:
  name: mobile-gateway
  user: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  rate-limit: 10 Gbit/s
  fakedrop: false
methods:
  - {name: capacity, repetitions: 1, duration: 5 ms, warm-up: 0}
  - {name: capacity, repetitions: 1, duration: 6 ms, warm-up: 0}
";
const CELLS: usize = 10;
const MEASUREMENTS: usize = 20;

#[test]
fn a_bench_that_is_interrupted_again_and_again_measures_everything_once() {
    let folder = temporary_folder();
    write(folder.path(), "many.yaml", MANY);
    let mut dice = Dice(20_261_121);
    let mut valid: HashMap<String, Value> = HashMap::new();
    let mut known = 0;
    for signal in [Signal::KILL, Signal::INT, Signal::KILL, Signal::INT, Signal::KILL] {
        let lines = 2 + dice.below(18);
        let taken = interrupt(folder.path(), signal, lines);
        assert_eq!(taken.unwrap_or(known), known, "{signal:?} after {lines} lines: all are found");
        for outcome in runs(folder.path()).iter().filter_map(|run| record(run)).flat_map(outcomes) {
            if outcome["validity"]["valid"] == true {
                valid.entry(text(&outcome["key"])).or_insert(outcome["started"].clone());
            }
        }
        known = cached(folder.path());
        assert!(known >= valid.len(), "what a record holds is kept: {known} of {}", valid.len());
    }
    let ended = run(folder.path(), &["bench", "many.yaml", "--json"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    assert_eq!(taken_in(&ended.stderr).unwrap_or(0), known);
    let last = ended.json();
    assert_eq!(last["plan"]["measurements"], MEASUREMENTS);
    assert_eq!(last["plan"]["from_cache"], known);
    assert_eq!(last["cells"].as_array().map(Vec::len), Some(CELLS));
    let mut positions = Vec::new();
    let mut measured_now = 0;
    for outcome in outcomes(last) {
        let [only] = &outcome["repetitions"].as_array().expect("a list")[..] else {
            panic!("measured once: {outcome}")
        };
        measured_now += usize::from(only["from_cache"] == false);
        positions.push(only["position"].as_u64().expect("a number"));
        if let Some(started) = valid.get(&text(&outcome["key"])) {
            assert_eq!(outcome["started"], *started, "it was not measured a second time");
        }
    }
    positions.sort_unstable();
    assert!(positions.into_iter().eq(0..MEASUREMENTS as u64), "each is there once");
    assert_eq!(measured_now + known, MEASUREMENTS);
    assert_eq!(left_behind(folder.path()), Vec::<PathBuf>::new());
    let last_run = runs(folder.path()).into_iter().next_back().expect("one");
    let live = fs::read_to_string(last_run.join("progress.json")).expect("written");
    let live: Value = serde_json::from_str(&live).expect("whole");
    assert_eq!(
        (live["running"].clone(), live["measurements_done"].clone()),
        (false.into(), MEASUREMENTS.into())
    );
}

#[test]
fn what_was_measured_is_told_and_measured_again_when_asked_to() {
    let folder = temporary_folder();
    let text = MANY.replace("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "[1, 2]");
    write(folder.path(), "few.yaml", &text);
    run(folder.path(), &["bench", "few.yaml"]);
    let known = cached(folder.path());
    let again = run(folder.path(), &["bench", "few.yaml"]);
    assert_eq!(taken_in(&again.stderr).unwrap_or(0), known);
    assert_eq!(again.stderr.contains("--fresh measures all"), known > 0, "{}", again.stderr);
    let fresh = run(folder.path(), &["bench", "few.yaml", "--fresh", "--json"]);
    assert_eq!(fresh.json()["plan"]["from_cache"], 0);
}

#[test]
fn two_benches_share_a_folder_without_harm() {
    let folder = temporary_folder();
    write(folder.path(), "many.yaml", MANY);
    let both = [(); 2].map(|()| {
        let mut command = plumbline(folder.path());
        command.args(["bench", "many.yaml", "--json", "--quiet"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    });
    for child in both {
        let ended = Ended::from(child.wait_with_output().expect("our child"));
        assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
        assert_eq!(outcomes(ended.json()).len(), MEASUREMENTS);
    }
    let known = cached(folder.path());
    let last = run(folder.path(), &["bench", "many.yaml", "--json", "--quiet"]).json();
    assert_eq!(last["plan"]["from_cache"], known, "every file that is there is whole");
    assert_eq!(left_behind(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_soak_that_is_killed_goes_on_where_it_was() {
    let folder = temporary_folder();
    let text = "\
function: {name: mobile-gateway, user: 1, rate-limit: 10 Gbit/s, fakedrop: false}
methods: [{name: soak, load: 1 kpps, duration: 3 s, slice: 100 ms, warm-up: 0}]
";
    write(folder.path(), "soak.yaml", text);
    let mut child = plumbline(folder.path())
        .args(["bench", "soak.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while finished_trials(folder.path()) < 5 {
        assert!(Instant::now() < deadline, "it does not write its trials");
        std::thread::yield_now();
    }
    child.kill().expect("it has 25 trials to go");
    child.wait().expect("it is our child");
    let known = finished_trials(folder.path());
    let ended = run(folder.path(), &["bench", "soak.yaml", "--json"]);
    let told = format!("{known} finished trials are reused");
    assert!(ended.stderr.contains(&told), "{told}: {}", ended.stderr);
    let [soak] = &outcomes(ended.json())[..] else { panic!("one outcome") };
    let figures = soak["figures"].as_array().expect("a list");
    let restarts = figures.iter().find(|figure| figure["name"] == "restarts").expect("told");
    assert_eq!(restarts["value"], 1.0);
    let slices = soak["series"][0]["rows"].as_array().map(Vec::len);
    assert_eq!(slices, Some(30), "each slice is there once");
    assert_eq!(finished_trials(folder.path()), 0, "nothing is left to take up");
}

/// Whole lines of trials that a measurement under way has written.
fn finished_trials(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join("runs/.cache")).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let partial = paths.filter(|path| path.to_string_lossy().ends_with(".partial.jsonl"));
    let text: String = partial.filter_map(|path| fs::read_to_string(path).ok()).collect();
    text.matches('\n').count().saturating_sub(1)
}

/// Starts a bench, sends it a signal after so many lines of progress, and tells how many
/// measurements it took from earlier runs, if it came so far.
fn interrupt(folder: &Path, signal: Signal, lines: usize) -> Option<usize> {
    let mut child = plumbline(folder)
        .args(["bench", "many.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut told = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut heard: Vec<String> = told.by_ref().take(lines).map_while(Result::ok).collect();
    // It may have come to its end meanwhile; then there is nobody to stop.
    let _ = kill_process(Pid::from_child(&child), signal);
    heard.extend(told.map_while(Result::ok));
    let status = child.wait().expect("it is our child");
    let code = status.code();
    let expected = if signal == Signal::INT {
        [Some(130), Some(0), Some(3)]
    } else {
        [None, Some(0), Some(3)]
    };
    assert!(expected.contains(&code), "{signal:?}: {code:?} after {heard:#?}");
    taken_in(&heard.join("\n"))
}

/// The number in `12 of 20 measurements taken from earlier runs`.
fn taken_in(stderr: &str) -> Option<usize> {
    let line = stderr.lines().find(|line| line.contains("reused from earlier runs"))?;
    line.split(' ').next()?.parse().ok()
}

/// The folders of runs, in the order in which they began.
fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder.join("runs")).expect("made").map(|entry| entry.expect("readable"));
    let mut runs: Vec<_> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| (entry.metadata().and_then(|facts| facts.created()).ok(), entry.path()))
        .collect();
    runs.sort();
    runs.into_iter().map(|(_, path)| path).collect()
}

/// The record of a run, whole if there is one.
fn record(run: &Path) -> Option<Value> {
    let text = fs::read_to_string(run.join("run.json")).ok()?;
    Some(serde_json::from_str(&text).expect("a record is whole or not there"))
}

fn outcomes(record: Value) -> Vec<Value> {
    let cells = record["cells"].as_array().expect("a list");
    cells.iter().flat_map(|cell| cell["outcomes"].as_array().expect("a list").clone()).collect()
}

/// How many measurements are kept.
fn cached(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join("runs/.cache")).expect("made");
    let names = entries.map(|entry| entry.expect("readable").file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".json")).count()
}

/// Files that nobody finished, in all folders.
fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut left = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let entry = entry.expect("readable");
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_string_lossy().starts_with(".plumbline-") {
                left.push(entry.path());
            }
        }
    }
    left
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Enough randomness to choose a moment, the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % count) as usize
    }
}
