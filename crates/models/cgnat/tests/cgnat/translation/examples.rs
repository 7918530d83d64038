//! Packets worked out by hand from the text of RFC 7915, byte by byte.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::translation::{
    Ends, Port, Quote, Refusal, Rules, ipv4_len_max, quoted_by_ipv4, quoted_by_ipv6,
};
use wire::{checksum, icmp, ipv4, ipv6};

use super::made::Translator;

const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER_UP: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc633, 0x6407);
const INSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x17);

/// From a server to a subscriber.
const INWARDS: Ends<Ipv6Addr> =
    Ends { source: SERVER_UP, destination: INSIDE, port: Port::Destination(5000) };
/// The other way.
const OUTWARDS: Ends<Ipv4Addr> =
    Ends { source: OUTSIDE, destination: SERVER, port: Port::Source(40000) };

fn ipv4(protocol: u8, flags_fragment: u16, options: &[u8], body: &[u8]) -> Vec<u8> {
    let len = 20 + options.len() + body.len();
    let mut packet =
        vec![0x45 + options.len() as u8 / 4, 0xb9, (len >> 8) as u8, len as u8, 0xab, 0xcd];
    packet.extend(flags_fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(SERVER.octets());
    packet.extend(OUTSIDE.octets());
    packet.extend(options);
    let sum = checksum::checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(body);
    packet
}

fn ipv6(next: u8, body: &[u8]) -> Vec<u8> {
    let mut packet =
        vec![0x6b, 0x91, 0x23, 0x45, (body.len() >> 8) as u8, body.len() as u8, next, 64];
    packet.extend(INSIDE.octets());
    packet.extend(SERVER_UP.octets());
    packet.extend(body);
    packet
}

fn inwards(packet: &[u8]) -> Result<Vec<u8>, Refusal> {
    Translator::new().translate_up(packet, &INWARDS, &Rules::default(), |_| None)
}

fn outwards(packet: &[u8]) -> Result<Vec<u8>, Refusal> {
    Translator::new().translate_down(packet, &OUTWARDS, 0x1234, &Rules::default(), |_| None)
}

#[test]
fn a_fragment_gets_a_header_of_its_own() {
    let packet = ipv4(17, 0x2000 | 185, &[], &[7; 16]);
    let translated = inwards(&packet).unwrap();
    let view = ipv6::View::parse(&translated).unwrap();
    assert_eq!((view.traffic_class(), view.flow_label(), view.hop_limit()), (0xb9, 0, 63));
    assert_eq!((view.payload_len(), view.next_header()), (24, 44));
    assert_eq!(view.payload()[..8], [17, 0, 0x05, 0xc9, 0, 0, 0xab, 0xcd]);
    assert_eq!(view.payload()[8..], [7; 16]);
    // And back: offset, flag and the lower half of the identification.
    let extension = [17, 0, 0x05, 0xc9, 0x99, 0x88, 0xab, 0xcd];
    let back = outwards(&ipv6(44, &[&extension[..], &[7; 16]].concat())).unwrap();
    let view = ipv4::View::parse(&back).unwrap();
    assert_eq!(
        (view.fragment_offset(), view.more_fragments(), view.identification()),
        (185, true, 0xabcd)
    );
    assert_eq!((view.dont_fragment(), view.protocol(), view.payload()), (false, 17, &[7; 16][..]));
}

#[test]
fn do_not_fragment_is_set_beyond_1260_bytes() {
    for (len, flag) in [(1240, false), (1241, true)] {
        let translated = outwards(&ipv6(50, &vec![1; len])).unwrap();
        let view = ipv4::View::parse(&translated).unwrap();
        assert_eq!((view.dont_fragment(), view.identification()), (flag, 0x1234));
        assert_eq!((view.dscp() << 2 | view.ecn(), view.ttl(), view.protocol()), (0xb9, 63, 50));
    }
    assert_eq!((ipv4_len_max(1280), ipv4_len_max(1500)), (1252, 1468));
}

#[test]
fn options_are_left_away_and_source_routes_refused() {
    let translated = inwards(&ipv4(50, 0, &[148, 4, 0, 0], &[9])).unwrap();
    assert_eq!(ipv6::View::parse(&translated).unwrap().payload(), [9]);
    for kind in [131, 137] {
        let route = [kind, 7, 4, 1, 2, 3, 4, 0];
        assert_eq!(inwards(&ipv4(50, 0, &route, &[9])), Err(Refusal::SourceRoute));
        let ended = [kind, 7, 8, 1, 2, 3, 4, 0];
        assert!(inwards(&ipv4(50, 0, &ended, &[9])).is_ok());
    }
    let answer = Refusal::SourceRoute.answer_to_ipv4().unwrap();
    assert_eq!((answer.kind, answer.code), (3, 5));
}

#[test]
fn extension_headers_are_gone_over_but_segments_left_are_not() {
    let chain = [60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 1, 4, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 9];
    let translated = outwards(&ipv6(0, &chain)).unwrap();
    let view = ipv4::View::parse(&translated).unwrap();
    assert_eq!((view.protocol(), view.payload(), view.total_len()), (50, &[9][..], 21));
    let mut chain = chain;
    chain[19] = 2;
    let refusal = outwards(&ipv6(0, &chain)).unwrap_err();
    assert_eq!(refusal, Refusal::SegmentsLeft { pointer: 40 + 19 });
    let answer = refusal.answer_to_ipv6().unwrap();
    assert_eq!((answer.kind, answer.code, answer.rest), (4, 0, 59));
    // An extension header behind a fragment header (section 5.1.1).
    let hidden = [60, 0, 0, 1, 0, 0, 0, 1, 50, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(outwards(&ipv6(44, &hidden)), Err(Refusal::FragmentedExtension));
}

#[test]
fn what_has_no_counterpart_is_refused() {
    for protocol in [0, 43, 44, 58, 60] {
        assert_eq!(inwards(&ipv4(protocol, 0, &[], &[0; 8])), Err(Refusal::Protocol));
    }
    assert_eq!(outwards(&ipv6(1, &[8, 0, 0, 0, 0, 0, 0, 0])), Err(Refusal::Protocol));
    assert_eq!(inwards(&ipv4(2, 0, &[], &[0x16, 0, 0, 0])), Err(Refusal::IcmpType));
    for kind in [4, 5, 9, 10, 13, 17] {
        assert_eq!(inwards(&ipv4(1, 0, &[], &[kind, 0, 0, 0, 0, 0, 0, 0])), Err(Refusal::IcmpType));
    }
    for kind in [130, 131, 133, 134, 135, 136, 137] {
        assert_eq!(outwards(&ipv6(58, &[kind, 0, 0, 0, 0, 0, 0, 0])), Err(Refusal::IcmpType));
    }
    assert_eq!(inwards(&ipv4(1, 0x2000, &[], &[8; 16])), Err(Refusal::IcmpFragment));
    let fragment = [58, 0, 0, 1, 0, 0, 0, 1, 128, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(outwards(&ipv6(44, &fragment)), Err(Refusal::IcmpFragment));
}

#[test]
fn a_datagram_without_checksum_gets_one_or_is_refused() {
    let datagram = [0, 53, 0, 1, 0, 11, 0, 0, 1, 2, 3];
    let translated = inwards(&ipv4(17, 0, &[], &datagram)).unwrap();
    let view = ipv6::View::parse(&translated).unwrap();
    let udp = wire::udp::View::parse(view.payload()).unwrap();
    assert_eq!((udp.source_port(), udp.destination_port()), (53, 5000));
    assert_eq!(udp.verify_ipv6(SERVER_UP, INSIDE), Ok(()));
    let first = ipv4(17, 0x2000, &[], &datagram);
    assert_eq!(inwards(&first), Err(Refusal::UdpChecksum));
    let rules = Rules { compute_udp_checksum: false, ..Rules::default() };
    let packet = ipv4(17, 0, &[], &datagram);
    let found = Translator::new().translate_up(&packet, &INWARDS, &rules, |_| None);
    assert_eq!(found, Err(Refusal::UdpChecksum));
}

#[test]
fn an_echo_reply_of_zeros_has_a_right_checksum() {
    let mut message = vec![129, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let sum = icmp::checksum_ipv6(INSIDE, SERVER_UP, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let ends = Ends { port: Port::Kept, ..OUTWARDS };
    let packet = ipv6(58, &message);
    let translated =
        Translator::new().translate_down(&packet, &ends, 1, &Rules::default(), |_| None).unwrap();
    assert_eq!(translated[20..], [0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0]);
    assert!(icmp::verify_ipv4(&translated[20..]));
}

/// A router tells a subscriber that its datagram of 1,500 bytes is too long for a link of 1,400.
#[test]
fn too_big_finds_its_subscriber() {
    let sent = ipv4(
        17,
        0x4000,
        &[],
        &[&[0x9c, 0x40, 0, 53, 5, 0xc8, 0x12, 0x34][..], &[0; 1472]].concat(),
    );
    let mut message = [&[3, 4, 0, 0, 0, 0, 0x05, 0x78][..], &sent[..28]].concat();
    // What the subscriber's packet was outside: from the pool's address to the server's.
    message[20..24].copy_from_slice(&OUTSIDE.octets());
    message[24..28].copy_from_slice(&SERVER.octets());
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let packet = ipv4(1, 0, &[], &message);
    let quote =
        Quote { source: OUTSIDE, destination: SERVER, protocol: 17, ports: Some((40000, 53)) };
    assert_eq!(quoted_by_ipv4(&packet), Some(quote));

    let inner = Ends { source: INSIDE, destination: SERVER_UP, port: Port::Source(5000) };
    let found = Translator::new().translate_up(&packet, &INWARDS, &Rules::default(), |asked| {
        assert_eq!(*asked, quote);
        Some(inner)
    });
    let translated = found.unwrap();
    let view = ipv6::View::parse(&translated).unwrap();
    assert_eq!((view.source(), view.destination(), view.next_header()), (SERVER_UP, INSIDE, 58));
    assert!(icmp::verify_ipv6(SERVER_UP, INSIDE, view.payload()));
    let error = icmp::View::parse(view.payload()).unwrap();
    assert_eq!((error.kind(), error.code(), error.rest()), (2, 0, 1420));
    let quoted = error.payload();
    assert_eq!(quoted.len(), 48);
    assert_eq!(u16::from_be_bytes([quoted[4], quoted[5]]), 1480);
    assert_eq!((quoted[6], quoted[7]), (17, 64));
    assert_eq!((&quoted[8..24], &quoted[24..40]), (&INSIDE.octets()[..], &SERVER_UP.octets()[..]));
    assert_eq!(quoted[40..44], [0x13, 0x88, 0, 53]);
    assert_eq!(quoted_by_ipv6(&translated).unwrap().ports, Some((5000, 53)));

    let found = Translator::new().translate_up(&packet, &INWARDS, &Rules::default(), |_| None);
    assert_eq!(found, Err(Refusal::QuoteEnds));
    let mut damaged = packet;
    damaged[30] ^= 1;
    assert_eq!(inwards(&damaged), Err(Refusal::IcmpChecksum));
}

#[test]
fn an_error_about_an_error_is_refused() {
    let inner = ipv4(1, 0, &[], &[3, 1, 0, 0, 0, 0, 0, 0]);
    let mut message = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &inner].concat();
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(inwards(&ipv4(1, 0, &[], &message)), Err(Refusal::Quote));
}

/// RFC 4884: the quote is padded to 128 bytes, its length counted in the other unit, and what
/// follows it is kept.
#[test]
fn extensions_are_moved() {
    let sent = ipv4(17, 0, &[], &[0x9c, 0x40, 0, 53, 0, 8, 0, 1]);
    let extension = [0x20, 0, 0xca, 0xfe, 0, 8, 1, 1, 9, 9, 9, 9];
    let quoted = [&sent[..], &[0; 100], &extension].concat();
    let mut message = [&[11, 0, 0, 0, 0, 32, 0, 0][..], &quoted].concat();
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let inner = Ends { source: INSIDE, destination: SERVER_UP, port: Port::Kept };
    let packet = ipv4(1, 0, &[], &message);
    let found =
        Translator::new().translate_up(&packet, &INWARDS, &Rules::default(), |_| Some(inner));
    let translated = found.unwrap();
    let error = icmp::View::parse(&translated[40..]).unwrap();
    assert_eq!((error.kind(), error.code(), error.rest()), (3, 0, 16 << 24));
    assert_eq!(error.payload().len(), 128 + extension.len());
    assert_eq!(error.payload()[128..], extension);
    assert!(error.payload()[48..128].iter().all(|&byte| byte == 0));
}

#[test]
fn a_packet_at_its_last_hop_stays() {
    let mut packet = ipv4(50, 0, &[], &[1]);
    packet[8] = 1;
    assert_eq!(inwards(&packet), Err(Refusal::Expired));
    let mut packet = ipv6(50, &[1]);
    packet[7] = 0;
    assert_eq!(outwards(&packet), Err(Refusal::Expired));
    assert_eq!(Refusal::Expired.answer_to_ipv4().unwrap().kind, 11);
    assert_eq!(Refusal::Expired.answer_to_ipv6().unwrap().kind, 3);
}
