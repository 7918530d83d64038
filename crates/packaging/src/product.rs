//! What packages are made of.

use std::path::Path;

use serde_json::Value;

/// What is packaged.
pub struct Product<'a> {
    /// The program, built for this processor.
    pub program: &'a Path,
    /// The folder of the workspace: scenarios, documents and licence.
    pub workspace: &'a Path,
    /// What `cargo metadata` says of the workspace, for the program's target only.
    pub metadata: &'a Value,
    /// Time of every file in seconds since 1970, such as that of the commit.
    pub time: u64,
    /// Effort of compression, from 0 (none) to 9.
    pub effort: u32,
}
