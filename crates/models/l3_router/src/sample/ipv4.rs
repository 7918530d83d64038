//! IPv4 packets out of the ordinary: their header, their addresses, their route.
use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK};
use std::net::Ipv4Addr;

use model_kit::build::{add_options, datagram, packet, set, set_word, text};
use wire::{ipv4, protocol};

use super::steps::{Sample, stranger};

/// Everything that a header can say.
pub(super) fn ipv4(sample: &mut Sample) {
    headers(sample);
    times_to_live(sample);
    forwarded(sample);
    addresses(sample);
}

/// A packet to the visitor, and what somebody did to it before.
fn send(sample: &mut Sample, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
    let payload = datagram((40_000, 9), &text(60));
    let mut packet = packet(sample.source(), sample.host(), protocol::UDP, &payload);
    change(&mut packet);
    sample.packet(DOWNLINK, about, &packet);
}

fn headers(sample: &mut Sample) {
    use ipv4::offset::{CHECKSUM, TOTAL_LEN, VERSION_IHL};
    send(sample, "a packet", |_| {});
    send(sample, "a packet cut in its header", |packet| packet.truncate(19));
    send(sample, "an empty packet", |packet| packet.clear());
    for (value, about) in [
        (0x55, "a packet of version 5"),
        (0x05, "a packet of version 0"),
        (0x44, "a header of 16 bytes"),
        (0x40, "a header of 0 bytes"),
        (0x4f, "a header with options that are no options"),
    ] {
        send(sample, about, set(VERSION_IHL, value));
    }
    for (value, about) in [
        (19, "a length below the header's"),
        (0, "no length"),
        (89, "a length beyond the frame"),
        (0xffff, "the longest length"),
    ] {
        send(sample, about, set_word(TOTAL_LEN, value));
    }
    send(sample, "a length of the header alone", set_word(TOTAL_LEN, 20));
    send(sample, "a header with a length beyond the packet's", |packet| {
        set(VERSION_IHL, 0x46)(packet);
        set_word(TOTAL_LEN, 23)(packet);
    });
    send(sample, "a wrong checksum", |packet| packet[CHECKSUM] ^= 0x10);
    send(sample, "a checksum of zero", |packet| packet[CHECKSUM..CHECKSUM + 2].fill(0));
    send(sample, "options and a wrong checksum", |packet| {
        add_options(packet);
        packet[CHECKSUM + 1] ^= 1;
    });
}

fn times_to_live(sample: &mut Sample) {
    for (value, about) in [
        (0, "a time to live of 0"),
        (1, "a time to live of 1"),
        (2, "a time to live of 2"),
        (255, "a time to live of 255"),
    ] {
        send(sample, about, set(ipv4::offset::TTL, value));
    }
}

/// What a router leaves as it is.
fn forwarded(sample: &mut Sample) {
    use ipv4::offset::{DSCP_ECN, FLAGS_FRAGMENT, IDENTIFICATION, PROTOCOL};
    send(sample, "code point and congestion marks", set(DSCP_ECN, 0xbb));
    send(sample, "any identification", set_word(IDENTIFICATION, 0xfffe));
    send(sample, "do not fragment", set_word(FLAGS_FRAGMENT, ipv4::FLAG_DONT_FRAGMENT));
    send(sample, "a first fragment", set_word(FLAGS_FRAGMENT, ipv4::FLAG_MORE_FRAGMENTS));
    send(sample, "a later fragment", set_word(FLAGS_FRAGMENT, 100));
    send(sample, "an unknown protocol", set(PROTOCOL, 253));
    send(sample, "TCP", set(PROTOCOL, protocol::TCP));
    send(sample, "no operation as options", |packet| {
        let nothing = [ipv4::OPTION_NO_OPERATION; 4];
        packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, nothing);
        packet[0] += 1;
        let len = packet.len() as u16;
        set_word(ipv4::offset::TOTAL_LEN, len)(packet);
    });
    for (options, about) in [
        ([7, 3, 4, 0], "an option, and the end of them"),
        ([1, 1, 7, 1], "an option shorter than itself"),
        ([7, 9, 4, 0], "an option longer than the header"),
        ([1, 1, 1, 7], "an option without a length"),
    ] {
        send(sample, about, |packet| {
            packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, options);
            packet[0] += 1;
            let len = packet.len() as u16;
            set_word(ipv4::offset::TOTAL_LEN, len)(packet);
        });
    }
    send(sample, "padding behind the packet", |packet| packet.extend([0xaa; 10]));
    // The checksum goes from 0xffff round to 0x0000 and back.
    for identification in [0x1300, 0x1233, 0x1400] {
        send(sample, "another checksum", set_word(IDENTIFICATION, identification));
    }
}

fn addresses(sample: &mut Sample) {
    let host = sample.host();
    let payload = datagram((40_000, 9), &text(30));
    for source in [
        Ipv4Addr::new(0, 0, 0, 1),
        Ipv4Addr::new(127, 0, 0, 1),
        Ipv4Addr::new(224, 0, 0, 5),
        Ipv4Addr::BROADCAST,
    ] {
        let packet = packet(source, host, protocol::UDP, &payload);
        sample.packet(DOWNLINK, "a source that no packet may have", &packet);
    }
    let to = |sample: &mut Sample, port, about, destination| {
        let packet = packet(sample.source(), destination, protocol::UDP, &payload);
        sample.packet(port, about, &packet);
    };
    for destination in [Ipv4Addr::new(0, 0, 0, 1), Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::BROADCAST]
    {
        to(sample, DOWNLINK, "a destination that no packet may have", destination);
    }
    to(sample, DOWNLINK, "a group", Ipv4Addr::new(239, 1, 2, 3));
    for port in sample.config.numbers() {
        for own in SIDES.map(|port| sample.config.ip(port).address) {
            to(sample, port, "the router's own address", own);
        }
        to(sample, port, "the visitor", host);
    }
    if let Some(stranger) = stranger(&sample.config) {
        to(sample, DOWNLINK, "a destination without a route", stranger);
        to(sample, UPLINK, "a destination without a route", stranger);
    }
    let link = sample.config.ip(UPLINK);
    let all = link.address.to_bits() | u32::MAX.checked_shr(link.len.into()).unwrap_or(0);
    to(sample, DOWNLINK, "all hosts of a link", all.into());
    let own = sample.config.ip(DOWNLINK).address;
    let mut dying = packet(sample.source(), own, protocol::UDP, &payload);
    set(ipv4::offset::TTL, 1)(&mut dying);
    sample.packet(DOWNLINK, "the router's own address as the last hop", &dying);
    let link = sample.config.ip(UPLINK);
    // The last but one of the link: next hops have the first ones.
    let last = link.address.to_bits() | u32::MAX >> u32::from(link.len).min(31);
    let nobody = Ipv4Addr::from_bits(last - 1);
    if !sample.config.all_next_hops().any(|(_, hop)| hop.ip == Some(nobody)) {
        to(sample, DOWNLINK, "an address on a link that nobody has", nobody);
    }
    let hops: Vec<_> =
        sample.config.all_next_hops().filter_map(|(_, hop)| hop.ip).take(3).collect();
    for neighbour in hops {
        to(sample, DOWNLINK, "a neighbour's own address", neighbour);
        to(sample, UPLINK, "a neighbour's own address", neighbour);
    }
}
