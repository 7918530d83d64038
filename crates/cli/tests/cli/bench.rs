//! The main job on a small scenario, and the check.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Ended, plumbline, run, scenario, temporary_folder, write};

/// A scenario of two cells, each of a moment.
const SHORT: &str = "\
function: {name: mobile-gateway, user: [10, 20], rate-limit: 10 Gbit/s, fakedrop: false}
methods: [{name: capacity, repetitions: 1, duration: 20 ms, warm-up: 0}]
";

/// The folders of the runs in `runs`.
fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("runs")).into_iter().flatten();
    let is_run = |path: &PathBuf| !path.ends_with(".cache");
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_run).collect()
}

fn record(run: &Path) -> serde_json::Value {
    let text = fs::read_to_string(run.join("run.json")).expect("a run has a record");
    serde_json::from_str(&text).expect("the record is whole")
}

/// Measurements may be called not valid on a machine as busy as that of a test.
fn expect_measured(ended: Ended) -> Ended {
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    ended
}

#[test]
fn a_bench_prints_a_table_and_writes_its_files() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    let ended = expect_measured(run(folder.path(), &["bench", "short.yaml"]));
    assert!(ended.stdout.contains("capacity"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Functional check: passed"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "no colours into a pipe: {}", ended.stdout);
    assert!(!ended.stderr.contains('\u{1b}'), "no colours into a pipe: {}", ended.stderr);
    assert!(ended.stderr.contains("cell 2/2 user=20"), "{}", ended.stderr);
    let runs = runs(folder.path());
    assert_eq!(runs.len(), 1, "{runs:?}");
    let mut files: Vec<_> = fs::read_dir(&runs[0])
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("plain"))
        .collect();
    files.sort();
    let all = "figures.csv junit.xml progress.json report.html run.json run.jsonl trials.csv";
    assert_eq!(files.join(" "), all);
    let record = record(&runs[0]);
    assert_eq!(record["cells"].as_array().map(Vec::len), Some(2));
    assert_eq!(record["cells"][1]["parameters"]["function.user"], 20);
    assert_eq!(record["cells"][1]["configuration"]["function"]["bst"], 1, "defaults are filled in");
    assert_eq!(record["scenario"]["text"], SHORT);
}

#[test]
fn two_runs_do_not_overwrite_each_other() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    for _ in 0..2 {
        expect_measured(run(folder.path(), &["bench", "short.yaml", "--quiet"]));
    }
    assert_eq!(runs(folder.path()).len(), 2);
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    let ended = run(folder.path(), &["bench", "short.yaml", "--json", "--output-dir", "a/b"]);
    let printed = expect_measured(ended).json();
    let inside = fs::read_dir(folder.path().join("a/b")).expect("made with its parents");
    let mut inside = inside.map(|entry| entry.expect("readable").path());
    let path = inside.find(|path| !path.ends_with(".cache")).expect("one run");
    assert_eq!(printed, record(&path));
}

#[test]
fn a_check_passes_and_tells_what_it_covered() {
    let folder = temporary_folder();
    let path = scenario("mobile-gateway-small.yaml");
    let path = path.to_str().expect("a plain path");
    let ended = run(folder.path(), &["check", path]).expect(0);
    assert!(ended.stdout.contains("passed:"), "{}", ended.stdout);
    assert!(ended.stdout.contains("frames by verdict"), "{}", ended.stdout);
    let json = run(folder.path(), &["check", path, "--json"]).expect(0).json();
    assert_eq!(json["status"], "passed");
    let covered = json["cells"][0]["check"]["coverage"].as_array().map_or(0, Vec::len);
    assert!(covered > 10, "{json}");
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0, "a check writes nothing");
}

#[test]
fn tipsys_sample_is_checked_and_the_cut_lists_are_named() {
    let path = scenario("tipsy-mgw-sample.json");
    let path = path.to_str().expect("a plain path");
    let ended = run(temporary_folder().path(), &["check", path]).expect(0);
    for part in ["user = 1", "bst = 9", "fluct-user = 17", "scale: outer"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
}

#[test]
fn ctrl_c_in_the_middle_keeps_what_is_finished() {
    let folder = temporary_folder();
    // The second trial would last an hour.
    let text = "\
function: {name: mobile-gateway, user: 10, rate-limit: 10 Gbit/s, fakedrop: false}
methods:
  - {name: capacity, repetitions: 1, duration: 20 ms, warm-up: 0}
  - {name: capacity, repetitions: 1, duration: 1 h, warm-up: 0}
";
    write(folder.path(), "long.yaml", text);
    let mut child = plumbline(folder.path())
        .args(["bench", "long.yaml"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The line that announces a method comes before its first trial.
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let announced =
        lines.by_ref().filter(|line| line.as_ref().is_ok_and(|line| line.starts_with("capacity")));
    assert_eq!(announced.take(2).count(), 2, "both methods begin");
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("the program still runs");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(wait(&mut child), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("finished measurements are kept")), "{rest:?}");
    let run = &runs(folder.path())[0];
    let record = record(run);
    assert_eq!(record["status"], "interrupted");
    let outcomes = record["cells"][0]["outcomes"].as_array().expect("a list");
    let trials = outcomes[0]["trials"].as_array().map(Vec::len);
    assert_eq!(trials, Some(2), "cold and hot frames: {outcomes:?}");
    assert!(run.join("report.html").exists() && run.join("trials.csv").exists());
}

/// The exit code, once there is one; a program that does not end within the deadline is ended.
fn wait(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().expect("it is our child");
            panic!("the program did not stop");
        }
        std::thread::yield_now();
    }
}
