//! The key of the Port Control Protocol.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server of the Port Control Protocol (RFC 6887), by which subscribers ask for mappings that
/// take packets of anybody and live for a time that is told, at the inside port's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Pcp {
    /// The shortest lifetime of a mapping, in seconds: who asks for less gets this (RFC 6887
    /// section 15).
    #[schemars(range(min = 1, max = 2_592_000))]
    pub lifetime_min_s: u32,
    /// The longest one, in seconds.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub lifetime_max_s: u32,
    /// Most of these mappings at a time.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub mappings: u32,
    /// Most of them of a subscriber.
    #[schemars(range(min = 1))]
    pub mappings_per_subscriber: u32,
}

impl Default for Pcp {
    fn default() -> Pcp {
        Pcp {
            lifetime_min_s: 120,
            lifetime_max_s: 86_400,
            mappings: 65_536,
            mappings_per_subscriber: 64,
        }
    }
}
