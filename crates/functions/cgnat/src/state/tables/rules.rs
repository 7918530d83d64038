//! One-to-one and port forwarding rules as they are there, a row for each one-to-one rule and for
//! each host of a port forwarding rule.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use function_kit::{Sought, TablePage, TableSize};
use serde_json::{Value, json};

use crate::config::{ForwardProtocol, PortForwardingHost, PortRange, StaticRule};
use crate::sessions::addresses::Addresses;
use crate::terms::{HOSTS_MAX, RULES_MAX};
use crate::types::networks::{holds, text};

/// How many there are, and can be.
pub(super) fn size(addresses: &Addresses) -> TableSize {
    let capacity = RULES_MAX + RULES_MAX * HOSTS_MAX;
    TableSize { used: count(addresses) as u64, capacity: capacity as u64 }
}

fn count(addresses: &Addresses) -> usize {
    addresses.statics().len()
        + addresses.hosts().rules().map(|rule| rule.hosts.len()).sum::<usize>()
}

/// Rows from a number on, those only that an address leads to where there is one.
pub(super) fn page(
    addresses: &Addresses,
    sought: Option<Sought>,
    (from, limit): (u64, usize),
) -> TablePage {
    let from = from as usize;
    let own = addresses.statics().map(Row::Static);
    let hosts = addresses
        .hosts()
        .rules()
        .flat_map(|rule| rule.hosts.iter().map(|host| Row::Host(rule.outside, host)));
    let some = own.chain(hosts).skip(from).take(limit);
    let is_sought = |row: &Row<'_>| sought.is_none_or(|sought| row.is(sought));
    let entries = some.filter(is_sought).map(|row| row.shown()).collect();
    let end = from.saturating_add(limit);
    let next = (end < count(addresses)).then_some(end as u64);
    TablePage { entries, next }
}

enum Row<'a> {
    Static(StaticRule),
    Host(Ipv4Addr, &'a PortForwardingHost),
}

impl Row<'_> {
    fn shown(&self) -> Value {
        match self {
            Row::Static(rule) => json!({
                "kind": "static",
                "inside": text(rule.inside),
                "outside": text(rule.outside),
                "forwards": "",
                "dynamic-ports": "",
            }),
            Row::Host(outside, host) => json!({
                "kind": "port-forwarding",
                "inside": host.inside,
                "outside": outside,
                "forwards": forwards(host),
                "dynamic-ports": host.dynamic_ports.map_or_else(String::new, dynamic),
            }),
        }
    }

    /// Whether an address is of its subscribers or one of its outside ones; of these some port is
    /// one of its own.
    fn is(&self, sought: Sought) -> bool {
        let IpAddr::V4(address) = sought.address else { return false };
        match self {
            Row::Static(rule) => {
                [rule.inside, rule.outside].iter().any(|one| holds(*one, address.to_bits()))
            }
            Row::Host(_, host) if host.inside == address => {
                let is_forwarded = |port: u16| {
                    host.forwards.iter().any(|one| {
                        port.wrapping_sub(one.inside_first()) <= one.last() - one.first_port
                    })
                };
                sought.port.is_none_or(is_forwarded)
            }
            Row::Host(outside, host) => {
                let is_its = |port: u16| {
                    let mut forwards = host.forwards.iter();
                    forwards.any(|one| (one.first_port..=one.last()).contains(&port))
                        || host.dynamic_ports.is_some_and(|ports| {
                            (ports.first_port..=ports.last_port).contains(&port)
                        })
                };
                *outside == address && sought.port.is_none_or(is_its)
            }
        }
    }
}

/// Forwarded ports in words: `tcp 80=8080, 5000-5003`.
fn forwards(host: &PortForwardingHost) -> String {
    let mut all = String::new();
    for one in &host.forwards {
        let protocol = match one.protocol {
            ForwardProtocol::Both => "",
            ForwardProtocol::Tcp => "tcp ",
            ForwardProtocol::Udp => "udp ",
        };
        let between = if all.is_empty() { "" } else { ", " };
        // It is written to a string.
        let _ = write!(all, "{between}{protocol}{}", one.first_port);
        if one.last() > one.first_port {
            let _ = write!(all, "-{}", one.last());
        }
        if one.inside_first() != one.first_port {
            let _ = write!(all, "={}", one.inside_first());
        }
    }
    all
}

fn dynamic(ports: PortRange) -> String {
    format!("{}-{}", ports.first_port, ports.last_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn rules_are_shown_and_found_by_addresses_and_ports() {
        let text = "{static: [{inside: 10.0.0.8/30, outside: 203.0.113.8/30}], \
             port-forwarding: [{outside: 203.0.113.80, hosts: [\
               {inside: 10.0.0.5, dynamic-ports: 2000-2009, forwards: [\
                 {protocol: tcp, first-port: 80, inside-port: 8080}, \
                 {first-port: 90, last-port: 95}]}, \
               {inside: 10.0.0.6, forwards: [{protocol: udp, first-port: 53}]}]}]}";
        let config: Config = serde_saphyr::from_str(text).expect("a section");
        let addresses = Addresses::new(&config);
        let all = page(&addresses, None, (0, 10));
        assert_eq!((count(&addresses), all.entries.len(), all.next), (3, 3, None));
        assert_eq!(all.entries[0]["outside"], "203.0.113.8/30");
        assert_eq!(all.entries[1]["forwards"], "tcp 80=8080, 90-95");
        assert_eq!(all.entries[1]["dynamic-ports"], "2000-2009");
        let second = page(&addresses, None, (1, 1));
        assert_eq!((second.entries, second.next), (vec![all.entries[1].clone()], Some(2)));
        let found = |address: &str, port| {
            let sought = Sought { address: address.parse().expect("an address"), port };
            let found = page(&addresses, Some(sought), (0, 10)).entries;
            found
                .iter()
                .map(|one| one["inside"].as_str().expect("it").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found("10.0.0.11", None), ["10.0.0.8/30"]);
        assert_eq!(found("203.0.113.11", Some(7)), ["10.0.0.8/30"]);
        assert_eq!(found("203.0.113.80", None), ["10.0.0.5", "10.0.0.6"]);
        assert_eq!(found("203.0.113.80", Some(2009)), ["10.0.0.5"]);
        assert_eq!(found("203.0.113.80", Some(53)), ["10.0.0.6"]);
        assert_eq!(found("10.0.0.5", Some(8080)), ["10.0.0.5"]);
        assert_eq!(found("10.0.0.5", Some(81)), [""; 0]);
        assert_eq!(found("2001:db8::5", None), [""; 0]);
    }
}
