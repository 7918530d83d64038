//! Flows to a group of next hops whose members come, change and go.
use crate::ports::{DOWNLINK, Numbered, UPLINK};
use packet::PortId;
use std::net::Ipv4Addr;

use function_l3_router::config::{Config, Mac, NextHop};
use function_l3_router::control::Update;
use model_kit::build::{datagram, packet, packet_ipv6, set_word, text};
use wire::{MacAddr, protocol};

use crate::catalogue;

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// A group that no configuration has, its routes, and changes of each kind with the flows that show
/// them.
pub(super) fn groups(sample: &mut Sample) {
    let group = sample.config.groups();
    if group == 0 || group >= sample.config.groups_max() {
        return;
    }
    lead_to(sample, catalogue::group_number(group));
    flows(sample, "a route to a group without members");
    let [first, second, third] = hops(sample);
    for (next_hop, weight) in [(first, 1), (second, 2), (third, 1)] {
        sample.update(Update::SetGroupMember { group, next_hop, weight });
        flows(sample, "members whose next hops are not there");
    }
    for (number, port) in hops(sample).into_iter().zip([UPLINK, DOWNLINK, UPLINK]) {
        sample.update(Update::SetNextHop { number, next_hop: neighbour(sample, number, port) });
        flows(sample, "a member more is there");
    }
    odd(sample);
    sample.update(Update::SetGroupMember { group, next_hop: first, weight: 5 });
    flows(sample, "a member has more weight");
    sample.update(Update::RemoveNextHop { number: second });
    flows(sample, "a member is gone");
    sample.update(Update::SetGroupMember { group, next_hop: second, weight: 3 });
    let next_hop = neighbour(sample, second, UPLINK);
    sample.update(Update::SetNextHop { number: second, next_hop });
    flows(sample, "it is back elsewhere, with another weight");
    sample.update(Update::RemoveGroupMember { group, next_hop: third });
    flows(sample, "a member less");
    refused(sample, group);
    flows(sample, "after changes that were impossible");
    lead_to(sample, sample.last_hop());
    for next_hop in [first, second] {
        sample.update(Update::RemoveGroupMember { group, next_hop });
    }
    for number in hops(sample) {
        sample.update(Update::RemoveNextHop { number });
    }
}

/// The visitor's routes lead to a next hop or group.
fn lead_to(sample: &mut Sample, next_hop: u32) {
    let prefix = sample.prefix();
    sample.update(Update::SetRoute { prefix, next_hop, vrf: 0 });
    if sample.config.ipv6 {
        let prefix = sample.prefix_ipv6();
        sample.update(Update::SetRoute { prefix, next_hop, vrf: 0 });
    }
}

/// Flows that differ in a port, of both versions of IP.
fn flows(sample: &mut Sample, about: &'static str) {
    for flow in 0..6 {
        let datagram = datagram((40_000 + flow, 9), &text(20));
        let sent = packet(sample.source(), sample.host(), protocol::UDP, &datagram);
        sample.packet(DOWNLINK, about, &sent);
    }
    if !sample.config.ipv6 {
        return;
    }
    for flow in 0..4u16 {
        let mut sent = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
        sent[40..42].copy_from_slice(&(40_000 + flow).to_be_bytes());
        sample.packet(DOWNLINK, about, &sent);
    }
}

/// Flows told by other things: addresses, protocols, fragments, extension headers, a flow label.
fn odd(sample: &mut Sample) {
    for last in 1..9 {
        let host = Ipv4Addr::from_bits(sample.network.to_bits() | last);
        let datagram = datagram((40_000, 9), &text(20));
        for number in [protocol::UDP, protocol::TCP, 132, 50] {
            let sent = packet(sample.source(), host, number, &datagram);
            sample.packet(UPLINK, "flows to several hosts", &sent);
        }
        for place in [0x2000, 5, 0x2005] {
            let mut sent = packet(sample.source(), host, protocol::UDP, &datagram);
            set_word(6, place)(&mut sent);
            sample.packet(UPLINK, "a fragment goes by its addresses", &sent);
        }
        let short = packet(sample.source(), host, protocol::UDP, &[1, 2]);
        sample.packet(UPLINK, "a packet too short for ports", &short);
    }
    if !sample.config.ipv6 {
        return;
    }
    let plain = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
    for (kind, place) in [(0u8, 0u16), (60, 0), (44, 0), (44, 8), (44, 1), (43, 0), (51, 0)] {
        let [high, low] = place.to_be_bytes();
        let extension = [plain[6], 0, high, low, 0, 0, 0, 0];
        let mut sent = [&plain[..40], &extension, &plain[40..]].concat();
        sent[6] = kind;
        let payload_len = sent.len() as u16 - 40;
        sent[4..6].copy_from_slice(&payload_len.to_be_bytes());
        sample.packet(DOWNLINK, "IPv6: a flow behind an extension header", &sent);
    }
    for label in 0..4 {
        let mut sent = plain.clone();
        sent[3] = label;
        sample.packet(DOWNLINK, "IPv6: a flow label does not count", &sent);
    }
}

fn refused(sample: &mut Sample, group: u32) {
    let first = sample.last_hop() - 100;
    let (next_hop, weight) = (hops(sample)[0], 1);
    let most = sample.config.groups_max();
    let too_many = (0..Config::MEMBERS_MAX).map(|member| Update::SetGroupMember {
        group,
        next_hop: first - member,
        weight,
    });
    too_many.for_each(|update| sample.update(update));
    for update in [
        Update::SetGroupMember { group: most, next_hop, weight },
        Update::SetGroupMember { group: u32::MAX, next_hop, weight },
        Update::SetGroupMember { group, next_hop, weight: 0 },
        Update::SetGroupMember { group, next_hop: sample.config.next_hops_max(), weight },
        Update::RemoveGroupMember { group: most, next_hop },
        Update::RemoveGroupMember { group, next_hop: hops(sample)[2] },
        Update::SetRoute {
            prefix: sample.prefix(),
            next_hop: catalogue::group_number(most),
            vrf: 0,
        },
        Update::SetNextHop {
            number: catalogue::group_number(group),
            next_hop: sample.visitor(UPLINK),
        },
        Update::RemoveNextHop { number: catalogue::group_number(group) },
    ] {
        sample.update(update);
    }
    let gone = (0..Config::MEMBERS_MAX)
        .map(|member| Update::RemoveGroupMember { group, next_hop: first - member });
    gone.for_each(|update| sample.update(update));
}

/// Of the three: neighbours with addresses that tell them apart.
fn neighbour(sample: &Sample, number: u32, port: PortId) -> NextHop {
    let mac = Mac(MacAddr([0x0a, 0, 0, 0, 9, (sample.last_hop() - number) as u8]));
    let port = sample.config.name_of(port);
    NextHop { port, vlan: None, mac, source: None, ip: None, ipv6: None, bfd: None, name: None }
}

/// Next hops that are neither configured nor come and go.
fn hops(sample: &Sample) -> [u32; 3] {
    [12, 11, 10].map(|below| sample.last_hop() - below)
}
