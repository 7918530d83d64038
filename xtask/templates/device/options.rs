//! The keys of the `device` section that are this device's own.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::SECTION;

/// Keys of `device: {name: template}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// Name of the box.
    pub model: String,
}

impl Options {
    pub(super) fn read(keys: &Map<String, Value>) -> Result<Options, Invalid> {
        keys::read(SECTION, keys.clone())
    }
}
