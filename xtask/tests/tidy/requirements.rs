//! The tables of requirements of standards: each test that they name is there.
//!
//! A row ends with the names of its tests, as `` `crate::module::test` ``: the folder of a unit,
//! the file of the test or of what it tests, and the function. A dash stands for none.

use std::collections::BTreeSet;

use crate::none;
use crate::tree::{FILES, Source};

/// The documents whose tests are held so.
const DOCUMENTS: &[&str] =
    &["docs/before-and-after.md", "docs/bgp-requirements.md", "docs/bng-requirements.md"];

#[test]
fn tests_of_requirements_are_there() {
    let mut findings = Vec::new();
    for document in FILES.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str())) {
        for name in tests_of(&document.text) {
            let is_there = FILES.iter().any(|file| has_test(file, name));
            if !is_there {
                findings.push(format!("{}: there is no test `{name}`", document.path));
            }
        }
        let odd = rows(&document.text).filter(|row| {
            let last = row.last().copied().unwrap_or_default();
            last != "-" && names(last).next().is_none()
        });
        let odd = odd.map(|row| format!("{}: no test and no dash: {}", document.path, row[1]));
        findings.extend(odd);
    }
    none("requirements", &findings);
}

#[test]
fn a_test_is_found_by_its_folder_its_file_and_its_name() {
    let text = "| section | requirement | implementation | test |\n|---|---|---|---|\n\
                | 1 | a | `key` | `unit::suite::one`, `unit::file::tests::two` |\n\
                | 2 | b | c | - |\n";
    let found: Vec<&str> = tests_of(text).into_iter().collect();
    assert_eq!(found, ["unit::file::tests::two", "unit::suite::one"]);
    let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let one = file("crates/functions/unit/tests/suite.rs", "#[test]\nfn one() {}");
    assert!(has_test(&one, "unit::suite::one"));
    assert!(!has_test(&one, "unit::suite::on") && !has_test(&one, "unit::other::one"));
    assert!(!has_test(&one, "other::suite::one"));
    let two = file("crates/functions/unit/src/file.rs", "    #[test]\n    fn two() {}");
    assert!(has_test(&two, "unit::file::tests::two"));
}

/// The rows of all tables, but for their heads, as cells.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter(|row| !row.ends_with("test")).map(|row| row.split(" | ").collect())
}

/// The names of tests of all rows.
fn tests_of(text: &str) -> BTreeSet<&str> {
    rows(text).filter_map(|row| row.last().copied()).flat_map(names).collect()
}

/// The names in a cell.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::"))
}

/// Whether a file has a test of this name.
fn has_test(file: &Source, name: &str) -> bool {
    let mut parts: Vec<&str> = name.split("::").filter(|part| *part != "tests").collect();
    let Some(test) = parts.pop() else { return false };
    let path = file.path.strip_suffix(".rs").unwrap_or_default();
    let mut folders = path.split('/');
    // Each part of the name is a part of the path, in this order.
    let is_there = parts.iter().all(|part| folders.any(|folder| folder == *part));
    is_there && file.text.contains(&format!("fn {test}("))
}
