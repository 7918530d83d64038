//! IPv6 users; without them, that IPv6 packets belong to nobody.
use std::net::Ipv6Addr;

use crate::catalogue;
use wire::bytes::put_u16;
use wire::{ipv6 as format, protocol};

use super::build::packet_ipv6;
use super::steps::Sample;

/// The same questions as for IPv4, in both directions.
pub(super) fn ipv6(sample: &mut Sample) {
    headers(sample);
    addresses(sample);
}

fn headers(sample: &mut Sample) {
    use format::offset::{HOP_LIMIT, NEXT_HEADER, PAYLOAD_LEN};
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 14] = [
        ("IPv6: a packet", |_| {}),
        ("IPv6: bytes behind the packet", |packet| packet.extend([0; 3])),
        ("IPv6: a traffic class", |packet| packet[1] |= 0xf0),
        ("IPv6: two hops left", |packet| packet[HOP_LIMIT] = 2),
        ("IPv6: one hop left", |packet| packet[HOP_LIMIT] = 1),
        ("IPv6: no hop left", |packet| packet[HOP_LIMIT] = 0),
        ("IPv6: a fragment", |packet| packet[NEXT_HEADER] = protocol::IPV6_FRAGMENT),
        ("IPv6: hop-by-hop options", |packet| packet[NEXT_HEADER] = protocol::IPV6_HOP_BY_HOP),
        ("IPv6: version 7", |packet| packet[0] = 0x75),
        ("IPv6: no content", |packet| {
            packet.truncate(40);
            put_u16(packet, PAYLOAD_LEN, 0);
        }),
        ("IPv6: a length too large", |packet| put_u16(packet, PAYLOAD_LEN, 61)),
        ("IPv6: a length too small", |packet| put_u16(packet, PAYLOAD_LEN, 59)),
        ("IPv6: the largest length", |packet| put_u16(packet, PAYLOAD_LEN, 0xffff)),
        ("IPv6: cut short", |packet| packet.truncate(39)),
    ];
    let visitor = sample.visitor;
    for (about, change) in changes {
        let mut packet = sample.make.packet_ipv6(&visitor, true, 100);
        change(&mut packet);
        let frame = sample.make.tunnelled(&visitor, &packet);
        sample.access(about, frame);
        let mut packet = sample.make.packet_ipv6(&visitor, false, 100);
        change(&mut packet);
        let frame = sample.make.over_core(&packet);
        sample.core(about, frame);
    }
}

fn addresses(sample: &mut Sample) {
    let visitor = sample.visitor;
    let user = |interface: u64| catalogue::ipv6_host(visitor.ipv6_prefix, interface);
    let server = catalogue::ipv6_host(catalogue::server_ipv6_prefix(0), 2);
    let nowhere = Ipv6Addr::new(0x3fff, 0xfff, 0, 0, 0, 0, 0, 1);
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let packets = [
        ("IPv6: from any address of the prefix", user(u64::MAX), server),
        ("IPv6: without a route", user(1), nowhere),
        ("IPv6: to a user", user(1), user(2)),
        (
            "IPv6: under a neighbour's prefix",
            Ipv6Addr::from_bits(user(1).to_bits() + (1 << 64)),
            server,
        ),
        ("IPv6: under no address", Ipv6Addr::UNSPECIFIED, server),
        ("IPv6: router solicitation", link_local, routers),
        ("IPv6: under the server's address", server, server),
    ];
    for (about, from, to) in packets {
        let frame = sample.make.tunnelled(&visitor, &packet_ipv6(from, to, 80));
        sample.access(about, frame);
    }
    let configured = catalogue::user(0, sample.config().bst).ipv6_prefix;
    for (about, to) in [
        ("IPv6: for any address of the prefix", user(u64::MAX)),
        ("IPv6: for a configured user", catalogue::ipv6_host(configured, 1)),
        ("IPv6: for nobody", nowhere),
        ("IPv6: for address zero", Ipv6Addr::UNSPECIFIED),
        ("IPv6: for all routers", routers),
    ] {
        let frame = sample.make.over_core(&packet_ipv6(server, to, 80));
        sample.core(about, frame);
    }
}
