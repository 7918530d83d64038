//! `cargo xtask results`: writes the tables of documents anew from the records in `results/`.
//!
//! The test that holds them does it, so that what writes is what checks.

use anyhow::Result;

use crate::invocation::Invocation;

/// Runs the tests of figures in documents with the variable that lets them rewrite what they hold.
///
/// # Errors
/// When a marker names what no record has, or a figure was typed by hand.
pub fn run() -> Result<()> {
    // What the first changes is judged by the others.
    let test = || Invocation::new("cargo", "test --package xtask --test tidy");
    test().argument(REWRITES).variable("UPDATE_GOLDEN", "1").run()?;
    test().argument("records::").run()?;
    println!("\nThe documents are as their records; review the difference: git diff --stat");
    Ok(())
}

/// The test that rewrites.
const REWRITES: &str = "records::figures_in_documents_are_those_of_their_records";
