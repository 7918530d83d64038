//! What a source file looks like, and what never stands in one.

use crate::none;
use crate::tree::{FILES, file, files, in_project, members, text};
use crate::written;

/// Most lines of a file with its tests, and without them.
const LINES_MAX: usize = 700;
const LINES_MAX_WITHOUT_TESTS: usize = 500;

/// Places that may pause a thread: none waits for another that way.
const MAY_SLEEP: &[&str] = &[];

#[test]
fn every_file_opens_with_what_it_is() {
    let findings: Vec<String> = files(".rs")
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| format!("{} does not open with `//! `", file.path))
        .collect();
    none("files without a first sentence", &findings);
}

#[test]
fn files_stay_readable() {
    let mut findings = Vec::new();
    for file in files(".rs") {
        let all = file.text.lines().count();
        let code = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
        if all > LINES_MAX {
            findings.push(format!("{}: {all} lines, at most {LINES_MAX}", file.path));
        }
        if code > LINES_MAX_WITHOUT_TESTS && !is_test(&file.path) {
            findings.push(format!(
                "{}: {code} lines without tests, at most {LINES_MAX_WITHOUT_TESTS}",
                file.path
            ));
        }
    }
    none("files to take apart", &findings);
}

#[test]
fn nothing_is_left_undone() {
    // Put together here, so that this file does not find itself.
    let words = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("#[ig", "nore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    none("unfinished work", &lines_with(&words, |path| path.ends_with(".rs")));
}

#[test]
fn nobody_waits_by_sleeping() {
    let words = [concat!("thread::sl", "eep"), concat!("sl", "eep(")];
    let judged = |path: &str| path.ends_with(".rs") && !MAY_SLEEP.contains(&path);
    none("wait for a state with a deadline instead", &lines_with(&words, judged));
}

#[test]
fn nothing_names_a_place_outside_the_project() {
    // A clone has no such folders, and a path through the parent folder leaves it.
    let words = [concat!("/wo", "rk/"), concat!("../sh", "ared"), concat!("/ho", "me/")];
    none("paths that only one machine has", &lines_with(&words, |_| true));
}

#[test]
fn unsafe_code_is_where_a_manifest_says_why() {
    let workspace = file("Cargo.toml");
    assert!(workspace.contains("unsafe_code = \"forbid\""), "the workspace forbids it");
    let mut findings = Vec::new();
    let mut table = "| crate | why |\n|---|---|\n".to_owned();
    for package in members() {
        let name = text(package, "name");
        let manifest = file(in_project(text(package, "manifest_path")));
        let inherits = manifest.contains("[lints]\nworkspace = true");
        let why = package["metadata"]["unsafe"]["why"].as_str();
        if why.is_some() && !manifest.contains("undocumented_unsafe_blocks = \"deny\"") {
            findings.push(format!("{name} does not deny unsafe blocks without a reason"));
        }
        if inherits == why.is_some() {
            findings.push(format!("{name}: its lints and `metadata.unsafe` disagree"));
        }
        table.extend(why.map(|why| format!("| `{name}` | {why} |\n")));
    }
    none("unsafe code", &findings);
    written::hold("ARCHITECTURE.md", "unsafe", &table);
}

/// `path:line: text` of every line with one of the words.
fn lines_with(words: &[&str], judged: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for file in FILES.iter().filter(|file| judged(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                findings.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    findings
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}
