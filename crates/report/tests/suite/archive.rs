//! Runs kept in a folder: what a list tells, tags, compressed records, and what removing leaves.

use std::fs;
use std::path::{Path, PathBuf};

use measure::record::{RunRecord, record_schema};
use report::archive::{self, Listing};

use crate::fixture;

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
    assert!(run.answers[1].contains("43.3 Mpps (52.1 Mpps excluding Rx/Tx)"), "{:?}", run.answers);
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
    assert!(error.contains("not a valid tags file"), "{error}");
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

/// Keeps of a run its compressed record alone.
fn pack(run: &Path, into: &Path) -> PathBuf {
    let folder = into.join("packed");
    fs::create_dir(&folder).expect("a temporary folder is writable");
    archive::pack(&run.join("run.json"), &folder).expect("it is packed");
    folder
}

#[test]
fn a_compressed_record_is_a_run_like_another() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let whole = keep(folder.path(), "whole", 1);
    let packed = pack(&whole, folder.path());
    let file = archive::record_file(&packed);
    assert_eq!(file, packed.join("run.json.gz"));
    let text = fs::read(whole.join("run.json")).expect("there");
    assert_eq!(report::text(&file).expect("reads"), text, "byte for byte");
    assert!(report::read(&file).expect("reads") == report::read(&whole.join("run.json")).unwrap());
    let [one, other] = [&packed, &whole].map(|path| archive::look(path).expect("a run"));
    assert_eq!((one.name.as_str(), &one.answers), ("packed", &other.answers));
    assert!(one.bytes * 4 < text.len() as u64, "{} of {} bytes", one.bytes, text.len());
    assert_eq!(list(folder.path()).runs.len(), 2);
    // What stands beside a compressed record was made from it.
    fs::write(packed.join("run.json"), "{").expect("writable");
    assert_eq!(archive::look(&packed).expect("a run").answers, other.answers);
    let before = fs::read(&file).expect("there");
    archive::pack(&whole.join("run.json"), &packed).expect("it is packed");
    assert_eq!(fs::read(&file).expect("there"), before, "the same text is the same file");
    let removed = archive::remove(&packed).expect("removes");
    assert!(removed.left.is_empty() && !packed.exists(), "{removed:?}");
}

#[test]
fn a_compressed_record_that_is_damaged_is_never_taken_for_another() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.json");
    let text: String = (0..100).map(|number| format!("{{\"n\": {}}}\n", number * number)).collect();
    fs::write(&path, &text).expect("writable");
    let packed = archive::pack(&path, folder.path()).expect("it is packed");
    let bytes = fs::read(&packed).expect("there");
    let read = |bytes: &[u8]| {
        fs::write(&packed, bytes).expect("writable");
        report::text(&packed).map_err(|error| error.to_string())
    };
    for end in 2..bytes.len() {
        let error = read(&bytes[..end]).expect_err("its end is missing");
        assert!(error.contains("not a run record: it is compressed, and its end"), "{error}");
    }
    let mut refused = 0;
    for at in 2..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        match read(&other) {
            Ok(read) => assert_eq!(read, text.as_bytes(), "byte {at} is of no account"),
            Err(error) => {
                assert!(error.contains("run.json.gz: not a run record"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > bytes.len() - 20, "{refused} of {}", bytes.len());
    let error =
        read(&[&bytes, &b"what is no gzip"[..]].concat()).expect_err("something behind its end");
    assert!(error.contains("damaged"), "{error}");
    // A file of gzip may have several parts (RFC 1952, section 2.2).
    assert_eq!(read(&[&bytes[..], &bytes].concat()), Ok(text.repeat(2).into_bytes()));
}

#[test]
fn what_a_small_file_promises_is_read_up_to_a_limit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hole = folder.path().join("run.json");
    fs::File::create(&hole).and_then(|file| file.set_len(1 << 20)).expect("a hole takes no room");
    let packed = archive::pack(&hole, folder.path()).expect("it is packed");
    assert!(fs::metadata(&packed).expect("there").len() < 2_000);
    let error = |bytes_max| report::read_within(&packed, bytes_max).expect_err("zeros").to_string();
    assert!(error((1 << 20) - 1).contains("no record has more than 1048575 bytes"));
    assert!(error(1 << 20).contains("line 1 column 1"), "it is read, and no JSON");
    let error = archive::look_within(folder.path(), 1_000_000).expect_err("too large").to_string();
    assert!(error.contains("run.json.gz: not a run record: no record has more"), "{error}");
}

/// Records of earlier versions, as they were published.
#[test]
fn every_record_that_was_published_obeys_the_schema_and_reads() {
    let schema = serde_json::to_value(record_schema()).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let entries = archive::entries(&results).expect("there are results");
    let folders: Vec<_> = entries.iter().filter(|path| path.is_dir()).collect();
    for folder in &folders {
        let file = folder.join("run.json.gz");
        let text = report::text(&file).expect("it is compressed");
        let value = serde_json::from_slice(&text).expect("JSON");
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
        let record = report::read(&file).expect("a record");
        assert!(record.schema_version <= RunRecord::SCHEMA_VERSION);
    }
    assert!(folders.len() >= 3, "only {} records were found", folders.len());
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
