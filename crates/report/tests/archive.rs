//! Runs kept in a folder: what a list tells, tags, and what removing leaves.

mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use report::archive::{self, Listing};

/// Writes the fixture as a run that began at some second.
fn keep(folder: &Path, name: &str, second: u32) -> PathBuf {
    let mut record = fixture::record();
    record.started = format!("2026-11-21T12:00:{second:02}Z");
    let path = folder.join(name);
    fs::create_dir(&path).expect("a temporary folder is writable");
    report::export_all(&record, &path).expect("the files are written");
    path
}

fn list(folder: &Path) -> Listing {
    archive::list(folder).expect("the folder can be read")
}

#[test]
fn the_newest_run_comes_first_and_what_is_no_run_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    keep(folder.path(), "old", 1);
    keep(folder.path(), "new", 2);
    fs::write(folder.path().join("notes.txt"), "mine").expect("writable");
    fs::write(folder.path().join(".hidden"), "").expect("writable");
    fs::create_dir(folder.path().join("empty")).expect("writable");
    let broken = keep(folder.path(), "broken", 3);
    fs::write(broken.join("run.json"), "{").expect("writable");
    std::os::unix::fs::symlink("/", folder.path().join("root")).expect("writable");
    let listing = list(folder.path());
    let names: Vec<_> = listing.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["new", "old"]);
    let run = &listing.runs[0];
    assert_eq!((run.scenario.as_str(), run.cells), ("mobile-gateway-capacity", 4));
    assert_eq!(run.methods, ["capacity", "throughput"]);
    assert!(run.answers[0].contains("52.1 Mpps at user 1,000"), "{:?}", run.answers);
    assert!(run.bytes > 100_000, "{} bytes", run.bytes);
    let told: Vec<_> = listing
        .foreign
        .iter()
        .map(|one| (one.path.file_name().and_then(|n| n.to_str()), one.problem.as_str()))
        .collect();
    assert!(told[0].0 == Some("broken") && told[0].1.contains("not a run record"), "{told:?}");
    let rest = [
        (Some("empty"), "no run.json in it"),
        (Some("notes.txt"), "not a folder"),
        (Some("root"), "not a folder"),
    ];
    assert_eq!(told[1..], rest);
}

#[test]
fn tags_are_kept_beside_the_record() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = keep(folder.path(), "one", 1);
    let before = fs::read(path.join("run.json")).expect("there");
    assert_eq!(archive::look(&path).expect("a run").tags, ["nightly"], "that of the record");
    archive::set_tags(&path, &["release-1".into(), "nightly".into()]).expect("writes");
    assert_eq!(archive::look(&path).expect("a run").tags, ["nightly", "release-1"]);
    assert_eq!(fs::read(path.join("run.json")).expect("there"), before);
    fs::write(path.join("tags.json"), "{\"tags\": [\"fine\", \"<b>\", \"\"]}").expect("writable");
    assert_eq!(archive::tags(&path).expect("reads"), ["fine"], "a word that is no tag is left out");
    fs::write(path.join("tags.json"), "[]").expect("writable");
    let error = archive::look(&path).expect_err("no tags").to_string();
    assert!(error.contains("not a file of tags"), "{error}");
}

#[test]
fn tags_are_words() {
    for fine in ["a", "release-1.2", "v_3", "größe"] {
        assert_eq!(archive::check_tag(fine), Ok(()), "{fine}");
    }
    let long = "x".repeat(65);
    for wrong in ["", "-x", ".x", "a b", "a/b", "a,b", "<b>", long.as_str()] {
        assert!(archive::check_tag(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn removing_leaves_what_others_put_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = keep(folder.path(), "one", 1);
    archive::set_tags(&path, &["x".into()]).expect("writes");
    let removed = archive::remove(&path).expect("removes");
    assert!(removed.left.is_empty() && removed.bytes > 100_000 && !path.exists(), "{removed:?}");
    let path = keep(folder.path(), "two", 1);
    fs::write(path.join("notes.txt"), "mine").expect("writable");
    let removed = archive::remove(&path).expect("removes");
    assert_eq!(removed.left, ["notes.txt"]);
    assert_eq!(fs::read_to_string(path.join("notes.txt")).expect("there"), "mine");
}
