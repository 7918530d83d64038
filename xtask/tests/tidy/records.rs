//! Figures in documents are taken from the records in `results/`, and no hand writes one.
//!
//! A document has two kinds of places for them, which `cargo xtask results` fills, and no third:
//!
//! - a block between `<!-- figures of RUN: …` and `<!-- end of figures -->`, whose comment says
//!   what is shown (`block.rs`); so for `ratios`, `records`, `references` and `terminal`;
//! - a figure within a sentence, between `<!--= RUN CELL FIGURE -->` and `<!--/-->`;
//! - nothing else: a number with a unit of results outside of both is a finding of the test.
//!
//! Records are read by the crate `report`, as every reader of them does. A ratio of two records is
//! refused where their hosts differ.

mod block;
mod by_hand;
mod figure;
mod source;

use std::fs;

use crate::none;
use crate::tree::{FILES, root};

/// The documents whose figures are held.
fn documents() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_document = |path: &str| path.ends_with(".md") && path.starts_with("docs/");
    let named = |path: &str| path == "README.md" || path == "results/README.md";
    let all = FILES.iter().filter(move |file| named(&file.path) || is_document(&file.path));
    all.map(|file| (file.path.as_str(), file.text.as_str()))
}

#[test]
fn figures_in_documents_are_those_of_their_records() {
    let mut findings = Vec::new();
    for (path, text) in documents() {
        let base = match path.split_once('/') {
            None => "results/",
            Some(("results", _)) => "",
            Some(_) => "../results/",
        };
        match block::filled(text, base) {
            Err(problem) => findings.push(format!("{path}: {problem}")),
            Ok(fresh) if fresh == text => {}
            Ok(fresh) if std::env::var_os("UPDATE_GOLDEN").is_some() => {
                fs::write(root().join(path), fresh).expect("the document can be written");
            }
            Ok(fresh) => findings.push(difference(path, text, &fresh)),
        }
    }
    none("figures that differ from their records; run: cargo xtask results", &findings);
}

/// The first line that differs.
fn difference(path: &str, text: &str, fresh: &str) -> String {
    let mut lines = text.lines().zip(fresh.lines()).enumerate();
    match lines.find(|(_, (old, new))| old != new) {
        Some((at, (old, new))) => format!("{path}:{}: `{old}` for `{new}`", at + 1),
        None => format!("{path}: its end"),
    }
}

#[test]
fn no_figure_in_a_document_is_typed_by_hand() {
    let mut findings = Vec::new();
    for (path, text) in documents() {
        let found = by_hand::figures(text, path == "results/README.md");
        findings.extend(found.into_iter().map(|(line, words)| format!("{path}:{line}: {words}")));
    }
    none("figures without a record; see xtask/tests/tidy/records.rs", &findings);
}

#[test]
fn every_record_is_listed_in_the_document_beside_it() {
    let text = crate::tree::file("results/README.md");
    let absent = crate::tree::folders("results").into_iter();
    let absent: Vec<String> = absent.filter(|run| !text.contains(&format!("({run}/"))).collect();
    none("runs that results/README.md does not link", &absent);
}
