//! The rules of the house as tests: what imports what, what a file looks like, what the documents
//! promise.
//!
//! A rule that a machine can hold stands here and not in a review. Each test names every place that
//! breaks it and what to do.

mod checks;
mod circles;
mod documented;
mod documents;
mod glossary;
mod imports;
mod keys;
mod licences;
mod machines;
#[path = "../../src/markdown.rs"]
mod markdown;
mod modules;
mod oracles;
mod records;
mod requirements;
mod schema;
mod sources;
mod targets;
mod template;
mod tree;
mod tuples;
mod units;
mod width;
mod words;
mod written;

/// Fails with all findings, each on a line of its own.
#[track_caller]
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
