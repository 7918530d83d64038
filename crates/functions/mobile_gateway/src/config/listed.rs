//! What a configuration lists, and changes at run time name: base stations, next hops, routes,
//! users.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;

/// A base station: one end of its users' tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BaseStation {
    /// Address of the base station.
    pub address: Ipv4Addr,
    /// The MAC address to which frames for it are sent: its own, or that of the router before it.
    /// Without it, the base station is asked for it by ARP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<function_kit::sections::Mac>,
}

/// A router towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextHop {
    /// Address of the next hop, which routes refer to.
    pub address: IpAddr,
    /// MAC address of the next hop; without it, the next hop is asked for it by ARP or Neighbor
    /// Discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<function_kit::sections::Mac>,
    /// The MAC address from which it gets its frames; the gateway's own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mac: Option<function_kit::sections::Mac>,
}

/// A route towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// The network: `192.0.2.0/24`, `2001:db8::/32`.
    pub prefix: Prefixed<IpAddr>,
    /// The address of a next hop.
    pub next_hop: IpAddr,
}

/// A user with its one bearer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct User {
    /// IPv4 address, by which changes name the user.
    pub ipv4: Ipv4Addr,
    /// IPv6 prefix, a /64; of no effect where the gateway's `ipv6` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// Tunnel endpoint identifier, the same in both directions.
    pub teid: u32,
    /// The address of the base station at which the user is.
    pub base_station: Ipv4Addr,
    /// Rate limit of what the user sends; the gateway's `rate-limit` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<BytesPerSec>,
    /// Rate limit of what the user gets; the gateway's `rate-limit` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downlink_rate: Option<BytesPerSec>,
}

/// What becomes of packets from one user to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserToUser {
    /// They go down the other user's tunnel.
    Tunnel,
    /// They are routed like all others: whoever is there decides, and may send them back.
    Core,
    /// They are dropped, and their senders told.
    Drop,
}
