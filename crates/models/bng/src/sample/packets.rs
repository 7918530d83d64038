//! A subscriber's own packet: its header, its addresses, its route.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model_kit::build::{
    add_options, packet, packet_ipv6_with, segments_with_options, set, set_word,
};
use wire::bytes::put_u16;
use wire::ipv6::link_local;
use wire::{ipv4, protocol};

use super::build;
use super::steps::Sample;

/// IPv4 headers both ways.
pub(super) fn ipv4(sample: &mut Sample) {
    use ipv4::offset::{CHECKSUM, DSCP_ECN, FLAGS_FRAGMENT, PROTOCOL, TOTAL_LEN, TTL, VERSION_IHL};
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 23] = [
        ("a packet", |_| {}),
        ("with a code point and congestion marks", |packet| set(DSCP_ECN, 0xbb)(packet)),
        ("TCP", |packet| set(PROTOCOL, protocol::TCP)(packet)),
        ("ICMP", |packet| set(PROTOCOL, protocol::ICMP)(packet)),
        ("the first fragment", |packet| set_word(FLAGS_FRAGMENT, 0x2000)(packet)),
        ("the last fragment", |packet| set_word(FLAGS_FRAGMENT, 0x00b9)(packet)),
        ("the reserved flag", |packet| set_word(FLAGS_FRAGMENT, 0x8000)(packet)),
        ("two hops left", |packet| set(TTL, 2)(packet)),
        ("one hop left", |packet| set(TTL, 1)(packet)),
        ("no hop left", |packet| set(TTL, 0)(packet)),
        ("all hops left", |packet| set(TTL, 255)(packet)),
        ("a header alone", |packet| {
            packet.truncate(20);
            set_word(TOTAL_LEN, 20)(packet);
        }),
        ("padding", |packet| packet.extend([0; 9])),
        ("version 5", |packet| set(VERSION_IHL, 0x55)(packet)),
        ("a header of four words", |packet| set(VERSION_IHL, 0x44)(packet)),
        ("a header longer than the packet", |packet| {
            packet.truncate(48);
            set_word(TOTAL_LEN, 48)(packet);
            set(VERSION_IHL, 0x4f)(packet);
        }),
        ("a length below the header's", |packet| set_word(TOTAL_LEN, 19)(packet)),
        ("a length above the packet's", |packet| set_word(TOTAL_LEN, 101)(packet)),
        ("a length below the packet's", |packet| set_word(TOTAL_LEN, 60)(packet)),
        ("a wrong checksum", |packet| packet[CHECKSUM] ^= 1),
        ("no checksum", |packet| put_u16(packet, CHECKSUM, 0)),
        ("options", add_options),
        ("a header cut short", |packet| packet.truncate(19)),
    ];
    for session in sample.visitors() {
        for (about, change) in changes {
            sample.up(about, &session, change);
            sample.down(about, &session, change);
        }
    }
}

/// IPv6 headers both ways.
pub(super) fn ipv6(sample: &mut Sample) {
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 14] = [
        ("IPv6: a packet", |_| {}),
        ("IPv6: with a traffic class", |packet| put_u16(packet, 0, 0x6bb1)),
        ("IPv6: TCP", |packet| packet[6] = protocol::TCP),
        ("IPv6: hop-by-hop options", |packet| packet[6] = 0),
        ("IPv6: destination options", |packet| {
            packet[6] = 60;
            packet[40..48].copy_from_slice(&[17, 0, 1, 4, 0, 0, 0, 0]);
        }),
        ("IPv6: a fragment", |packet| {
            packet[6] = 44;
            packet[40..48].copy_from_slice(&[17, 0, 0, 9, 0, 0, 0, 7]);
        }),
        ("IPv6: headers without an end", |packet| {
            packet[6] = 60;
            packet[40] = 60;
            packet[41] = 200;
        }),
        ("IPv6: two hops left", |packet| packet[7] = 2),
        ("IPv6: one hop left", |packet| packet[7] = 1),
        ("IPv6: no hop left", |packet| packet[7] = 0),
        ("IPv6: version 5", |packet| packet[0] = 0x50),
        ("IPv6: a length above the packet's", |packet| put_u16(packet, 4, 61)),
        ("IPv6: a length below the packet's", |packet| put_u16(packet, 4, 40)),
        ("IPv6: a header cut short", |packet| packet.truncate(39)),
    ];
    let server = build::server(false);
    for session in sample.visitors() {
        for own in build::addresses(&session).into_iter().filter(IpAddr::is_ipv6) {
            for (about, change) in changes {
                let mut packet = build::udp(own, server, 100);
                change(&mut packet);
                let frame = spoiled_up(sample, &session, &packet);
                sample.access(about, frame);
                let mut packet = build::udp(server, own, 100);
                change(&mut packet);
                let mut frame = build::down(&sample.config, &packet);
                put_u16(&mut frame, 12, 0x86dd);
                sample.core(about, frame);
            }
        }
    }
}

/// A packet that is said to be IPv6, whatever it is.
fn spoiled_up(sample: &Sample, session: &function_bng::config::Session, packet: &[u8]) -> Vec<u8> {
    let mut like = packet.to_vec();
    like[0] = 0x60;
    let mut frame = build::up(&sample.config, session, &like);
    let at = frame.len() - packet.len();
    frame[at] = packet[0];
    frame
}

/// From whom and whereto: anti-spoofing, groups, nobody, routes.
pub(super) fn addresses(sample: &mut Sample) {
    let four = |text: &str| text.parse::<Ipv4Addr>().map_or(IpAddr::from([0; 4]), IpAddr::from);
    let six = |text: &str| text.parse::<Ipv6Addr>().map_or(IpAddr::from([0; 16]), IpAddr::from);
    let [ipoe, pppoe] = sample.visitors();
    for session in [ipoe, pppoe] {
        let own = build::addresses(&session);
        let other = if session.pppoe.is_some() { ipoe } else { pppoe };
        let servers = [build::server(true), build::server(false)];
        let mut sources = build::addresses(&other);
        sources.extend(servers);
        sources.extend([four("0.0.0.0"), four("10.0.1.0"), four("255.255.255.255")]);
        sources.extend([six("::"), six("fe80::9"), six("3fff:e01::ffff:0:0:0:1"), six("::1")]);
        for source in sources {
            let server = servers[usize::from(source.is_ipv6())];
            let frame = build::up(&sample.config, &session, &build::udp(source, server, 60));
            sample.access("under another's address", frame);
        }
        let targets = [
            four("0.0.0.0"),
            four("127.0.0.1"),
            four("224.0.0.5"),
            four("239.1.2.3"),
            four("255.255.255.255"),
            four("240.0.0.1"),
            four("9.9.9.9"),
            four("50.0.0.255"),
            six("::"),
            six("::1"),
            six("ff02::1"),
            six("ff0e::1:2"),
            six("fe80::1"),
            six("3fff:9::1"),
            six("3fff:800:0:ffff::1"),
        ];
        let nobodies = ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.5", "240.0.0.1"].map(four);
        let nobodies_ipv6 = ["::", "::1", "ff02::1", "ff0e::1:2", "fe80::9"].map(six);
        let gateway = link_local(sample.config.core_mac).into();
        for nobody in nobodies.into_iter().chain(nobodies_ipv6) {
            let of_version = |address: &&IpAddr| address.is_ipv4() == nobody.is_ipv4();
            for target in own.iter().chain([&gateway]).filter(of_version) {
                let frame = build::down(&sample.config, &build::udp(nobody, *target, 60));
                sample.core("from nobody beyond the link", frame);
            }
        }
        let neighbours = build::addresses(&other);
        for target in targets.into_iter().chain(neighbours).chain(own.clone()) {
            let of_version = |address: &&IpAddr| address.is_ipv4() == target.is_ipv4();
            let Some(from) = own.iter().find(of_version) else { continue };
            let frame = build::up(&sample.config, &session, &build::udp(*from, target, 60));
            sample.access("whereto", frame);
            let server = servers[usize::from(target.is_ipv6())];
            let frame = build::down(&sample.config, &build::udp(server, target, 60));
            sample.core("whereto", frame);
        }
    }
    strangers(sample);
}

/// Stations and addresses that no session has.
fn strangers(sample: &mut Sample) {
    let stranger = function_bng::config::Session {
        mac: function_kit::sections::Mac(wire::MacAddr([2, 0xee, 0, 0, 0, 0x99])),
        ..sample.ipoe
    };
    sample.up("from a station without a session", &stranger, |_| {});
    for (is_ipv4, nobody) in [
        (true, IpAddr::from([172, 16, 0, 200])),
        (false, IpAddr::from([0x3fff, 0xe02, 0, 0x1000, 0, 0, 0, 1])),
    ] {
        let frame = build::down(&sample.config, &build::udp(build::server(is_ipv4), nobody, 60));
        sample.core("for nobody", frame);
    }
}

/// SYNs with a maximum segment size at any place among their options, or none, both ways.
pub(super) fn segments(sample: &mut Sample) {
    for session in sample.visitors() {
        for segment in segments_with_options() {
            for own in build::addresses(&session) {
                both_ways(sample, &session, own, &segment);
            }
        }
    }
}

fn both_ways(
    sample: &mut Sample,
    session: &function_bng::config::Session,
    own: IpAddr,
    segment: &[u8],
) {
    let server = build::server(own.is_ipv4());
    let of = |from: IpAddr, to: IpAddr| match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => packet(from, to, protocol::TCP, segment),
        (IpAddr::V6(from), IpAddr::V6(to)) => packet_ipv6_with(from, to, protocol::TCP, segment),
        _ => Vec::new(),
    };
    let frame = build::up(&sample.config, session, &of(own, server));
    sample.access("a segment with options", frame);
    let frame = build::down(&sample.config, &of(server, own));
    sample.core("a segment with options", frame);
}
