//! Translated packets, read by tshark: no checksum is bad, inside ICMP errors neither. (Payloads
//! are noise, in which tshark finds broken messages of many protocols; so that is not looked at.)

use std::path::Path;

use function_cgnat::translation::{Ends, Port, Rules};
use pcap_file::DataLink;
use testkit::random::Random;
use testkit::tshark::{CHECKSUM_BAD, CHECKSUM_GOOD, dissect};
use wire::{ipv4, ipv6};

use super::made::{Translator, down, ipv4_error, ipv4_packet, ipv6_error, ipv6_packet, port, up};

#[test]
fn tshark_finds_no_bad_checksum() {
    let packets = translated();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("translated.pcap");
    // Without a link layer: each begins with its IP header.
    let Some(dissected) = dissect(&file, (DataLink::RAW, &packets), &[], &FIELDS) else { return };
    let mut right = [0; FIELDS.len()];
    for (number, packet) in dissected.iter().enumerate() {
        let place = format!("packet {}: {:02x?}", number + 1, packets[number]);
        for (right, field) in right.iter_mut().zip(FIELDS) {
            // An error has its own and that of what it quotes.
            for status in packet.field(field) {
                assert_ne!(status, CHECKSUM_BAD, "{field} of {place}");
                *right += usize::from(status == CHECKSUM_GOOD);
            }
        }
    }
    assert!(right.iter().all(|&count| count > 100), "{right:?} of {FIELDS:?}");
}

/// Packets of both families after translation, those that tshark can judge.
fn translated() -> Vec<Vec<u8>> {
    let (mut random, mut translator) = (Random::new(4), Translator::new());
    let rules = Rules::default();
    let mut packets = Vec::new();
    while packets.len() < PACKETS {
        let is_error = random.below(3) == 0;
        let packet = if is_error { ipv4_error(&mut random) } else { ipv4_packet(&mut random) };
        let view = ipv4::View::parse(&packet).expect("made right");
        let ends = Ends {
            source: up(view.source()),
            destination: up(view.destination()),
            port: port(&mut random),
        };
        let done = translator.translate_up(&packet, &ends, &rules, |quote| {
            let (source, destination) = (up(quote.source), up(quote.destination));
            Some(Ends { source, destination, port: Port::Destination(4000) })
        });
        packets.extend(done.ok().filter(|packet| can_be_judged(packet, is_error)));

        let packet = if is_error { ipv6_error(&mut random) } else { ipv6_packet(&mut random) };
        let view = ipv6::View::parse(&packet).expect("made right");
        let ends = Ends {
            source: down(view.source()),
            destination: down(view.destination()),
            port: port(&mut random),
        };
        let done = translator.translate_down(&packet, &ends, 7, &rules, |quote| {
            let (source, destination) = (down(quote.source), down(quote.destination));
            Some(Ends { source, destination, port: Port::Source(4000) })
        });
        packets.extend(done.ok().filter(|packet| can_be_judged(packet, is_error)));
    }
    packets
}

/// Whether tshark can judge it: it takes what is quoted of a packet for all of it.
fn can_be_judged(packet: &[u8], is_error: bool) -> bool {
    if !is_error {
        return true;
    }
    let (start, field, unit) = if packet[0] >> 4 == 6 { (48, 4, 8) } else { (28, 5, 4) };
    let units = usize::from(packet[start - 8 + field]) * unit;
    let has_length = matches!((packet[0] >> 4, packet[start - 8]), (6, 1 | 3) | (4, 3 | 11 | 12));
    let quoted = match packet.get(start..start + units) {
        Some(quoted) if units > 0 && has_length => quoted,
        _ => &packet[start..],
    };
    let word = |at: usize| usize::from(u16::from_be_bytes([quoted[at], quoted[at + 1]]));
    let len = if start == 48 { 40 + word(4) } else { word(2) };
    len <= quoted.len()
}

/// What tshark is asked for.
const FIELDS: [&str; 5] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];
const PACKETS: usize = 4000;
