//! Whether the key `port-forwarding` fits the others.

use std::net::Ipv4Addr;

use function_kit::Invalid;

use crate::config::{Config, PortForwarding, PortForwardingHost, PortRange, Prefixed};
use crate::types::networks::{holds, refuse};

/// Checks the key; that no pool and no other rule has its outside addresses is checked with all
/// other networks.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let rules = &config.port_forwarding;
    let own = config.static_rules.iter().map(|rule| ("static", rule.inside));
    let main = config.deterministic.iter().filter(|rule| rule.realm == 0);
    let others: Vec<_> = own.chain(main.map(|rule| ("deterministic", rule.inside))).collect();
    for rule in rules {
        validate_rule((config.first_port, &config.inside), &others, rule)?;
    }
    let mut all: Vec<Ipv4Addr> =
        rules.iter().flat_map(|rule| &rule.hosts).map(|host| host.inside).collect();
    all.sort_unstable();
    match all.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => refuse(
            KEY,
            format!("{} stands twice among the hosts", two[0]),
            "Give each host once, with all of its 'forwards', under one outside address",
        ),
        None => Ok(()),
    }
}

/// Checks a rule by itself: with the lowest port that is given away, the networks of subscribers,
/// and those of subscribers that have other rules, each with its key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate_rule(
    (first_port, inside): (u16, &[Prefixed<Ipv4Addr>]),
    others: &[(&'static str, Prefixed<Ipv4Addr>)],
    rule: &PortForwarding,
) -> Result<(), Invalid> {
    for host in &rule.hosts {
        validate_host((first_port, inside), others, host)?;
    }
    validate_shares(rule)
}

/// Checks what a host has by itself.
fn validate_host(
    (lowest, networks): (u16, &[Prefixed<Ipv4Addr>]),
    others: &[(&'static str, Prefixed<Ipv4Addr>)],
    host: &PortForwardingHost,
) -> Result<(), Invalid> {
    let inside = host.inside;
    if !networks.iter().any(|network| holds(*network, inside.to_bits())) {
        let what = format!("{inside} is in no network of 'inside'");
        return refuse(
            KEY,
            what,
            "Give an address of a subscriber, or add its network to 'inside'",
        );
    }
    let has_it = |(_, network): &&(_, Prefixed<Ipv4Addr>)| holds(*network, inside.to_bits());
    if let Some((key, network)) = others.iter().find(has_it) {
        let what = format!("{inside} has a rule of '{key}', too, for {}", String::from(*network));
        return refuse(KEY, what, "Give each subscriber one rule");
    }
    if host.forwards.is_empty() && host.dynamic_ports.is_none() {
        let what = format!("{inside} has no port of its outside address");
        return refuse(KEY, what, "Give it 'forwards', 'dynamic-ports' or both");
    }
    for forward in &host.forwards {
        let (first, last, inside_first) =
            (forward.first_port, forward.last(), forward.inside_first());
        let more = u32::from(last.wrapping_sub(first));
        let fits = u32::from(inside_first) + more <= u32::from(u16::MAX);
        if first > last || !fits {
            let what = format!("{inside}: no ports from {first} to {last}, inside {inside_first}");
            let remedy = "Give a 'first-port' up to 'last-port', and an 'inside-port' with as many \
                          behind it";
            return refuse(KEY, what, remedy);
        }
    }
    if let Some(PortRange { first_port, last_port }) = host.dynamic_ports
        && (first_port < lowest || first_port > last_port)
    {
        let what = format!("{inside}: no 'dynamic-ports' from {first_port} to {last_port}");
        let remedy = format!(
            "Give 'first-port' from {lowest} on, the lowest of the key 'first-port', up to \
             'last-port'"
        );
        return refuse(KEY, what, &remedy);
    }
    Ok(())
}

/// Checks that no port of an outside address is two hosts', and none of a host forwarded twice.
fn validate_shares(rule: &PortForwarding) -> Result<(), Invalid> {
    let mut outside: Vec<Share> = Vec::new();
    let mut inside: Vec<Share> = Vec::new();
    for host in &rule.hosts {
        let share = |protocol, first, last| Share { protocol, first, last, host: host.inside };
        for forward in &host.forwards {
            let (first, last) = (forward.first_port, forward.last());
            let inside_first = forward.inside_first();
            for &protocol in forward.protocol.numbers() {
                outside.push(share(protocol, first, last));
                inside.push(share(protocol, inside_first, inside_first + (last - first)));
            }
        }
        if let Some(PortRange { first_port, last_port }) = host.dynamic_ports {
            outside.extend(
                super::config::PORTED.map(|protocol| share(protocol, first_port, last_port)),
            );
        }
    }
    outside.sort_unstable_by_key(|share| (share.protocol, share.first));
    if let Some((one, other)) = overlapping(&outside, |_, _| true) {
        let (low, high) = (one.host.min(other.host), one.host.max(other.host));
        let whose = match low == high {
            true => format!("given to {low} twice"),
            false => format!("given to {low} and to {high}"),
        };
        return refuse(
            KEY,
            format!("{} {} of {} is {whose}", other.name(), other.first, rule.outside),
            "Give each port of an outside address once, in 'forwards' or in 'dynamic-ports'",
        );
    }
    inside.sort_unstable_by_key(|share| (share.host, share.protocol, share.first));
    match overlapping(&inside, |one, other| one.host == other.host) {
        Some((_, other)) => refuse(
            KEY,
            format!("{} {} of {} has two outside ports", other.name(), other.first, other.host),
            "Forward one port to it: its packets can leave from one alone",
        ),
        None => Ok(()),
    }
}

/// Ports of a protocol that a host has.
#[derive(Clone, Copy)]
struct Share {
    protocol: u8,
    first: u16,
    last: u16,
    host: Ipv4Addr,
}

impl Share {
    fn name(&self) -> &'static str {
        if self.protocol == wire::protocol::TCP { "TCP port" } else { "UDP port" }
    }
}

/// Two of a sorted list with a port in common, of those that are to differ.
fn overlapping(
    sorted: &[Share],
    are_apart: impl Fn(&Share, &Share) -> bool,
) -> Option<(Share, Share)> {
    let two = sorted.windows(2).find(|two| {
        let same = two[0].protocol == two[1].protocol && are_apart(&two[0], &two[1]);
        same && two[1].first <= two[0].last
    })?;
    Some((two[0], two[1]))
}

const KEY: &str = "port-forwarding";
