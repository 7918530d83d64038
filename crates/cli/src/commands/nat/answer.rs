//! What a look-up found, as text and as JSON.

use std::fmt;
use std::net::Ipv4Addr;

use functions::cgnat::config::ForwardProtocol;
use serde::Serialize;

use super::one_to_many::Protocol;

/// An answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whose the ports are.
    pub owner: Owner,
    /// The subscriber's realm; none where no subscriber is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realm: Option<u16>,
    /// The subscriber's address; none where no subscriber is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<Ipv4Addr>,
    /// The outside address.
    pub outside: Ipv4Addr,
    /// The port that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The port of the subscriber that it stands for; none where that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_port: Option<u16>,
    /// The protocol that was asked for; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// All ports of the subscriber on the outside address that are not forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// Ports that the subscriber gets beyond its own, when it needs them and others leave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_ports: Option<Ports>,
    /// Ports of the outside address that are forwarded to the subscriber.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forwarded>,
    /// By which rule.
    pub rule: Rule,
}

/// Whose a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// A subscriber's, always.
    Subscriber,
    /// That of whoever of the rule's subscribers took it: the log tells.
    Shared,
    /// Nobody's: no session ever has it.
    Nobody,
}

/// Ports at the same distance from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ports {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
    /// How far each is from the one before.
    pub step: u16,
    /// How many.
    pub count: u32,
}

/// Ports that stand for ports of a subscriber, one for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forwarded {
    /// Of which protocols.
    pub protocol: ForwardProtocol,
    /// The outside ports.
    pub ports: Ports,
    /// The first port of the subscriber.
    pub inside_port: u16,
}

/// A rule as the file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The key of its list.
    pub key: &'static str,
    /// Its place in the list, from 1.
    pub number: usize,
    /// Its subscribers.
    pub inside: String,
    /// Its outside addresses.
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
                "{outside} port {} is shared by the subscribers of the rule: the log tells whose it was",
                self.port.unwrap_or_default()
            )?,
            _ => writeln!(
                f,
                "{outside} port {} is nobody's: reserved, or left over",
                self.port.unwrap_or_default()
            )?,
        }
        if let Some(ports) = &self.shared_ports {
            writeln!(
                f,
                "  beyond those: {ports}, shared with others; the log tells whose each was"
            )?;
        }
        for forward in &self.forwards {
            writeln!(f, "  {forward}")?;
        }
        if let Some(port) = self.inside_port {
            writeln!(f, "  port {} is its port {port}", self.port.unwrap_or_default())?;
        }
        let Rule { key, number, inside, outside } = rule;
        writeln!(f, "  rule {number} of `{key}`: {inside} has {outside}")
    }
}

impl fmt::Display for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            ForwardProtocol::Both => "TCP and UDP",
            ForwardProtocol::Tcp => "TCP",
            ForwardProtocol::Udp => "UDP",
        };
        write!(f, "{protocol} {} forwarded to its ", self.ports)?;
        match self.ports.count {
            1 => write!(f, "port {}", self.inside_port),
            _ => write!(f, "ports from {} on", self.inside_port),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ports { first, last, step, count } = self;
        match (count, step) {
            (1, _) => write!(f, "port {first}"),
            (_, 1) => write!(f, "ports {first} to {last} ({count})"),
            _ => write!(f, "ports {first} to {last}, one of each {step} ({count})"),
        }
    }
}
