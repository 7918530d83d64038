//! TCP segments of no session: silence, or the reset that RFC 9293 section 3.10.7.1 describes, to
//! whom the key says and no more often than errors may leave.

use std::net::Ipv4Addr;

use function_cgnat::Pipeline;
use function_cgnat::config::{Config, TcpResets};
use function_cgnat::reasons::Tally;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::mutate::repair;
use testkit::pair::clock;
use wire::{ipv4, tcp};

use crate::frames::{INSIDE, OUTSIDE, kinds};

const NOW: Ticks = 1 << 40;
const SUBSCRIBER: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [192, 0, 2, 9];
/// An address of the pool.
const SHARED: [u8; 4] = [198, 18, 0, 1];

fn device(config: &Config) -> Device<Pipeline> {
    let nat = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), 1 << 30);
    Device::new(nat.expect("a small NAT"), 2)
}

/// A segment with ten bytes of data, of sequence number 1000, which acknowledges 2000.
fn segment(config: &Config, port: PortId, [from, to]: [[u8; 4]; 2], flags: u8) -> Vec<u8> {
    let mut frame = vec![0; 64];
    let (own, next) = match port {
        INSIDE => (config.inside_mac.0.0, config.inside_next_hop_mac.0.0),
        _ => (config.outside_mac.0.0, config.outside_next_hop_mac.0.0),
    };
    frame[..6].copy_from_slice(&own);
    frame[6..12].copy_from_slice(&next);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 6]);
    frame[26..30].copy_from_slice(&from);
    frame[30..34].copy_from_slice(&to);
    frame[34..38].copy_from_slice(&[0x15, 0xb3, 0, 80]);
    frame[38..46].copy_from_slice(&[0, 0, 3, 0xe8, 0, 0, 7, 0xd0]);
    (frame[46], frame[47]) = (0x50, flags);
    repair(&mut frame);
    frame
}

/// Sequence number, acknowledgement and flags of a sound segment the other way.
fn reset_of(sent: &[u8], outcome: &Outcome) -> Option<(u32, u32, u8)> {
    let Outcome::Left(_, frame) = outcome else { return None };
    assert_eq!([&frame[..6], &frame[6..12]], [&sent[6..12], &sent[..6]], "the other station");
    let packet = ipv4::View::parse(&frame[14..]).expect("sound");
    let address = |at: usize| Ipv4Addr::new(sent[at], sent[at + 1], sent[at + 2], sent[at + 3]);
    assert_eq!([packet.source(), packet.destination()], [address(30), address(26)]);
    let payload = packet.payload();
    let sum = tcp::checksum_ipv4(packet.source(), packet.destination(), payload);
    assert_eq!((payload.len(), sum), (tcp::HEADER_LEN, 0), "a header with a right checksum");
    assert_eq!([&payload[..2], &payload[2..4]], [&sent[36..38], &sent[34..36]]);
    let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four"));
    Some((number(4), number(8), payload[13]))
}

#[test]
fn segments_of_no_session_are_answered_as_the_key_says() {
    const { assert!(tcp::FLAG_SYN == 2 && tcp::FLAG_RST == 4 && tcp::FLAG_ACK == 16) };
    for tcp_resets in [TcpResets::None, TcpResets::Inside, TcpResets::Both] {
        let config = Config { tcp_resets, icmp_errors_per_s: 1000, ..kinds()[0].clone() };
        let mut device = device(&config);
        let mut pass = |port, ends, flags| {
            let sent = segment(&config, port, ends, flags);
            reset_of(&sent, &device.pass(port, &sent, NOW))
        };
        for (port, ends, is_told) in [
            (INSIDE, [SUBSCRIBER, SERVER], tcp_resets != TcpResets::None),
            (OUTSIDE, [SERVER, SHARED], tcp_resets == TcpResets::Both),
        ] {
            // It acknowledges what had come, or says what it has seen as sent; FIN is one more.
            let right = |reset| Some(reset).filter(|_| is_told);
            assert_eq!(pass(port, ends, 16), right((2000, 0, 4)), "{tcp_resets:?}");
            assert_eq!(pass(port, ends, 16 | 1), right((2000, 0, 4)), "{tcp_resets:?}");
            assert_eq!(pass(port, ends, 1), right((0, 1011, 20)), "{tcp_resets:?}");
            assert_eq!(pass(port, ends, 4), None, "none is an answer to another");
            assert_eq!(pass(port, ends, 4 | 16), None);
        }
        let answer = pass(OUTSIDE, [SERVER, SHARED], 16 | 2);
        assert_eq!(answer.is_some(), tcp_resets == TcpResets::Both);
        // RFC 5382 REQ-4: what would open a connection from outside hears nothing.
        assert_eq!(pass(OUTSIDE, [SERVER, SHARED], 2), None);
        // An address that is nobody's, and one that does not exist outside.
        assert_eq!(pass(OUTSIDE, [SERVER, [203, 0, 113, 200]], 16), None);
        assert_eq!(pass(OUTSIDE, [[127, 0, 0, 1], SHARED], 16), None);
    }
}

#[test]
fn no_more_resets_leave_than_errors_may() {
    let config = Config {
        tcp_resets: TcpResets::Both,
        icmp_errors_per_s: 10,
        icmp_error_burst: 20,
        ..kinds()[0].clone()
    };
    let mut device = device(&config);
    for number in 0..100 {
        let (port, ends) = match number % 2 {
            0 => (INSIDE, [SUBSCRIBER, SERVER]),
            _ => (OUTSIDE, [SERVER, SHARED]),
        };
        device.pass(port, &segment(&config, port, ends, 16), NOW);
    }
    let tallies = device.counts().tallies;
    let counted = [Tally::TcpResetsSent, Tally::IcmpErrorsLimited].map(|one| tallies[one as usize]);
    assert_eq!(counted, [20, 80]);
}
