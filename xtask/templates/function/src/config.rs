//! What a patch is configured with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration of a patch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Whether frames are dropped.
    pub closed: bool,
}
