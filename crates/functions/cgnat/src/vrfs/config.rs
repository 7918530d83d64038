//! Keys of VRFs: subscribers whose inside addresses overlap with those of others.
use std::net::Ipv4Addr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Subscribers behind the inside port whose frames bear a tag of IEEE 802.1Q, and who may have
/// addresses that others have as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vrf {
    /// What it is called.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The VLAN of its frames, by which it is told in logs, too (`ingressVRFID`).
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: u16,
    /// Networks of its subscribers; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv4Addr>>,
    /// Networks of addresses that its subscribers share, and nobody else; none for the pools of
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub pools: Vec<Prefixed<Ipv4Addr>>,
    /// IPv4 address of the router towards its subscribers, which is asked for its MAC address by
    /// ARP; none for the address of `inside-next-hop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<Ipv4Addr>,
}
