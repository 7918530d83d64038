//! Units as types, so that no rate is taken for another at the border of an API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets per second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Pps(pub f64);
