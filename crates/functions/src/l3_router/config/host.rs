//! What the router does for itself: protection of a control plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;

/// Packets a second for the router itself, a policer for each protocol; 0 is no limit.
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

impl Config {
    /// Whether the router does anything but forward, drop and answer ARP.
    pub fn is_host(&self) -> bool {
        let rates = PuntRates { burst: PuntRates::default().burst, ..self.punt_rates };
        let asks = self.icmp_errors_per_s > 0 || self.ping || self.punt || self.resolve;
        asks || rates != PuntRates::default()
    }

    /// Whether interfaces are told apart, or packets looked at that are not forwarded.
    pub fn is_plain(&self) -> bool {
        self.vrfs == 0 && self.interfaces.is_empty() && !self.is_host()
    }
}
