//! Port forwarding (`port-forwarding` rules): which host owns which port of a shared outside
//! address.

use std::net::Ipv4Addr;

use functions::cgnat::config::{Forward, PortForwarding, PortForwardingHost};

use super::answer::{Answer, Forwarded, Owner, Ports, Protocol, Rule};
use crate::problem::Problem;

/// Looks up the ports of an inside host; none if no rule has the host.
pub fn forward(rules: &[PortForwarding], inside: Ipv4Addr) -> Option<Answer> {
    rules.iter().zip(1..).find_map(|(rule, number)| {
        let host = rule.hosts.iter().find(|host| host.inside == inside)?;
        Some(of_host(rule, number, host))
    })
}

/// Looks up the owner of an outside port; none if no rule has the outside address.
///
/// # Errors
/// When the answer depends on the protocol, and no protocol is given.
pub fn reverse(
    rules: &[PortForwarding],
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
                owner.map_or("no host".to_owned(), |(host, _)| host.inside.to_string())
            };
            if tcp != udp {
                let what = format!(
                    "port {port} of {outside} belongs to {} for TCP and to {} for UDP",
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

/// The owner of a port, and the inside port if the port is forwarded.
type Found<'a> = (&'a PortForwardingHost, Option<u16>);

/// The host that owns an outside port of a protocol under a rule.
fn owner(rule: &PortForwarding, protocol: Protocol, port: u16) -> Option<Found<'_>> {
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

fn of_host(rule: &PortForwarding, number: usize, host: &PortForwardingHost) -> Answer {
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

const KEY: &str = "port-forwarding";
