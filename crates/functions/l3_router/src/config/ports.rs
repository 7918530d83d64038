//! The ports of a router: two with keys of their own, or as many as are listed.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use function_kit::{HostPlace, PortName};
use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A port, with what belongs to its own interface: the one of frames without a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Port {
    /// The name by which next hops, interfaces, rules and the daemon's ports refer to it.
    pub name: PortName,
    /// The Ethernet address of the port.
    pub mac: Mac,
    /// The IPv4 address of the port and the length of the link's prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Prefixed<Ipv4Addr>>,
    /// The IPv6 address of the port and the length of the link's prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// The interface of the host by which its programs use the port's own interface: a name, or
    /// `{name, namespace}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_interface: Option<HostPlace>,
}

/// The number of a port among all by its name.
pub fn number_of(names: &[PortName], name: PortName) -> Option<PortId> {
    names.iter().position(|known| *known == name).map(|number| PortId(number as u8))
}

/// The name of the first of two ports: towards users.
pub const DOWNLINK: PortName = PortName::new("downlink");

/// The name of the second of two ports: towards the Internet.
pub const UPLINK: PortName = PortName::new("uplink");
