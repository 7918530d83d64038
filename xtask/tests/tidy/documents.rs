//! What the documents promise: the table of dependencies, links, and the files a project has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::markdown::{anchors, targets};
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
fn links_lead_to_files_and_to_headings_in_them() {
    let mut findings = Vec::new();
    for document in files(".md") {
        let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
        for link in targets(&document.text).into_iter().map(|range| &document.text[range]) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = match target {
                "" => root().join(&document.path),
                target => root().join(folder).join(target),
            };
            let has_anchor = || {
                let text = fs::read_to_string(&path).unwrap_or_default();
                anchor.is_empty() || anchors(&text).contains(anchor)
            };
            if !path.exists() {
                findings.push(format!("{}: {link}: there is no such file", document.path));
            } else if !has_anchor() {
                findings.push(format!("{}: {link}: there is no such heading", document.path));
            }
        }
    }
    none("links that lead nowhere", &findings);
}

/// The site takes its order from that table.
#[test]
fn the_readme_names_every_document() {
    let table = file("README.md").split_once("\n### Documents\n").expect("it has a table").1;
    let table = table.split("\n## ").next().unwrap_or_default();
    let linked: BTreeSet<&str> = targets(table).into_iter().map(|range| &table[range]).collect();
    let documents = files(".md").filter(|document| document.path.starts_with("docs/"));
    let missing = documents.filter(|document| !linked.contains(document.path.as_str()));
    let missing: Vec<String> = missing.map(|document| document.path.clone()).collect();
    none("documents that the README does not name under `### Documents`", &missing);
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
