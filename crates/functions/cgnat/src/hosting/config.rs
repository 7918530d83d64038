//! The key `pools-answer`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the NAT answers who has an address of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolsAnswer {
    /// Whether the NAT is the active one of several or not; one with the replication `role:
    /// standby` does once it was told that it is.
    #[default]
    Always,
    /// While the NAT is the active one of several, as a controller says.
    Active,
}
