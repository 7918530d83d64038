//! Neighbours that are asked for: answers, silence, and what others say of themselves.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Config, Mac, NextHop, Resolved};
use function_l3_router::control::Update;
use model_kit::build::{
    NeighbourMessage, datagram, frame, packet, packet_ipv6, packet_ipv6_with, text,
};
use model_kit::check::Step;
use stages::nd;
use wire::bytes::put_u16;
use wire::{MacAddr, arp, ethernet, icmp, protocol};

use super::interfaces::tagged;
use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};
use crate::ports::{DOWNLINK, Numbered, UPLINK};

/// Everything that asking and being asked can lead to.
pub(super) fn neighbours(sample: &mut Sample) {
    let all = sample.config.all_interfaces();
    let tagged = all.iter().find(|one| one.vlan > 0 && one.vrf == 0 && one.ip.is_some());
    for own in [Some(&all[0]), tagged].into_iter().flatten() {
        answers(sample, own);
        silence(sample, own);
        probes(sample, own);
        if own.ipv6.is_some() {
            answers_ipv6(sample, own);
            questions(sample, own);
            on_link(sample, own);
            solicitations(sample, own);
        }
    }
    next_hop(sample, &all[1]);
    too_many(sample, &all[0]);
    outlive(sample);
}

/// Drop reasons that the sample cannot reach, each with the cause.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let asks = config.resolve;
    let why = "neighbours are not asked for";
    let many = "the cache has room for more neighbours than a sample has";
    let all = [
        ("awaiting-neighbour", asks, why),
        ("unresolved", asks, why),
        ("pending-full", asks, why),
        ("neighbours-full", asks && config.neighbour_capacity <= MANY, many),
        ("neighbour-heard", asks, why),
        ("directed-broadcast", asks && has_hosts(config), why),
        ("router-solicitation", !config.advertise.is_empty(), "no router is advertised"),
        ("nd-ignored", asks && config.ipv6, "no Neighbor Discovery is read"),
    ];
    all.into_iter().filter(|(_, reached, _)| !reached).map(|(name, _, why)| (name, why)).collect()
}

/// Whether the second port's link has an address for all hosts.
fn has_hosts(config: &Config) -> bool {
    (1..31).contains(&config.ip(UPLINK).len)
}

fn wait(sample: &mut Sample, seconds: u64) {
    for _ in 0..seconds.min(8) {
        sample.steps.push(Step::Wait(Duration::from_secs(1)));
    }
    sample.steps.push(Step::Wait(Duration::from_secs(seconds.saturating_sub(8))));
}

/// Until all neighbours are forgotten: their answers are old, and nobody answers a probe.
fn outlive(sample: &mut Sample) {
    wait(sample, u64::from(sample.config.neighbour_lifetime_s) + 1);
    wait(sample, 5);
}

/// An address on the link that no next hop has.
fn host(sample: &Sample, own: &Resolved, number: u32) -> Option<Ipv4Addr> {
    let ip = own.ip?;
    let mask = u32::MAX.checked_shl(32 - u32::from(ip.len)).unwrap_or(0);
    let free = |host: &Ipv4Addr| {
        *host != ip.address && !sample.config.all_next_hops().any(|(_, hop)| hop.ip == Some(*host))
    };
    let last = ip.address.to_bits() | !mask;
    let hosts = (1..200).map(|below| Ipv4Addr::from_bits((last - below) & !mask | last & mask));
    hosts.filter(free).nth(number as usize)
}

fn host_ipv6(own: &Resolved, number: u128) -> Option<Ipv6Addr> {
    let ip = own.ipv6.filter(|ip| ip.len < 120)?;
    Some(Ipv6Addr::from_bits(ip.address.to_bits() ^ (0x9000 + number)))
}

fn send(sample: &mut Sample, about: &'static str, to: Ipv4Addr, len: usize) {
    let payload = datagram((40_000, 9), &text(len));
    let one = packet(sample.source(), to, protocol::UDP, &payload);
    sample.packet(DOWNLINK, about, &one);
}

pub(super) fn arp_frame(
    own: &Resolved,
    operation: u16,
    (mac, ip): (MacAddr, Ipv4Addr),
    to_all: bool,
) -> Vec<u8> {
    let target_ip = own.ip.map_or(Ipv4Addr::UNSPECIFIED, |ip| ip.address);
    let mut packet = [0; arp::HEADER_LEN];
    let target_mac = own.mac.0;
    arp::Fields { operation, sender_mac: mac, sender_ip: ip, target_mac, target_ip }
        .emit(&mut packet);
    let to = if to_all { MacAddr::BROADCAST } else { own.mac.0 };
    frame(to, NEIGHBOUR, ethernet::TYPE_ARP, &packet)
}

fn hear(sample: &mut Sample, own: &Resolved, about: &'static str, whole: Vec<u8>) {
    let whole = if own.vlan > 0 { tagged(whole, own.vlan) } else { whole };
    sample.frame(own.port, about, whole);
}

fn answers(sample: &mut Sample, own: &Resolved) {
    let Some(to) = host(sample, own, 0) else { return };
    let [first, second] = [1, 2].map(|last| MacAddr([0x0a, 0, 0, 0, 6, last]));
    for len in 0..10 {
        send(sample, "a packet to a host that is asked for", to, 20 + len);
    }
    let reply = arp::OPERATION_REPLY;
    for (mac, about) in [
        (MacAddr([1, 0, 0, 0, 0, 1]), "an answer with the address of a group"),
        (MacAddr::ZERO, "an answer without an address"),
    ] {
        hear(sample, own, about, arp_frame(own, reply, (mac, to), false));
    }
    hear(sample, own, "the answer", arp_frame(own, reply, (first, to), false));
    send(sample, "a packet to a host that answered", to, 40);
    let moved = arp_frame(own, arp::OPERATION_REQUEST, (second, to), true);
    hear(sample, own, "a question of a host that has moved", moved);
    send(sample, "a packet to a host that has moved", to, 40);
    let told = arp_frame(own, reply, (first, to), true);
    hear(sample, own, "an answer to all of a host that is known", told);
    send(sample, "a packet to a host that has told all", to, 41);
    if let Some(stranger) = host(sample, own, 1) {
        let told = arp_frame(own, reply, (first, stranger), true);
        hear(sample, own, "an answer to all of a host that nobody asked for", told);
    }
}

/// Three questions, a second apart, and nobody answers.
fn silence(sample: &mut Sample, own: &Resolved) {
    let Some(to) = host(sample, own, 2) else { return };
    send(sample, "a packet to a host that is silent", to, 40);
    wait(sample, 1);
    send(sample, "a second packet to a host that is silent", to, 41);
    wait(sample, 4);
    send(sample, "a packet to a host that was given up", to, 42);
    wait(sample, 4);
}

/// An old answer is good until three probes had none.
fn probes(sample: &mut Sample, own: &Resolved) {
    let Some(to) = host(sample, own, 4) else { return };
    let mac = MacAddr([0x0a, 0, 0, 0, 6, 4]);
    let reply = || arp_frame(own, arp::OPERATION_REPLY, (mac, to), false);
    send(sample, "a packet to a host that will be probed", to, 40);
    hear(sample, own, "the answer of a host that will be probed", reply());
    for about in ["a packet to a host that is probed", "a packet to a host that is probed again"] {
        wait(sample, u64::from(sample.config.neighbour_lifetime_s) + 1);
        send(sample, about, to, 41);
        hear(sample, own, "the answer to a probe", reply());
    }
    outlive(sample);
    send(sample, "a packet to a host that answered no probe", to, 42);
    wait(sample, 5);
}

fn advertisement(own: &Resolved, target: Ipv6Addr, mac: MacAddr) -> NeighbourMessage {
    let address = own.ipv6.map_or(Ipv6Addr::UNSPECIFIED, |ip| ip.address);
    let options = [&[2, 1][..], &mac.0].concat();
    let (to, from) = (own.mac.0, NEIGHBOUR);
    NeighbourMessage { to, from, ends: [target, address], kind: 136, flags: 0x60, target, options }
}

fn answers_ipv6(sample: &mut Sample, own: &Resolved) {
    let (Some(to), Some(other)) = (host_ipv6(own, 1), host_ipv6(own, 2)) else { return };
    let [first, second] = [1, 2].map(|last| MacAddr([0x0a, 0, 0, 0, 7, last]));
    let send = |sample: &mut Sample, about, len| {
        sample.packet(DOWNLINK, about, &packet_ipv6(SOURCE_IPV6, to, len));
    };
    for len in 60..63 {
        send(sample, "IPv6: a packet to a host that is asked for", len);
    }
    let whole = || advertisement(own, to, first);
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let to_all =
        |one: NeighbourMessage| NeighbourMessage { to: nd::mac_of(all), ends: [to, all], ..one };
    for (about, one) in [
        ("an answer without option", NeighbourMessage { options: Vec::new(), ..whole() }),
        (
            "an answer with a broken option",
            NeighbourMessage { options: vec![2, 0, 0, 0], ..whole() },
        ),
        (
            "an answer with an option that is cut",
            NeighbourMessage { options: vec![2, 1, 0], ..whole() },
        ),
        ("an answer for a group", NeighbourMessage { target: all, ..whole() }),
        ("an answer of another", NeighbourMessage { target: other, ..whole() }),
        ("an answer to all that says it was asked for", to_all(whole())),
        ("an answer to another station", NeighbourMessage { to: first, ..whole() }),
    ] {
        hear(sample, own, about, one.frame());
    }
    for (about, at, value) in [
        ("an answer that was forwarded", 21, 254),
        ("an answer with a code", 55, 1),
        ("an answer with a wrong checksum", 57, 0x5a),
    ] {
        let mut spoiled = whole().frame();
        spoiled[at] = value;
        hear(sample, own, about, spoiled);
    }
    let twice = [&[14, 1, 0, 0, 0, 0, 0, 0, 2, 1][..], &first.0].concat();
    let answer = NeighbourMessage { options: twice, ..whole() };
    hear(sample, own, "IPv6: the answer", answer.frame());
    send(sample, "IPv6: a packet to a host that answered", 64);
    let moved = |flags| to_all(NeighbourMessage { flags, ..advertisement(own, to, second) });
    hear(sample, own, "IPv6: an address that does not take the place", moved(0).frame());
    send(sample, "IPv6: a packet to a host that did not move", 65);
    hear(sample, own, "IPv6: an address that takes the place", moved(0x20).frame());
    send(sample, "IPv6: a packet to a host that has moved", 66);
}

/// Questions for the interface's own address.
fn questions(sample: &mut Sample, own: &Resolved) {
    let Some(ip) = own.ipv6 else { return };
    let group = nd::group_of(ip.address);
    let asking = host_ipv6(own, 1).unwrap_or(SOURCE_IPV6);
    let mac = MacAddr([0x0a, 0, 0, 0, 7, 9]);
    let whole = || NeighbourMessage {
        to: nd::mac_of(group),
        from: NEIGHBOUR,
        ends: [asking, group],
        kind: 135,
        flags: 0,
        target: ip.address,
        options: [&[1, 1][..], &mac.0].concat(),
    };
    let nobody = Ipv6Addr::UNSPECIFIED;
    let near = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
    let alone = || NeighbourMessage { options: Vec::new(), ends: [nobody, group], ..whole() };
    for (about, one) in [
        ("a question for the router", whole()),
        ("a question of a link-local address", NeighbourMessage { ends: [near, group], ..whole() }),
        ("a question without option", NeighbourMessage { options: Vec::new(), ..whole() }),
        (
            "a question to the router alone",
            NeighbourMessage { to: own.mac.0, ends: [asking, ip.address], ..whole() },
        ),
        ("a question whether an address is free", alone()),
        ("the same with an option", NeighbourMessage { ends: [nobody, group], ..whole() }),
        (
            "the same to the router alone",
            NeighbourMessage { ends: [nobody, ip.address], ..alone() },
        ),
        ("a question for another", NeighbourMessage { target: asking, ..whole() }),
        (
            "a question to another group",
            NeighbourMessage { to: MacAddr([0x33, 0x33, 0xff, 1, 2, 3]), ..whole() },
        ),
        ("a question from a group", NeighbourMessage { ends: [group, group], ..whole() }),
    ] {
        hear(sample, own, about, one.frame());
    }
    let mut short = whole().frame();
    short.truncate(70);
    put_u16(&mut short, 18, 16);
    hear(sample, own, "a question that is cut", short);
}

/// Questions and packets for the address that an interface has on its link alone.
fn on_link(sample: &mut Sample, own: &Resolved) {
    let address = nd::link_local(own.mac.0);
    let near = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
    let group = nd::group_of(address);
    let mac = MacAddr([0x0a, 0, 0, 0, 7, 9]);
    let question = NeighbourMessage {
        to: nd::mac_of(group),
        from: NEIGHBOUR,
        ends: [near, group],
        kind: 135,
        flags: 0,
        target: address,
        options: [&[1, 1][..], &mac.0].concat(),
    };
    hear(sample, own, "a question for the link-local address", question.frame());
    let far = Ipv6Addr::UNSPECIFIED;
    for from in [near, SOURCE_IPV6, far] {
        let mut echo = [&[128, 0, 0, 0, 0, 7, 0, 1][..], &text(20)].concat();
        let sum = icmp::checksum_ipv6(from, address, &echo);
        put_u16(&mut echo, 2, sum);
        let ping = packet_ipv6_with(from, address, protocol::ICMPV6, &echo);
        for whole in [ping, packet_ipv6(from, address, 60)] {
            let whole = frame(own.mac.0, NEIGHBOUR, ethernet::TYPE_IPV6, &whole);
            hear(sample, own, "a packet for the link-local address", whole);
        }
    }
}

/// Hosts ask who is a router.
fn solicitations(sample: &mut Sample, own: &Resolved) {
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let (near, mac) = (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9), NEIGHBOUR);
    let said = [&[1, 1][..], &mac.0].concat();
    let ask = |from: Ipv6Addr, to: MacAddr, options: &[u8]| {
        let mut message = [&[133, 0, 0, 0, 0, 0, 0, 0][..], options].concat();
        let sum = icmp::checksum_ipv6(from, routers, &message);
        put_u16(&mut message, 2, sum);
        let mut packet = packet_ipv6_with(from, routers, protocol::ICMPV6, &message);
        packet[7] = 255;
        frame(to, NEIGHBOUR, ethernet::TYPE_IPV6, &packet)
    };
    let group = nd::mac_of(routers);
    let mut afar = ask(near, group, &said);
    afar[21] = 254;
    for (about, whole) in [
        ("a host asks for routers", ask(near, group, &said)),
        ("it asks once more", ask(near, group, &[])),
        ("it asks the router alone", ask(near, own.mac.0, &said)),
        ("a host without address asks", ask(Ipv6Addr::UNSPECIFIED, group, &[])),
        ("the same with an option", ask(Ipv6Addr::UNSPECIFIED, group, &said)),
        ("an option without length", ask(near, group, &[1, 0, 0, 0, 0, 0, 0, 0])),
        ("a group asks", ask(routers, group, &[])),
        ("another router is asked", ask(near, NEIGHBOUR, &[])),
        ("who asks is not on the link", afar),
    ] {
        hear(sample, own, about, whole);
    }
    wait(sample, 4);
}

/// A next hop without an Ethernet address.
fn next_hop(sample: &mut Sample, own: &Resolved) {
    let Some(ip) = host(sample, own, 3) else { return };
    let asked = NextHop {
        port: sample.config.name_of(own.port),
        vlan: None,
        mac: Mac(MacAddr::ZERO),
        source: None,
        ip: Some(ip),
        ipv6: None,
        bfd: None,
        name: None,
    };
    let visit = |sample: &mut Sample, about| {
        let to = sample.host();
        send(sample, about, to, 50);
        if sample.config.ipv6 {
            let one = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
            sample.packet(DOWNLINK, about, &one);
        }
    };
    let number = sample.last_hop();
    let set = |next_hop| Update::SetNextHop { number, next_hop };
    sample.update(set(NextHop { ip: None, ..asked }));
    sample.update(set(asked));
    visit(sample, "a packet to a next hop that is asked for");
    sample.update(Update::RemoveNextHop { number: sample.last_hop() });
    visit(sample, "a packet to a next hop that is gone");
    sample.update(set(asked));
    visit(sample, "a packet to a next hop that is asked for again");
    let mac = MacAddr([0x0a, 0, 0, 0, 8, 1]);
    let reply = arp_frame(own, arp::OPERATION_REPLY, (mac, ip), false);
    hear(sample, own, "the answer of a next hop", reply);
    visit(sample, "a packet to a next hop that answered");
    send(sample, "a packet to a next hop's own address", ip, 40);
    let source = Some(Mac(MacAddr([0x0a, 0, 0, 0, 8, 2])));
    sample.update(set(NextHop { source, ..asked }));
    visit(sample, "a packet to a next hop that is another now");
    wait(sample, 5);
    let visitor = sample.visitor(UPLINK);
    sample.update(set(visitor));
    visit(sample, "a packet to a next hop that needs no asking");
}

/// More hosts than the cache has room for.
fn too_many(sample: &mut Sample, own: &Resolved) {
    outlive(sample);
    for number in 0..MANY + 2 {
        let Some(to) = host(sample, own, number) else { break };
        send(sample, "a packet to one of many hosts", to, 30);
    }
    wait(sample, 5);
}

/// Source of all frames that neighbours send.
const NEIGHBOUR: MacAddr = MacAddr([0x0a, 0, 0, 0, 5, 5]);

/// More than a small cache has room for.
const MANY: u32 = 64;
