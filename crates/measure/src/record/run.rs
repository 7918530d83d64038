//! The outermost level of a record: what ran, when, where, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, HostFacts};

/// Everything that is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this format; a reader refuses what is newer than itself.
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// What it was asked.
    pub scenario: Scenario,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// When the record was last written, RFC 3339 in UTC.
    pub finished: String,
    /// The machine, and how quiet it was.
    pub host: HostFacts,
    /// One entry for each combination of swept keys, in the order of the scenario.
    pub cells: Vec<Cell>,
    /// How the run ended.
    pub status: Status,
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `plumbline`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from, with `-dirty` if the tree was changed; `unknown` outside git.
    pub commit: String,
}

/// The scenario as it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The path it was read from.
    pub file: String,
    /// What it says of itself.
    pub description: String,
    /// The file, byte for byte.
    pub text: String,
    /// Hash of the text, with the algorithm in front: `blake3:…`.
    pub hash: String,
}

/// How a run ended; the exit code follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every cell was checked and measured, and every measurement is valid.
    Passed,
    /// The functional check found a difference, so figures are withheld.
    CheckFailed,
    /// Measured, but at least one measurement is not valid; its limits say why.
    Invalid,
    /// A device or a method failed.
    Failed,
    /// The user stopped it; the finished cells are whole.
    Interrupted,
}

impl RunRecord {
    /// The version this code writes, and the newest it reads.
    pub const SCHEMA_VERSION: u32 = 1;
}

impl Status {
    /// What the cells amount to; `interrupted` when the user stopped the run. The worst thing that
    /// happened names the status: a wrong output outweighs a missing figure.
    pub fn of(cells: &[Cell], interrupted: bool) -> Self {
        if cells.iter().any(|c| c.check.as_ref().is_some_and(|check| !check.passed)) {
            Self::CheckFailed
        } else if cells.iter().any(|c| c.error.is_some()) {
            Self::Failed
        } else if interrupted {
            Self::Interrupted
        } else if cells.iter().flat_map(|c| &c.outcomes).any(|o| !o.validity.valid) {
            Self::Invalid
        } else {
            Self::Passed
        }
    }
}

/// The JSON Schema of `run.json`.
pub fn record_schema() -> schemars::Schema {
    schemars::schema_for!(RunRecord)
}
