//! The `traffic` section of a scenario that measures a patch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the tester sends to a patch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Traffic {
    /// Length of an Ethernet frame in bytes, check sequence included.
    #[schemars(range(min = 64, max = 1518))]
    pub pkt_size: u16,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic { pkt_size: 64, random_seed: 1 }
    }
}
