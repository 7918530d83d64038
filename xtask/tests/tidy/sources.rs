//! What a source file looks like, and what never stands in one.

use crate::none;
use crate::tree::{FILES, file, files, members, root, text};

/// Crates that may hold unsafe code, with the reason in ARCHITECTURE.md.
const UNSAFE_CRATES: &[&str] = &[
    "machine",
    "port-af-packet",
    "port-af-xdp",
    "port-memif",
    "port-memory",
    "port-tap",
    "port-vhost-user",
];

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
fn unsafe_code_is_where_architecture_says() {
    let workspace = file("Cargo.toml");
    assert!(workspace.contains("unsafe_code = \"forbid\""), "the workspace forbids it");
    let mut findings = Vec::new();
    for package in members() {
        let name = text(package, "name");
        let folder = folder_of(package);
        let manifest = file(&format!("{folder}/Cargo.toml"));
        let inherits = manifest.contains("[lints]\nworkspace = true");
        let allowed = UNSAFE_CRATES.contains(&name);
        if allowed && !manifest.contains("undocumented_unsafe_blocks = \"deny\"") {
            findings.push(format!("{name} does not deny unsafe blocks without a reason"));
        }
        if inherits == allowed {
            findings.push(format!("{name}: its lints and the list of this test disagree"));
        }
    }
    for name in UNSAFE_CRATES {
        if !file("ARCHITECTURE.md").contains(&format!("| `{name}` | ")) {
            findings.push(format!("{name} has no row in ARCHITECTURE.md's table of unsafe code"));
        }
    }
    none("unsafe code", &findings);
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

/// The folder of a package from the workspace's.
fn folder_of(package: &serde_json::Value) -> String {
    let root = root().canonicalize().expect("the workspace is there");
    let manifest = std::path::Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(&root).ok());
    folder.expect("a member lies in the workspace").to_string_lossy().into_owned()
}
