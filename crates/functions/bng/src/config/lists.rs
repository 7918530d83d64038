//! Lists of rules. A list is kept once, however many names and subscribers it has.

use std::net::IpAddr;

use function_kit::sections::{Ports, Prefixed, protocol as protocol_said};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Name;

/// A list of rules, of which the first that matches a packet decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct List {
    /// Name of the list.
    pub name: Name,
    /// Rules in their order.
    #[schemars(length(max = 4096))]
    pub rules: Vec<Rule>,
    /// What becomes of packets that no rule matches.
    #[serde(default = "deny")]
    pub otherwise: Action,
}

/// A rule. What it does not name, it does not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rule {
    /// What becomes of a packet for which it is the first that matches.
    pub action: Action,
    /// Which way packets go; none for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Where it comes from: a network, or `subscriber` for the addresses of the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Matched>,
    /// Where it goes, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Matched>,
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
    /// Differentiated services code point, from 0 to 63.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Which part of a datagram; none for whichever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Part>,
}

/// What a list says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The packet goes on.
    Permit,
    /// The packet is dropped.
    Deny,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the subscriber.
    Up,
    /// To the subscriber.
    Down,
}

/// Which part of a datagram a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A whole datagram.
    None,
    /// Any fragment.
    Any,
    /// Another fragment than the first, which has no ports.
    Later,
}

/// The addresses that a rule looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Matched {
    /// Those of the session that the packet belongs to.
    Subscriber,
    /// Those of a network.
    Network(Net),
}

/// A network of either version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// An address of it.
    pub address: IpAddr,
    /// Length of its prefix in bits.
    pub len: u8,
}

impl TryFrom<String> for Matched {
    type Error = String;

    fn try_from(text: String) -> Result<Matched, String> {
        if text == SUBSCRIBER {
            return Ok(Matched::Subscriber);
        }
        let read = Prefixed::<IpAddr>::try_from(text);
        let Prefixed { address, len } = read.map_err(|what| format!("{what}; or `subscriber`"))?;
        Ok(Matched::Network(Net { address, len }))
    }
}

impl From<Matched> for String {
    fn from(matched: Matched) -> String {
        match matched {
            Matched::Subscriber => SUBSCRIBER.to_owned(),
            Matched::Network(Net { address, len }) => format!("{address}/{len}"),
        }
    }
}

impl JsonSchema for Matched {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Matched".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A network like 192.0.2.0/24, or `subscriber`.",
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

impl Rule {
    /// A rule for all packets.
    pub const fn for_all(action: Action) -> Rule {
        Rule {
            action,
            direction: None,
            source: None,
            destination: None,
            protocol: None,
            source_ports: None,
            destination_ports: None,
            dscp: None,
            fragment: None,
        }
    }

    /// Whether it is for packets of IPv4, and of IPv6.
    pub fn versions(&self) -> (bool, bool) {
        let named = [self.source, self.destination].into_iter().flatten();
        let mut versions = (true, true);
        for one in named {
            if let Matched::Network(net) = one {
                versions.0 &= net.address.is_ipv4();
                versions.1 &= net.address.is_ipv6();
            }
        }
        versions
    }

    /// Whether it asks for anything behind the headers of IP.
    pub fn looks_behind(&self) -> bool {
        self.protocol.is_some()
            || self.source_ports.is_some()
            || self.destination_ports.is_some()
            || self.fragment.is_some()
    }

    /// Whether it can match anything: its figures are in range and of one version of IP.
    pub fn is_sound(&self) -> bool {
        let turned = |ports: Option<Ports>| ports.is_some_and(|ports| ports.first > ports.last);
        !turned(self.source_ports)
            && !turned(self.destination_ports)
            && self.dscp.is_none_or(|dscp| dscp < 64)
            && self.versions() != (false, false)
    }
}

/// Most names of lists for each of `list-capacity`.
pub const NAMES_MAX: usize = 16;

fn deny() -> Action {
    Action::Deny
}

/// The word for a session's own addresses.
const SUBSCRIBER: &str = "subscriber";
