//! One-to-many rules: which ports of a shared outside address are whose.

use std::net::Ipv4Addr;

use clap::ValueEnum;
use functions::cgnat::config::{Forward, OneToMany, OneToManyHost};
use serde::Serialize;

use super::answer::{Answer, Forwarded, Owner, Ports, Rule};
use crate::problem::Problem;

/// Of which protocol a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Tcp,
    Udp,
    // The port is the identifier of a query: a comment in the help would make it a long one.
    Icmp,
}

impl Protocol {
    /// Its number in an IPv4 header.
    fn number(self) -> u8 {
        match self {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }
}

/// What a host has; none where it is none.
pub fn forward(rules: &[OneToMany], inside: Ipv4Addr) -> Option<Answer> {
    rules.iter().zip(1..).find_map(|(rule, number)| {
        let host = rule.hosts.iter().find(|host| host.inside == inside)?;
        Some(of_host(rule, number, host))
    })
}

/// Whose a port is, as far as the rules have its address.
///
/// # Errors
/// When it depends on the protocol, and none is named.
pub fn reverse(
    rules: &[OneToMany],
    (outside, port): (Ipv4Addr, u16),
    protocol: Option<Protocol>,
) -> Option<Result<Answer, Problem>> {
    let (rule, number) = rules.iter().zip(1..).find(|(rule, _)| rule.outside == outside)?;
    let of = |protocol| owner(rule, protocol, port);
    let found = match protocol {
        Some(protocol) => of(protocol),
        None => {
            let [tcp, udp] = [Protocol::Tcp, Protocol::Udp].map(of);
            let named = |owner: Option<Found<'_>>| {
                owner.map_or("nobody's".to_owned(), |(host, _)| format!("{}'s", host.inside))
            };
            if tcp != udp {
                let what = format!(
                    "port {port} of {outside} is {} for TCP and {} for UDP",
                    named(tcp),
                    named(udp)
                );
                return Some(Err(Problem::of_usage(what, "name the protocol (--protocol tcp)")));
            }
            tcp
        }
    };
    Some(Ok(match found {
        Some((host, inside_port)) => {
            Answer { port: Some(port), inside_port, protocol, ..of_host(rule, number, host) }
        }
        None => Answer {
            owner: Owner::Nobody,
            realm: None,
            inside: None,
            outside,
            port: Some(port),
            inside_port: None,
            protocol,
            ports: None,
            shared_ports: None,
            forwards: Vec::new(),
            rule: Rule {
                key: KEY,
                number,
                inside: format!("{} hosts", rule.hosts.len()),
                outside: outside.to_string(),
            },
        },
    }))
}

/// A host, and the port of it that is forwarded; none of one that is drawn.
type Found<'a> = (&'a OneToManyHost, Option<u16>);

/// Whose a port of a protocol is.
fn owner(rule: &OneToMany, protocol: Protocol, port: u16) -> Option<Found<'_>> {
    let has = |forward: &&Forward| {
        let is_of = forward.protocol.numbers().contains(&protocol.number());
        is_of && (forward.first_port..=forward.last()).contains(&port)
    };
    rule.hosts.iter().find_map(|host| {
        if let Some(forward) = host.forwards.iter().find(has) {
            return Some((host, Some(forward.inside_first() + (port - forward.first_port))));
        }
        let dynamic = host.dynamic_ports.as_ref();
        let is_its = dynamic.is_some_and(|all| (all.first_port..=all.last_port).contains(&port));
        is_its.then_some((host, None))
    })
}

fn of_host(rule: &OneToMany, number: usize, host: &OneToManyHost) -> Answer {
    let range = |first: u16, last: u16| Ports {
        first,
        last,
        step: 1,
        count: u32::from(last) - u32::from(first) + 1,
    };
    let forwarded = |forward: &Forward| Forwarded {
        protocol: forward.protocol,
        ports: range(forward.first_port, forward.last()),
        inside_port: forward.inside_first(),
    };
    Answer {
        owner: Owner::Subscriber,
        realm: Some(0),
        inside: Some(host.inside),
        outside: rule.outside,
        port: None,
        inside_port: None,
        protocol: None,
        ports: host.dynamic_ports.map(|ports| range(ports.first_port, ports.last_port)),
        shared_ports: None,
        forwards: host.forwards.iter().map(forwarded).collect(),
        rule: Rule {
            key: KEY,
            number,
            inside: host.inside.to_string(),
            outside: rule.outside.to_string(),
        },
    }
}

const KEY: &str = "one-to-many";
