//! What the documents promise: the table of dependencies, links, and the files a project has.

use std::collections::BTreeSet;
use std::path::Path;

use crate::none;
use crate::tree::{file, files, members, root, text};

#[test]
fn every_dependency_has_its_reason_and_every_reason_its_dependency() {
    let ours: BTreeSet<&str> = members().map(|package| text(package, "name")).collect();
    let used: BTreeSet<&str> = members()
        .flat_map(|package| package["dependencies"].as_array().into_iter().flatten())
        .map(|dependency| text(dependency, "name"))
        .filter(|name| !ours.contains(name))
        .collect();
    let rows: BTreeSet<&str> = section(file("ARCHITECTURE.md"), "## Dependencies")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(name, _)| name)
        .collect();
    let without_reason = used.difference(&rows).map(|name| format!("{name} has no row"));
    let without_use = rows.difference(&used).map(|name| format!("{name} is not used by any crate"));
    let findings: Vec<String> = without_reason.chain(without_use).collect();
    none("the table of dependencies in ARCHITECTURE.md", &findings);
}

#[test]
fn shared_dependencies_are_used() {
    let table = section(file("Cargo.toml"), "[workspace.dependencies]");
    let names = table.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let used = |name: &str| {
        let [dotted, inline] = [format!("\n{name}.workspace"), format!("\n{name} = {{ workspace")];
        files("Cargo.toml").any(|file| file.text.contains(&dotted) || file.text.contains(&inline))
    };
    let is_name = |name: &&str| !name.starts_with(['#', '[']);
    let unused: Vec<String> =
        names.filter(is_name).filter(|name| !used(name)).map(str::to_owned).collect();
    none("names in [workspace.dependencies] that no crate uses", &unused);
}

#[test]
fn links_lead_to_files() {
    let mut findings = Vec::new();
    for document in files(".md") {
        let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
        for link in links(&document.text) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = link.contains("://") || link.starts_with("mailto:");
            if !outside && !target.is_empty() && !root().join(folder).join(target).exists() {
                findings.push(format!("{}: {link}", document.path));
            }
        }
    }
    none("links to files that do not exist", &findings);
}

#[test]
fn the_readme_names_the_compiler_that_the_manifest_needs() {
    let manifest = section(file("Cargo.toml"), "[workspace.package]");
    let needed = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let needed = needed.expect("the manifest says it").trim_matches('"');
    let named = format!("[Rust](https://rustup.rs) {needed} or later");
    assert!(file("README.md").contains(&named), "README.md says `{named}`");
}

#[test]
fn the_project_has_the_files_that_one_looks_for() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "STYLE.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "docs/scenarios.md",
        "docs/measuring.md",
        ".ci/run",
    ] {
        assert!(!file(name).trim().is_empty(), "{name} says something");
    }
}

/// The text from a heading to the next one of the same kind.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).map_or(text.len(), |at| at + 1);
    let body = &text[start..];
    let next = if heading.starts_with('[') { "\n[" } else { "\n## " };
    match body[1.min(body.len())..].find(next) {
        Some(end) => &body[..end + 1],
        None => body,
    }
}

/// The targets of all `[text](target)` outside code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced || line.starts_with("    ") {
            continue;
        }
        // Every other part of a line lies between backquotes.
        for part in line.split('`').step_by(2) {
            found.extend(part.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        }
    }
    found
}
