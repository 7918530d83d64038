//! One-to-one and port forwarding rules that come and go, and what their subscribers feel of it.
use std::net::Ipv4Addr;

use function_cgnat::config::{
    Config, Forward, ForwardProtocol, PortForwarding, PortForwardingHost, PortRange, Prefixed,
};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};

use super::build::datagram;
use super::steps::Sample;

/// All of it.
pub(super) fn rules(sample: &mut Sample) {
    one_to_one(sample);
    sample.forget();
    port_forwarding(sample);
    sample.forget();
    configured(sample);
}

/// Whether visitors get forwarded ports, and no others.
pub(super) fn has_hosts(config: &Config) -> bool {
    config.spare_addresses > 0 && !config.pools.is_empty() && config.sessions > 1
}

/// A visitor gets an address for itself, and loses it.
fn one_to_one(sample: &mut Sample) {
    let (own, peer) = ((sample.visitor(11), 5000), (sample.visitor(12), 5000));
    let (server, outside) = ((sample.server(0), 53), sample.server(OUTSIDES));
    let (inside, outside) = (host(own.0), host(outside));
    let to_it = (outside.address, own.1);
    let sent = sample.inside("before a rule comes", &datagram(own, server));
    let to_no_peer = sample.inside("a peer sends to what is no peer", &datagram(peer, to_it));
    sample.update(Update::AddStatic { inside, outside });
    sample.answer_to((OUTSIDE, sent), "an answer to what the rule ended", &datagram(server, own));
    let back = datagram(to_it, peer);
    sample.answer_to((OUTSIDE, to_no_peer), "who has become a peer answers from outside", &back);
    sample.inside("by the rule", &datagram(own, server));
    sample.outside("an answer by the rule", &datagram(server, to_it));
    sample.outside("a stranger asks by the rule", &datagram((sample.server(1), 53), to_it));
    let met = sample.inside("a peer asks by the rule", &datagram(peer, to_it));
    sample.answer_to((INSIDE, met), "and is answered", &datagram(own, peer));
    let others = [
        // As it is, for another one, for the same one, of a pool, of nobody inside, of two lengths.
        (inside, outside),
        (host(peer.0), outside),
        (inside, host(sample.server(OUTSIDES + 1))),
        (host(peer.0), host(sample.places.pool)),
        (host(sample.server(2)), host(sample.server(OUTSIDES + 1))),
        (host(peer.0), Prefixed { len: 31, ..outside }),
        (host(peer.0), host(sample.config.outside_ip)),
        (host(peer.0), host(sample.config.inside_ip)),
        (host(peer.0), host(own.0)),
    ];
    for (inside, outside) in others {
        sample.update(Update::AddStatic { inside, outside });
    }
    sample.inside("it is as it was", &datagram(own, server));
    for (inside, outside) in others.into_iter().rev() {
        // All of them but the first are none, unless the first could not be.
        sample.update(Update::RemoveStatic { inside, outside });
    }
    sample.update(Update::RemoveStatic { inside, outside });
    sample.outside("to what is no outside address any more", &datagram(server, to_it));
    sample.inside("without the rule", &datagram(own, server));
    sample.inside("to what was a peer", &datagram(peer, to_it));
    sample.update(Update::AddStatic { inside, outside });
    sample.inside("by the rule again", &datagram(own, server));
    sample.update(Update::RemoveStatic { inside, outside });
}

/// Visitors share an address by fixed ports, others then, and nobody.
fn port_forwarding(sample: &mut Sample) {
    let [one, other] = [13, 14].map(|number| sample.visitor(number));
    let (server, outside) = ((sample.server(0), 53), sample.server(OUTSIDES + 2));
    let lowest = sample.config.first_port;
    let web = |inside, first_port| PortForwardingHost {
        inside,
        forwards: vec![Forward {
            protocol: ForwardProtocol::Udp,
            first_port,
            last_port: None,
            inside_port: Some(8080),
        }],
        dynamic_ports: None,
    };
    let drawn = |inside, first_port| PortForwardingHost {
        inside,
        forwards: Vec::new(),
        dynamic_ports: Some(PortRange { first_port, last_port: first_port + 9 }),
    };
    let set = |sample: &mut Sample, hosts: &[PortForwardingHost]| {
        sample.update(Update::SetPortForwarding { outside, hosts: hosts.to_vec() });
        for port in [80, 81] {
            sample.outside("a port is asked", &datagram(server, (outside, port)));
        }
        for inside in [one, other] {
            sample.inside("a host sends from a port", &datagram((inside, 8080), server));
            sample.inside("a host sends from another one", &datagram((inside, 9000), server));
            sample.unanswerable(INSIDE, &datagram((inside, 9001), server));
        }
    };
    let sent = sample.inside("before a rule comes", &datagram((one, 9000), server));
    set(sample, &[web(one, 80), drawn(other, lowest)]);
    let back = datagram(server, (one, 9000));
    sample.answer_to((OUTSIDE, sent), "an answer to what the rule ended", &back);
    // Another port, one host more and one less, none of both, as it is.
    set(sample, &[web(one, 81), drawn(other, lowest)]);
    set(sample, &[web(one, 81), web(other, 80)]);
    set(sample, &[web(other, 80)]);
    set(sample, &[web(other, 80)]);
    // No host, two of one port, one twice, one of nobody inside, a port too low, all at once.
    set(sample, &[]);
    set(sample, &[web(one, 80), web(other, 80)]);
    set(sample, &[web(one, 80), web(one, 81)]);
    set(sample, &[web(sample.server(3), 80)]);
    set(sample, &[drawn(one, lowest - 1)]);
    set(sample, &[web(one, 0)]);
    let hosts = vec![web(other, 80)];
    let elsewhere = sample.server(OUTSIDES + 3);
    sample.update(Update::SetPortForwarding { outside: elsewhere, hosts });
    let [inside, network] = [host(other), host(elsewhere)];
    sample.update(Update::AddStatic { inside, outside: network });
    sample.update(Update::RemoveStatic { inside, outside: network });
    sample.update(Update::RemovePortForwarding { outside: elsewhere });
    sample.update(Update::RemovePortForwarding { outside });
    sample.update(Update::RemovePortForwarding { outside });
    sample.outside("nobody has the port", &datagram(server, (outside, 80)));
    sample.inside("a host sends without the rule", &datagram((other, 8080), server));
}

/// Rules of the configuration go and come back.
fn configured(sample: &mut Sample) {
    let server = (sample.server(0), 53);
    if let Some(rule) = sample.config.static_rules.first().copied() {
        let (own, outside) = (rule.inside.address, rule.outside.address);
        let ask = |sample: &mut Sample| {
            sample.inside("a subscriber of a rule", &datagram((own, 5000), server));
            sample.outside("to the address of a rule", &datagram(server, (outside, 5000)));
        };
        ask(sample);
        sample.update(Update::RemoveStatic { inside: rule.inside, outside: rule.outside });
        ask(sample);
        sample.update(Update::AddStatic { inside: rule.inside, outside: rule.outside });
        ask(sample);
    }
    if let Some(PortForwarding { outside, hosts }) = sample.config.port_forwarding.first().cloned()
    {
        let inside = hosts[0].inside;
        let ask = |sample: &mut Sample| {
            sample.inside("a host of a rule", &datagram((inside, 30_000), server));
        };
        ask(sample);
        sample.update(Update::RemovePortForwarding { outside });
        ask(sample);
        sample.update(Update::SetPortForwarding { outside, hosts });
        ask(sample);
    }
}

/// The network of one address.
fn host(address: Ipv4Addr) -> Prefixed<Ipv4Addr> {
    Prefixed { address, len: 32 }
}

/// Outside addresses of rules that come are those of hosts outside from this one on, which nobody
/// else asks.
const OUTSIDES: u32 = 50_000;
