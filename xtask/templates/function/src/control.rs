//! What can change while a patch runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Close the patch, or open it.
    SetClosed(bool),
}
