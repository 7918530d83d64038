//! Rules of access lists: which frames a port takes, and which leave by it, by what stands in their
//! headers.
use std::net::IpAddr;

pub use function_kit::sections::Ports;
use function_kit::sections::{Prefixed, protocol as protocol_said};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::ethernet::{TYPE_IPV4, TYPE_IPV6};

use super::{Mac, Port};

/// A rule. What it does not name may be anything; frames that no rule matches pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rule {
    /// Priority of the rule: of the rules that match a frame, the lowest number decides.
    pub priority: u32,
    /// What it decides.
    pub action: Action,
    /// The port where frames come in, or leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The source address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mac: Option<Mac>,
    /// The destination address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_mac: Option<Mac>,
    /// The VLAN of the outer tag; 0 for frames without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4095))]
    pub vlan: Option<u16>,
    /// The type behind up to two tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ether_type: Option<u16>,
    /// The network of the source, IPv4 or IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Prefixed<IpAddr>>,
    /// The network of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Prefixed<IpAddr>>,
    /// The protocol of IPv4, by its number or a name like `tcp`, or what stands behind the
    /// extension headers of IPv6.
    #[serde(
        default,
        deserialize_with = "protocol_said::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "protocol_said::schema")]
    pub protocol: Option<u8>,
    /// The first and the last source port of TCP, UDP, SCTP, DCCP or UDP-Lite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ports: Option<Ports>,
    /// The first and the last destination port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_ports: Option<Ports>,
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The frame goes on.
    Permit,
    /// The frame is dropped; at ingress nothing is learned from it.
    Deny,
}

impl Rule {
    /// Whether it can be: ports from low to high, networks of one family and of the type.
    pub fn is_possible(&self, ports: u8) -> bool {
        let are_ranges = [self.source_ports, self.destination_ports]
            .into_iter()
            .flatten()
            .all(|ports| ports.first <= ports.last);
        let families =
            [self.source, self.destination].map(|one| one.map(|one| one.address.is_ipv4()));
        let is_one_family = match families {
            [Some(one), Some(other)] => one == other,
            _ => true,
        };
        let kinds = families.map(|is_ipv4| match is_ipv4 {
            Some(true) => Some(TYPE_IPV4),
            Some(false) => Some(TYPE_IPV6),
            None => None,
        });
        let is_of_type =
            self.ether_type.is_none_or(|kind| kinds.into_iter().flatten().all(|one| one == kind));
        let has_port = self.port.is_none_or(|port| port.id().0 < ports);
        are_ranges
            && is_one_family
            && is_of_type
            && has_port
            && self.vlan.is_none_or(|vlan| vlan < 4096)
    }
}
