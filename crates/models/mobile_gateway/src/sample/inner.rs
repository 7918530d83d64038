//! The user's own packet out of the tunnel: its header, its addresses, its route.
use std::net::Ipv4Addr;

use crate::catalogue;
use wire::bytes::put_u16;
use wire::{ipv4, protocol};

use super::build::{add_options, datagram, packet, segments_with_options, set, set_word};
use super::steps::Sample;

/// IPv4 headers in the tunnel.
pub(super) fn ipv4(sample: &mut Sample) {
    use ipv4::offset::{CHECKSUM, DSCP_ECN, FLAGS_FRAGMENT, PROTOCOL, TOTAL_LEN, TTL, VERSION_IHL};
    sample.uplink("user: a packet", |_| {});
    sample.uplink("user: with a code point", set(DSCP_ECN, 0x2e << 2));
    sample.uplink("user: TCP", set(PROTOCOL, protocol::TCP));
    sample.uplink("user: ICMP", set(PROTOCOL, protocol::ICMP));
    sample.uplink("user: the first fragment", set_word(FLAGS_FRAGMENT, 0x2000));
    sample.uplink("user: the last fragment", set_word(FLAGS_FRAGMENT, 0x1fff));
    sample.uplink("user: two hops left", set(TTL, 2));
    sample.uplink("user: one hop left", set(TTL, 1));
    sample.uplink("user: no hop left", set(TTL, 0));
    sample.uplink("user: all hops left", set(TTL, 255));
    sample.uplink("user: a header alone", |packet| {
        packet.truncate(20);
        set_word(TOTAL_LEN, 20)(packet);
    });
    sample.uplink("user: bytes behind the packet", |packet| packet.extend([0; 6]));
    sample.uplink("user: version 5", set(VERSION_IHL, 0x55));
    sample.uplink("user: version 0", set(VERSION_IHL, 0x05));
    sample.uplink("user: a header of four words", set(VERSION_IHL, 0x44));
    sample.uplink("user: a header longer than the packet", |packet| {
        packet.truncate(40);
        set_word(TOTAL_LEN, 40)(packet);
        set(VERSION_IHL, 0x4f)(packet);
    });
    sample.uplink("user: a length below the header's", set_word(TOTAL_LEN, 19));
    sample.uplink("user: a length above the packet's", set_word(TOTAL_LEN, 101));
    sample.uplink("user: a length below the packet's", set_word(TOTAL_LEN, 60));
    sample.uplink("user: a wrong checksum", |packet| packet[CHECKSUM] ^= 0x40);
    sample.uplink("user: no checksum", |packet| put_u16(packet, CHECKSUM, 0));
    sample.uplink("user: options", add_options);
    sample.uplink("user: cut short", |packet| packet.truncate(19));
    sample.uplink("user: one byte", |packet| packet.truncate(1));
}

/// SYNs with a maximum segment size at any place among their options, or none, both ways.
pub(super) fn syns(sample: &mut Sample) {
    let visitor = sample.visitor;
    let server = catalogue::server_ipv4(0);
    for segment in segments_with_options() {
        let up = packet(visitor.ipv4, server, protocol::TCP, &segment);
        let frame = sample.make.tunnelled(&visitor, &up);
        sample.access("a segment with options", frame);
        let down = packet(server, visitor.ipv4, protocol::TCP, &segment);
        let frame = sample.make.over_core(&down);
        sample.core("a segment with options", frame);
    }
}

/// From whom and whereto: anti-spoofing, unknown bearers, routes.
pub(super) fn routes(sample: &mut Sample) {
    let visitor = sample.visitor;
    let server = catalogue::server_ipv4(0);
    let last = catalogue::server_ipv4(sample.config().server - 1);
    let station = catalogue::base_station_ipv4(0);
    let gateway = sample.config().gw_ip;
    let neighbour = Ipv4Addr::from_bits(visitor.ipv4.to_bits() + 1);
    let packets = [
        ("to the last server", visitor.ipv4, last),
        ("to another host of a server's network", visitor.ipv4, host(server, 254)),
        ("beside the servers' networks", visitor.ipv4, Ipv4Addr::new(2, 255, 255, 2)),
        ("without a route", visitor.ipv4, Ipv4Addr::new(9, 9, 9, 9)),
        ("to all", visitor.ipv4, Ipv4Addr::BROADCAST),
        ("to a base station", visitor.ipv4, station),
        ("to the gateway", visitor.ipv4, gateway),
        ("to a user", visitor.ipv4, catalogue::user_ipv4(0)),
        ("under a configured user's address", catalogue::user_ipv4(0), server),
        ("under a neighbour's address", neighbour, server),
        ("under no address", Ipv4Addr::UNSPECIFIED, server),
        ("under the server's address", server, server),
    ];
    for (about, from, to) in packets {
        let packet = packet(from, to, protocol::UDP, &datagram((40_000, 9), &[7; 40]));
        let frame = sample.make.tunnelled(&visitor, &packet);
        sample.access(about, frame);
    }
    for (about, teid) in [
        ("a bearer nobody has", sample.config().user + 61_000),
        ("the bearer behind the visitor's", visitor.teid + 1),
    ] {
        let stranger = catalogue::User { teid, ..visitor };
        let packet = sample.make.packet(&stranger, true, 80);
        let frame = sample.make.tunnelled(&stranger, &packet);
        sample.access(about, frame);
    }
    let from_core = sample.make.tunnelled(&visitor, &sample.make.packet(&visitor, true, 80));
    sample.core("a tunnelled packet from the Internet", from_core);
    let from_access = sample.make.over_core(&sample.make.packet(&visitor, false, 80));
    sample.access("a packet for a user from a base station", from_access);
}

fn host(network: Ipv4Addr, number: u8) -> Ipv4Addr {
    let [a, b, c, _] = network.octets();
    Ipv4Addr::new(a, b, c, number)
}
