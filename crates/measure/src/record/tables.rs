//! What a device takes up and reports, in its serialisable form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Reports, TableUse};

/// Occupancy of a table of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableRecord {
    /// Name of the table.
    pub name: String,
    /// Number of entries in use.
    pub entries: u64,
}

/// Log messages of the device in one interval of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportsRecord {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames, including the frame check sequence.
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
