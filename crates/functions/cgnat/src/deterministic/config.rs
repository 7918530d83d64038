//! Keys of deterministic rules (RFC 7422 section 2).
use std::net::Ipv4Addr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Subscribers whose outside address and ports follow from their inside address (RFC 7422), so that
/// no log is needed to find who had a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeterministicRule {
    /// The realm in which subscribers have these addresses; 0 is the main one.
    #[serde(default)]
    pub realm: u16,
    /// Subscribers' addresses (I in RFC 7422).
    pub inside: Prefixed<Ipv4Addr>,
    /// Addresses that they share (O); neither a pool nor another rule may have them.
    pub outside: Prefixed<Ipv4Addr>,
    /// Whether the first and the last address of `inside` are no subscribers: network and
    /// broadcast.
    #[serde(default)]
    pub skip_boundary: bool,
    /// Ports of a subscriber, for each of UDP, TCP and ICMP; none for 1/(C + D) of the usable
    /// ports, which is the most: C is the number of subscribers of an outside address, D
    /// `dynamic-factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ports_per_subscriber: Option<u16>,
    /// How many subscribers' ports of an outside address are kept for a pool that all subscribers
    /// of the rule share beyond their own (D); 0 for no such pool.
    #[serde(default)]
    pub dynamic_factor: u16,
    /// The lowest port that is given away; those below are reserved (R).
    #[serde(default = "first_port")]
    #[schemars(range(min = 1))]
    pub first_port: u16,
    /// The highest port that is given away.
    #[serde(default = "last_port")]
    #[schemars(range(min = 1))]
    pub last_port: u16,
    /// Which ports which subscriber has (A).
    #[serde(default)]
    pub assignment: Assignment,
}

/// Which ports which subscriber has (A in RFC 7422 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// The first subscriber's block is on the first address, the second one's on the second, and so
    /// on in turn (A = 0).
    #[default]
    Sequential,
    /// In turn as well, and the ports of a subscriber are spread: every C-th one of the address (A
    /// = 1).
    Staggered,
    /// An address is full before the next one is used (of A = 5, those of other makers).
    Filled,
}

fn first_port() -> u16 {
    1024
}

fn last_port() -> u16 {
    u16::MAX
}
