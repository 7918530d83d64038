//! What a look-up found, as text and as JSON.

use std::fmt;
use std::net::Ipv4Addr;

use clap::ValueEnum;
use functions::cgnat::config::ForwardProtocol;
use serde::Serialize;

/// The result of a look-up.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Who owns the ports.
    pub owner: Owner,
    /// The subscriber's realm; none if the look-up found no subscriber.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realm: Option<u16>,
    /// The subscriber's address; none if the look-up found no subscriber.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<Ipv4Addr>,
    /// The outside address.
    pub outside: Ipv4Addr,
    /// The outside port that was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The subscriber's port behind a forwarded outside port; none if it differs by session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_port: Option<u16>,
    /// The protocol that was looked up; none if the answer holds for all protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The subscriber's ports on the outside address, without forwarded ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// Ports shared with other subscribers, used once the subscriber's own ports are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_ports: Option<Ports>,
    /// Ports of the outside address that are forwarded to the subscriber.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forwarded>,
    /// The rule that gave the answer.
    pub rule: Rule,
}

/// Who owns a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// One subscriber, permanently.
    Subscriber,
    /// Any subscriber of the rule; only the NAT's log tells which one had it at a given time.
    Shared,
    /// No subscriber: no session ever uses the port.
    Nobody,
}

/// Ports at a constant distance from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ports {
    /// The lowest port.
    pub first: u16,
    /// The highest port.
    pub last: u16,
    /// The distance between adjacent ports.
    pub step: u16,
    /// The number of ports.
    pub count: u32,
}

/// Outside ports forwarded one to one to ports of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forwarded {
    /// The protocols that are forwarded.
    pub protocol: ForwardProtocol,
    /// The outside ports.
    pub ports: Ports,
    /// The subscriber's port for the first outside port.
    pub inside_port: u16,
}

/// A rule as written in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The configuration key of the list that contains the rule.
    pub key: &'static str,
    /// The rule's position in its list, from 1.
    pub number: usize,
    /// The rule's subscribers (inside addresses).
    pub inside: String,
    /// The rule's outside addresses.
    pub outside: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { outside, rule, .. } = self;
        match (self.owner, self.inside) {
            (Owner::Subscriber, Some(inside)) => {
                write!(f, "{inside}")?;
                if let Some(realm) = self.realm.filter(|&realm| realm != 0) {
                    write!(f, " of realm {realm}")?;
                }
                write!(f, " has {outside}")?;
                if let Some(ports) = &self.ports {
                    write!(f, ", {ports}")?;
                }
                writeln!(f)?;
            }
            (Owner::Shared, _) => writeln!(
                f,
                "{outside} port {} is shared by the rule's subscribers: only the log shows who had it",
                self.port.unwrap_or_default()
            )?,
            _ => writeln!(
                f,
                "{outside} port {} has no subscriber: it is reserved or left over",
                self.port.unwrap_or_default()
            )?,
        }
        if let Some(ports) = &self.shared_ports {
            writeln!(
                f,
                "  in addition: {ports}, shared with others; only the log shows who had each"
            )?;
        }
        for forward in &self.forwards {
            writeln!(f, "  {forward}")?;
        }
        if let Some(port) = self.inside_port {
            writeln!(f, "  port {} maps to inside port {port}", self.port.unwrap_or_default())?;
        }
        let Rule { key, number, inside, outside } = rule;
        writeln!(f, "  rule {number} of `{key}`: {inside} to {outside}")
    }
}

impl fmt::Display for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            ForwardProtocol::Both => "TCP and UDP",
            ForwardProtocol::Tcp => "TCP",
            ForwardProtocol::Udp => "UDP",
        };
        write!(f, "{protocol} {} forwarded to inside ", self.ports)?;
        match self.ports.count {
            1 => write!(f, "port {}", self.inside_port),
            _ => write!(f, "ports from {}", self.inside_port),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ports { first, last, step, count } = self;
        match (count, step) {
            (1, _) => write!(f, "port {first}"),
            (_, 1) => write!(f, "ports {first} to {last} ({count})"),
            _ => write!(f, "ports {first} to {last} in steps of {step} ({count})"),
        }
    }
}

/// The protocol to which a port belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Tcp,
    Udp,
    // The port is the identifier of an ICMP query. No doc comment: it would make the help long.
    Icmp,
}

impl Protocol {
    /// The protocol's number in an IPv4 header.
    pub fn number(self) -> u8 {
        match self {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }
}
