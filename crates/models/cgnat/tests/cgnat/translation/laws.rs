//! What must hold whatever the oracle says: right checksums stay right, wrong ones wrong, and there
//! and back again is the same packet.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::translation::{Ends, Port, Quote, Refusal, Rules, quoted_by_ipv4};
use testkit::random::Random;
use wire::{icmp, ipv4, ipv6, protocol, tcp, udp};

use super::made::{Translator, down, ipv4_error, ipv4_packet, ipv6_error, ipv6_packet, port, up};

#[test]
fn a_right_checksum_stays_right_and_a_wrong_one_wrong() {
    let (mut random, mut translator) = (Random::new(1), Translator::new());
    let rules = Rules::default();
    let mut checked = [0; 2];
    for _ in 0..PACKETS {
        let mut packet = ipv4_packet(&mut random);
        let is_right = random.below(4) > 0;
        if !is_right {
            damage(&mut packet);
        }
        let ends = ends_up(&packet, port(&mut random));
        if let Ok(translated) = translator.translate_up(&packet, &ends, &rules, |_| None)
            && was_checked_ipv4(&packet)
            && let Some(found) = is_right_ipv6(&translated)
        {
            assert_eq!(found, is_right, "{packet:02x?} became {translated:02x?}");
            checked[0] += 1;
        }
        let mut packet = ipv6_packet(&mut random);
        if !is_right {
            damage(&mut packet);
        }
        let ends = ends_down(&packet, port(&mut random));
        if let Ok(translated) = translator.translate_down(&packet, &ends, 1, &rules, |_| None)
            && let Some(found) = is_right_ipv4(&translated)
        {
            assert_eq!(found, is_right, "{packet:02x?} became {translated:02x?}");
            checked[1] += 1;
        }
    }
    assert!(checked.iter().all(|&count| count > PACKETS / 5), "{checked:?}");
}

#[test]
fn there_and_back_again_is_the_same_packet() {
    let (mut random, mut translator) = (Random::new(2), Translator::new());
    let rules = Rules::default();
    let mut count = 0;
    for _ in 0..PACKETS {
        let packet = ipv4_packet(&mut random);
        let view = ipv4::View::parse(&packet).expect("made right");
        let Ok(there) =
            translator.translate_up(&packet, &ends_up(&packet, Port::Kept), &rules, |_| None)
        else {
            continue;
        };
        let ends = ends_down(&there, Port::Kept);
        match translator.translate_down(&there, &ends, view.identification(), &rules, |_| None) {
            Ok(back) => {
                let back = ipv4::View::parse(&back).expect("a right header");
                let fields = view.fields();
                assert_eq!(back.ttl(), view.ttl() - 2);
                assert_eq!(
                    (back.source(), back.destination()),
                    (view.source(), view.destination())
                );
                assert_eq!((back.dscp(), back.ecn()), (view.dscp(), view.ecn()));
                assert_eq!(back.fragment_offset(), fields.fragment_offset);
                assert_eq!(back.more_fragments(), fields.more_fragments);
                assert_eq!(back.identification(), fields.identification);
                // A datagram without checksum has got one.
                let has_none =
                    view.protocol() == protocol::UDP && view.payload().get(6..8) == Some(&[0, 0]);
                if !has_none || view.fragment_offset() > 0 {
                    assert_eq!(back.payload(), view.payload());
                }
                count += 1;
            }
            Err(refusal) => assert_eq!((refusal, view.ttl()), (Refusal::Expired, 2)),
        }
    }
    assert!(count > PACKETS / 4, "only {count}");
}

#[test]
fn errors_and_what_they_quote_are_right() {
    let (mut random, mut translator) = (Random::new(3), Translator::new());
    let rules = Rules::default();
    let mut checked = [0; 2];
    for _ in 0..PACKETS {
        let packet = ipv4_error(&mut random);
        let ends = ends_up(&packet, Port::Kept);
        let mut asked = None;
        let found = translator.translate_up(&packet, &ends, &rules, |quote: &Quote<Ipv4Addr>| {
            asked = Some(*quote);
            let (source, destination) = (up(quote.source), up(quote.destination));
            Some(Ends { source, destination, port: Port::Source(7) })
        });
        if let Ok(translated) = found {
            assert_eq!(asked, quoted_by_ipv4(&packet));
            assert!(translated.len() <= 1280 && is_right_ipv6(&translated) == Some(true));
            let quoted = &ipv6::View::parse(&translated).expect("whole").payload()[8..];
            let quote = asked.expect("asked for");
            let ports = quote.ports.map(|(_, other)| (7, other));
            check_quote(quoted, up(quote.source), up(quote.destination), quote.protocol, ports);
            checked[0] += 1;
        }
        let packet = ipv6_error(&mut random);
        let ends = ends_down(&packet, Port::Kept);
        let found =
            translator.translate_down(&packet, &ends, 1, &rules, |quote: &Quote<Ipv6Addr>| {
                let (source, destination) = (down(quote.source), down(quote.destination));
                Some(Ends { source, destination, port: Port::Destination(9) })
            });
        if let Ok(translated) = found {
            assert!(translated.len() <= 1280 && is_right_ipv4(&translated) == Some(true));
            let quoted = ipv4::View::parse(&translated).expect("whole").payload();
            assert_eq!(quoted[8], 0x45);
            assert!(wire::checksum::header_is_valid(
                quoted[8..28].first_chunk().expect("a header")
            ));
            checked[1] += 1;
        }
    }
    assert!(checked.iter().all(|&count| count > PACKETS / 20), "{checked:?}");
}

/// Addresses, protocol and the port that an error quotes.
fn check_quote(
    quoted: &[u8],
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    ports: Option<(u16, u16)>,
) {
    assert_eq!(quoted[8..24], source.octets());
    assert_eq!(quoted[24..40], destination.octets());
    let (next, transport) = match quoted[6] {
        protocol::IPV6_FRAGMENT => (quoted[40], &quoted[48..]),
        next => (next, &quoted[40..]),
    };
    let is_icmp = protocol == protocol::ICMP;
    assert_eq!(next, if is_icmp { protocol::ICMPV6 } else { protocol });
    let Some((first, second)) = ports.filter(|_| protocol != protocol::SCTP) else { return };
    let word = |at: usize| u16::from_be_bytes([transport[at], transport[at + 1]]);
    if is_icmp {
        assert_eq!(word(4), first);
    } else {
        assert_eq!((word(0), word(2)), (first, second));
    }
}

fn ends_up(packet: &[u8], port: Port) -> Ends<Ipv6Addr> {
    let view = ipv4::View::parse_without_checksum(packet).expect("made whole");
    Ends { source: up(view.source()), destination: up(view.destination()), port }
}

fn ends_down(packet: &[u8], port: Port) -> Ends<Ipv4Addr> {
    let view = ipv6::View::parse(packet).expect("made whole");
    Ends { source: down(view.source()), destination: down(view.destination()), port }
}

/// Changes the last bit of a packet, which is of the payload or the last byte of a header that the
/// checksum covers.
fn damage(packet: &mut [u8]) {
    if let Some(last) = packet.last_mut() {
        *last ^= 1;
    }
}

/// Whether a datagram came with a checksum at all: one that it gets is right.
fn was_checked_ipv4(packet: &[u8]) -> bool {
    let view = ipv4::View::parse_without_checksum(packet).expect("made whole");
    view.protocol() != protocol::UDP || view.payload().get(6..8) != Some(&[0, 0])
}

/// Whether the transport's checksum is right; none where it cannot be told.
fn is_right_ipv6(packet: &[u8]) -> Option<bool> {
    let view = ipv6::View::parse(packet).expect("whole");
    let (source, destination) = (view.source(), view.destination());
    match view.next_header() {
        protocol::TCP => {
            let segment = tcp::View::parse(view.payload()).expect("whole");
            Some(segment.verify_ipv6(source, destination).is_ok())
        }
        protocol::UDP => {
            let datagram = udp::View::parse(view.payload()).expect("whole");
            Some(datagram.verify_ipv6(source, destination).is_ok())
        }
        protocol::ICMPV6 => Some(icmp::verify_ipv6(source, destination, view.payload())),
        _ => None,
    }
}

fn is_right_ipv4(packet: &[u8]) -> Option<bool> {
    let view = ipv4::View::parse(packet).expect("a right header");
    let (source, destination) = (view.source(), view.destination());
    if view.is_fragment() {
        return None;
    }
    match view.protocol() {
        protocol::TCP => {
            let segment = tcp::View::parse(view.payload()).expect("whole");
            Some(segment.verify_ipv4(source, destination).is_ok())
        }
        protocol::UDP => {
            let datagram = udp::View::parse(view.payload()).expect("whole");
            assert_ne!(datagram.checksum(), udp::CHECKSUM_NONE);
            Some(datagram.verify_ipv4(source, destination).is_ok())
        }
        protocol::ICMP => Some(icmp::verify_ipv4(view.payload())),
        _ => None,
    }
}

const PACKETS: u32 = 20_000;
