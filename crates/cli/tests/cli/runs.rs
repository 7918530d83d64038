//! The runs that are kept: listed, tagged, packed, pruned.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::report::keep;
use crate::{Ended, plumbline, run, temporary_folder};

/// Three runs a day apart, the first long ago.
fn three(folder: &Path) {
    for (name, day) in [("a", "2001-01-01"), ("b", "2001-01-02"), ("c", "2999-01-01")] {
        keep(folder, name, |record| record["started"] = format!("{day}T00:00:00Z").into());
    }
}

fn left(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("runs")).expect("there");
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[test]
fn the_list_names_each_run_and_what_is_none() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["runs"]).expect(0);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert!(ended.stderr.contains("no runs in runs; make one with"), "{}", ended.stderr);
    three(folder.path());
    fs::create_dir(folder.path().join("runs/mine")).expect("writable");
    fs::write(folder.path().join("runs/b/run.json"), "{").expect("writable");
    let ended = run(folder.path(), &["runs"]).expect(0);
    let place = |text: &str| ended.stdout.find(text).unwrap_or_else(|| panic!("{}", ended.stdout));
    assert!(place("2999-01-01 00:00") < place("2001-01-01 00:00"), "the newest comes first");
    assert!(ended.stdout.contains("Capacity of the mobile-gateway"), "{}", ended.stdout);
    assert!(ended.stderr.contains("runs/mine: no run.json in it"), "{}", ended.stderr);
    assert!(ended.stderr.contains("runs/b/run.json: not a run record"), "{}", ended.stderr);
    let json = run(folder.path(), &["runs", "--json"]).expect(0).json();
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["runs"][0]["name"], "c");
    assert_eq!(json["runs"][0]["under_way"], false);
    assert_eq!(json["foreign"].as_array().map(Vec::len), Some(2));
    let ended = run(folder.path(), &["runs", "--runs-dir", "runs/a/run.json"]).expect(4);
    assert!(ended.stderr.contains("help: "), "{}", ended.stderr);
}

#[test]
fn tags_come_and_go() {
    let folder = temporary_folder();
    three(folder.path());
    let ended = run(folder.path(), &["runs", "tag", "a", "release-1", "x"]).expect(0);
    assert_eq!(ended.stdout, "runs/a: release-1, x\n");
    let ended = run(folder.path(), &["runs", "untag", "a", "x", "never"]).expect(0);
    assert_eq!(ended.stdout, "runs/a: release-1\n");
    assert!(run(folder.path(), &["runs"]).expect(0).stdout.contains("release-1"));
    let json = run(folder.path(), &["runs", "untag", "a", "release-1", "--json"]).expect(0).json();
    assert_eq!(json["tags"], serde_json::json!([]));
    let ended = run(folder.path(), &["runs", "tag", "a", "two words"]).expect(2);
    assert!(ended.stderr.contains("a tag consists of"), "{}", ended.stderr);
    let ended = run(folder.path(), &["runs", "tag", "z", "x"]).expect(2);
    assert!(ended.stderr.contains("no such run"), "{}", ended.stderr);
    let ended = run(folder.path(), &["runs", "tagg", "a", "x"]).expect(2);
    assert!(ended.stderr.contains("'tag'"), "{}", ended.stderr);
}

#[test]
fn a_packed_run_is_its_compressed_record_and_every_command_reads_it() {
    let folder = temporary_folder();
    three(folder.path());
    let ended = run(folder.path(), &["runs", "pack", "b", "runs/c", "--into", "kept/here"]);
    let written = "written: kept/here/b/run.json.gz\nwritten: kept/here/c/run.json.gz\n";
    assert_eq!(ended.expect(0).stderr, written);
    let packed = folder.path().join("kept/here/b");
    let names = fs::read_dir(&packed).expect("there").flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["run.json.gz"]);
    let listed = run(folder.path(), &["runs", "--runs-dir", "kept/here"]).expect(0).stdout;
    assert!(listed.contains("2001-01-02 00:00"), "{listed}");
    let page = |run_or_file: &str| {
        run(folder.path(), &["report", run_or_file, "-f", "html", "-o", "-"]).expect(0).stdout
    };
    let pages = ["runs/b", "kept/here/b", "kept/here/b/run.json.gz"].map(page);
    assert!(pages[0].contains("</html>") && pages.iter().all(|one| *one == pages[0]));
    let ended = run(folder.path(), &["report", "c", "--runs-dir", "kept/here"]).expect(0);
    assert!(ended.stderr.contains("written: kept/here/c/report.html"), "{}", ended.stderr);
    let ended = run(folder.path(), &["report", "c", "kept/here/c", "--json"]).expect(0);
    assert_eq!(ended.json()["runs"][0], ended.json()["runs"][1]);
    run(folder.path(), &["runs", "tag", "kept/here/b", "x"]).expect(0);
    let json = run(folder.path(), &["runs", "pack", "latest", "--into", ".", "--json"]).expect(0);
    assert_eq!(json.json()["packed"], serde_json::json!(["./c/run.json.gz"]));
}

#[test]
fn what_is_packed_is_whole_and_nothing_is_replaced() {
    let folder = temporary_folder();
    three(folder.path());
    run(folder.path(), &["runs", "pack", "a", "--into", "kept"]).expect(0);
    let refused = |arguments: &[&str], why: &str| {
        let ended = run(folder.path(), &[&["runs", "pack"], arguments].concat()).expect(2);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    };
    refused(&["a", "--into", "kept"], "a record is there already");
    refused(&["a", "--into", "runs"], "a record is there already");
    refused(&["a"], "--into");
    let live = format!(
        "{{\"pid\": {}, \"running\": true, \"updated\": \"2999-01-01T00:00:00Z\"}}",
        std::process::id()
    );
    fs::write(folder.path().join("runs/b/progress.json"), live).expect("writable");
    refused(&["b", "--into", "kept"], "this run is under way");
    fs::write(folder.path().join("runs/c/run.json"), "{").expect("writable");
    refused(&["c", "--into", "kept"], "not a run record");
    assert_eq!(fs::read_dir(folder.path().join("kept")).expect("there").count(), 1);
}

#[test]
fn pruning_spares_tagged_new_and_foreign_ones() {
    let folder = temporary_folder();
    three(folder.path());
    fs::create_dir(folder.path().join("runs/mine")).expect("writable");
    run(folder.path(), &["runs", "tag", "b", "keep"]).expect(0);
    let ended = run(folder.path(), &["runs", "prune", "--older-than", "30d", "--dry-run"]);
    let ended = ended.expect(0);
    assert!(ended.stdout.starts_with("runs/a  "), "{}", ended.stdout);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    assert!(ended.stderr.contains("would be deleted: 1 of 3 runs"), "{}", ended.stderr);
    assert_eq!(left(folder.path()), ["a", "b", "c", "mine"]);
    fs::write(folder.path().join("runs/a/notes.txt"), "mine").expect("writable");
    let ended = run(folder.path(), &["runs", "prune", "--older-than", "30d", "--yes"]).expect(0);
    assert!(ended.stderr.contains("runs/a is kept, because it holds files of others: notes.txt"));
    assert!(!folder.path().join("runs/a/run.json").exists());
    run(folder.path(), &["runs", "prune", "--keep", "1", "--yes"]).expect(0);
    assert_eq!(left(folder.path()), ["a", "b", "c", "mine"], "the newest is kept");
    let json = run(folder.path(), &["runs", "prune", "--keep", "0", "-y", "--json"]).expect(0);
    assert_eq!(json.json()["removed"][0]["path"], "runs/c");
    assert_eq!(left(folder.path()), ["a", "b", "mine"]);
}

#[test]
fn nothing_is_deleted_unasked() {
    let folder = temporary_folder();
    three(folder.path());
    let mut command = plumbline(folder.path());
    command.args(["runs", "prune", "--keep", "0"]).stdin(Stdio::null());
    let ended = Ended::from(command.output().expect("it starts")).expect(2);
    assert!(ended.stderr.contains("add --yes to delete"), "{}", ended.stderr);
    assert_eq!(left(folder.path()).len(), 3);
    let ended = run(folder.path(), &["runs", "prune"]).expect(2);
    assert!(ended.stderr.contains("--keep"), "{}", ended.stderr);
    let ended = run(folder.path(), &["runs", "prune", "--older-than", "30"]).expect(2);
    assert!(ended.stderr.contains("as in 30d"), "{}", ended.stderr);
}

#[test]
fn a_baseline_is_one_run_at_a_time_and_is_compared_with() {
    let folder = temporary_folder();
    three(folder.path());
    let ended = run(folder.path(), &["runs", "baseline", "main"]).expect(2);
    assert!(ended.stderr.contains("plumbline runs baseline main RUN"), "{}", ended.stderr);
    let ended = run(folder.path(), &["runs", "baseline", "main", "a"]).expect(0);
    assert_eq!(ended.stdout, "main: runs/a\n");
    run(folder.path(), &["runs", "baseline", "main", "b"]).expect(0);
    let json = run(folder.path(), &["runs", "--json"]).expect(0).json();
    let tagged = json["runs"].as_array().expect("a list").iter().filter(|run| {
        run["tags"].as_array().is_some_and(|tags| tags.contains(&"baseline.main".into()))
    });
    let tagged: Vec<&str> = tagged.filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(tagged, ["b"]);
    let ended = run(folder.path(), &["report", "c", "--against", "main", "--json"]).expect(0);
    assert_eq!(ended.json()["runs"][0]["started"], "2001-01-02T00:00:00Z");
    let judged = |condition: &str| {
        run(folder.path(), &["report", "c", "--against", "main", "--fail-if", condition])
    };
    judged("capacity.function < 0.95").expect(0);
    let ended = run(folder.path(), &["report", "c", "--against", "mian"]).expect(2);
    assert!(ended.stderr.contains("these are there: main"), "{}", ended.stderr);
    run(folder.path(), &["runs", "prune", "--keep", "0", "--yes"]).expect(0);
    assert_eq!(left(folder.path()), ["b"], "a baseline is never pruned");
}

#[test]
fn a_trend_marks_the_step_and_names_the_baseline() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["runs", "trend"]).expect(2);
    assert!(ended.stderr.contains("make one with `plumbline bench SCENARIO`"), "{}", ended.stderr);
    let mut scenario = String::new();
    for number in 0..10 {
        keep(folder.path(), &format!("r{number}"), |record| {
            record["started"] = format!("2026-01-{:02}T00:00:00Z", number + 1).into();
            record["tool"]["commit"] = if number < 5 { "0ld0ld" } else { "newnew" }.into();
            scenario = record["scenario"]["name"].as_str().unwrap_or_default().to_owned();
            let level = if number < 5 { 1.0 } else { 0.5 };
            for cell in record["cells"].as_array_mut().into_iter().flatten() {
                for outcome in cell["outcomes"].as_array_mut().into_iter().flatten() {
                    for figure in outcome["figures"].as_array_mut().into_iter().flatten() {
                        let value = figure["value"].as_f64().unwrap_or(1.0);
                        let noise = f64::from(number * 3 % 5) * 1e-3;
                        figure["value"] = (value * (level + noise)).into();
                    }
                }
            }
        });
    }
    run(folder.path(), &["runs", "baseline", "main", "r4"]).expect(0);
    let ended = run(folder.path(), &["runs", "trend"]).expect(0);
    for part in [&*scenario, "10 runs", "step at r5", "0ld0ld", "newnew", "baseline main"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let page = fs::read_to_string(folder.path().join("trend.html")).expect("it was written");
    assert!(page.contains("<svg") && page.contains("step at r5"));
    let json = run(folder.path(), &["runs", "trend", &scenario, "--json"]).expect(0).json();
    assert_eq!(json["lines"][0]["steps"][0]["at"], 5);
    let ended = run(folder.path(), &["runs", "trend", "nobody"]).expect(2);
    assert!(ended.stderr.contains(&scenario), "those that are there: {}", ended.stderr);
}
