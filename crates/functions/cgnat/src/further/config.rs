//! Keys of interfaces beside those of the ports `inside` and `outside`.
use std::net::{Ipv4Addr, Ipv6Addr};

use export::Side;
use function_kit::sections::{Mac, Prefixed};
use function_kit::{HostPlace, PortName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A further interface: a port, or a VLAN of one, with addresses of its own, and the networks that
/// are reached through it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Interface {
    /// The port: a name of its own, or `inside` or `outside` for a VLAN of that port.
    pub port: PortName,
    /// The VLAN of its frames; 0 for frames without a tag.
    #[serde(default)]
    #[schemars(range(max = 4094))]
    pub vlan: u16,
    /// Whether it is towards subscribers or towards the Internet.
    pub side: Side,
    /// Ethernet address of the interface; none for that of the side's first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// IPv4 address of the interface, which answers ARP; all outside interfaces answer ARP for the
    /// addresses of pools.
    pub ip: Ipv4Addr,
    /// Length of the prefix of its link, as the host's interface has it.
    #[serde(default = "ip_len", skip_serializing_if = "is_usual")]
    #[schemars(range(min = 1, max = 32))]
    pub ip_len: u8,
    /// The interface of the host by which its programs use this one: a name, or `{name,
    /// namespace}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_interface: Option<HostPlace>,
    /// IPv6 address of the interface; none for that of the side's first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
    /// IPv4 address of the router behind it, which is asked for its MAC address by ARP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<Ipv4Addr>,
    /// IPv6 address of the router behind it, which is asked for its MAC address by Neighbor
    /// Discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop_ipv6: Option<Ipv6Addr>,
    /// MAC address of the router behind it, where it is not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop_mac: Option<Mac>,
    /// Networks that are reached through it: of the networks of a side that have an address the
    /// longest one counts, and what is in none leaves by the side's first interface.
    #[schemars(length(max = 1024))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Prefixed<Ipv4Addr>>,
    /// IPv6 networks that are reached through it, as `networks`.
    #[schemars(length(max = 1024))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks_ipv6: Vec<Prefixed<Ipv6Addr>>,
}

/// The usual length of the prefix of a link.
pub(crate) const IP_LEN: u8 = 24;

fn ip_len() -> u8 {
    IP_LEN
}

fn is_usual(len: &u8) -> bool {
    *len == IP_LEN
}
