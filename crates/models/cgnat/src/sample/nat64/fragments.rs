//! Datagrams in pieces to and from IPv6 subscribers.
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{set, set_word, text};
use wire::icmp::v6;
use wire::ipv4::FLAG_MORE_FRAGMENTS as MORE;
use wire::{ipv4, ipv6, protocol, tcp};

use super::super::build;
use super::super::fragments::{arrives, cut, in_pieces, rest};
use super::super::host;
use super::super::ipv6::{datagram, echo, error, extended, packet, segment};
use super::super::steps::{Sample, Sent};
use super::places::{DESTINATION, LONGEST, Places, TRANSPORT};

/// Pieces in every order, both ways.
pub(super) fn orders(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(8), 6100), (sample.server(0), 6200));
    let (server, nobody) = (places.end(far), (sample.places.pool, 9));
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    let open = [2, 4, 5, 180, 1, 1, 1, 0];
    let pairs = [
        (datagram(visitor, server, 100), build::datagram_of(far, nobody, 100)),
        (
            segment(visitor, server, (syn, &open), &text(80)),
            build::segment_with(far, nobody, (syn | ack, &open), &text(80)),
        ),
    ];
    let orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1]];
    for (packet, back) in pairs {
        let opened = sample.inside_ipv6("IPv6: a packet in one", &packet);
        for (number, order) in orders.into_iter().enumerate() {
            let out = in_pieces_ipv6(&packet, 0xabcd_0000 | number as u32);
            let back = in_pieces(&back, number as u16);
            for index in order {
                sample.inside_ipv6("IPv6: a piece of a packet", &out[index]);
            }
            for index in order {
                arrives(sample, (OUTSIDE, opened), "IPv6: a piece of an answer", &back[index]);
            }
        }
        let [first, _, last] = in_pieces_ipv6(&packet, 7);
        sample.inside_ipv6("IPv6: the first piece of a packet", &first);
        rest(sample);
        sample.inside_ipv6("IPv6: its last one, too late", &last);
        rest(sample);
        sample.inside_ipv6("IPv6: the first piece, too late for that", &first);
        rest(sample);
        let [_, second, last] = in_pieces(&back, 9);
        let mut route = second.clone();
        set(8, 2)(&mut route);
        arrives(sample, (OUTSIDE, opened), "IPv6: a piece with a hop left", &route);
        arrives(sample, (OUTSIDE, opened), "IPv6: the last piece alone", &last);
        rest(sample);
    }
    let other = datagram((places.visitor(9), 6100), server, 100);
    let ours = datagram(visitor, server, 100);
    for (one, other) in in_pieces_ipv6(&ours, 9).into_iter().zip(in_pieces_ipv6(&other, 9)) {
        sample.inside_ipv6("IPv6: two subscribers with one identification", &one);
        sample.inside_ipv6("IPv6: the other one's", &other);
    }
    let sent = sample.inside_ipv6("IPv6: a packet in one", &ours);
    for piece in in_pieces(&build::datagram_without_checksum(far, nobody), 11) {
        arrives(sample, (OUTSIDE, sent), "IPv6: a piece of an answer without checksum", &piece);
    }
    let ping = echo(visitor.0, server.0, v6::ECHO_REQUEST, 6300);
    let sent = sample.inside_ipv6("IPv6: a ping", &ping);
    for piece in in_pieces(&build::query(far.0, nobody.0, 0, 0), 12) {
        arrives(sample, (OUTSIDE, sent), "IPv6: a piece of a reply", &piece);
    }
    for piece in in_pieces_ipv6(&ping, 13) {
        sample.inside_ipv6("IPv6: a piece of a ping", &piece);
    }
}

/// Pieces that are too long for the other family's link.
pub(super) fn lengths(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(10), 6100), (sample.server(0), 6200));
    let nobody = (sample.places.pool, 9);
    let most = LONGEST - 20;
    let whole = datagram(visitor, places.end(far), most + 200);
    let split = most / 8 * 8 - 80;
    let parts = [(0, split, 1), (split, whole.len() - 40 - split, 0)];
    let [first, last] = parts.map(|(at, len, more)| cut_ipv6(&whole, (at, len), (more, 0x1234)));
    for order in [[&first, &last], [&last, &first]] {
        for piece in order {
            sample.inside_ipv6("IPv6: a long piece", piece);
        }
    }
    let sent = sample.inside_ipv6("IPv6: a packet", &datagram(visitor, places.end(far), 9));
    let back = build::datagram_of(far, nobody, 3000);
    let split = most / 8 * 8;
    for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
        let pieces = [
            cut(&back, (0, split), (MORE | flags, 14)),
            cut(&back, (split, split), (MORE | flags, 14)),
            cut(&back, (2 * split, 3008 - 2 * split), (flags, 14)),
        ];
        for order in [[0, 1, 2], [1, 2, 0]] {
            host::rest(sample);
            for index in order {
                arrives(sample, (OUTSIDE, sent), "IPv6: a long piece of an answer", &pieces[index]);
            }
            rest(sample);
        }
    }
}

/// Pieces that are none, hide something, lie over others, or have nowhere to go.
pub(super) fn refusals(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(8), 6400), places.end((sample.server(0), 6500)));
    let whole = datagram(visitor, server, 100);
    let piece = |at: usize, len: usize, more: u16| cut_ipv6(&whole, (at, len), (more, 21));
    sample.inside_ipv6("IPv6: a fragment without data", &piece(8, 0, 1));
    sample.inside_ipv6("IPv6: one in the middle that ends anywhere", &piece(8, 12, 1));
    let mut beyond = piece(0, 24, 0);
    beyond[42..44].copy_from_slice(&0xfff8u16.to_be_bytes());
    sample.inside_ipv6("IPv6: one beyond the longest datagram", &beyond);
    let mut reserved = piece(0, 24, 1);
    reserved[43] |= 6;
    sample.inside_ipv6("IPv6: one with reserved bits", &reserved);
    let syn = segment(visitor, server, (tcp::FLAG_SYN, &[1; 12]), &text(40));
    for len in [8, 16, 24] {
        let piece = cut_ipv6(&syn, (0, len), (1, 22));
        sample.inside_ipv6("IPv6: a piece of a TCP header", &piece);
    }
    let rest_of = cut_ipv6(&syn, (8, 16), (1, 23));
    sample.inside_ipv6("IPv6: the rest of a TCP header", &rest_of);
    let ack = segment(visitor, server, (tcp::FLAG_ACK, &[]), &text(40));
    let ack = cut_ipv6(&ack, (0, 24), (1, 24));
    sample.inside_ipv6("IPv6: a first piece of no connection", &ack);
    for next in [47, protocol::ICMP] {
        let other = packet(visitor.0, server.0, next, &text(48));
        let piece = cut_ipv6(&other, (0, 24), (1, 25));
        sample.inside_ipv6("IPv6: a piece of another protocol", &piece);
    }
    let unreachable = error((visitor.0, server.0), (1, 4, 0), &whole);
    let piece_of = cut_ipv6(&unreachable, (0, 48), (1, 26));
    sample.inside_ipv6("IPv6: a first piece of an ICMP error", &piece_of);
    for at in [0, 24] {
        host::rest(sample);
        let mut last = piece(at, 24, 1);
        last[7] = 1;
        sample.inside_ipv6("IPv6: a piece at its last hop", &last);
    }
    let behind = extended(&whole, protocol::IPV6_DESTINATION_OPTIONS, [0, 0, 1, 4, 0, 0, 0, 0]);
    let piece_of = cut_ipv6(&behind, (0, 24), (1, 27));
    sample.inside_ipv6("IPv6: a piece with options in it", &piece_of);
    let mut hops = piece(0, 24, 1);
    hops = extended(&hops, protocol::IPV6_HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]);
    sample.inside_ipv6("IPv6: a piece behind options for every hop", &hops);
    for stranger in [places.end((sample.server(7), 5)).0, sample.visitor(0).to_ipv6_compatible()] {
        let strange = datagram((stranger, 4000), server, 100);
        let piece = cut_ipv6(&strange, (8, 16), (1, 28));
        sample.inside_ipv6("IPv6: a piece of no subscriber", &piece);
    }
    let nowhere = datagram(visitor, (places.visitor(1), 53), 100);
    let piece_of = cut_ipv6(&nowhere, (8, 16), (1, 29));
    sample.inside_ipv6("IPv6: a piece to no IPv4 host", &piece_of);
    rest(sample);
    let (first, last) = (piece(0, 24, 1), piece(24, 84, 0));
    for order in [
        [&first, &piece(16, 16, 1), &last],
        [&piece(24, 16, 1), &piece(32, 16, 1), &first],
        [&first, &first, &last],
    ] {
        for piece in order {
            sample.inside_ipv6("IPv6: a piece over another", piece);
        }
        rest(sample);
    }
}

/// Pieces between subscribers of both families.
pub(super) fn peers(sample: &mut Sample, places: &Places) {
    let (one, other) = ((places.visitor(4), 8000), (places.visitor(5), 8002));
    let (third, far) = ((sample.visitor(6), 8004), (sample.server(0), 3478));
    let server = places.end(far);
    let at_other =
        sample.inside_ipv6("IPv6: a peer asks for its address", &datagram(other, server, 9));
    let at_third =
        sample.inside("a peer of IPv4 asks for its address", &build::datagram(third, far));
    let long = datagram(one, (places.prefix.embed(sample.places.pool), 9), 1400);
    let split = 1208;
    let pieces = [(0, split, 1), (split, 200, 0)]
        .map(|(at, len, more)| (at, cut_ipv6(&long, (at, len), (more, 31))));
    for at in [at_other, at_third] {
        for order in [[0, 1], [1, 0]] {
            for index in order {
                let (offset, piece) = &pieces[index];
                meet(sample, places, (at, *offset == 0), piece);
            }
            rest(sample);
        }
        let mut short = pieces[1].1.clone();
        short[7] = 2;
        meet(sample, places, (at, true), &pieces[0].1);
        meet(sample, places, (at, false), &short);
        rest(sample);
    }
    let nobody = (sample.places.pool, 9);
    for packet in [build::datagram_of(third, nobody, 100), build::datagram_of(third, nobody, 1472)]
    {
        let [first, second, last] = in_pieces(&packet, 32);
        let mut short = second.clone();
        set(8, 2)(&mut short);
        let mut whole = last.clone();
        set_word(ipv4::offset::FLAGS_FRAGMENT, 2 | ipv4::FLAG_DONT_FRAGMENT)(&mut whole);
        for order in [[&first, &second, &last], [&last, &second, &first], [&short, &whole, &first]]
        {
            for piece in order {
                arrives(sample, (INSIDE, at_other), "a piece to a peer of IPv6", piece);
            }
            rest(sample);
        }
    }
}

/// A piece to the outside end of whoever sent a packet that left.
fn meet(sample: &mut Sample, places: &Places, (at, is_first): (Sent, bool), piece: &[u8]) {
    let octets = places.octets().enumerate();
    let mut parts: Vec<_> = octets.map(|(n, at)| (26 + n, 1, DESTINATION + at)).collect();
    if is_first {
        parts.push((34, 2, TRANSPORT + 8 + 2));
    }
    let parts = parts.into_iter().map(|part| (at, part));
    sample.answer_ipv6("IPv6: a piece to a peer", piece, parts);
}

/// A packet without extension headers in three pieces.
fn in_pieces_ipv6(packet: &[u8], identification: u32) -> [Vec<u8>; 3] {
    let len = packet.len() - ipv6::HEADER_LEN;
    let head = if packet[6] == protocol::TCP { 32 } else { 8 };
    let parts = [(0, head, 1), (head, 8, 1), (head + 8, len - head - 8, 0)];
    parts.map(|(at, len, more)| cut_ipv6(packet, (at, len), (more, identification)))
}

/// A part of a packet behind a fragment header.
fn cut_ipv6(
    packet: &[u8],
    (at, len): (usize, usize),
    (more, identification): (u16, u32),
) -> Vec<u8> {
    let [a, b, c, d] = identification.to_be_bytes();
    let [high, low] = (at as u16 | more).to_be_bytes();
    let from = ipv6::HEADER_LEN + at;
    let part = [&packet[..ipv6::HEADER_LEN], &packet[from..from + len]].concat();
    extended(&part, protocol::IPV6_FRAGMENT, [0, 0, high, low, a, b, c, d])
}
