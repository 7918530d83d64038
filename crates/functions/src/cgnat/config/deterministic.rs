//! Keys of deterministic rules (RFC 7422 section 2).

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cgnat::deterministic::{Mapping, Plan};
use crate::sections::{Prefixed, function_key};
use crate::unit::Invalid;

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

/// The plan of all rules.
///
/// # Errors
/// The first rule that cannot be used, or shares addresses with one before it.
pub fn plan(rules: &[DeterministicRule]) -> Result<Plan, Invalid> {
    if rules.len() > RULES_MAX {
        let what = format!("{} rules, at most {RULES_MAX}", rules.len());
        return Err(function_key(KEY, what, "Join neighbouring networks"));
    }
    let mut mappings = Vec::with_capacity(rules.len());
    for (index, rule) in rules.iter().enumerate() {
        mappings.push(mapping(rule)?);
        for other in &rules[..index] {
            let shares_inside = rule.realm == other.realm && overlap(rule.inside, other.inside);
            let pair = match (shares_inside, overlap(rule.outside, other.outside)) {
                (true, _) => (other.inside, rule.inside),
                (_, true) => (other.outside, rule.outside),
                _ => continue,
            };
            let what = format!("{} and {} share addresses", text(pair.0), text(pair.1));
            return Err(function_key(KEY, what, "Give each address to one rule"));
        }
    }
    Ok(Plan::new(mappings))
}

/// What a rule says, worked out.
fn mapping(rule: &DeterministicRule) -> Result<Mapping, Invalid> {
    let refuse = |what: String, remedy: &str| Err(function_key(KEY, what, remedy));
    let inside = text(rule.inside);
    for (key, network) in [("inside", rule.inside), ("outside", rule.outside)] {
        let bits = network.address.to_bits();
        if network.len == 0 || u64::from(bits) % (1 << (32 - network.len)) != 0 {
            let what = format!("'{key}' {} is no network", text(network));
            return refuse(what, "Give the first address of the network and a length from 1");
        }
    }
    if rule.skip_boundary && rule.inside.len > 30 {
        let what = format!("{inside} has only boundary addresses");
        return refuse(what, "Remove 'skip-boundary', or give a network of /30 or shorter");
    }
    if rule.first_port == 0 || rule.first_port > rule.last_port {
        let what = format!("{inside}: no port from {} to {}", rule.first_port, rule.last_port);
        return refuse(what, "Give 'first-port' from 1 up to 'last-port'");
    }
    let mapping = Mapping::new(rule);
    let most = mapping.ports_most();
    if most == 0 {
        let what = format!(
            "{inside} has {} subscribers for each address of {}, more than ports",
            mapping.subscribers_per_address(),
            text(rule.outside)
        );
        return refuse(what, "Give more outside addresses, or lower 'dynamic-factor'");
    }
    match rule.ports_per_subscriber {
        Some(ports) if ports == 0 || u32::from(ports) > most => {
            let what = format!("{inside}: 'ports-per-subscriber' is {ports}, not from 1 to {most}");
            refuse(what, "Give fewer ports, more outside addresses, or a lower 'dynamic-factor'")
        }
        _ => Ok(mapping),
    }
}

fn overlap(one: Prefixed<Ipv4Addr>, other: Prefixed<Ipv4Addr>) -> bool {
    let shift = 32 - u32::from(one.len.min(other.len));
    let part = |network: Prefixed<Ipv4Addr>| u64::from(network.address.to_bits()) >> shift;
    part(one) == part(other)
}

fn text(network: Prefixed<Ipv4Addr>) -> String {
    String::from(network)
}

fn first_port() -> u16 {
    1024
}

fn last_port() -> u16 {
    u16::MAX
}

/// The key of the list.
const KEY: &str = "deterministic";

/// Rules that there may be.
const RULES_MAX: usize = 1024;
