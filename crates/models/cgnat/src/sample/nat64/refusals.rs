//! IPv6 that comes no further than its headers, and questions for the address of the inside port.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::types::sides::INSIDE;
use model_kit::build::{frame, text};
use packet::PortId;
use wire::icmp::v6;
use wire::{MacAddr, ethernet, protocol, tcp};

use super::super::ipv6::{self, datagram, echo, extended, segment};
use super::super::steps::Sample;
use super::places::Places;

/// Questions for the address of the inside port.
pub(super) fn discovery(sample: &mut Sample, places: &Places) {
    solicitations(sample, INSIDE, [sample.config.inside_ipv6, places.visitor(0)]);
}

/// Questions for an address of a port, and for one that is another's (RFC 4861 section 7.1.1).
pub(in super::super) fn solicitations(
    sample: &mut Sample,
    port: PortId,
    [own, other]: [Ipv6Addr; 2],
) {
    let asking = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
    let group = |of: Ipv6Addr| {
        let [.., a, b, c] = of.octets();
        let last = u16::from_be_bytes([b, c]);
        (
            Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), last),
            MacAddr([0x33, 0x33, 0xff, a, b, c]),
        )
    };
    let said = [1, 1, 2, 0, 0, 0, 0, 9];
    let message = |kind: u8, code: u8, target: Ipv6Addr, options: &[u8]| {
        [&[kind, code, 0, 0, 0, 0, 0, 0][..], &target.octets(), options].concat()
    };
    let ask = |from: Ipv6Addr, to: Ipv6Addr, message: &[u8]| {
        let mut packet = ipv6::packet(from, to, protocol::ICMPV6, message);
        packet[7] = 255;
        packet
    };
    let (many, many_mac) = group(own);
    let macs = match port == INSIDE {
        true => [sample.config.inside_mac, sample.config.inside_next_hop_mac],
        false => [sample.config.outside_mac, sample.config.outside_next_hop_mac],
    };
    let [mac, from_mac] = macs.map(|mac| mac.0);
    let none = Ipv6Addr::UNSPECIFIED;
    let question = message(135, 0, own, &said);
    let mut old = ask(asking, many, &question);
    old[7] = 254;
    let mut wrong = ask(asking, many, &question);
    wrong[42] ^= 1;
    let everybody = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    for (about, to, packet) in [
        ("ND: who has the port's address?", many_mac, ask(asking, many, &question)),
        ("ND: the same to the port alone", mac, ask(asking, own, &question)),
        ("ND: the same to everybody", everybody, ask(asking, many, &question)),
        ("ND: without an Ethernet address", mac, ask(asking, own, &question[..24])),
        ("ND: is it a duplicate?", many_mac, ask(none, many, &question[..24])),
        ("ND: one that says its address too early", many_mac, ask(none, many, &question)),
        ("ND: a duplicate, asked of the port alone", mac, ask(none, own, &question[..24])),
        ("ND: for another's address", many_mac, ask(asking, many, &message(135, 0, other, &said))),
        ("ND: to another group", group(other).1, ask(asking, many, &question)),
        ("ND: from a group", many_mac, ask(many, many, &question)),
        ("ND: of another code", many_mac, ask(asking, many, &message(135, 1, own, &said))),
        ("ND: an option of no length", mac, ask(asking, own, &message(135, 0, own, &[1; 3]))),
        ("ND: an option that is cut", mac, ask(asking, own, &message(135, 0, own, &[14, 2, 0]))),
        (
            "ND: other options",
            mac,
            ask(asking, own, &message(135, 0, own, &[14, 1, 0, 0, 0, 0, 0, 0])),
        ),
        ("ND: cut", mac, ask(asking, own, &question[..20])),
        ("ND: from another link", many_mac, old),
        ("ND: a wrong checksum", many_mac, wrong),
        (
            "ND: an advertisement",
            mac,
            ask(asking, own, &message(136, 0, asking, &[2, 1, 2, 0, 0, 0, 0, 9])),
        ),
    ] {
        sample.frame(port, about, frame(to, from_mac, ethernet::TYPE_IPV6, &packet));
    }
    let packet = ask(asking, many, &message(133, 0, own, &[]));
    sample.frame(
        port,
        "a packet to a group",
        frame(many_mac, from_mac, ethernet::TYPE_IPV6, &packet),
    );
    let packet = ask(asking, many, &question);
    let other = PortId(1 - port.0);
    let frame = frame(mac, from_mac, ethernet::TYPE_IPV6, &packet);
    sample.frame(other, "ND on the side of IPv4", frame);
}

/// Headers that are wrong, or of packets that go nowhere.
pub(super) fn headers(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(0), 4000), places.end((sample.server(0), 53)));
    let whole = datagram(visitor, server, 30);
    let changed = |at: usize, value: u8| {
        let mut packet = whole.clone();
        packet[at] = value;
        packet
    };
    let own = sample.config.inside_ipv6;
    let loops = places.end((sample.server(7), 5));
    let fragment = |place: u16| {
        let [high, low] = place.to_be_bytes();
        extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, high, low, 0, 0, 9, 9])
    };
    let behind = extended(&fragment(0), protocol::IPV6_FRAGMENT, [0; 8]);
    for (about, packet) in [
        ("IPv6: version 4", changed(0, 0x45)),
        ("IPv6: longer than the frame", changed(4, 2)),
        ("IPv6: cut in its header", whole[..30].to_vec()),
        ("IPv6: the last hop", changed(7, 1)),
        ("IPv6: beyond the last hop", changed(7, 0)),
        ("IPv6: the first fragment", fragment(1)),
        ("IPv6: a later fragment", fragment(0x100)),
        ("IPv6: a fragment in a fragment", behind),
        ("IPv6: for the inside port", datagram(visitor, (own, 179), 9)),
        ("IPv6: to no IPv4 host", datagram(visitor, (places.visitor(1), 53), 9)),
        ("IPv6: from an IPv4 host", datagram(loops, server, 9)),
        ("IPv6: from the unspecified address", datagram((Ipv6Addr::UNSPECIFIED, 9), server, 9)),
        ("IPv6: from an address of IPv4 form", {
            let visitor = sample.visitor(0).to_ipv6_compatible();
            datagram((visitor, 4000), server, 9)
        }),
        (
            "IPv6: from a neighbour",
            datagram((Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9), 9), server, 9),
        ),
        ("IPv6: an extension header that is cut", {
            let mut packet = extended(&whole, protocol::IPV6_HOP_BY_HOP, [0; 8]);
            packet[41] = 200;
            packet
        }),
        ("IPv6: a way that the sender chose", {
            extended(&whole, protocol::IPV6_ROUTING, [0, 0, 0, 1, 0, 0, 0, 0])
        }),
    ] {
        sample.inside_ipv6(about, &packet);
    }
    for address in ["127.0.0.1", "0.0.0.1", "224.0.0.5", "10.0.0.1", "192.0.2.7"] {
        let address: Ipv4Addr = address.parse().unwrap_or(Ipv4Addr::BROADCAST);
        let to = places.end((address, 53));
        sample.inside_ipv6("IPv6: to a host that may not be spoken to", &datagram(visitor, to, 9));
    }
    let mut other = sample.framed_ipv6(&whole);
    other[5] ^= 0x40;
    sample.frame(INSIDE, "IPv6: for another station", other);
}

/// Headers of UDP, TCP and ICMPv6 that are wrong.
pub(super) fn transport(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(0), 4000), places.end((sample.server(0), 53)));
    let udp = datagram(visitor, server, 30);
    let tcp = segment(visitor, server, (tcp::FLAG_SYN, &[]), b"");
    let ping = echo(visitor.0, server.0, v6::ECHO_REQUEST, 7);
    let changed = |packet: &[u8], at: usize, value: u8| {
        let mut packet = packet.to_vec();
        packet[at] = value;
        packet
    };
    let of = |next: u8, payload: &[u8]| ipv6::packet(visitor.0, server.0, next, payload);
    for (about, packet) in [
        ("UDP: longer than its packet", changed(&udp, 45, udp[45] + 1)),
        ("UDP: shorter than its packet", changed(&udp, 45, udp[45] - 1)),
        ("UDP: cut", of(protocol::UDP, &[0; 7])),
        ("TCP: a short header", changed(&tcp, 52, 0x40)),
        ("TCP: a header longer than its packet", changed(&tcp, 52, 0xf0)),
        ("TCP: cut", of(protocol::TCP, &[0; 19])),
        ("ICMP: a wrong checksum", changed(&ping, 42, ping[42] ^ 1)),
        ("ICMP: cut", of(protocol::ICMPV6, &[128; 7])),
        ("ICMP: an answer from inside", echo(visitor.0, server.0, v6::ECHO_REPLY, 7)),
        ("ICMP: a question for groups", echo(visitor.0, server.0, 130, 7)),
        ("ICMP of the other version", of(protocol::ICMP, &text(20))),
        ("a protocol without ports", of(47, &text(20))),
        ("nothing behind the header", of(59, &[])),
    ] {
        sample.inside_ipv6(about, &packet);
    }
    let ack = segment(visitor, server, (tcp::FLAG_ACK, &[]), b"");
    sample.inside_ipv6("IPv6: a segment of no connection", &ack);
}
