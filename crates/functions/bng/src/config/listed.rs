//! What a configuration lists, and changes at run time name: VRFs, access nodes, next hops, routes,
//! sessions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;

use super::text::{Label, Name};

/// A routing instance, with routes and addresses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vrf {
    /// Name of the instance.
    pub name: Name,
    /// The VLAN of the port `core` in which its packets come and go.
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: u16,
}

/// An access node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Node {
    /// Name of the node.
    pub name: Name,
    /// Rate of all that its sessions send, in bytes of IP packets; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_rate: Option<BytesPerSec>,
    /// Rate of all that its sessions get, in bytes of frames; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_rate: Option<BytesPerSec>,
    /// Burst of both rates in bytes.
    #[serde(default = "burst")]
    pub burst: u32,
    /// Part of the node in what the port has for a level, beside others.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub weight: u8,
}

/// A router towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextHop {
    /// Address of the next hop, which routes refer to.
    pub address: IpAddr,
    /// VRF in whose VLAN it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<Name>,
    /// MAC address of the next hop; without it, the next hop is asked for it by ARP or Neighbor
    /// Discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
}

/// A collector of copies, in ERSPAN type II over IPv4; a route of the VRF without a name leads to
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Collector {
    /// Address of the collector.
    pub address: Ipv4Addr,
    /// The address from which it gets copies.
    pub source: Ipv4Addr,
}

/// A route towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// Network: `192.0.2.0/24`, `2001:db8::/32`.
    pub prefix: Prefixed<IpAddr>,
    /// VRF of the route, in which its next hop is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<Name>,
    /// Address of a next hop.
    pub next_hop: IpAddr,
}

/// A line: the tags that its frames have, 0 for none. One tag is the inner one.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Line {
    /// The outer one of two VLANs.
    #[schemars(range(max = 4094))]
    pub outer: u16,
    /// The VLAN, or the inner one of two.
    #[schemars(range(max = 4094))]
    pub inner: u16,
}

/// A session of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Session {
    /// Number from 1 to `session-capacity`, by which changes name it.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// Line that it is on.
    #[serde(default)]
    pub line: Line,
    /// MAC address of the subscriber's host.
    pub mac: Mac,
    /// Session of PPPoE that it is; without it, it is IPoE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pppoe: Option<Pppoe>,
    /// IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address by DHCPv6 (IA_NA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub na: Option<Ipv6Addr>,
    /// Prefix of which the host makes its addresses, a /64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slaac: Option<Prefixed<Ipv6Addr>>,
    /// Prefix delegated by DHCPv6 (IA_PD), from /32 to /64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated: Option<Prefixed<Ipv6Addr>>,
    /// Profile of the session.
    pub profile: Name,
    /// List of rules of its own; that of the profile without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Name>,
    /// Access node of its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Name>,
    /// VRF in which its addresses and routes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<Name>,
    /// Name of the user, for operators to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Label>,
    /// Circuit of its line, for operators to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<Label>,
}

/// The session of PPPoE that a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pppoe {
    /// Session identifier (RFC 2516), unique on its line.
    #[schemars(range(min = 1, max = 65_534))]
    pub id: u16,
    /// Longest packet that the peer receives (RFC 1661, RFC 4638), in bytes.
    #[serde(default = "mru")]
    #[schemars(range(min = 576, max = 9000))]
    pub mru: u16,
}

fn mru() -> u16 {
    1492
}

fn burst() -> u32 {
    20_000
}

fn one() -> u8 {
    1
}
