//! Requests of the Port Control Protocol, what the mappings take that they make, and messages that
//! are none.
use std::net::Ipv4Addr;

use function_cgnat::ds_lite::AFTR;
use function_cgnat::types::sides::OUTSIDE;
use model_kit::build::{add_options, set_word};
use wire::pcp::{self, opcode, option};
use wire::{protocol, tcp};

use super::build::{self, datagram, datagram_with, segment};
use super::softwires;
use super::steps::{BEYOND_S, Sample, Sent};

/// All of it, where subscribers can ask.
pub(super) fn pcp(sample: &mut Sample) {
    let Some(limits) = sample.config.pcp else { return };
    let lifetime = limits.lifetime_min_s;
    for protocol in [protocol::UDP, protocol::TCP] {
        lives(sample, protocol, lifetime);
    }
    sample.forget();
    suggestions(sample, lifetime);
    sample.wait(f64::from(lifetime) + 1.0);
    sample.forget();
    nonces(sample, lifetime);
    errors(sample, lifetime);
    no_requests(sample, lifetime);
    sample.wait(f64::from(lifetime) + 1.0);
}

/// A mapping lives for its lifetime and is renewed, takes packets of all, and is that of its inside
/// port.
fn lives(sample: &mut Sample, protocol: u8, lifetime: u32) {
    let visitor = sample.visitor(0);
    let asked = map(protocol, 4000);
    let sent = request(sample, "PCP: a mapping is asked for", visitor, (lifetime, asked, &[]));
    from_outside(sample, sent, protocol, "PCP: a packet for it");
    let left = f64::from(lifetime);
    sample.wait((left - 1.0).max(0.0));
    request(sample, "PCP: it is renewed", visitor, (lifetime, asked, &[]));
    sample.wait((left - 1.0).max(0.0));
    from_outside(sample, sent, protocol, "PCP: a packet before its end");
    sample.wait(BEYOND_S);
    from_outside(sample, sent, protocol, "PCP: a packet too late");
    // A mapping that is there by itself.
    let ends = ((visitor, 4001), (sample.server(0), 53));
    let packet = packet(protocol, ends.0, ends.1);
    sample.inside("PCP: a packet of a subscriber", &packet);
    let sent = request(
        sample,
        "PCP: its mapping is asked for",
        visitor,
        (lifetime, map(protocol, 4001), &[]),
    );
    from_outside(sample, sent, protocol, "PCP: a packet for it");
    sample.inside("PCP: a further packet of the subscriber", &packet);
    request(sample, "PCP: it is given back", visitor, (0, map(protocol, 4001), &[]));
    sample.inside("PCP: the subscriber's packets go on", &packet);
}

/// Ports and addresses that are suggested, and demanded or nothing.
fn suggestions(sample: &mut Sample, lifetime: u32) {
    let (visitor, pool) = (sample.visitor(1), sample.places.pool);
    let demand = [option::PREFER_FAILURE, 0, 0, 0];
    let first = 40_000;
    for (port, external_port, address, options) in [
        (5000, first, None, &[][..]),
        (5001, first, None, &[]),
        (5002, first, None, &demand),
        (5003, first + 1, None, &demand),
        (5003, first + 2, None, &demand),
        (5004, 1, None, &demand),
        (5005, 0, Some(pool), &demand),
        (5006, 0, Some(sample.server(0)), &demand),
        (5006, 0, Some(sample.server(0)), &[]),
        (5007, 0, None, &demand),
    ] {
        let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let asked =
            pcp::Map { external_port, external_address: address.to_ipv6_mapped(), ..map(17, port) };
        request(sample, "PCP: an outside end is suggested", visitor, (lifetime, asked, options));
    }
    let asked = pcp::Map { external_address: std::net::Ipv6Addr::LOCALHOST, ..map(17, 5008) };
    request(sample, "PCP: the same of IPv6", visitor, (lifetime, asked, &demand));
}

/// Who has not the nonce changes nothing.
fn nonces(sample: &mut Sample, lifetime: u32) {
    let visitor = sample.visitor(2);
    let (own, foreign) = (map(17, 6000), pcp::Map { nonce: [9; 12], ..map(17, 6000) });
    request(sample, "PCP: a mapping", visitor, (lifetime, own, &[]));
    for (about, lifetime, asked) in [
        ("PCP: asked for by somebody else", lifetime, foreign),
        ("PCP: given back by somebody else", 0, foreign),
        ("PCP: of all ports given back", 0, map(17, 0)),
        ("PCP: of all protocols given back", 0, map(0, 0)),
        ("PCP: given back", 0, own),
        ("PCP: given back again", 0, own),
        ("PCP: asked for by somebody else when it is gone", lifetime, foreign),
        ("PCP: given back", 0, foreign),
    ] {
        request(sample, about, visitor, (lifetime, asked, &[]));
    }
}

/// Requests that are answered with an error.
fn errors(sample: &mut Sample, lifetime: u32) {
    let visitor = sample.visitor(3);
    let whole = message(visitor, opcode::MAP, (lifetime, map(17, 7000), &[]));
    let changed = |at: usize, byte: u8| {
        let mut message = whole.clone();
        message[at] = byte;
        message
    };
    let with = |options: &[u8]| [&whole[..], options].concat();
    let mut cases = vec![
        changed(0, 0),
        changed(0, 3),
        vec![0, 0],
        vec![1, 1, 7, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        whole[..59].to_vec(),
        whole[..pcp::HEADER_LEN].to_vec(),
        with(&[0; pcp::MESSAGE_LEN_MAX - 56]),
        changed(23, !whole[23]),
        changed(8, 1),
        changed(pcp::HEADER_LEN + 12, protocol::ICMP),
        changed(pcp::HEADER_LEN + 12, 0),
        message(visitor, opcode::MAP, (lifetime, map(17, 0), &[])),
        message(visitor, opcode::PEER, (lifetime, map(17, 7000), &[0; 20])),
        message(visitor, 96, (lifetime, map(17, 7000), &[])),
        message(visitor, opcode::ANNOUNCE, (0, map(17, 7000), &[]))[..pcp::HEADER_LEN].to_vec(),
    ];
    let options: [&[u8]; 9] = [
        &[option::THIRD_PARTY, 0, 0, 0],
        &[option::FILTER, 0, 0, 0],
        &[option::PREFER_FAILURE, 0, 0, 1, 7, 0, 0, 0],
        &[option::PREFER_FAILURE, 0, 0, 0, option::PREFER_FAILURE, 0, 0, 0],
        &[option::PREFER_FAILURE, 0, 0, 0],
        &[option::OPTIONAL, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0],
        &[option::OPTIONAL - 1, 0, 0, 0],
        &[option::OPTIONAL, 0, 0, 1],
        &[0, 0, 0, 0],
    ];
    for options in options {
        cases.push(with(options));
        let announce = message(visitor, opcode::ANNOUNCE, (0, map(17, 7000), &[]));
        cases.push([&announce[..pcp::HEADER_LEN], options].concat());
    }
    for message in cases {
        say(sample, "PCP: a request that is odd", visitor, &message);
    }
}

/// Messages that are no requests, and datagrams that are no messages.
fn no_requests(sample: &mut Sample, lifetime: u32) {
    let (visitor, server) = (sample.visitor(4), sample.server(0));
    let whole = message(visitor, opcode::MAP, (lifetime, map(17, 7100), &[]));
    let mut response = whole.clone();
    response[1] |= pcp::FLAG_RESPONSE;
    for message in [&whole[..0], &whole[..1], &whole[..4], &whole[..23], &response] {
        say(sample, "PCP: no request", visitor, message);
    }
    let own = (self::server(sample), pcp::SERVER_PORT);
    let packet = datagram_with((visitor, 4100), own, &whole);
    let damaged = build::changed(&packet, |packet| packet[40] ^= 1);
    let short = build::changed(&packet, |packet| packet[25] -= 4);
    let piece = build::changed(&packet, set_word(6, 0x2000));
    for (about, packet) in [
        ("PCP: a damaged request", damaged),
        ("PCP: a datagram of another length", short),
        ("PCP: a piece of a request", piece),
        ("PCP: a segment for its port", segment((visitor, 4100), own, tcp::FLAG_SYN)),
        ("PCP: a datagram for another port", datagram((visitor, 4100), (own.0, 5350))),
        ("PCP: a request of the NAT's own address", datagram_with((own.0, 4100), own, &whole)),
        ("PCP: a request with options of IP", build::changed(&packet, add_options)),
    ] {
        sample.inside(about, &packet);
    }
    let bare = build::changed(&packet, |packet| packet[26..28].fill(0));
    sample.inside("PCP: a request without checksum", &bare);
    if let Some(stranger) = sample.places.stranger {
        say(sample, "PCP: a request of no subscriber", stranger, &whole);
    }
    let outside = (sample.config.outside_ip, pcp::SERVER_PORT);
    sample.outside("PCP: a request from outside", &datagram_with((server, 4100), outside, &whole));
    let across = datagram_with((visitor, 4100), (outside.0, outside.1), &whole);
    sample.inside("PCP: a request for the outside port", &across);
}

/// A packet of somebody outside for the end that an answer assigned.
fn from_outside(sample: &mut Sample, sent: Sent, protocol: u8, about: &'static str) {
    const ASSIGNED_ADDRESS: usize = MESSAGE + 56;
    const ASSIGNED_PORT: usize = MESSAGE + 42;
    let (server, somebody) = ((sample.server(3), 9), (sample.places.pool, 9));
    let packet = packet(protocol, server, somebody);
    let parts = vec![(sent, (ASSIGNED_ADDRESS, 4, 30)), (sent, (ASSIGNED_PORT, 2, 36))];
    sample.answer(OUTSIDE, about, &packet, parts);
}

fn packet(protocol: u8, from: build::End, to: build::End) -> Vec<u8> {
    match protocol {
        protocol::TCP => segment(from, to, tcp::FLAG_SYN),
        _ => datagram(from, to),
    }
}

fn request(
    sample: &mut Sample,
    about: &'static str,
    from: Ipv4Addr,
    asked: (u32, pcp::Map, &[u8]),
) -> Sent {
    say(sample, about, from, &message(from, opcode::MAP, asked))
}

/// A message for the server.
fn say(sample: &mut Sample, about: &'static str, from: Ipv4Addr, message: &[u8]) -> Sent {
    let packet = datagram_with((from, 4100), (server(sample), pcp::SERVER_PORT), message);
    let sent = sample.inside(about, &packet);
    sample.leaves_towards(sent, sample.vlan);
    sent
}

/// The server's address where the sample's subscribers are.
fn server(sample: &Sample) -> Ipv4Addr {
    if softwires::is_softwire(sample.vlan) { AFTR } else { sample.config.inside_ip }
}

/// A request with the data of MAP and options.
fn message(
    from: Ipv4Addr,
    opcode: u8,
    (lifetime, map, options): (u32, pcp::Map, &[u8]),
) -> Vec<u8> {
    let (mut header, mut data) = ([0; pcp::HEADER_LEN], [0; pcp::MAP_LEN]);
    pcp::Request { opcode, lifetime, client: from.to_ipv6_mapped() }.emit(&mut header);
    map.emit(&mut data);
    [&header[..], &data, options].concat()
}

/// A mapping of an inside port, with any outside end.
fn map(protocol: u8, internal_port: u16) -> pcp::Map {
    pcp::Map {
        nonce: [7; 12],
        protocol,
        internal_port,
        external_port: 0,
        external_address: Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(),
    }
}

/// Where the message begins in a frame with an answer.
const MESSAGE: usize = 42;
