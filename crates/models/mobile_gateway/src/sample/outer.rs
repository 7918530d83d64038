//! What stands in front of a user's packet: Ethernet, ARP, IPv4, UDP.
use crate::catalogue;
use wire::bytes::put_u16;
use wire::{MacAddr, arp, ethernet, ipv4, protocol, udp};

use super::build::{add_options, datagram, mend, packet, set, set_word};
use super::steps::Sample;

/// Ethernet frames that are no use.
pub(super) fn ethernet(sample: &mut Sample) {
    let make = &sample.make;
    let good = make.tunnelled(&sample.visitor, &make.packet(&sample.visitor, true, 60));
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        frame
    };
    let station = |mac: MacAddr| edit(&|frame| frame[..6].copy_from_slice(&mac.0));
    let of_type = |ether_type: u16| edit(&|frame| put_u16(frame, 12, ether_type));
    let frames = [
        ("one byte", vec![0xaa]),
        ("an Ethernet header cut short", good[..13].to_vec()),
        ("for another station", station(MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x00]))),
        ("IPv4 for all stations", station(MacAddr::BROADCAST)),
        ("for a group of stations", station(MacAddr([1, 0, 0x5e, 0, 0, 1]))),
        ("an unknown type", of_type(0x88cc)),
        ("a tagged frame", of_type(ethernet::TYPE_VLAN)),
        ("a length instead of a type", of_type(100)),
        ("an IPv6 type around IPv4", of_type(ethernet::TYPE_IPV6)),
        ("an Ethernet header alone", good[..14].to_vec()),
        ("an Ethernet header alone, for ARP", of_type(ethernet::TYPE_ARP)[..14].to_vec()),
        ("an Ethernet header alone, for IPv6", of_type(ethernet::TYPE_IPV6)[..14].to_vec()),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.access(about, frame));
}

/// Who has the gateway's address?
pub(super) fn arp(sample: &mut Sample) {
    let make = &sample.make;
    let gateway = make.config.gw_ip;
    let router = make.config.downlink_default_gw_ip;
    let all = MacAddr::BROADCAST;
    let request = make.arp(all, arp::OPERATION_REQUEST, gateway);
    let to_gateway = make.arp(make.config.gw_mac, arp::OPERATION_REQUEST, gateway);
    let other = make.arp(MacAddr([2, 0, 0, 0, 0, 9]), arp::OPERATION_REQUEST, gateway);
    let edit = |at: usize, value: u8| {
        let mut frame = request.clone();
        frame[ethernet::HEADER_LEN + at] = value;
        frame
    };
    let mut padded = request.clone();
    padded.resize(60, 0);
    let mut relayed = request.clone();
    relayed[ethernet::offset::SOURCE + 5] ^= 1;
    let frames = [
        ("ARP: who has the gateway's address?", request.clone()),
        ("ARP: the same from another station than its sender", relayed),
        ("ARP: the same with padding", padded),
        ("ARP: the same to the gateway alone", to_gateway),
        ("ARP: the same to another station", other),
        ("ARP: who has another address?", make.arp(all, arp::OPERATION_REQUEST, router)),
        ("ARP: a reply", make.arp(make.config.gw_mac, arp::OPERATION_REPLY, gateway)),
        ("ARP: an unknown operation", make.arp(all, 3, gateway)),
        ("ARP: another kind of hardware", edit(arp::offset::HARDWARE_TYPE + 1, 6)),
        ("ARP: another length of addresses", edit(arp::offset::PROTOCOL_LEN, 16)),
        ("ARP: cut short", request[..41].to_vec()),
    ];
    for (about, frame) in frames {
        sample.core(about, frame.clone());
        sample.access(about, frame);
    }
}

/// IPv4 packets from the Internet and from base stations.
pub(super) fn ipv4(sample: &mut Sample) {
    use ipv4::offset::{CHECKSUM, DSCP_ECN, FLAGS_FRAGMENT, TOTAL_LEN, TTL, VERSION_IHL};
    sample.downlink("for a user", |_| {});
    sample.downlink("with padding", |_| {});
    if let Some(model_kit::check::Step::Frame { frame, .. }) = sample.steps.last_mut() {
        frame.extend([0; 9]);
    }
    sample.downlink("with a code point and congestion marks", set(DSCP_ECN, 0xbb));
    sample.downlink("the first fragment for a user", set_word(FLAGS_FRAGMENT, 0x2000));
    sample.downlink("the last fragment for a user", set_word(FLAGS_FRAGMENT, 0x00b9));
    sample.downlink("with the reserved flag", set_word(FLAGS_FRAGMENT, 0x8000));
    sample.downlink("not to be fragmented", set_word(FLAGS_FRAGMENT, 0x4000));
    sample.downlink("with two hops left", set(TTL, 2));
    sample.downlink("with one hop left", set(TTL, 1));
    sample.downlink("with no hop left", set(TTL, 0));
    sample.downlink("with all hops left", set(TTL, 255));
    sample.downlink("a header alone", |packet| {
        packet.truncate(20);
        set_word(TOTAL_LEN, 20)(packet);
    });
    sample.downlink("version 5", set(VERSION_IHL, 0x55));
    sample.downlink("version 6 where 4 was said", set(VERSION_IHL, 0x65));
    if let Some(model_kit::check::Step::Frame { frame, .. }) = sample.steps.last_mut() {
        put_u16(frame, 12, ethernet::TYPE_IPV4);
    }
    sample.downlink("a header of four words", set(VERSION_IHL, 0x44));
    sample.downlink("a header longer than the packet", |packet| {
        packet.truncate(48);
        set_word(TOTAL_LEN, 48)(packet);
        set(VERSION_IHL, 0x4f)(packet);
    });
    sample.downlink("a length below the header's", set_word(TOTAL_LEN, 19));
    sample.downlink("a length above the frame's", set_word(TOTAL_LEN, 101));
    sample.downlink("a length below the frame's", set_word(TOTAL_LEN, 99));
    sample.downlink("a wrong checksum", |packet| packet[CHECKSUM] ^= 1);
    sample.downlink("no checksum", |packet| put_u16(packet, CHECKSUM, 0));
    sample.downlink("with options", add_options);
    sample.downlink("with options and a wrong checksum", |packet| {
        add_options(packet);
        packet[CHECKSUM] ^= 0x80;
    });
    addressed_to_others(sample);
    addressed_to_gateway(sample);
}

fn addressed_to_others(sample: &mut Sample) {
    let server = catalogue::server_ipv4(0);
    for (about, to) in [
        ("for nobody", "9.9.9.9"),
        ("for all", "255.255.255.255"),
        ("for a group", "224.0.0.1"),
        ("for address zero", "0.0.0.0"),
        ("for a server, from the Internet", "2.0.1.2"),
        ("for a base station, but not from the gateway", "1.1.0.1"),
        ("for the octet before the first user", "3.3.0.0"),
        ("for the octet behind the users'", "3.3.0.255"),
    ] {
        let Ok(to) = to.parse() else { continue };
        let packet = packet(server, to, protocol::UDP, &datagram((9, 40_000), b"unmatched"));
        let frame = sample.make.over_core(&packet);
        sample.core(about, frame);
    }
}

/// Everything that the gateway's own IPv4 header can be.
fn addressed_to_gateway(sample: &mut Sample) {
    use ipv4::offset::{CHECKSUM, DSCP_ECN, FLAGS_FRAGMENT, PROTOCOL, TOTAL_LEN, TTL, VERSION_IHL};
    type Change = Box<dyn FnOnce(&mut Vec<u8>)>;
    let changes: [(&str, Change); 16] = [
        ("tunnel: as it should be", Box::new(|_| {})),
        ("tunnel: no hop left, none needed", Box::new(set(TTL, 0))),
        ("tunnel: with a code point", Box::new(set(DSCP_ECN, 0xb8))),
        ("tunnel: not to be fragmented", Box::new(set_word(FLAGS_FRAGMENT, 0x4000))),
        ("tunnel: the first fragment", Box::new(set_word(FLAGS_FRAGMENT, 0x2000))),
        ("tunnel: the last fragment", Box::new(set_word(FLAGS_FRAGMENT, 0x0010))),
        ("tunnel: TCP", Box::new(set(PROTOCOL, protocol::TCP))),
        ("tunnel: ICMP", Box::new(set(PROTOCOL, protocol::ICMP))),
        ("tunnel: options", Box::new(add_options)),
        ("tunnel: a wrong checksum", Box::new(|packet| packet[CHECKSUM + 1] ^= 1)),
        ("tunnel: version 0", Box::new(set(VERSION_IHL, 0x05))),
        ("tunnel: a header of three words", Box::new(set(VERSION_IHL, 0x43))),
        ("tunnel: a length above the frame's", Box::new(set_word(TOTAL_LEN, 2000))),
        ("tunnel: a length below the header's", Box::new(set_word(TOTAL_LEN, 7))),
        ("tunnel: no room for UDP", Box::new(set_word(TOTAL_LEN, 27))),
        ("tunnel: no room for the datagram", Box::new(set_word(TOTAL_LEN, 100))),
    ];
    for (about, change) in changes {
        let make = &sample.make;
        let mut frame = make.tunnelled(&sample.visitor, &make.packet(&sample.visitor, true, 80));
        let mut outer = frame.split_off(ethernet::HEADER_LEN);
        change(&mut outer);
        frame.extend(outer);
        sample.access(about, frame.clone());
        // Padding behind the packet changes nothing.
        frame.extend([0; 5]);
        sample.access(about, frame);
    }
}

/// The tunnel's datagram.
pub(super) fn udp(sample: &mut Sample) {
    let make = &sample.make;
    let visitor = sample.visitor;
    let port = make.tunnel_port();
    let message = make.message(&visitor, &make.packet(&visitor, true, 80));
    let good = datagram((port, port), &message);
    let with = |datagram: &[u8]| make.over_ip(&visitor, protocol::UDP, datagram);
    let edit = |at: usize, value: u16| {
        let mut changed = good.clone();
        put_u16(&mut changed, at, value);
        with(&changed)
    };
    let len = good.len() as u16;
    let (source, to) = (catalogue::base_station_ipv4(visitor.base_station), make.config.gw_ip);
    let sum = good
        .split_first_chunk()
        .map_or(0, |(header, payload)| udp::checksum_ipv4(source, to, header, payload));
    let frames = [
        ("UDP: from any port", edit(udp::offset::SOURCE_PORT, 50_001)),
        ("UDP: to another port", edit(udp::offset::DESTINATION_PORT, port + 1)),
        ("UDP: to the port of GTP-C", edit(udp::offset::DESTINATION_PORT, 2123)),
        ("UDP: a right checksum", edit(udp::offset::CHECKSUM, sum)),
        ("UDP: a wrong checksum", edit(udp::offset::CHECKSUM, !sum)),
        ("UDP: a length below the header's", edit(udp::offset::LENGTH, 7)),
        ("UDP: a length above the packet's", edit(udp::offset::LENGTH, len + 1)),
        ("UDP: a length below the message's", edit(udp::offset::LENGTH, len - 1)),
        ("UDP: an empty datagram", edit(udp::offset::LENGTH, 8)),
        ("UDP: bytes behind the datagram", with(&[&good[..], &[0; 4]].concat())),
        ("UDP: a header cut short", with(&good[..7])),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.access(about, frame));
    checksum_to_others(sample);
}

/// A checksum that was right before the packet was sent to another address.
fn checksum_to_others(sample: &mut Sample) {
    let make = &sample.make;
    let mut frame = make.tunnelled(&sample.visitor, &make.packet(&sample.visitor, true, 80));
    let outer = &mut frame[ethernet::HEADER_LEN..];
    put_u16(outer, ipv4::HEADER_LEN + udp::offset::CHECKSUM, 0x1234);
    mend(outer);
    sample.access("UDP: any checksum", frame);
}
