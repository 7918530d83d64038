//! `cargo xtask golden`: rewrites every golden file from what its test sees now.
//!
//! It judges nothing: the difference in version control is what a person reviews.

use anyhow::Result;

use crate::invocation::Invocation;

/// Runs all tests with the variables that let them rewrite what they compare with.
///
/// # Errors
/// When a test fails for another reason than a golden file.
pub fn run() -> Result<()> {
    // The second is insta's own name for the same wish.
    Invocation::new("cargo", "test --workspace --tests")
        .variable("UPDATE_GOLDEN", "1")
        .variable("INSTA_UPDATE", "always")
        .run()?;
    println!("\nThe files are rewritten; review the difference: git diff --stat");
    Ok(())
}
