//! The table of what tests with real hosts hold, from what each test says of itself; and what an
//! operator sees of each failure, from what those tests have captured.
//!
//! A test says it by items of its comment: the function, the section of a standard if there is one,
//! and the requirement, as `` - `l3-router`, RFC 4861 section 6.3.4: … ``.

use crate::tree::{FILES, Source, file, files};
use crate::{none, written};

/// Where all tests say what they hold.
const SUITE: &str = "crates/cli/tests/daemon/real_hosts/";

/// The document.
const DOCUMENT: &str = "docs/real-hosts.md";

/// What a test holds.
struct Check {
    function: String,
    section: String,
    requirement: String,
    test: String,
}

#[test]
fn the_table_of_real_hosts_is_what_the_tests_say_of_themselves() {
    let mut checks = Vec::new();
    let mut findings = Vec::new();
    for source in files(".rs").filter(|one| one.path.starts_with("crates/")) {
        for (name, comment) in tests_of(source) {
            let said = checks_of(source, &name, &comment, &mut findings);
            if said.is_empty() && source.path.starts_with(SUITE) {
                findings.push(format!("{}: {name} does not say what it holds", source.path));
            }
            checks.extend(said);
        }
    }
    for source in files(".rs").filter(|one| one.path.starts_with(SUITE)) {
        let name = source.path.trim_start_matches(SUITE).trim_end_matches(".rs");
        let runs = file(&format!("{SUITE}mod.rs")).contains(&format!("mod {name};"));
        if name != "mod" && !runs {
            findings.push(format!("{}: no part of the suite", source.path));
        }
    }
    none("tests with real hosts", &findings);
    checks.sort_by(|one, other| {
        let key = |one: &Check| (one.function.clone(), number(&one.section), one.section.clone());
        key(one).cmp(&key(other))
    });
    let row = |one: &Check| {
        let Check { function, section, requirement, test } = one;
        format!("| `{function}` | {section} | {requirement} | {test} |\n")
    };
    let rows: String = checks.iter().map(row).collect();
    let head = "| function | standard | requirement | test |\n|---|---|---|---|\n";
    written::hold(DOCUMENT, "checks", &format!("{head}{rows}"));
}

#[test]
fn what_is_seen_of_failures_is_what_tests_have_captured() {
    let folder = format!("{SUITE}failures/");
    let captured = FILES.iter().filter(|one| one.path.starts_with(&folder));
    let text: String = captured
        .map(|one| {
            let name = one.path.trim_start_matches(&folder).trim_end_matches(".txt");
            format!("### {}\n\n```text\n{}\n```\n\n", name.replace('-', " "), one.text.trim_end())
        })
        .collect();
    written::hold(DOCUMENT, "failures", &format!("\n{text}"));
}

/// The tests of a file: the name of each and its comment, without the slashes.
fn tests_of(source: &'static Source) -> Vec<(String, Vec<&'static str>)> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut tests = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.trim() == "#[test]") {
        let name = lines.get(at + 1).and_then(|line| line.trim().strip_prefix("fn "));
        let Some((name, _)) = name.and_then(|rest| rest.split_once('(')) else { continue };
        let above = lines[..at].iter().rev();
        let comment = above.map_while(|line| line.trim_start().strip_prefix("///"));
        let mut comment: Vec<&str> = comment.collect();
        comment.reverse();
        tests.push((name.to_owned(), comment));
    }
    tests
}

/// What a test's comment says that it holds.
fn checks_of(
    source: &Source,
    name: &str,
    comment: &[&str],
    findings: &mut Vec<String>,
) -> Vec<Check> {
    let mut items: Vec<String> = Vec::new();
    for line in comment {
        if let Some(item) = line.strip_prefix(" - `") {
            items.push(item.to_owned());
        } else if let (Some(more), Some(item)) = (line.strip_prefix("   "), items.last_mut()) {
            *item += &format!(" {}", more.trim_start());
        }
    }
    let mut checks = Vec::new();
    for item in items {
        let parts = item.split_once('`').and_then(|(function, rest)| {
            let (section, requirement) = rest.split_once(": ")?;
            let section = section.trim_start_matches(',').trim();
            Some((function.to_owned(), section.to_owned(), requirement.to_owned()))
        });
        let Some((function, section, requirement)) = parts else {
            findings.push(format!("{}: {name}: `- {item}` is no check", source.path));
            continue;
        };
        let section = if section.is_empty() { "–".to_owned() } else { section };
        let test = format!("[`{name}`](../{})", source.path);
        checks.push(Check { function, section, requirement, test });
    }
    checks
}

/// The number of the standard in the name of its section.
fn number(section: &str) -> u32 {
    let word = section.split(' ').find(|word| word.starts_with(|one: char| one.is_ascii_digit()));
    word.and_then(|word| word.trim_end_matches(',').parse().ok()).unwrap_or(u32::MAX)
}
