//! IPv6 packets out of the ordinary.
use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK};
use std::net::Ipv6Addr;

use model_kit::build::packet_ipv6;
use wire::bytes::put_u16;
use wire::{ipv6, protocol};

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6, stranger_ipv6};

/// Everything that a header can say; without IPv6 in the configuration all of it has no route.
pub(super) fn ipv6(sample: &mut Sample) {
    headers(sample);
    addresses(sample);
}

/// A packet to the visitor, and what somebody did to it before.
fn send(sample: &mut Sample, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut packet = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 100);
    change(&mut packet);
    sample.packet(DOWNLINK, about, &packet);
}

fn headers(sample: &mut Sample) {
    use ipv6::offset::{HOP_LIMIT, NEXT_HEADER, PAYLOAD_LEN, VERSION_CLASS_FLOW};
    send(sample, "IPv6: a packet", |_| {});
    send(sample, "IPv6: a packet cut in its header", |packet| packet.truncate(39));
    // The type of the frame stays that of IPv6, as the rest of the first byte does.
    let mut packet = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 100);
    packet[0] = 0x70;
    let own = sample.config.mac(DOWNLINK);
    let sender = sample.sender(DOWNLINK);
    let frame = model_kit::build::frame(own, sender, wire::ethernet::TYPE_IPV6, &packet);
    sample.frame(DOWNLINK, "IPv6: a packet of version 7", frame);
    send(sample, "IPv6: traffic class and flow label", |packet| {
        packet[VERSION_CLASS_FLOW..VERSION_CLASS_FLOW + 4].copy_from_slice(&[0x6b, 0xb1, 2, 3]);
    });
    for (len, about) in [
        (61, "IPv6: a length beyond the frame"),
        (0xffff, "IPv6: the longest length"),
        (50, "IPv6: a length before the frame's end"),
        (0, "IPv6: no payload"),
    ] {
        send(sample, about, |packet| put_u16(packet, PAYLOAD_LEN, len));
    }
    for (value, about) in [
        (0, "IPv6: a hop limit of 0"),
        (1, "IPv6: a hop limit of 1"),
        (2, "IPv6: a hop limit of 2"),
        (255, "IPv6: a hop limit of 255"),
    ] {
        send(sample, about, |packet| packet[HOP_LIMIT] = value);
    }
    for (next, about) in [
        (protocol::IPV6_FRAGMENT, "IPv6: a fragment"),
        (protocol::TCP, "IPv6: TCP"),
        (253, "IPv6: an unknown protocol"),
        (protocol::IPV6_NO_NEXT_HEADER, "IPv6: no next header"),
    ] {
        send(sample, about, |packet| packet[NEXT_HEADER] = next);
    }
    for (options, about) in [
        ([5, 2, 0, 0, 1, 0], "IPv6: a router alert"),
        ([0x3e, 4, 1, 2, 3, 4], "IPv6: an option to be skipped"),
        ([0x7e, 4, 1, 2, 3, 4], "IPv6: one that says: discard"),
        ([1, 0, 0xbe, 2, 1, 2], "IPv6: one that says: tell"),
        ([0, 0, 0xfe, 2, 1, 2], "IPv6: one that says: tell, but of no group"),
        ([0x3e, 5, 1, 2, 3, 4], "IPv6: an option that is longer than its header"),
        ([1, 3, 0, 0, 0, 0x7e], "IPv6: an option without a length"),
    ] {
        send(sample, about, |packet| {
            let header = [&[packet[NEXT_HEADER], 0], &options[..]].concat();
            packet.splice(40..40, header);
            packet[NEXT_HEADER] = protocol::IPV6_HOP_BY_HOP;
            let len = packet.len() as u16 - 40;
            put_u16(packet, PAYLOAD_LEN, len);
        });
    }
    send(sample, "IPv6: hop-by-hop options that are cut", |packet| {
        packet[NEXT_HEADER] = protocol::IPV6_HOP_BY_HOP;
        packet[41] = 200;
    });
    // RFC 7045 section 2.1: what a router need not look at, it forwards.
    send(sample, "IPv6: many extension headers", |packet| {
        packet.splice(40.., [60, 0, 0, 0, 0, 0, 0, 0].repeat(40));
        packet[NEXT_HEADER] = 60;
        put_u16(packet, PAYLOAD_LEN, 320);
    });
    send(sample, "IPv6: hop-by-hop options", |packet| {
        // Six bytes of padding (RFC 8200 section 4.2).
        let options = [packet[NEXT_HEADER], 0, 1, 4, 0, 0, 0, 0];
        packet.splice(ipv6::HEADER_LEN..ipv6::HEADER_LEN, options);
        packet[NEXT_HEADER] = protocol::IPV6_HOP_BY_HOP;
        let len = (packet.len() - ipv6::HEADER_LEN) as u16;
        put_u16(packet, PAYLOAD_LEN, len);
    });
}

fn addresses(sample: &mut Sample) {
    let group = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 9);
    let link = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
    for source in [Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST, group, link] {
        let packet = packet_ipv6(source, VISITED_HOST_IPV6, 60);
        sample.packet(DOWNLINK, "IPv6: a source that no packet may have", &packet);
    }
    let to = |sample: &mut Sample, port, about, destination| {
        sample.packet(port, about, &packet_ipv6(SOURCE_IPV6, destination, 60));
    };
    for destination in [Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST, link] {
        let about = "IPv6: a destination that no packet may have";
        to(sample, DOWNLINK, about, destination);
    }
    to(sample, DOWNLINK, "IPv6: a group", group);
    to(sample, UPLINK, "IPv6: the visitor", VISITED_HOST_IPV6);
    if sample.config.ipv6 {
        for own in SIDES.map(|port| sample.config.ipv6_of(port).address) {
            to(sample, DOWNLINK, "IPv6: the router's own address", own);
        }
        let own = sample.config.ipv6_of(UPLINK).address;
        let mut dying = packet_ipv6(SOURCE_IPV6, own, 60);
        dying[ipv6::offset::HOP_LIMIT] = 1;
        sample.packet(UPLINK, "IPv6: the router's own address as the last hop", &dying);
    }
    if let Some(stranger) = stranger_ipv6(&sample.config) {
        to(sample, DOWNLINK, "IPv6: a destination without a route", stranger);
    }
    let hops: Vec<_> =
        sample.config.all_next_hops().filter_map(|(_, hop)| hop.ipv6).take(3).collect();
    for neighbour in hops {
        to(sample, DOWNLINK, "IPv6: a neighbour's own address", neighbour);
    }
}
