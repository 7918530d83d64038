//! What the gateway answers itself, what a control plane gets, and what subscribers must not say.

use std::net::IpAddr;

use function_bng::reasons::PUNTS;
use machine::clock::Clock;
use model_kit::build;
use model_kit::device::Outcome;
use packet::PortId;
use serde_json::json;
use wire::protocol;

use crate::gateway::*;

const BROADCAST: [u8; 6] = [0xff; 6];

fn group(frame: &[u8]) -> Vec<u8> {
    [&BROADCAST[..], &frame[6..]].concat()
}

fn datagram(from: (IpAddr, u16), to: (IpAddr, u16)) -> Vec<u8> {
    let payload = build::datagram((from.1, to.1), &build::text(60));
    match (from.0, to.0) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            build::packet(source, destination, protocol::UDP, &payload)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            build::packet_ipv6_with(source, destination, protocol::UDP, &payload)
        }
        _ => panic!("two versions"),
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_control_plane_gets_what_begins_sessions_and_nobody_else_does() {
    let mut device = device(&config(&json!({})));
    let any = address("0.0.0.0");
    let discover = datagram((any, 68), (address("255.255.255.255"), 67));
    let renewal = datagram((address("10.0.0.1"), 68), (address("10.0.0.254"), 67));
    let solicit = datagram((address("fe80::1"), 546), (address("ff02::1:2"), 547));
    let padi =
        [&BROADCAST[..], &host(5).0, &[0x88, 0x63, 0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]].concat();
    let lcp = from_pppoe(2, 0xc021, &[1, 1, 0, 4]);
    let frames = [
        group(&from_ipoe(5, &discover)),
        from_ipoe(1, &renewal),
        group(&from_ipoe(5, &solicit)),
        padi,
        lcp.clone(),
    ];
    for frame in &frames {
        assert_eq!(device.pass(ACCESS, frame, 0), Outcome::Punted, "{frame:02x?}");
    }
    // To another server it is a packet as any.
    let elsewhere = datagram((address("10.0.0.1"), 68), (SERVER.into(), 67));
    let left = device.pass(ACCESS, &from_ipoe(1, &elsewhere), 0);
    assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&elsewhere))));
    let mut of_another = lcp;
    of_another[11] ^= 1;
    assert_eq!(device.pass(ACCESS, &of_another, 0), Outcome::Dropped("spoofed-mac"));
    assert_eq!(PUNTS.len(), 6);
}

#[test]
fn what_is_punted_bears_line_and_session() {
    use engine::{Function, StageTotals};
    use packet::{Batch, Room, Verdict};
    let config = config(&json!({"first-packets": true}));
    let shard = function_kit::Shard::WHOLE;
    let mut pipeline =
        function_bng::Pipeline::new(&config, shard, Clock::with_rate(1e9), 0).expect("small");
    pipeline.make_room(Room::default()).expect("memory");
    let mut batch = Batch::new(3, Room::default()).expect("memory");
    let first = packet(ipv4(9).into(), SERVER.into(), 60);
    let renewal = datagram((address("10.0.0.1"), 68), (address("10.0.0.254"), 67));
    let frames =
        [from_pppoe(2, 0xc021, &[1, 1, 0, 4]), from_ipoe(9, &first), from_ipoe(1, &renewal)];
    for frame in &frames {
        batch.append(ACCESS, frame.len()).expect("room").copy_from_slice(frame);
    }
    let mut totals = StageTotals::default();
    pipeline.process(&mut batch, 0, &mut totals.start(0));
    let expected = [("ppp", 2, 7 << 16 | 102), ("first-packet", 0, 109), ("dhcpv4", 1, 101)];
    for ((slot, (name, session, line)), frame) in (0..).zip(expected).zip(&frames) {
        let Verdict::Punt(reason) = batch.verdict(slot) else { panic!("slot {slot}") };
        assert_eq!(PUNTS[usize::from(reason.0)], name);
        let context = pipeline.context(&batch, slot);
        assert_eq!((context.session, context.source, context.interface), (session, line, 0));
        assert_eq!(batch.frame(slot), frame, "as it came");
    }
}

#[test]
fn what_only_servers_say_is_dropped_from_subscribers() {
    let mut device = device(&config(&json!({})));
    let offer = datagram((address("10.0.0.1"), 67), (address("255.255.255.255"), 68));
    let advertise = datagram((address("fe80::1"), 547), (address("ff02::1"), 546));
    let router = build::packet_ipv6_with(ipv6("fe80::1"), ipv6("ff02::1"), 58, &[134; 16]);
    let pado = [&OWN.0[..], &host(5).0, &[0x88, 0x63, 0x11, 7, 0, 0, 0, 4, 1, 1, 0, 0]].concat();
    let frames = [
        group(&from_ipoe(1, &offer)),
        group(&from_ipoe(1, &advertise)),
        group(&from_ipoe(1, &router)),
        pado,
    ];
    for frame in frames {
        let became = device.pass(ACCESS, &frame, 0);
        assert_eq!(became, Outcome::Dropped("server-message"), "{frame:02x?}");
    }
}

#[test]
fn questions_for_the_gateway_are_answered_on_their_line() {
    let mut device = device(&config(&json!({})));
    let question = |target: [u8; 4]| {
        let tags = [0x88, 0xa8, 0, 7, 0x81, 0, 0, 102];
        let fixed = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
        let (asks, of) = (host(2).0, [10, 0, 0, 2]);
        [&BROADCAST[..], &asks, &tags, &fixed, &asks, &of, &[0; 6], &target].concat()
    };
    let became = device.pass(ACCESS, &question([10, 0, 0, 254]), 0);
    let Outcome::Left(ACCESS, answer) = became else { panic!("{became:?}") };
    assert_eq!(answer[..12], [host(2).0, OWN.0].concat());
    assert_eq!(answer[12..20], [0x88, 0xa8, 0, 7, 0x81, 0, 0, 102]);
    assert_eq!(answer[28..30], [0, 2]);
    assert_eq!(answer[30..36], OWN.0);
    let became = device.pass(ACCESS, &question([10, 0, 0, 3]), 0);
    assert_eq!(became, Outcome::Dropped("arp-ignored"));

    let mut ping = vec![8, 0, 0, 0, 0, 1, 0, 1, 9, 9];
    let sum = wire::checksum::checksum(&ping);
    ping[2..4].copy_from_slice(&sum.to_be_bytes());
    let to_gateway = build::packet(ipv4(2), [10, 0, 0, 254].into(), protocol::ICMP, &ping);
    let became = device.pass(ACCESS, &from_pppoe(2, 0x21, &to_gateway), 0);
    let Outcome::Left(ACCESS, answer) = became else { panic!("{became:?}") };
    assert_eq!(answer[..30], to_pppoe(2, &to_gateway)[..30]);
    assert_eq!((&answer[42..46], answer[50]), (&[10, 0, 0, 254][..], 0));
    let other = packet(ipv4(2).into(), address("10.0.0.254"), 60);
    let became = device.pass(ACCESS, &from_pppoe(2, 0x21, &other), 0);
    assert_eq!(became, Outcome::Dropped("local"));
}

#[test]
fn frames_that_nobody_sends_are_dropped_by_name() {
    let mut device = device(&config(&json!({"tags": ["one", "two"]})));
    let sent = packet(ipv4(1).into(), SERVER.into(), 60);
    let frame = from_ipoe(1, &sent);
    let changed = |at: usize, value: u8| {
        let mut frame = frame.clone();
        frame[at] = value;
        frame
    };
    let pppoe = from_pppoe(2, 0x21, &packet(ipv4(2).into(), SERVER.into(), 60));
    let of_pppoe = |at: usize, value: u8| {
        let mut frame = pppoe.clone();
        frame[at] = value;
        frame
    };
    let cases = [
        (frame[..13].to_vec(), "truncated"),
        (frame[..17].to_vec(), "truncated"),
        ([&frame[..12], &frame[16..]].concat(), "unknown-vlan"),
        (changed(5, 9), "other-station"),
        (changed(16, 0x77), "unknown-ethertype"),
        (changed(26, 1), "ip-checksum"),
        (changed(18, 0x65), "ip-malformed"),
        (group(&frame), "not-forwarded"),
        (of_pppoe(22, 0x12), "pppoe-malformed"),
        (of_pppoe(27, 0xff), "pppoe-malformed"),
        (of_pppoe(23, 9), "pppoe-malformed"),
        (group(&pppoe), "other-station"),
    ];
    for (frame, reason) in cases {
        let became = device.pass(ACCESS, &frame, 0);
        assert_eq!(became, Outcome::Dropped(reason), "{frame:02x?}");
    }
    let injected = device.pass_all(PortId(0), [], 0);
    assert_eq!(injected.counts.accounted_total(), 0);
}
