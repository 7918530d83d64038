//! The keys of access lists, policers and remarking. None is TIPSY's.

use std::net::IpAddr;

use function_kit::PortName;
pub use function_kit::sections::Ports;
use function_kit::sections::{Prefixed, protocol as protocol_said};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tables::policer::{Policing, Profile};
use wire::protocol;

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
    /// IP protocol, by its number or a name like `tcp`, behind the extension headers of IPv6.
    #[serde(
        default,
        deserialize_with = "protocol_said::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "protocol_said::schema")]
    pub protocol: Option<u8>,
    /// Source port; only the first fragment of a datagram has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ports: Option<Ports>,
    /// Destination port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_ports: Option<Ports>,
    /// The type of ICMP, with `protocol` 1 or 58.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    /// The code of ICMP, with `protocol` 1 or 58.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_code: Option<u8>,
    /// Flags of TCP that are set, or behind `!` are not, like `syn,!ack`; with `protocol` 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_flags: Option<TcpFlags>,
    /// Which part of a datagram: `none` of a whole one, `any`, the `first`, or a `later` one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Part>,
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
    /// Number of packets that the rule decides of which one is told in the log, the first one
    /// first; none for no packet. `rule-log-per-s` limits what all rules tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub log_one_in: Option<u32>,
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

/// Which part of a datagram a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A whole datagram.
    None,
    /// Any fragment.
    Any,
    /// The first of several fragments.
    First,
    /// Another fragment than the first.
    Later,
}

/// Flags of TCP that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TcpFlags {
    /// Those that are set.
    pub set: u8,
    /// Those that are not.
    pub clear: u8,
}

impl TryFrom<String> for TcpFlags {
    type Error = String;

    fn try_from(text: String) -> Result<TcpFlags, String> {
        let mut flags = TcpFlags { set: 0, clear: 0 };
        for word in text.split(',').map(str::trim) {
            let (name, among) = match word.strip_prefix('!') {
                Some(name) => (name, &mut flags.clear),
                None => (word, &mut flags.set),
            };
            let number = TcpFlags::NAMES.iter().position(|known| *known == name);
            let number = number.ok_or_else(|| {
                format!(
                    "'{name}' is none of {}; say for example 'syn,!ack'",
                    TcpFlags::NAMES.join(", ")
                )
            })?;
            *among |= 1 << number;
        }
        Ok(flags)
    }
}

impl From<TcpFlags> for String {
    fn from(flags: TcpFlags) -> String {
        let named = |(number, name): (usize, &&str)| {
            let is_of = |among: u8| among >> number & 1 == 1;
            let set = is_of(flags.set).then(|| (*name).to_owned());
            [set, is_of(flags.clear).then(|| format!("!{name}"))].into_iter().flatten()
        };
        TcpFlags::NAMES.iter().enumerate().flat_map(named).collect::<Vec<_>>().join(",")
    }
}

impl TcpFlags {
    /// The flags by their bits, from the lowest (RFC 9293 section 3.1).
    const NAMES: [&'static str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
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
            icmp_type: None,
            icmp_code: None,
            tcp_flags: None,
            fragment: None,
            dscp: None,
            port: None,
            vlan: None,
            policer: None,
            log_one_in: None,
        }
    }

    /// Whether the rule can match anything: its figures are in range and of one version of IP.
    pub fn is_sound(&self) -> bool {
        self.fault().is_none()
    }

    /// Why it cannot match anything, and what helps, if it cannot.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        let turned = |ports: Option<Ports>| ports.is_some_and(|p| p.first > p.last);
        let families =
            [self.source, self.destination].map(|one| one.map(|one| one.address.is_ipv4()));
        let mixes = matches!(families, [Some(one), Some(other)] if one != other);
        let is_icmp = matches!(self.protocol, Some(protocol::ICMP | protocol::ICMPV6));
        let names_icmp = self.icmp_type.is_some() || self.icmp_code.is_some();
        let contradicts = |flags: TcpFlags| flags.set & flags.clear != 0;
        let faults = [
            (
                self.log_one_in == Some(0),
                "tells one packet in none",
                "Give `log-one-in: 1` for every packet, or remove it",
            ),
            (
                turned(self.source_ports) || turned(self.destination_ports),
                "has ports whose first is above the last",
                "Give the lower one first",
            ),
            (
                mixes,
                "has a source and a destination of different versions of IP",
                "Make two rules of it",
            ),
            (
                self.dscp.is_some_and(|dscp| dscp > 63),
                "has a 'dscp' above 63",
                "Give a code point from 0 to 63",
            ),
            (
                self.vlan.is_some_and(|vlan| vlan > 4094),
                "has a 'vlan' above 4094",
                "Give one from 0 to 4094",
            ),
            (
                self.policer.is_some_and(|number| number >= POLICERS_MAX),
                "names a policer above 1,048,575",
                "Name one that there is",
            ),
            (
                names_icmp && !is_icmp,
                "looks at ICMP's type or code in another protocol",
                "Set its 'protocol' to 1, or to 58 for IPv6",
            ),
            (
                self.tcp_flags.is_some() && self.protocol != Some(protocol::TCP),
                "looks at TCP's flags in another protocol",
                "Set its 'protocol' to 6",
            ),
            (
                self.tcp_flags.is_some_and(contradicts),
                "wants a flag of TCP set and not set",
                "Remove one of both",
            ),
        ];
        let mut faults = faults.into_iter();
        faults.find(|(is_there, ..)| *is_there).map(|(_, what, remedy)| (what, remedy))
    }

    /// Whether it asks for anything behind the headers of IP.
    pub fn looks_behind(&self) -> bool {
        self.protocol.is_some()
            || self.source_ports.is_some()
            || self.destination_ports.is_some()
            || self.fragment.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> AclRule {
        serde_json::from_str(text).expect("a rule")
    }

    #[test]
    fn ports_and_flags_are_said_in_several_ways() {
        let named = r#"{"action": "deny", "source-ports": {"first": 7, "last": 9}}"#;
        assert_eq!(rule(named), rule(r#"{"action": "deny", "source-ports": [7, 9]}"#));
        let one = rule(r#"{"action": "deny", "source-ports": 7}"#);
        assert_eq!(one.source_ports, Some(Ports { first: 7, last: 7 }));
        let flags = TcpFlags::try_from("syn, !ack,!fin".to_owned()).expect("flags");
        assert_eq!(flags, TcpFlags { set: 2, clear: 0x11 });
        assert_eq!(String::from(flags), "!fin,syn,!ack");
        assert!(TcpFlags::try_from("sin".to_owned()).expect_err("none").contains("'sin'"));
    }

    #[test]
    fn each_fault_of_a_rule_has_a_message_of_its_own() {
        let faults = [
            (r#""source-ports": [9, 8]"#, "first is above the last"),
            (r#""source": "10.0.0.0/8", "destination": "::/0""#, "different versions"),
            (r#""dscp": 64"#, "'dscp' above 63"),
            (r#""vlan": 4095"#, "'vlan' above 4094"),
            (r#""policer": 1048576"#, "policer above"),
            (r#""icmp-type": 8, "protocol": 6"#, "ICMP's type"),
            (r#""tcp-flags": "syn""#, "TCP's flags in another"),
            (r#""protocol": 6, "tcp-flags": "syn,!syn""#, "set and not set"),
        ];
        for (keys, what) in faults {
            let rule = rule(&format!(r#"{{"action": "deny", {keys}}}"#));
            let (told, _) = rule.fault().expect(keys);
            assert!(told.contains(what), "{keys}: {told}");
        }
    }
}
