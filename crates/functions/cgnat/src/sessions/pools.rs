//! Keys that say how outside addresses and ports are given to subscribers.
use std::net::Ipv4Addr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::types::networks::first_bits;

/// Blocks of ports (RFC 6888 section 4, RFC 7422 section 1): a subscriber gets a whole block, so
/// that one line of a log covers all its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PortBlocks {
    /// Ports of a block, for each of UDP, TCP and ICMP; 0 for no blocks: subscribers of an address
    /// share its ports.
    #[schemars(extend("enum" = [0, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]))]
    pub size: u16,
    /// Most blocks of a subscriber, 1 to 8, all on one address (RFC 4787 REQ-2, paired).
    #[schemars(range(min = 1, max = 8))]
    pub per_subscriber: u8,
}

impl Default for PortBlocks {
    fn default() -> PortBlocks {
        PortBlocks { size: 512, per_subscriber: 4 }
    }
}

/// Addresses one to one: each address of a network has one of another network of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StaticRule {
    /// Subscribers' addresses.
    pub inside: Prefixed<Ipv4Addr>,
    /// What they become; no pool may have them.
    pub outside: Prefixed<Ipv4Addr>,
}

impl StaticRule {
    /// The same without bits behind its prefixes.
    pub(crate) fn normal(&self) -> StaticRule {
        let normal = |network: Prefixed<Ipv4Addr>| {
            let bits = first_bits(network.address.into(), network.len) >> 96;
            Prefixed { address: Ipv4Addr::from_bits(bits as u32), len: network.len }
        };
        StaticRule { inside: normal(self.inside), outside: normal(self.outside) }
    }
}
