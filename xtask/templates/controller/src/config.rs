//! What an operator says of the controller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Links that there should be at least.
    pub links_min: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config { links_min: 1 }
    }
}
