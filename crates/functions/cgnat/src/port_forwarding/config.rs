//! Keys of port forwarding rules: an outside address that several hosts inside share by fixed
//! ports.
use std::net::Ipv4Addr;

use function_kit::sections::Ports;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An outside address that several hosts inside share, each with ports of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PortForwarding {
    /// The outside address; neither a pool nor another rule may have it.
    pub outside: Ipv4Addr,
    /// The hosts; each has this outside address and no other.
    #[schemars(length(min = 1, max = 1024))]
    pub hosts: Vec<PortForwardingHost>,
}

/// A host inside that shares an outside address with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PortForwardingHost {
    /// Address of the inside host.
    pub inside: Ipv4Addr,
    /// Ports of the outside address that are this host's, in both directions and at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub forwards: Vec<Forward>,
    /// Outside ports, and identifiers of ICMP queries, of which the host's other ports get theirs;
    /// none for a host that sends from its forwarded ports alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_ports: Option<PortRange>,
}

/// Outside ports that stand for ports of a host, one for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Forward {
    /// Of which protocols.
    #[serde(default)]
    pub protocol: ForwardProtocol,
    /// The first outside port.
    #[schemars(range(min = 1))]
    pub first_port: u16,
    /// The last one; none for the first alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_port: Option<u16>,
    /// The host's port that the first one stands for, the others following; none for the same
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub inside_port: Option<u16>,
}

/// Protocols whose ports are forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardProtocol {
    /// TCP and UDP.
    #[default]
    Both,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Ports from one to another, in any of the forms of [`Ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, from = "Ports")]
#[schemars(with = "NamedPorts")]
pub struct PortRange {
    /// The lowest.
    pub first_port: u16,
    /// The highest.
    pub last_port: u16,
}

/// The form that is written.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its schema alone is looked at")]
struct NamedPorts {
    /// The lowest.
    #[schemars(range(min = 1))]
    first_port: u16,
    /// The highest.
    #[schemars(range(min = 1))]
    last_port: u16,
}

impl From<Ports> for PortRange {
    fn from(Ports { first, last }: Ports) -> PortRange {
        PortRange { first_port: first, last_port: last }
    }
}

impl Forward {
    /// The last outside port.
    pub fn last(&self) -> u16 {
        self.last_port.unwrap_or(self.first_port)
    }

    /// The first port of the host.
    pub fn inside_first(&self) -> u16 {
        self.inside_port.unwrap_or(self.first_port)
    }
}

impl ForwardProtocol {
    /// Their numbers.
    pub fn numbers(self) -> &'static [u8] {
        match self {
            ForwardProtocol::Both => &PORTED,
            ForwardProtocol::Tcp => &[wire::protocol::TCP],
            ForwardProtocol::Udp => &[wire::protocol::UDP],
        }
    }
}

/// Protocols that have ports.
pub(crate) const PORTED: [u8; 2] = [wire::protocol::TCP, wire::protocol::UDP];
