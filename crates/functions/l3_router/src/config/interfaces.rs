//! Interfaces: the ports' own, and those that share a port by their VLAN.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use function_kit::{HostPlace, PortName};
use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface beside the ports' own; or without `vlan`, what else there is to say about a
/// port's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Interface {
    /// Port of the interface, by its name.
    pub port: PortName,
    /// The VLAN whose tagged frames are its own, 1 to 4094; none for the frames without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// The VRF in whose table the packets that come in by it find their routes; 0 is the main one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vrf: u16,
    /// IPv4 address of the interface and prefix length of the link; an untagged interface has the
    /// port's own key instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<Prefixed<Ipv4Addr>>,
    /// IPv6 address of the interface and prefix length of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// The longest IP packet that leaves by it, in bytes, at least what every link of IPv6 carries
    /// (RFC 8200 section 5); 0 for whatever the port takes.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 1280}]))]
    pub mtu: u16,
    /// Whether the source of a packet that comes in by it must have a route (RFC 3704).
    #[serde(default, skip_serializing_if = "ReversePath::is_none")]
    pub urpf: ReversePath,
    /// The tunnel that carries its frames instead of the tag; `vlan` then only names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vxlan: Option<Vxlan>,
    /// The interface of the host by which its programs use this one: a name, or `{name,
    /// namespace}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_interface: Option<HostPlace>,
}

/// A tunnel of VXLAN (RFC 7348) to one far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vxlan {
    /// The network identifier, 24 bits.
    #[schemars(range(max = 16_777_215))]
    pub vni: u32,
    /// The far end, reached by the main table and by the interface's port.
    pub remote: Ipv4Addr,
}

/// What a packet's source must have for the packet to be let in: unicast reverse-path forwarding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReversePath {
    /// Nothing.
    #[default]
    None,
    /// A route (RFC 3704 section 2.4).
    Loose,
    /// A route that leads back by the interface at which the packet came in (RFC 3704 section 2.2).
    Strict,
}

impl ReversePath {
    /// Whether nothing is asked.
    pub fn is_none(&self) -> bool {
        *self == ReversePath::None
    }
}

/// An interface with everything that follows from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its port.
    pub port: PortId,
    /// Its VLAN; 0 for frames without a tag.
    pub vlan: u16,
    /// Its VRF.
    pub vrf: u16,
    /// Its Ethernet address: the port's.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ip: Option<Prefixed<Ipv4Addr>>,
    /// Its IPv6 address, where IPv6 is routed.
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// The longest packet that leaves by it; 0 for any.
    pub mtu: u16,
    /// What the source of a packet must have.
    pub urpf: ReversePath,
    /// The tunnel that carries its frames.
    pub vxlan: Option<Vxlan>,
    /// Whether the host has it too, and sees what is for a host.
    pub is_hosted: bool,
}

impl Resolved {
    /// Whether the host may be about to get an address of IPv4 for it.
    pub fn seeks(&self) -> bool {
        self.is_hosted && self.ip.is_none()
    }
}

pub(super) fn is_zero(number: &u16) -> bool {
    *number == 0
}
