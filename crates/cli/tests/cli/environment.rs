//! What the machine refuses: folders, disks, pipes.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use crate::{Ended, plumbline, run, scenario, temporary_folder, write};

const SHORT: &str = "\
function: {name: mobile-gateway, user: 10, rate-limit: 10 Gbit/s, fakedrop: false}
methods: [{name: capacity, repetitions: 1, duration: 20 ms, warm-up: 0}]
";

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_is_measured() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    for (place, path) in [("short.yaml/runs", "short.yaml/runs"), ("/proc/runs", "/proc/runs")] {
        let ended = run(folder.path(), &["bench", "short.yaml", "--output-dir", place]).expect(4);
        assert!(ended.stderr.contains("error: cannot write"), "{}", ended.stderr);
        assert!(ended.stderr.contains(path), "{}", ended.stderr);
        assert!(ended.stderr.contains("help: "), "{}", ended.stderr);
        assert!(!ended.stderr.contains("checking"), "it was too late: {}", ended.stderr);
    }
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_older_runs_stay() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    let first = run(folder.path(), &["bench", "short.yaml", "--quiet"]);
    assert!(matches!(first.code, Some(0 | 3)), "{}", first.stderr);
    let mut runs = fs::read_dir(folder.path().join("runs")).expect("made");
    let before = runs.find_map(|entry| {
        let path = entry.expect("readable").path();
        (!path.ends_with(".cache")).then_some(path)
    });
    let record = before.expect("one run").join("run.json");
    let text = fs::read(&record).expect("written");
    // The shell's limit is what a quota or a full disk is to the program: writes fail.
    let script = r#"trap '' XFSZ; ulimit -f 0; exec "$0" bench short.yaml --quiet 2>&1 | cat"#;
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", script, env!("CARGO_BIN_EXE_plumbline")])
        .current_dir(folder.path())
        .output()
        .expect("bash is there");
    let ended = Ended::from(output).expect(4);
    assert!(ended.stdout.contains("error: cannot write"), "{}", ended.stdout);
    assert!(ended.stdout.contains("--output-dir"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("capacity"), "before it measures: {}", ended.stdout);
    assert_eq!(fs::read(&record).expect("still there"), text);
}

#[test]
fn a_write_that_fails_in_the_middle_loses_no_figure() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    // Enough for the record of a run that has not begun, too little for one with a trial.
    let script = r#"trap '' XFSZ; ulimit -f 8; exec "$0" bench short.yaml --quiet"#;
    let output = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_plumbline")])
        .current_dir(folder.path())
        .output()
        .expect("bash is there");
    let ended = Ended::from(output).expect(4);
    assert!(ended.stdout.contains("One worker processes"), "{}", ended.stdout);
    assert!(ended.stderr.contains("run.json"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--output-dir"), "{}", ended.stderr);
}

#[test]
fn a_folder_of_measurements_that_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = temporary_folder();
    write(folder.path(), "short.yaml", SHORT);
    fs::create_dir(folder.path().join("runs")).expect("writable");
    write(folder.path(), "runs/.cache", "a file in the way");
    let ended = run(folder.path(), &["bench", "short.yaml"]).expect(4);
    assert!(ended.stderr.contains("runs/.cache"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--output-dir"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("checking"), "it was too late: {}", ended.stderr);
    assert_eq!(fs::read_dir(folder.path().join("runs")).expect("there").count(), 1);
}

#[test]
fn a_full_disk_is_told() {
    let folder = temporary_folder();
    let path = scenario("mobile-gateway-small.yaml");
    let path = path.to_str().expect("a plain path");
    let ended = run(folder.path(), &["trace", path, "--output", "/dev/full"]).expect(4);
    let expected = "error: cannot write: No space left on device\n  file: /dev/full\n  \
                    help: free some space, or choose another place\n";
    assert_eq!(ended.stderr, expected);
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = plumbline(folder.path()).arg("schema").stdout(full).output().expect("it starts");
    let ended = Ended::from(output).expect(4);
    assert!(ended.stderr.contains("file: standard output"), "{}", ended.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = temporary_folder();
    let path = scenario("mobile-gateway-small.yaml");
    let mut child = plumbline(folder.path())
        .args(["trace", path.to_str().expect("a plain path"), "--output", "-", "-n", "10000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut out = child.stdout.take().expect("piped");
    let mut head = [0; 24];
    out.read_exact(&mut head).expect("the header of the trace");
    drop(out);
    let output = child.wait_with_output().expect("it is our child");
    let ended = Ended::from(output).expect(0);
    assert!(!ended.stderr.contains("error"), "{}", ended.stderr);
}
