//! What a device takes up and reports, in its serialisable form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Reports, TableUse};

/// How full a table of the device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableRecord {
    /// Its name.
    pub name: String,
    /// Entries that it has.
    pub entries: u64,
}

/// Frames by which the device reports what happens in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportsRecord {
    /// How many.
    pub frames: u64,
    /// Their bytes, frame check sequence included.
    pub bytes: u64,
}

impl From<&TableUse> for TableRecord {
    fn from(table: &TableUse) -> Self {
        Self { name: table.name.clone(), entries: table.entries }
    }
}

impl From<&Reports> for ReportsRecord {
    fn from(reports: &Reports) -> Self {
        Self { frames: reports.frames, bytes: reports.bytes }
    }
}
