//! Next hops and routes beside the generated ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

use super::interfaces::is_zero;
use super::{Mac, Port, Prefixed, catalogue};

/// A neighbour to which packets can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextHop {
    /// Behind which port it is.
    pub port: Port,
    /// By which VLAN of the port; none for frames without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Its Ethernet address; none, with `resolve`, for asking it.
    #[serde(default = "nobody", skip_serializing_if = "is_nobody")]
    pub mac: Mac,
    /// What frames to it bear as their source address; none for the port's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Mac>,
    /// Its IPv4 address on the link, if packets to it are forwarded too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Ipv4Addr>,
    /// Its IPv6 address on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// Where it leads, an IPv4 or IPv6 network: `192.0.2.0/24`.
    pub prefix: Prefixed<IpAddr>,
    /// Its next hop, by the place in `next-hops`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<u32>,
    /// Its group instead, by the place in `next-hop-groups`, from 0.
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
            Some(group) => catalogue::group_number(group),
            None => catalogue::listed_hop_number(self.next_hop.unwrap_or_default()),
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
