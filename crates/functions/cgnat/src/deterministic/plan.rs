//! The plan that rules of the key `deterministic` give, and whether they can be used.

use std::net::Ipv4Addr;

use function_kit::Invalid;
use function_kit::sections::{Prefixed, function_key};

use super::config::DeterministicRule;
use crate::deterministic::{Mapping, Plan};

/// The plan of all rules.
///
/// # Errors
/// The first rule that cannot be used, or shares addresses with one before it.
pub fn plan(rules: &[DeterministicRule]) -> Result<Plan, Invalid> {
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
    if rule.first_port > rule.last_port {
        let what = format!("{inside}: no port from {} to {}", rule.first_port, rule.last_port);
        return refuse(what, "Give a 'first-port' up to 'last-port'");
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
        Some(ports) if u32::from(ports) > most => {
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

/// The key of the list.
const KEY: &str = "deterministic";
