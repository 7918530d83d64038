//! The gateway as a host: pings and other ICMP for it, whole and in fragments, more than it
//! answers, and errors to those whose packets go no further.

use function_mobile_gateway::config::{Fragment, Tunnel};
use function_mobile_gateway::gateway::ACCESS;
use wire::bytes::put_u16;
use wire::{checksum, ethernet, ipv4, protocol};

use super::build::{frame, packet, set_word};
use super::fragments::{in_pieces, send};
use super::steps::Sample;
use crate::catalogue;
use crate::section::Section;

/// ICMP to the gateway.
pub(super) fn pings(sample: &mut Sample) {
    let good = ping(sample, 8, 40);
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        frame
    };
    let frames = [
        ("a ping", good.clone()),
        ("a ping with padding", edit(&|frame| frame.extend([0; 9]))),
        ("a ping with a wrong checksum", edit(&|frame| frame[HEAD + 2] ^= 1)),
        ("a ping from a group of stations", edit(&|frame| frame[6] |= 1)),
        ("a reply to a ping", ping(sample, 0, 40)),
        ("an error", ping(sample, 3, 40)),
        ("a ping cut short", ping(sample, 8, 4)),
    ];
    for (about, frame) in frames {
        sample.core(about, frame.clone());
        sample.access(about, frame);
    }
    let make = &sample.make;
    let from_nowhere = packet([127, 0, 0, 1].into(), make.config.gw_ip, 1, &echo(8, 40));
    let frame = make.over_access(&sample.visitor, ethernet::TYPE_IPV4, &from_nowhere);
    sample.access("a ping from an address of no host", frame);
    for len in [700, 1400, 1900] {
        let long = ping(sample, 8, len);
        let end = long.len() - HEAD;
        let pieces = in_pieces(sample, &long, &[(0, 400), (400, end)]);
        send(sample, "a ping in fragments", pieces);
    }
    for _ in 0..PINGS {
        sample.frame_at_once(ACCESS, "one of many pings", good.clone());
    }
}

/// Packets of every length around what the links take, that may be cut and that may not.
pub(super) fn lengths(sample: &mut Sample) {
    let Section { access_mtu, core_mtu, ipv6, .. } = *sample.config();
    let growth = if sample.config().tunnel() == Tunnel::GtpU { 36 } else { 50 };
    for flags in [0, ipv4::FLAG_DONT_FRAGMENT, ipv4::FLAG_MORE_FRAGMENTS, 0x2010] {
        let change = |whole: &mut Vec<u8>| set_word(ipv4::offset::FLAGS_FRAGMENT, flags)(whole);
        for len in around(access_mtu, growth) {
            let mut whole = sample.make.packet(&sample.visitor, false, len);
            change(&mut whole);
            let frame = sample.make.over_core(&whole);
            sample.core("a packet for a user of a length around what passes", frame);
        }
        for len in around(core_mtu, 0) {
            let mut whole = sample.make.packet(&sample.visitor, true, len);
            change(&mut whole);
            let frame = sample.make.tunnelled(&sample.visitor, &whole);
            sample.access("a packet of a user of a length around what passes", frame);
        }
    }
    let whole = sample.make.packet(&sample.visitor, true, 100);
    let tunnelled = sample.make.tunnelled(&sample.visitor, &whole);
    sample.core("a tunnel packet from the Internet's side", tunnelled);
    let whole = sample.make.packet(&sample.visitor, false, 100);
    let plain = sample.make.over_core(&whole);
    sample.access("a packet for a user from the side of base stations", plain);
    if !ipv6 {
        return;
    }
    for len in around(access_mtu, growth).into_iter().chain([1280]) {
        let whole = sample.make.packet_ipv6(&sample.visitor, false, len);
        let frame = sample.make.over_core(&whole);
        sample.core("an IPv6 packet for a user of a length around what passes", frame);
    }
    for len in around(core_mtu, 0) {
        let whole = sample.make.packet_ipv6(&sample.visitor, true, len);
        let frame = sample.make.tunnelled(&sample.visitor, &whole);
        sample.access("an IPv6 packet of a user of a length around what passes", frame);
    }
}

/// Drop reasons that these do not reach, each with the cause.
pub(super) fn unreachable(config: &Section) -> Vec<(&'static str, &'static str)> {
    let mut reasons = Vec::new();
    if !config.check_ports {
        reasons.push(("wrong-port", "ports are not checked"));
    }
    if config.pings_per_s == 0 {
        reasons.push(("icmp-malformed", "no pings are answered"));
    }
    if config.pings_per_s == 0 || config.pings_per_s > PINGS {
        reasons.push(("ping-limit", "no pings are answered, or more than a sample has"));
    }
    let stops = |mtu: u16| (1..1800).contains(&mtu);
    let is_cut = config.fragment == Fragment::Tunnel;
    if !stops(config.core_mtu) && (is_cut || !stops(config.access_mtu)) {
        reasons.push(("too-big", "links take what comes, or it is cut"));
    }
    reasons
}

/// Lengths around what passes; a few where there is no limit.
fn around(mtu: u16, growth: u16) -> Vec<u16> {
    match mtu {
        0 => vec![1000, 1880],
        mtu => {
            let most = mtu - growth;
            [most - 1, most, most + 1, most + 8, 1880]
                .into_iter()
                .filter(|len| *len < 1881)
                .collect()
        }
    }
}

/// ICMP to the gateway from a base station.
fn ping(sample: &Sample, kind: u8, len: usize) -> Vec<u8> {
    let from = catalogue::base_station_ipv4(sample.visitor.base_station);
    let packet = packet(from, sample.config().gw_ip, protocol::ICMP, &echo(kind, len));
    let station = catalogue::base_station_mac(sample.visitor.base_station);
    frame(sample.config().gw_mac, station, ethernet::TYPE_IPV4, &packet)
}

fn echo(kind: u8, len: usize) -> Vec<u8> {
    let mut message: Vec<u8> = (0..len).map(|at| at as u8).collect();
    message[..4].copy_from_slice(&[kind, 0, 0, 0]);
    let sum = checksum::checksum(&message);
    put_u16(&mut message, 2, sum);
    message
}

const HEAD: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// Pings at once.
const PINGS: u32 = 6;
