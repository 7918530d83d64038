//! What is built for tests: a program of integration tests a crate, and no program without a test.
//!
//! Each program is linked and started by itself; so a crate says `test = false` where there is no
//! test. Examples that rustdoc would run are tests instead: for them cargo builds all crates below
//! once more, since of a build without the test programs it shares nothing.

use serde_json::Value;

use crate::none;
use crate::tree::{FILES, folder_of, members, text};

/// Crates whose integration tests are more than one program, and how many: those of the command
/// line beside those of the daemon, which wait for the kernel and for other programs.
const PROGRAMS: &[(&str, usize)] = &[("plumbline", 2)];

#[test]
fn integration_tests_of_a_crate_are_one_program() {
    let mut findings = Vec::new();
    for package in members() {
        let name = text(package, "name");
        let programs = targets(package).filter(|target| is_of(target, "test")).count();
        let most = PROGRAMS.iter().find(|(other, _)| *other == name).map_or(1, |(_, most)| *most);
        if programs > most {
            findings
                .push(format!("{name} has {programs}, at most {most}: see tests/suite of others"));
        }
    }
    none("programs of integration tests", &findings);
}

#[test]
fn a_library_or_program_is_built_for_tests_where_it_has_some() {
    let mut findings = Vec::new();
    for package in members() {
        let sources = format!("{}/src/", folder_of(package));
        let sources: Vec<&str> = FILES
            .iter()
            .filter(|file| file.path.starts_with(&sources) && file.path.ends_with(".rs"))
            .map(|file| file.text.as_str())
            .collect();
        // Put together here, so that this file does not find itself.
        let words = [concat!("#[te", "st]"), concat!("prop", "test!")];
        let has_tests = sources.iter().any(|source| words.iter().any(|word| source.contains(word)));
        if sources.iter().any(|source| has_example(source)) {
            findings.push(format!(
                "{}: an example for rustdoc should be a test",
                text(package, "name")
            ));
        }
        for target in targets(package).filter(|target| is_of(target, "lib") || is_of(target, "bin"))
        {
            let name = text(target, "name");
            let mut expect = |key: &str, expected: bool| {
                if target[key] != Value::Bool(expected) {
                    findings.push(format!("{name}: `{key}` should be {expected}"));
                }
            };
            expect("test", has_tests);
            if is_of(target, "lib") {
                expect("doctest", false);
            }
        }
    }
    none("targets", &findings);
}

fn targets(package: &Value) -> impl Iterator<Item = &Value> {
    package["targets"].as_array().into_iter().flatten()
}

fn is_of(target: &Value, kind: &str) -> bool {
    target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|other| other == kind))
}

/// Whether a document comment has an example that rustdoc would run: a fence without a language, or
/// with Rust's name.
fn has_example(source: &str) -> bool {
    let mut is_inside = false;
    source.lines().map(str::trim_start).any(|line| {
        let Some(fence) = ["//!", "///"].iter().find_map(|mark| line.strip_prefix(mark)) else {
            is_inside = false;
            return false;
        };
        let Some(language) = fence.trim().strip_prefix("```") else { return false };
        is_inside = !is_inside;
        is_inside && (language.is_empty() || language.starts_with("rust"))
    })
}

#[test]
fn examples_are_told_from_drawings() {
    assert!(has_example("/// Adds.\n/// ```\n/// f();\n/// ```\nfn f() {}"));
    assert!(has_example("//! ```rust\n//! f();\n//! ```"));
    assert!(!has_example("/// ```text\n/// a -> b\n/// ```\nfn f() {}"));
    assert!(!has_example("fn f() {}\n// ```\n"));
}
