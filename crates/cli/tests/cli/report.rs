//! Reports of runs that exist: rendered again, one format, several side by side, PDF.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Ended, plumbline, run, temporary_folder};

/// A run that was published, written by an earlier version.
pub fn published() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    folder.join("mobile-gateway-capacity-20261121T141115Z/run.json.gz")
}

/// Makes `runs/NAME` of the published run, changed by `change`.
pub fn keep(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = report::text(&published()).expect("it is published");
    let mut record: Value = serde_json::from_slice(&text).expect("JSON");
    change(&mut record);
    let path = folder.join("runs").join(name);
    fs::create_dir_all(&path).expect("a temporary folder is writable");
    fs::write(path.join("run.json"), record.to_string()).expect("writable");
    path
}

#[test]
fn all_files_are_rendered_again_and_the_record_stays() {
    let folder = temporary_folder();
    let path = keep(folder.path(), "one", |_| {});
    let before = fs::read(path.join("run.json")).expect("there");
    for name in ["latest", "one", "runs/one", "runs/one/run.json"] {
        let ended = run(folder.path(), &["report", name]).expect(0);
        assert!(ended.stdout.contains("Capacity of the mobile-gateway"), "{}", ended.stdout);
        for file in ["trials.csv", "figures.csv", "run.jsonl", "junit.xml", "report.html"] {
            assert!(ended.stderr.contains(&format!("one/{file}")), "{}", ended.stderr);
            fs::remove_file(path.join(file)).expect("it was written");
        }
    }
    assert_eq!(fs::read(path.join("run.json")).expect("there"), before);
}

#[test]
fn a_format_goes_where_it_is_asked_to() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let printed = run(folder.path(), &["report", "one", "--format", "junit", "--output", "-"]);
    let printed = printed.expect(0).stdout;
    roxmltree::Document::parse(&printed).expect("well-formed");
    run(folder.path(), &["report", "one", "-f", "junit", "-o", "ci.xml"]).expect(0);
    assert_eq!(fs::read_to_string(folder.path().join("ci.xml")).expect("written"), printed);
    let json = run(folder.path(), &["report", "one", "--json"]).expect(0).json();
    assert_eq!(json["scenario"]["name"], "mobile-gateway-capacity");
    let lines = run(folder.path(), &["report", "one", "-f", "jsonl", "-o", "-"]).expect(0).stdout;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("each line is JSON");
        assert_eq!(line["run"], "mobile-gateway-capacity-20261121T141115Z", "as its folder");
    }
}

#[test]
fn a_record_is_not_written_over_itself() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let ended = run(folder.path(), &["report", "one", "--format", "json"]).expect(2);
    assert!(ended.stderr.contains("cannot overwrite itself"), "{}", ended.stderr);
}

/// Gives every outcome three repetitions whose figures spread by a percent, `factor` times larger.
fn repeated(record: &mut Value, factor: f64) {
    for cell in record["cells"].as_array_mut().expect("cells") {
        for outcome in cell["outcomes"].as_array_mut().expect("outcomes") {
            let figures = outcome["figures"].as_array().expect("figures").clone();
            let repetition = |index: usize| {
                let noise = [0.99, 1.0, 1.01][index] * factor;
                let mut figures = figures.clone();
                for figure in &mut figures {
                    figure["value"] = (figure["value"].as_f64().expect("a number") * noise).into();
                }
                serde_json::json!({
                    "index": index, "position": index, "started": "2026-11-21T14:11:15Z",
                    "seconds": 1.0, "from_cache": false, "figures": figures,
                    "validity": {"valid": true, "limits": []},
                })
            };
            outcome["repetitions"] = (0..3).map(repetition).collect();
            outcome["validity"] = serde_json::json!({"valid": true, "limits": []});
        }
    }
}

#[test]
fn runs_are_compared_with_the_first_and_noise_is_no_change() {
    let folder = temporary_folder();
    keep(folder.path(), "before", |record| repeated(record, 1.0));
    keep(folder.path(), "same", |record| {
        record["started"] = "2026-11-22T00:00:00Z".into();
        repeated(record, 1.002);
    });
    keep(folder.path(), "faster", |record| {
        record["started"] = "2026-11-23T00:00:00Z".into();
        repeated(record, 1.2);
    });
    let ended = run(folder.path(), &["report", "before", "same", "faster"]).expect(0);
    let (same, faster) = ended.stdout.split_once("C against A").expect("two comparisons");
    assert!(same.contains("the same within 5 %.") && !same.contains("slower"), "{same}");
    assert!(faster.contains("C is 1.20"), "{faster}");
    assert!(faster.contains(" faster"), "{faster}");
    let page = fs::read_to_string(folder.path().join("comparison.html")).expect("written");
    assert!(page.contains("Comparison of"), "the page that compares");
    let json = run(folder.path(), &["report", "before", "faster", "--json"]).expect(0).json();
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    let comparisons = json["comparisons"].as_array().expect("a list");
    assert!(comparisons.iter().any(|one| one["is_change"] == true), "{comparisons:?}");
    let judged = |name: &str, condition: &str| {
        run(folder.path(), &["report", "before", name, "--fail-if", condition])
    };
    judged("same", "capacity.function < 0.95").expect(0);
    judged("faster", "capacity.function < 0.95").expect(0);
    let ended = judged("faster", "capacity.function > 1.1").expect(5);
    assert!(ended.stderr.contains("failed: capacity.function > 1.1: "), "{}", ended.stderr);
    let ended = judged("same", "capacity.funktion < 0.95").expect(2);
    assert!(ended.stderr.contains("capacity.function"), "{}", ended.stderr);
    judged("same", "capacity < 0.95").expect(2);
    let ended = run(folder.path(), &["report", "same", "--fail-if", "a.b < 1"]).expect(2);
    assert!(ended.stderr.contains("one only"), "{}", ended.stderr);
    let ended = run(folder.path(), &["report", "before", "same", "-f", "csv"]).expect(2);
    assert!(ended.stderr.contains("takes one run only"), "{}", ended.stderr);
}

#[test]
fn what_is_no_run_is_answered_with_what_is() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["report", "latest"]).expect(2);
    assert!(ended.stderr.contains("no run yet"), "{}", ended.stderr);
    assert!(ended.stderr.contains("plumbline bench SCENARIO"), "{}", ended.stderr);
    keep(folder.path(), "mobile-gateway-1", |_| {});
    let ended = run(folder.path(), &["report", "mobile-gatway-1"]).expect(2);
    assert!(ended.stderr.contains("did you mean `mobile-gateway-1`?"), "{}", ended.stderr);
    let ended = run(folder.path(), &["report", "."]).expect(2);
    assert!(ended.stderr.contains("it has no run.json"), "{}", ended.stderr);
    let path = keep(folder.path(), "newer", |record| record["schema_version"] = 99.into());
    let ended = run(folder.path(), &["report", "newer"]).expect(2);
    assert!(ended.stderr.contains("update the tool"), "{}", ended.stderr);
    fs::write(path.join("run.json"), "{\"schema_version\": 1, ").expect("writable");
    let ended = run(folder.path(), &["report", "newer"]).expect(2);
    assert!(ended.stderr.contains("not a run record"), "{}", ended.stderr);
    let huge = File::create(path.join("run.json")).expect("writable");
    huge.set_len(1 << 40).expect("a hole takes no room");
    let ended = run(folder.path(), &["report", "newer"]).expect(2);
    assert!(ended.stderr.contains("no record has more"), "{}", ended.stderr);
    let ended = run(folder.path(), &["report", "mobile-gateway-1", "--format", "xlsx"]).expect(2);
    assert!(ended.stderr.contains("possible values: json, csv"), "{}", ended.stderr);
}

#[test]
fn a_full_disk_and_a_reader_that_has_seen_enough_are_told_apart() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let ended = run(folder.path(), &["report", "one", "-o", "/dev/full"]).expect(4);
    assert!(ended.stderr.contains("No space left on device"), "{}", ended.stderr);
    assert!(fs::metadata("/dev/full").is_ok_and(|found| !found.is_file()), "it was replaced");
    let ended = run(folder.path(), &["report", "one", "-o", "absent/report.html"]).expect(4);
    assert!(ended.stderr.contains("absent/report.html"), "{}", ended.stderr);
    // A pipe whose reader is gone.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = plumbline(folder.path());
    command.args(["report", "one", "--json"]).stdout(writer);
    let ended = Ended::from(command.output().expect("it starts")).expect(0);
    assert!(!ended.stderr.contains("error"), "{}", ended.stderr);
}

#[test]
fn without_a_browser_printing_says_what_to_do() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let mut command = plumbline(folder.path());
    command.args(["report", "one", "--pdf"]).env("PATH", folder.path());
    let ended = Ended::from(command.output().expect("it starts")).expect(4);
    assert!(
        ended.stderr.contains("no browser that can print a page is installed"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("install chromium"), "{}", ended.stderr);
}

#[test]
fn a_browser_prints_the_page() {
    if std::env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    run(folder.path(), &["report", "one", "--pdf", "--output", "page.pdf"]).expect(0);
    let pdf = fs::read(folder.path().join("page.pdf")).expect("written");
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
}

#[test]
fn records_obey_the_schema_that_the_program_prints() {
    let folder = temporary_folder();
    let schema = run(folder.path(), &["schema", "--record"]).expect(0).json();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let text = "\
function: {name: mobile-gateway, user: [10, 20], bst: 10, rate-limit: 10 Gbit/s, handover: 50}
methods:
  - {name: capacity, repetitions: 1, duration: 20 ms, warm-up: 0}
";
    crate::write(folder.path(), "short.yaml", text);
    let benched = run(folder.path(), &["bench", "short.yaml", "--json"]);
    assert!(matches!(benched.code, Some(0 | 3)), "{}", benched.stderr);
    let small = crate::scenario("mobile-gateway-small.yaml");
    let small = small.to_str().expect("a plain path");
    let checked = run(folder.path(), &["check", small, "--json"]).expect(0);
    for record in [benched.json(), checked.json()] {
        let errors: Vec<String> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert!(record["id"].as_str().is_some_and(|id| id.contains("-20")), "{}", record["id"]);
        assert!(record["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    }
}
