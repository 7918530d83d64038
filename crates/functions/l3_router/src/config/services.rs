//! The keys of access lists, policers and remarking. None is TIPSY's.

use std::net::IpAddr;

use function_kit::PortName;
use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tables::policer::{Policing, Profile};

/// A rule of an access list. What it does not name, it does not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AclRule {
    /// What becomes of a packet for which it is the first that matches.
    pub action: Action,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Prefixed<IpAddr>>,
    /// Where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Prefixed<IpAddr>>,
    /// IP protocol, behind the extension headers of IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// Source port; only the first fragment of a datagram has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ports: Option<Ports>,
    /// Destination port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_ports: Option<Ports>,
    /// Differentiated services code point, from 0 to 63.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// By which port it came in, or in the egress list leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<PortName>,
    /// By which VLAN; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4094))]
    pub vlan: Option<u16>,
    /// The policer of permitted packets, where `police-by` is `acl`; in the ingress list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_048_575))]
    pub policer: Option<u32>,
}

/// What an access list says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The packet is forwarded.
    Permit,
    /// The packet is dropped.
    Deny,
}

/// Ports from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ports {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

/// Which of the two access lists.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    /// Of packets that come in.
    Ingress,
    /// Of packets that leave.
    Egress,
}

/// A policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Policer {
    /// Which of the RFCs' markers.
    pub algorithm: Algorithm,
    /// The committed information rate, in bit/s of IP packets.
    pub committed_rate: u64,
    /// The committed burst size, in bytes.
    pub committed_burst: u64,
    /// What the second rate is: the peak rate of RFC 2698, the excess rate of RFC 4115, in bit/s;
    /// RFC 2697 has none.
    #[serde(default)]
    pub excess_rate: u64,
    /// The peak or excess burst size, in bytes.
    #[serde(default)]
    pub excess_burst: u64,
    /// Whether the colour with which a packet comes counts: from its assured forwarding code point,
    /// or from the child.
    #[serde(default)]
    pub colour_aware: bool,
    /// The policer that is asked next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// A marker with three colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// One rate, two bursts.
    Rfc2697,
    /// Committed and peak rate.
    Rfc2698,
    /// Committed and excess rate.
    Rfc4115,
}

/// What tells the policer of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoliceBy {
    /// Nothing: no packet is policed.
    #[default]
    None,
    /// The rule of the ingress list.
    Acl,
    /// The port by which it came in: policer 0 for the first one.
    Port,
    /// The number of the policer is the packet's code point.
    Dscp,
    /// Source address of the packet: one of `policers-by-source`, by a hash.
    Source,
}

/// Policers among which source addresses choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SourcePolicers {
    /// The number of the first one.
    #[serde(default)]
    pub first: u32,
    /// How many there are, one behind the other.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub count: u32,
}

/// The code point that packets of a colour get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Remark {
    /// Of green packets; none for the one that they have.
    #[schemars(range(max = 63))]
    pub green: Option<u8>,
    /// Of yellow packets; none for the one that they have.
    #[schemars(range(max = 63))]
    pub yellow: Option<u8>,
    /// Of red packets; none drops them.
    #[schemars(range(max = 63))]
    pub red: Option<u8>,
}

impl Policer {
    /// As the table of policers has it.
    pub fn policing(&self) -> Policing {
        let bytes = |bits_per_s: u64| bits_per_s as f64 / 8.0;
        let committed_bytes_per_s = bytes(self.committed_rate);
        let committed_burst_bytes = self.committed_burst as f64;
        let excess_burst_bytes = self.excess_burst as f64;
        let profile = match self.algorithm {
            Algorithm::Rfc2697 => Profile::SingleRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_burst_bytes,
            },
            Algorithm::Rfc2698 => Profile::TwoRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                peak_bytes_per_s: bytes(self.excess_rate),
                peak_burst_bytes: excess_burst_bytes,
            },
            Algorithm::Rfc4115 => Profile::InProfile {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_bytes_per_s: bytes(self.excess_rate),
                excess_burst_bytes,
            },
        };
        Policing { profile, is_colour_aware: self.colour_aware, parent: self.parent }
    }
}

impl AclRule {
    /// A rule for all packets.
    pub const fn for_all(action: Action) -> AclRule {
        AclRule {
            action,
            source: None,
            destination: None,
            protocol: None,
            source_ports: None,
            destination_ports: None,
            dscp: None,
            port: None,
            vlan: None,
            policer: None,
        }
    }

    /// Whether the rule can match anything: its figures are in range and of one version of IP.
    pub fn is_sound(&self) -> bool {
        let is_in_order = |ports: Option<Ports>| ports.is_none_or(|p| p.first <= p.last);
        let is_one_version = match (self.source, self.destination) {
            (Some(one), Some(other)) => one.address.is_ipv4() == other.address.is_ipv4(),
            _ => true,
        };
        is_in_order(self.source_ports)
            && is_in_order(self.destination_ports)
            && is_one_version
            && self.dscp.is_none_or(|dscp| dscp < 64)
            && self.vlan.is_none_or(|vlan| vlan < 4095)
            && self.policer.is_none_or(|number| number < POLICERS_MAX)
    }

    /// Whether it asks for anything behind the headers of IP.
    pub fn looks_behind(&self) -> bool {
        self.protocol.is_some() || self.source_ports.is_some() || self.destination_ports.is_some()
    }

    /// Whether it is for packets of IPv4, and of IPv6.
    pub fn versions(&self) -> (bool, bool) {
        match self.source.or(self.destination) {
            Some(prefix) => (prefix.address.is_ipv4(), prefix.address.is_ipv6()),
            None => (true, true),
        }
    }
}

/// Most policers.
pub(super) const POLICERS_MAX: u32 = 1 << 20;
