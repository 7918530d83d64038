//! Packets to destinations to which nothing is translated, and from there.
use std::net::Ipv4Addr;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{add_options, packet, set, text};
use wire::{icmp, protocol, tcp};

use super::build::{self, datagram, datagram_of, query, segment};
use super::fragments::in_pieces;
use super::steps::Sample;

/// All of it, for some networks.
pub(super) fn bypass(sample: &mut Sample) {
    for network in sample.config.bypass.clone().iter().take(NETWORKS) {
        let hosts = u32::MAX.checked_shr(u32::from(network.len)).unwrap_or(0);
        let first = network.address.to_bits() & !hosts;
        for host in [first, first | hosts] {
            both_ways(sample, Ipv4Addr::from_bits(host));
        }
        beside(sample, Ipv4Addr::from_bits(first));
    }
}

/// Packets of every kind to a host, and the same back.
fn both_ways(sample: &mut Sample, host: Ipv4Addr) {
    let (visitor, server) = ((sample.visitor(0), 5000), (host, 53));
    let (asked, answered) = (icmp::v4::ECHO_REQUEST, icmp::v4::ECHO_REPLY);
    let gre = |from, to| packet(from, to, protocol::GRE, &text(30));
    let mut options = [datagram(visitor, server), datagram(server, visitor)];
    options.iter_mut().for_each(add_options);
    let [to, back] = options;
    let syn = tcp::FLAG_SYN;
    let ways = [
        (datagram(visitor, server), datagram(server, visitor)),
        (segment(visitor, server, syn), segment(server, visitor, syn | tcp::FLAG_ACK)),
        (segment(visitor, server, tcp::FLAG_ACK), segment(server, visitor, tcp::FLAG_RST)),
        (query(visitor.0, host, asked, 7), query(host, visitor.0, answered, 7)),
        (gre(visitor.0, host), gre(host, visitor.0)),
        (to, back),
    ];
    for (out, back) in &ways {
        sample.inside("bypass: a subscriber sends", out);
        sample.outside("bypass: the other end sends", back);
        let error = build::error(sample.server(9), visitor.0, icmp::v4::TIME_EXCEEDED, &out[..28]);
        sample.outside("bypass: a router tells of it", &error);
        let error = build::error(visitor.0, host, icmp::v4::UNREACHABLE, &back[..28]);
        sample.inside("bypass: a subscriber does not want it", &error);
        for hops in [0, 1, 2] {
            for (port, packet) in [(INSIDE, out), (OUTSIDE, back)] {
                let mut last = packet.clone();
                set(8, hops)(&mut last);
                let frame = sample.framed(port, &last);
                sample.frame(port, "bypass: few hops left", frame);
                sample.unanswerable(port, &last);
            }
        }
    }
    for piece in in_pieces(&datagram_of(visitor, server, 100), 77) {
        sample.inside("bypass: a piece", &piece);
    }
    for piece in in_pieces(&datagram_of(server, visitor, 100), 77) {
        sample.outside("bypass: a piece from outside", &piece);
    }
    let padded = [sample.framed(INSIDE, &datagram(visitor, server)), vec![7; 9]];
    sample.frame(INSIDE, "bypass: padding behind the packet", padded.concat());
}

/// What is none of it, or nearly.
fn beside(sample: &mut Sample, host: Ipv4Addr) {
    let (visitor, server) = ((sample.visitor(1), 5000), (host, 53));
    if let Some(stranger) = sample.places.stranger {
        sample.inside("bypass: a stranger sends", &datagram((stranger, 5000), server));
        sample.outside("bypass: to a stranger", &datagram(server, (stranger, 5000)));
    }
    let other = (sample.server(0), 53);
    sample.outside("bypass: from elsewhere to a subscriber", &datagram(other, visitor));
    let sent = sample.inside("bypass: the same port elsewhere", &datagram(visitor, other));
    let answer = datagram(server, visitor);
    sample.answer_to((OUTSIDE, sent), "bypass: its outside port is asked from there", &answer);
    let quoted = [
        datagram((sample.visitor(2), 5000), server),
        datagram(visitor, other),
        datagram(visitor, server),
    ];
    for quoted in &quoted {
        for len in [19, 20, 28] {
            let error = build::error(other.0, visitor.0, icmp::v4::UNREACHABLE, &quoted[..len]);
            sample.outside("bypass: an error about it, or nearly", &error);
        }
    }
    let quench = build::error(other.0, visitor.0, 4, &quoted[2][..28]);
    sample.outside("bypass: another message about it", &quench);
}

/// Networks that a sample has.
const NETWORKS: usize = 2;
