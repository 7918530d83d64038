//! Frames that come no further than their headers, and ARP.
use std::net::Ipv4Addr;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{frame, mend, packet, set, set_word};
use packet::PortId;
use wire::{MacAddr, arp, ethernet, icmp, protocol, tcp};

use super::build::{self, datagram, query, segment};
use super::steps::Sample;

/// Frames of others, frames of other types, questions for addresses.
pub(super) fn ethernet(sample: &mut Sample) {
    let whole = {
        let ends = [(sample.visitor(0), 4000), (sample.server(0), 53)];
        sample.framed(INSIDE, &datagram(ends[0], ends[1]))
    };
    sample.frame(INSIDE, "a frame that ends early", whole[..13].to_vec());
    for port in [INSIDE, OUTSIDE] {
        let mut other = whole.clone();
        other[5] ^= 0x40;
        sample.frame(port, "a frame for another station", other);
        let mut other = sample.framed(port, &whole[14..]);
        other[12..14].copy_from_slice(&[0x86, 0xdd]);
        sample.frame(port, "IPv6", other);
    }
    let (own, pool) = ([sample.config.inside_ip, sample.config.outside_ip], sample.places.pool);
    let request = arp::OPERATION_REQUEST;
    for (port, ip) in [(INSIDE, own[0]), (OUTSIDE, own[1]), (OUTSIDE, pool)] {
        let [mut alone, all] =
            [true, false].map(|alone| question(sample, (port, alone), request, ip));
        sample.frame(port, "ARP: who has an address of the port?", all);
        alone[ethernet::offset::SOURCE + 5] ^= 1;
        sample.frame(port, "ARP: to the port alone, by another station than the sender", alone);
    }
    for (port, ip) in [(INSIDE, own[1]), (OUTSIDE, own[0]), (INSIDE, pool)] {
        let frame = question(sample, (port, false), request, ip);
        sample.frame(port, "ARP: for an address of the other side", frame);
    }
    let reply = question(sample, (INSIDE, true), arp::OPERATION_REPLY, own[0]);
    sample.frame(INSIDE, "ARP: a reply", reply.clone());
    sample.frame(INSIDE, "ARP: cut", reply[..30].to_vec());
}

pub(super) fn question(
    sample: &Sample,
    (port, to_port): (PortId, bool),
    operation: u16,
    target_ip: Ipv4Addr,
) -> Vec<u8> {
    let plain = sample.framed(port, &[]);
    let [mut mac, mut from] = [[0; 6]; 2];
    mac.copy_from_slice(&plain[..6]);
    from.copy_from_slice(&plain[6..12]);
    let sender = MacAddr(from);
    let mut packet = [0; arp::HEADER_LEN];
    let sender_ip = Ipv4Addr::new(192, 0, 2, 200);
    arp::Fields { operation, sender_mac: sender, sender_ip, target_mac: MacAddr::ZERO, target_ip }
        .emit(&mut packet);
    let to = if to_port { MacAddr(mac) } else { MacAddr([0xff; 6]) };
    frame(to, sender, ethernet::TYPE_ARP, &packet)
}

/// IPv4 headers that are wrong, fragments, packets at their end, addresses that are no hosts'.
pub(super) fn ipv4(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(0), 4001), (sample.server(0), 53));
    let whole = datagram(visitor, server);
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut packet = whole.clone();
        change(&mut packet);
        packet
    };
    for (about, packet) in [
        ("IPv4: version 6", changed(|packet| packet[0] = 0x65)),
        ("IPv4: a header of 16 bytes", changed(|packet| set(0, 0x44)(packet))),
        ("IPv4: longer than the frame", changed(|packet| set_word(2, 900)(packet))),
        ("IPv4: shorter than its header", changed(|packet| set_word(2, 19)(packet))),
        ("IPv4: cut in its header", whole[..12].to_vec()),
        ("IPv4: a wrong checksum", changed(|packet| packet[10] ^= 1)),
        ("IPv4: the first fragment", changed(|packet| set_word(6, 0x2000)(packet))),
        ("IPv4: a later fragment", changed(|packet| set_word(6, 0x0010)(packet))),
        ("IPv4: the last hop", changed(|packet| set(8, 1)(packet))),
        ("IPv4: beyond the last hop", changed(|packet| set(8, 0)(packet))),
    ] {
        sample.inside(about, &packet);
    }
    for address in [Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(0, 0, 0, 1), Ipv4Addr::BROADCAST] {
        sample.inside("to no host", &datagram(visitor, (address, 53)));
    }
    sample.inside("to a group", &datagram(visitor, (Ipv4Addr::new(224, 0, 0, 5), 53)));
    let all = sample.places.visitors_of(sample.vlan).to_vec();
    let other = all.into_iter().find(|one| *one != sample.config.inside_ip).unwrap_or(visitor.0);
    sample.inside("to a subscriber's own address", &datagram(visitor, (other, 53)));
    let pool = sample.places.pool;
    for source in [Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(224, 0, 0, 5), visitor.0, pool] {
        sample.outside("from no host outside", &datagram((source, 53), (pool, 4000)));
    }
    if let Some(stranger) = sample.places.stranger {
        sample.inside("from no subscriber", &datagram((stranger, 4000), server));
    }
    let (inside, outside) = (sample.config.inside_ip, sample.config.outside_ip);
    sample.inside("for the inside port", &datagram(visitor, (inside, 179)));
    sample.outside("for the outside port", &datagram(server, (outside, 179)));
    let echo = icmp::v4::ECHO_REQUEST;
    sample.inside("a ping for the inside port", &query(visitor.0, inside, echo, 7));
    let other = sample.server(1);
    sample.outside("to no outside address", &datagram(server, (other, 4000)));
    let pool = sample.places.pool;
    sample.outside("to a port that nobody has", &datagram(server, (pool, 0)));
    sample.outside("a SYN to such a port", &segment(server, (pool, 9), tcp::FLAG_SYN));
}

/// Headers of UDP, TCP and ICMP that are wrong, and other protocols.
pub(super) fn transport(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(0), 4002), (sample.server(0), 53));
    let udp = datagram(visitor, server);
    let tcp = segment(visitor, server, tcp::FLAG_SYN);
    let echo = query(visitor.0, server.0, icmp::v4::ECHO_REQUEST, 7);
    let changed = |packet: &[u8], change: fn(&mut Vec<u8>)| {
        let mut packet = packet.to_vec();
        change(&mut packet);
        packet
    };
    fn cut(packet: &mut Vec<u8>) {
        packet.truncate(26);
        set_word(2, 26)(packet);
    }
    for (about, packet) in [
        ("UDP: longer than its packet", changed(&udp, |packet| packet[25] += 1)),
        ("UDP: shorter than its packet", changed(&udp, |packet| packet[25] -= 1)),
        ("UDP: cut", changed(&udp, cut)),
        ("TCP: a short header", changed(&tcp, |packet| packet[32] = 0x40)),
        ("TCP: a header longer than its packet", changed(&tcp, |packet| packet[32] = 0xf0)),
        ("TCP: cut", changed(&tcp, cut)),
        ("ICMP: a wrong checksum", changed(&echo, |packet| packet[22] ^= 1)),
        ("ICMP: cut", changed(&echo, cut)),
        ("a protocol without ports", packet(visitor.0, server.0, 47, &[0; 24])),
        ("ICMP: an answer from inside", query(visitor.0, server.0, icmp::v4::ECHO_REPLY, 7)),
        ("ICMP: a redirect", build::error(visitor.0, server.0, 5, &udp[..28])),
    ] {
        sample.inside(about, &packet);
    }
    let pool = sample.places.pool;
    sample.outside("ICMP: a ping", &query(server.0, pool, icmp::v4::ECHO_REQUEST, 7));
    sample.outside("a protocol without ports", &packet(server.0, pool, 50, &[0; 24]));
    let about = "a segment of no connection";
    sample.inside(about, &segment(visitor, server, tcp::FLAG_ACK));
    sample.inside(about, &segment(visitor, server, tcp::FLAG_SYN | tcp::FLAG_RST));
    let mut odd = udp.clone();
    odd[20] ^= 1;
    mend(&mut odd);
    sample.inside("UDP: a wrong checksum, which stays as wrong", &odd);
    assert_eq!(protocol::UDP, odd[9]);
}
