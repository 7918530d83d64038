//! What can change while a chain runs: what can change in its functions.

use function_kit::erased::AnyUpdate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A change of one of the functions.
    At {
        /// Place of the function in the chain, from 1.
        place: usize,
        /// The change, as that function has it.
        change: Value,
    },
}

impl Update {
    /// A change of the function at a place, counted from 0.
    pub(super) fn of(place: usize, change: &AnyUpdate) -> Update {
        Update::At { place: place + 1, change: change.value() }
    }
}
