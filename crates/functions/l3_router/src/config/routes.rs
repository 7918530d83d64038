//! Next hops and routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::PortName;
use function_kit::sections::{Mac, Prefixed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

use super::groups::group_number;
use super::interfaces::is_zero;
use super::names::{HopName, ToHop};

/// A neighbour to which packets can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextHop {
    /// The name by which routes, groups and changes may call it, beside its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<HopName>,
    /// Behind which port it is.
    pub port: PortName,
    /// By which VLAN of the port; none for frames without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Ethernet address of the next hop; none resolves it, if `resolve` is set.
    #[serde(default = "nobody", skip_serializing_if = "is_nobody")]
    pub mac: Mac,
    /// What frames to it bear as their source address; none for the port's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Mac>,
    /// IPv4 address of the next hop on the link, if packets to it are forwarded too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Ipv4Addr>,
    /// IPv6 address of the next hop on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
    /// A session of BFD by which the next hop is watched: it is there while the session is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<Bfd>,
}

/// A session of BFD (RFC 5880, RFC 5881) between the interface's and the next hop's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Bfd {
    /// Interval at which packets are sent and can be received, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub interval_ms: u32,
    /// Packets in a row that have to be missing before the session goes down.
    #[schemars(range(min = 1, max = 255))]
    pub multiplier: u8,
    /// Interval of Echo packets, which the next hop returns, in milliseconds; 0 for none.
    #[schemars(range(max = 60_000))]
    pub echo_ms: u32,
    /// How packets are authenticated, by the place in `bfd-keys`, from 0; none for not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<u32>,
}

impl Default for Bfd {
    fn default() -> Bfd {
        Bfd { interval_ms: 300, multiplier: 3, echo_ms: 0, authentication: None }
    }
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// Where it leads, an IPv4 or IPv6 network: `192.0.2.0/24`.
    pub prefix: Prefixed<IpAddr>,
    /// Next hop of the route, by its name, or by its place in `next-hops` from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<ToHop>,
    /// Next-hop group of the route instead of a next hop, by its place in `next-hop-groups`, from
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// The VRF in whose table it stands; 0 is the main one. The next hop may be of another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vrf: u16,
}

impl Route {
    /// The number of the next hop or group to which it leads; of a group where it names both.
    pub fn target(&self) -> u32 {
        match self.group {
            Some(group) => group_number(group),
            None => self.next_hop.map_or(0, |hop| hop.number),
        }
    }
}

/// A network's address without the bits behind its length.
pub fn network(address: IpAddr, len: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// The Ethernet address of a neighbour who is asked for his.
fn nobody() -> Mac {
    Mac(MacAddr::ZERO)
}

fn is_nobody(mac: &Mac) -> bool {
    mac.0 == MacAddr::ZERO
}
