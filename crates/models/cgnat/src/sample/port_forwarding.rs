//! Hosts that share an outside address by fixed ports: packets to those ports and from them, and
//! what becomes of a host's other ports.
use std::net::Ipv4Addr;

use function_cgnat::config::{Config, Forward, PortForwarding, PortForwardingHost};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use wire::{icmp, protocol, tcp};

use super::build::{self, End, datagram, query, segment};
use super::fragments::in_pieces;
use super::limits::without_limit;
use super::reach::FILL_MAX;
use super::steps::Sample;

/// All of it, for some hosts.
pub(super) fn port_forwarding(sample: &mut Sample) {
    let rules = sample.config.port_forwarding.clone();
    for rule in rules.iter().take(RULES) {
        for host in rule.hosts.iter().take(HOSTS) {
            for forward in host.forwards.iter().take(FORWARDS) {
                for &number in forward.protocol.numbers() {
                    for offset in [0, forward.last() - forward.first_port] {
                        let own = (host.inside, forward.inside_first() + offset);
                        let outside = (rule.outside, forward.first_port + offset);
                        forwarded(sample, number, own, outside);
                    }
                }
                wrong_protocol(sample, rule.outside, forward);
            }
            other_ports(sample, host, rule.outside);
            in_vrfs(sample, host);
        }
        nobodys_ports(sample, rule);
        neighbours(sample, rule);
    }
    exhaustion(sample);
}

/// Whether some host runs out of ports in a sample.
pub(super) fn is_exhaustible(config: &Config) -> bool {
    hosts(config).any(|(_, host)| host.dynamic_ports.is_none() || fillable(config, host).is_some())
}

/// A packet of a protocol that begins something.
fn first(number: u8, from: End, to: End) -> Vec<u8> {
    match number {
        protocol::TCP => segment(from, to, tcp::FLAG_SYN),
        _ => datagram(from, to),
    }
}

/// Its answer.
fn second(number: u8, from: End, to: End) -> Vec<u8> {
    match number {
        protocol::TCP => segment(from, to, tcp::FLAG_SYN | tcp::FLAG_ACK),
        _ => datagram(from, to),
    }
}

/// A forwarded port is asked, answers, asks by itself, and hears of errors; a peer inside asks it,
/// too.
fn forwarded(sample: &mut Sample, number: u8, own: End, outside: End) {
    let [one, other] = [(sample.server(0), 4000), (sample.server(1), 4001)];
    sample.outside("one to many: a forwarded port is asked", &first(number, one, outside));
    sample.inside("one to many: it answers", &second(number, own, one));
    let asked = first(number, one, own);
    let error = build::error(own.0, one.0, icmp::v4::UNREACHABLE, &asked[..28]);
    sample.inside("one to many: it does not want that", &error);
    sample.inside("one to many: it asks by itself", &first(number, own, other));
    let left = first(number, outside, other);
    let error = build::error(sample.server(9), outside.0, icmp::v4::TIME_EXCEEDED, &left[..28]);
    sample.outside("one to many: an error about that", &error);
    sample.outside("one to many: an answer to that", &second(number, other, outside));
    let peer = (sample.visitor(3), 7000);
    sample.inside("one to many: a peer asks it", &first(number, peer, outside));
    let known = sample.inside("one to many: a peer is known", &datagram(peer, other));
    let to_peer = datagram(own, other);
    sample.answer_to((INSIDE, known), "one to many: it asks the peer", &to_peer);
    sample.inside("one to many: it asks itself", &first(number, own, outside));
    if number == protocol::UDP {
        for piece in in_pieces(&datagram((sample.server(2), 4002), outside), 21) {
            sample.outside("one to many: a forwarded port is asked in pieces", &piece);
        }
    }
}

/// The ports of a forward by a protocol that it is not for.
fn wrong_protocol(sample: &mut Sample, outside: Ipv4Addr, forward: &Forward) {
    let from = (sample.server(0), 4100);
    for number in [protocol::TCP, protocol::UDP] {
        if !forward.protocol.numbers().contains(&number) {
            let packet = first(number, from, (outside, forward.first_port));
            sample.outside("one to many: a port of another protocol", &packet);
        }
    }
    let ping = query(from.0, outside, icmp::v4::ECHO_REQUEST, forward.first_port);
    sample.outside("one to many: a ping under the number of a forwarded port", &ping);
}

/// Packets from ports that are not forwarded, and pings.
fn other_ports(sample: &mut Sample, host: &PortForwardingHost, outside: Ipv4Addr) {
    let server = (sample.server(0), 53);
    let own = (host.inside, unforwarded(host, 30_000));
    let sent = sample.inside("one to many: another port asks", &datagram(own, server));
    sample.unanswerable(INSIDE, &datagram(own, server));
    sample.answer_to((OUTSIDE, sent), "one to many: and is answered", &datagram(server, own));
    let stranger = datagram((sample.server(5), 4200), own);
    sample.answer_to((OUTSIDE, sent), "one to many: it is asked by another", &stranger);
    let (asked, answered) = (icmp::v4::ECHO_REQUEST, icmp::v4::ECHO_REPLY);
    let ping = query(host.inside, server.0, asked, own.1);
    let pinged = sample.inside("one to many: a host pings", &ping);
    let reply = query(server.0, host.inside, answered, 0);
    sample.answer_to((OUTSIDE, pinged), "one to many: it is answered", &reply);
    let error = build::error(sample.server(9), outside, icmp::v4::TIME_EXCEEDED, &ping[..28]);
    let parts = vec![(pinged, (26, 4, 30)), (pinged, (14, 28, 42))];
    sample.answer(OUTSIDE, "one to many: an error about its ping", &error, parts);
    sample.update(Update::ClearSubscriber { address: host.inside.into(), vlan: 0 });
    sample.answer_to((OUTSIDE, sent), "one to many: after it is cleared", &datagram(server, own));
    sample.inside("one to many: another port asks again", &datagram(own, server));
}

/// Ports of the outside address that no host has.
fn nobodys_ports(sample: &mut Sample, rule: &PortForwarding) {
    let is_free = |port: &u16| {
        rule.hosts.iter().all(|host| {
            let dynamic = host.dynamic_ports.as_ref();
            let in_dynamic =
                dynamic.is_some_and(|all| (all.first_port..=all.last_port).contains(port));
            !in_dynamic
                && !host.forwards.iter().any(|one| (one.first_port..=one.last()).contains(port))
        })
    };
    let free = (1..=u16::MAX).find(is_free);
    let from = (sample.server(0), 4300);
    for port in [Some(0), free].into_iter().flatten() {
        for number in [protocol::TCP, protocol::UDP] {
            let packet = first(number, from, (rule.outside, port));
            sample.outside("one to many: a port of nobody", &packet);
        }
        let packet = datagram((sample.visitor(4), 7100), (rule.outside, port));
        sample.inside("one to many: a peer asks a port of nobody", &packet);
    }
}

/// Hosts of one address reach one another by it.
fn neighbours(sample: &mut Sample, rule: &PortForwarding) {
    for asker in rule.hosts.iter().take(HOSTS) {
        for asked in rule.hosts.iter().take(HOSTS) {
            let Some(forward) = asked.forwards.first() else { continue };
            let to = (rule.outside, forward.first_port);
            let own = asker.forwards.first().map(|forward| forward.inside_first());
            let ports = [own, Some(unforwarded(asker, 31_000))];
            for port in ports.into_iter().flatten() {
                for number in [protocol::TCP, protocol::UDP] {
                    let packet = first(number, (asker.inside, port), to);
                    sample.inside("one to many: a neighbour asks", &packet);
                }
            }
        }
    }
}

/// The address of a host in other realms, where it is somebody else.
fn in_vrfs(sample: &mut Sample, host: &PortForwardingHost) {
    for vlan in sample.places.vlans() {
        sample.vlan = vlan;
        let own = (host.inside, host.forwards.first().map_or(30_000, Forward::inside_first));
        let server = (sample.server(0), 53);
        let sent = sample.inside("one to many: its address in a VRF", &datagram(own, server));
        sample.answer_to((OUTSIDE, sent), "one to many: which is answered", &datagram(server, own));
        sample.vlan = 0;
    }
}

/// A host uses up its ports.
fn exhaustion(sample: &mut Sample) {
    let config = sample.config.clone();
    let mut fillable =
        hosts(&config).filter_map(|(rule, host)| Some((rule, host, fillable(&config, host)?)));
    let Some((rule, host, count)) = fillable.next() else { return };
    let server = (sample.server(0), 53);
    sample.forget();
    without_limit(sample, |sample| {
        let first_port = unforwarded(host, 20_000);
        for port in first_port..=first_port + count {
            let packet = datagram((host.inside, port), server);
            sample.inside("one to many: one more mapping", &packet);
        }
        let last = datagram((host.inside, first_port + count), server);
        sample.unanswerable(INSIDE, &last);
        sample
            .inside("one to many: one that is there", &datagram((host.inside, first_port), server));
        if let Some(forward) = host.forwards.first() {
            let number = forward.protocol.numbers()[0];
            let packet = first(number, (host.inside, forward.inside_first()), server);
            sample.inside("one to many: a forwarded port all the same", &packet);
            let packet = first(number, server, (rule.outside, forward.first_port));
            sample.outside("one to many: and from outside", &packet);
        }
    });
}

/// How many ports a host uses up, where a sample has as many and they are not in the way of its
/// forwarded ones.
fn fillable(config: &Config, host: &PortForwardingHost) -> Option<u16> {
    let ports = host.dynamic_ports?;
    let count = ports.last_port - ports.first_port + 1;
    let room = config.sessions.min(config.mapping_capacity());
    (u32::from(count) <= FILL_MAX && u32::from(count) < room).then_some(count)
}

/// The first of so many ports of a host, from one on, that are not forwarded.
fn unforwarded(host: &PortForwardingHost, from: u16) -> u16 {
    let is_forwarded = |port: u16| {
        host.forwards.iter().any(|forward| {
            let offset = port.wrapping_sub(forward.inside_first());
            offset <= forward.last() - forward.first_port
        })
    };
    let is_clear = |port: &u16| (*port..=*port + FILL_MAX as u16).all(|port| !is_forwarded(port));
    (from..=u16::MAX - FILL_MAX as u16).find(is_clear).unwrap_or(from)
}

fn hosts(config: &Config) -> impl Iterator<Item = (&PortForwarding, &PortForwardingHost)> {
    config.port_forwarding.iter().flat_map(|rule| rule.hosts.iter().map(move |host| (rule, host)))
}

/// Outside addresses, hosts of each and forwards of each that a sample has.
const RULES: usize = 2;
const HOSTS: usize = 3;
const FORWARDS: usize = 3;
