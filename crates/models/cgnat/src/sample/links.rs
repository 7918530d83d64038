//! Packets of IPv4 that are as long as links take, and longer (RFC 4787 REQ-13).
use std::net::Ipv4Addr;

use function_cgnat::config::Config;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{mend, packet, set_word, text};
use wire::{icmp, ipv4, protocol, tcp};

use super::build::{self, End, changed, datagram, datagram_of, query, segment_with};
use super::fragments;
use super::host::rest;
use super::steps::Sample;

/// Whether it leads to packets that are too long.
pub(super) fn reaches(config: &Config) -> bool {
    let reached = |mtu: u16| (1..LONGEST as u16).contains(&mtu);
    reached(config.inside_mtu) || reached(config.outside_mtu)
}

/// All of it, where there is a limit.
pub(super) fn links(sample: &mut Sample) {
    let Config { inside_mtu, outside_mtu, .. } = sample.config;
    if !reaches(&sample.config) {
        return;
    }
    let mut lengths: Vec<usize> = [inside_mtu, outside_mtu]
        .into_iter()
        .filter(|&mtu| mtu > 0)
        .flat_map(|mtu| [usize::from(mtu), usize::from(mtu) + 1])
        .chain([LONGEST])
        .map(|len| len.min(LONGEST))
        .collect();
    lengths.dedup();
    for &len in &lengths {
        both_ways(sample, len);
        beginnings(sample, len);
        pings(sample, len);
        hairpins(sample, len);
        bypassed(sample, len);
        errors(sample, len);
    }
    if sample.config.fragments.datagrams > 0 {
        in_pieces(sample);
    }
}

/// A packet in every form that counts here.
fn forms(packet: &[u8]) -> Vec<Vec<u8>> {
    let place = |flags: u16| {
        let mut packet = changed(packet, set_word(ipv4::offset::FLAGS_FRAGMENT, flags));
        set_word(ipv4::offset::IDENTIFICATION, 0x1234)(&mut packet);
        mend(&mut packet);
        packet
    };
    let mut all = vec![place(0), place(ipv4::FLAG_DONT_FRAGMENT)];
    // Router alert, which all pieces have; a time stamp, which the first one has; and one that is
    // broken.
    for options in
        [[148, 4, 0, 0, 1, 1, 148, 4, 0, 0, 0, 0], [68, 4, 5, 0, 136, 4, 0, 7, 1, 137, 9, 3]]
    {
        let mut packet = place(0);
        packet.splice(20..20, options);
        packet[0] = 0x48;
        let len = packet.len() as u16;
        set_word(ipv4::offset::TOTAL_LEN, len)(&mut packet);
        mend(&mut packet);
        all.push(packet);
    }
    all
}

fn both_ways(sample: &mut Sample, len: usize) {
    let (visitor, server) = ((sample.visitor(0), 5600), (sample.server(0), 53));
    let sent = sample.inside("a packet", &datagram(visitor, server));
    let nobody = (sample.places.pool, 9);
    for packet in forms(&datagram_of(visitor, server, len - 28)) {
        rest(sample);
        sample.inside("a long packet", &packet);
        sample.unanswerable(INSIDE, &packet);
    }
    for packet in forms(&datagram_of(server, nobody, len - 28)) {
        rest(sample);
        sample.answer_to((OUTSIDE, sent), "a long answer", &packet);
    }
    rest(sample);
    let mut last = datagram_of(visitor, server, len - 28);
    set_word(ipv4::offset::FLAGS_FRAGMENT, ipv4::FLAG_DONT_FRAGMENT)(&mut last);
    model_kit::build::set(8, 1)(&mut last);
    sample.inside("a long packet whose hops end here", &last);
}

/// Packets that would open a session.
fn beginnings(sample: &mut Sample, len: usize) {
    let server = (sample.server(1), 53);
    for (number, flags) in [0, ipv4::FLAG_DONT_FRAGMENT].into_iter().enumerate() {
        let visitor = (sample.visitor(2 + number), 5700 + len as u16);
        let long = datagram_of(visitor, server, len - 28);
        let long = changed(&long, set_word(ipv4::offset::FLAGS_FRAGMENT, flags));
        rest(sample);
        sample.inside("a long packet that is the first one", &long);
        sample.inside("a shorter one behind it", &datagram(visitor, server));
        let syn = (tcp::FLAG_SYN, &[2, 4, 5, 180][..]);
        let long = segment_with(visitor, server, syn, &text(len - 44));
        let long = changed(&long, set_word(ipv4::offset::FLAGS_FRAGMENT, flags));
        sample.inside("a long segment that begins a connection", &long);
    }
}

fn pings(sample: &mut Sample, len: usize) {
    let (visitor, server) = (sample.visitor(1), sample.server(0));
    let sent = sample.inside("a ping", &query(visitor, server, icmp::v4::ECHO_REQUEST, 5800));
    let long = |from, to, kind| {
        let message = [&[kind, 0, 0, 0, 0x16, 0xa8, 0, 1][..], &text(len - 28)].concat();
        let mut packet = packet(from, to, protocol::ICMP, &message);
        build::make_right(&mut packet, true);
        packet
    };
    for packet in forms(&long(visitor, server, icmp::v4::ECHO_REQUEST)) {
        rest(sample);
        sample.inside("a long ping", &packet);
    }
    let (pool, own) = (sample.places.pool, sample.config.inside_ip);
    for packet in forms(&long(server, pool, icmp::v4::ECHO_REPLY)).into_iter().take(2) {
        rest(sample);
        sample.answer_to((OUTSIDE, sent), "its long answer", &packet);
    }
    for packet in forms(&long(visitor, own, icmp::v4::ECHO_REQUEST)).into_iter().take(2) {
        rest(sample);
        sample.inside("a long ping for the port", &packet);
    }
}

fn hairpins(sample: &mut Sample, len: usize) {
    let known = (sample.visitor(5), 8002);
    let server = (sample.server(0), 3478);
    let sent = sample.inside("a peer asks for its address", &datagram(known, server));
    let peer = (sample.visitor(4), 8000);
    sample.inside("so does another one", &datagram(peer, server));
    for packet in forms(&datagram_of(peer, (sample.places.pool, 9), len - 28)) {
        rest(sample);
        sample.answer_to((INSIDE, sent), "a long packet between peers", &packet);
    }
}

fn bypassed(sample: &mut Sample, len: usize) {
    let Some(network) = sample.config.bypass.first().filter(|_| sample.vlan == 0) else { return };
    let (visitor, host) = ((sample.visitor(0), 5600), (network.address, 53));
    for packet in forms(&datagram_of(visitor, host, len - 28)) {
        rest(sample);
        sample.inside("bypass: a long packet", &packet);
    }
    for packet in forms(&datagram_of(host, visitor, len - 28)) {
        rest(sample);
        sample.outside("bypass: a long packet from there", &packet);
        let piece = changed(&packet, |packet| packet[7] = 9);
        let piece = changed(&piece, |packet| mend(packet));
        sample.outside("bypass: a long piece from there", &piece);
    }
}

/// About whose length nobody is told.
fn errors(sample: &mut Sample, len: usize) {
    let (visitor, server) = ((sample.visitor(0), 5600), (sample.server(0), 53));
    let sent = sample.inside("a packet", &datagram(visitor, server));
    let quoted = datagram_of((sample.places.pool, 9), server, len - 56);
    let error =
        |from: Ipv4Addr, to, quoted: &[u8]| build::error(from, to, icmp::v4::TIME_EXCEEDED, quoted);
    for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
        let long = error(sample.server(9), sample.places.pool, &quoted);
        let long = changed(&long, set_word(ipv4::offset::FLAGS_FRAGMENT, flags));
        let parts = vec![(sent, (26, 4, 30)), (sent, (26, 4, 54)), (sent, (34, 2, 62))];
        rest(sample);
        sample.answer(OUTSIDE, "a long error", &long, parts);
        let quoted = datagram_of(server, visitor, len - 56);
        let long = error(visitor.0, server.0, &quoted);
        let long = changed(&long, set_word(ipv4::offset::FLAGS_FRAGMENT, flags));
        sample.inside("a long error of a subscriber", &long);
    }
}

/// Pieces that are too long themselves, in two orders.
fn in_pieces(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(3), 5900), (sample.server(0), 53));
    let opened = sample.inside("a packet in one", &datagram(visitor, server));
    let pieces = |from: End, to: End, number, flags: u16| {
        let whole = datagram_of(from, to, 3000);
        [(0, 1600, MORE), (1600, 1400, MORE), (3000, 8, 0)]
            .map(|(at, len, more)| fragments::cut(&whole, (at, len), (more | flags, number)))
    };
    let mut number = 0;
    for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
        for order in [[0, 1, 2], [1, 2, 0]] {
            number += 1;
            let out = pieces(visitor, server, number, flags);
            let back = pieces(server, (sample.places.pool, 9), number, flags);
            for index in order {
                rest(sample);
                sample.inside("a long piece", &out[index]);
            }
            for index in order {
                rest(sample);
                let about = "a long piece of an answer";
                fragments::arrives(sample, (OUTSIDE, opened), about, &back[index]);
            }
        }
    }
    let new = (sample.visitor(3), 5901);
    for piece in pieces(new, server, 9, ipv4::FLAG_DONT_FRAGMENT) {
        rest(sample);
        sample.inside("a long piece of a packet that is the first one", &piece);
    }
}

/// "More fragments".
const MORE: u16 = ipv4::FLAG_MORE_FRAGMENTS;
/// The longest packet here, in bytes.
const LONGEST: usize = 1900;
