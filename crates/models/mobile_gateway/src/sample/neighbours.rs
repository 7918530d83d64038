//! Base stations and next hops without a MAC address: answers, silence, probes, and removal while
//! packets wait.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_kit::sections::{Mac, Prefixed};
use function_mobile_gateway::Update;
use function_mobile_gateway::config::{BaseStation, NextHop, Route};
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::build::{NeighbourMessage, datagram, frame, packet};
use model_kit::check::Step;
use wire::ipv6::link_local;
use wire::{MacAddr, arp, ethernet, protocol};

use super::steps::Sample;
use crate::catalogue;

/// Everything that asking can lead to, for one next hop of each version of IP.
pub(super) fn neighbours(sample: &mut Sample) {
    for hop in [IpAddr::V4(HOP), IpAddr::V6(HOP_IPV6)] {
        let prefix = Prefixed { address: IpAddr::V4(NETWORK), len: 24 };
        sample.update(Update::AddNextHop(NextHop { address: hop, mac: None, source_mac: None }));
        sample.update(Update::AddRoute(Route { prefix, next_hop: hop }));
        send(sample, "a packet to a next hop that is asked for");
        // Without pauses, in which the questions would end: the bearer's burst holds them all.
        for _ in 0..9 {
            let frame = uplink(sample);
            sample.frame_at_once(ACCESS, "one of many packets to a next hop", frame);
        }
        for (mac, about) in [
            (MacAddr([1, 0, 0, 0, 0, 1]), "an answer with the address of a group"),
            (MacAddr::ZERO, "an answer without an address"),
            (FIRST, "the answer of a next hop"),
        ] {
            answer(sample, about, hop, mac);
        }
        send(sample, "a packet to a next hop that answered");
        answer(sample, "another answer of a next hop", hop, SECOND);
        send(sample, "a packet to a next hop that has moved");
        wait(sample, 1201);
        send(sample, "a packet to a next hop that is probed");
        answer(sample, "the answer to a probe", hop, SECOND);
        questions(sample);
        wait(sample, 1201);
        (0..4).for_each(|_| wait(sample, 1));
        send(sample, "a packet to a next hop that was forgotten");
        (0..4).for_each(|_| wait(sample, 1));
        send(sample, "a packet to a next hop that did not answer");
        sample.update(Update::RemoveNextHop { address: hop });
        sample.update(Update::RemoveRoute { prefix });
        sample.update(Update::RemoveNextHop { address: hop });
        wait(sample, 5);
    }
}

/// The same for the visitor's base station, which is behind the other port.
pub(super) fn base_station(sample: &mut Sample) {
    let number = sample.visitor.base_station;
    let address = catalogue::base_station_ipv4(number);
    let said = |sample: &mut Sample, about, operation, mac| {
        let frame = arp_frame(sample, operation, address, mac);
        sample.access(about, frame);
    };
    let packet = |sample: &mut Sample, about| sample.downlink(about, |_| {});
    let (reply, request) = (arp::OPERATION_REPLY, arp::OPERATION_REQUEST);
    said(sample, "an answer of a base station that nobody asked", reply, FIRST);
    sample.update(Update::RemoveBaseStation { address });
    sample.update(Update::AddBaseStation(BaseStation { address, mac: None }));
    packet(sample, "a packet to a base station that is asked for");
    for _ in 0..9 {
        let packet = sample.make.packet(&sample.visitor, false, 100);
        let frame = sample.make.over_core(&packet);
        sample.frame_at_once(CORE, "one of many packets to a base station", frame);
    }
    let elsewhere = arp_frame(sample, reply, address, FIRST);
    sample.core("the answer of a base station at the other port", elsewhere);
    said(sample, "an answer with the address of a group", reply, MacAddr([1, 0, 0, 0, 0, 1]));
    said(sample, "the answer of a base station", reply, FIRST);
    packet(sample, "a packet to a base station that answered");
    said(sample, "a question of a base station that has moved", request, SECOND);
    packet(sample, "a packet to a base station that has moved");
    wait(sample, 1201);
    packet(sample, "a packet to a base station that is probed");
    (0..4).for_each(|_| wait(sample, 1));
    packet(sample, "a packet to a base station that was forgotten");
    sample.update(Update::RemoveBaseStation { address });
    let mac = Some(Mac(catalogue::base_station_mac(number)));
    sample.update(Update::AddBaseStation(BaseStation { address, mac }));
    packet(sample, "a packet to a base station with a configured address");
    wait(sample, 5);
}

/// Questions to the gateway, and Neighbor Discovery that is none.
fn questions(sample: &mut Sample) {
    let own = link_local(sample.config().gw_mac);
    let mac = sample.config().gw_mac;
    let moved = arp_frame(sample, arp::OPERATION_REQUEST, HOP, FIRST);
    sample.core("a question of a next hop that has moved", moved);
    send(sample, "a packet to a next hop that has asked");
    let question = |target: Ipv6Addr, kind: u8| NeighbourMessage {
        to: mac,
        from: SECOND,
        ends: [HOP_IPV6, own],
        kind,
        flags: ADVERTISED,
        target,
        options: [&[1, 1][..], &SECOND.0].concat(),
    };
    sample.core("a solicitation", question(own, 135).frame());
    sample.core("a solicitation for another", question(HOP_IPV6, 135).frame());
    sample.core("an advertisement without an address", question(HOP_IPV6, 136).frame());
    let from_access = question(own, 135).frame();
    sample.access("a solicitation from a base station", from_access);
    let elsewhere = NeighbourMessage { ends: [HOP_IPV6, HOP_IPV6], ..question(own, 135) };
    sample.core("a solicitation to another's address", elsewhere.frame());
    let others =
        NeighbourMessage { to: MacAddr([0x33, 0x33, 0xff, 9, 9, 9]), ..question(own, 135) };
    sample.core("a solicitation to another group", others.frame());
    let mut spoiled = question(own, 135).frame();
    spoiled[60] ^= 1;
    sample.core("a solicitation with a wrong checksum", spoiled);
}

fn send(sample: &mut Sample, about: &'static str) {
    let frame = uplink(sample);
    sample.access(about, frame);
}

/// A packet of the visitor by the next hop.
fn uplink(sample: &Sample) -> Vec<u8> {
    let user = sample.visitor;
    let to = Ipv4Addr::from_bits(NETWORK.to_bits() | 9);
    let packet = packet(user.ipv4, to, protocol::UDP, &datagram((40_000, 9), &[1; 40]));
    sample.make.tunnelled(&user, &packet)
}

/// A next hop says its MAC address.
fn answer(sample: &mut Sample, about: &'static str, hop: IpAddr, mac: MacAddr) {
    let frame = match hop {
        IpAddr::V4(hop) => arp_frame(sample, arp::OPERATION_REPLY, hop, mac),
        IpAddr::V6(hop) => NeighbourMessage {
            to: sample.config().gw_mac,
            from: SECOND,
            ends: [hop, link_local(sample.config().gw_mac)],
            kind: 136,
            flags: ADVERTISED,
            target: hop,
            options: [&[2, 1][..], &mac.0].concat(),
        }
        .frame(),
    };
    sample.core(about, frame);
}

fn arp_frame(sample: &Sample, operation: u16, hop: Ipv4Addr, mac: MacAddr) -> Vec<u8> {
    let (gw_mac, target_ip) = (sample.config().gw_mac, sample.config().gw_ip);
    let mut packet = [0; arp::HEADER_LEN];
    let (sender_mac, sender_ip, target_mac) = (mac, hop, gw_mac);
    arp::Fields { operation, sender_mac, sender_ip, target_mac, target_ip }.emit(&mut packet);
    // A frame whose source is no station's address tests another reason to drop it.
    let source = if mac.is_multicast() || mac == MacAddr::ZERO { SECOND } else { mac };
    frame(gw_mac, source, ethernet::TYPE_ARP, &packet)
}

fn wait(sample: &mut Sample, seconds: u64) {
    sample.steps.push(Step::Wait(Duration::from_secs(seconds)));
}

/// Next hops that no generated one is.
const HOP: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 77);
const HOP_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x77);

/// A network without a generated route.
const NETWORK: Ipv4Addr = Ipv4Addr::new(192, 88, 99, 0);

/// Flags of an advertisement that was solicited and overrides.
const ADVERTISED: u8 = 0x60;

const FIRST: MacAddr = MacAddr([0x0a, 0, 0, 0, 6, 1]);
const SECOND: MacAddr = MacAddr([0x0a, 0, 0, 0, 6, 2]);
