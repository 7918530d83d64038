//! What the router does for itself: protection of a control plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets per second for the router itself, a policer for each protocol; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PuntRates {
    /// ICMP and ICMPv6 but for Neighbor Discovery.
    pub icmp: u32,
    /// ARP.
    pub arp: u32,
    /// Neighbor Discovery (RFC 4861).
    pub nd: u32,
    /// Fragments.
    pub fragments: u32,
    /// Packets, wherever they go, whose time to live or hop limit ends here.
    pub ttl_expired: u32,
    /// Everything else: BGP, OSPF, management.
    pub local: u32,
    /// How many packets of each more at once after a pause.
    pub burst: u32,
}

impl Default for PuntRates {
    fn default() -> PuntRates {
        let rate = 0;
        PuntRates {
            icmp: rate,
            arp: rate,
            nd: rate,
            fragments: rate,
            ttl_expired: rate,
            local: rate,
            burst: 64,
        }
    }
}
