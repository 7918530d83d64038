//! Packets for the router itself, packets that are worth an error, and more of each than policers
//! let pass.
use crate::ports::{DOWNLINK, Numbered, UPLINK, other};
use packet::PortId;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Config, NextHop, Resolved};
use function_l3_router::control::Update;
use model_kit::build::{add_options, datagram, frame, packet, packet_ipv6, set, set_word, text};
use model_kit::check::Step;
use wire::bytes::put_u16;
use wire::{MacAddr, arp, checksum, ethernet, icmp, ipv4, ipv6, protocol};

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6, stranger, stranger_ipv6};

/// Everything that a router does beside forwarding.
pub(super) fn host(sample: &mut Sample) {
    for port in sample.config.numbers() {
        pings(sample, port);
        pings_ipv6(sample, port);
    }
    about_errors(sample);
    about_errors_ipv6(sample);
    too_big(sample);
    floods(sample);
    rest(sample);
}

/// Drop reasons of packets for the router itself that the sample cannot reach, each with the cause.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let rates = config.punt_rates;
    let is_small = rates.burst <= BURST_MAX;
    let policed = |rate: u32| rate > 0 && is_small;
    let no_limit = "its policer has no limit, or lets more pass at once than a sample has";
    let all = [
        (
            "too-big",
            narrow(&config.all_interfaces()).is_some(),
            "no MTU is below a sample's frames",
        ),
        ("icmp-malformed", config.ping, "ICMP for the router itself is not read"),
        ("policed-icmp", policed(rates.icmp), no_limit),
        ("policed-arp", policed(rates.arp), no_limit),
        ("policed-nd", policed(rates.nd) && config.ipv6, no_limit),
        ("policed-fragments", policed(rates.fragments), no_limit),
        ("policed-ttl-expired", policed(rates.ttl_expired), no_limit),
        ("policed-local", policed(rates.local), no_limit),
        ("local-address", !config.punt, "what is for the router goes to a control plane"),
    ];
    let out_of_reach = all.into_iter().filter(|(_, reachable, _)| !reachable);
    out_of_reach.map(|(name, _, cause)| (name, cause)).collect()
}

/// Time for all buckets to be full again.
fn rest(sample: &mut Sample) {
    sample.steps.push(Step::Wait(Duration::from_secs(70)));
}

/// Protocols for which nobody listens at a router.
const NOBODYS: [(u8, &str); 5] = [
    (protocol::TCP, "a segment for nobody"),
    (protocol::UDP, "a datagram for nobody"),
    (136, "another datagram for nobody"),
    (protocol::SCTP, "a protocol that nobody knows"),
    (protocol::IPV6_NO_NEXT_HEADER, "nothing for nobody"),
];

/// TCP's flags: a question, an answer, the end, a reset, nothing.
const SEGMENTS: [u8; 5] = [0x02, 0x10, 0x11, 0x04, 0x00];

/// A segment with some data, or what other protocols make of it.
fn segment(flags: u8) -> Vec<u8> {
    let mut segment = vec![0x9c, 0x40, 0, 22, 0xff, 0xff, 0xff, 0xfe, 1, 2, 3, 4, 0x60, flags];
    segment.extend([0xff, 0xff, 0, 0, 0, 0, 1, 1, 1, 1]);
    segment.extend(text(7));
    segment
}

fn message(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0, 0, 7, 0, 1], data].concat();
    let sum = checksum::checksum(&message);
    put_u16(&mut message, icmp::offset::CHECKSUM, sum);
    message
}

fn pings(sample: &mut Sample, port: PortId) {
    let own = sample.config.ip(port).address;
    let other = sample.config.ip(other(port)).address;
    let from = sample.source();
    rest(sample);
    for (data, about) in
        [(0, "a ping without data"), (1, "a ping"), (56, "a ping"), (1400, "a long ping")]
    {
        let ping = packet(from, own, protocol::ICMP, &message(8, &text(data)));
        sample.packet(port, about, &ping);
    }
    let ping = || packet(from, own, protocol::ICMP, &message(8, &text(56)));
    let across = packet(from, other, protocol::ICMP, &message(8, &text(56)));
    sample.packet(port, "a ping to the other port's address", &across);
    let nothing = packet(from, own, protocol::ICMP, &message(8, &[0; 8]));
    sample.packet(port, "a ping with zeroes", &nothing);
    let mut dying = ping();
    set(ipv4::offset::TTL, 1)(&mut dying);
    sample.packet(port, "a ping as the last hop", &dying);
    let mut marked = ping();
    set_word(ipv4::offset::FLAGS_FRAGMENT, 0xc000)(&mut marked);
    sample.packet(port, "a ping with the reserved flag", &marked);
    let mut padded = ping();
    padded.extend([0xaa; 9]);
    sample.packet(port, "a ping with padding behind", &padded);
    let mut spoiled = ping();
    spoiled[40] ^= 1;
    sample.packet(port, "a ping with a wrong checksum", &spoiled);
    let short = packet(from, own, protocol::ICMP, &message(8, &[])[..7]);
    sample.packet(port, "a ping that is cut", &short);
    let mut with_options = ping();
    add_options(&mut with_options);
    sample.packet(port, "a ping with options", &with_options);
    for (fragment, about) in [
        (ipv4::FLAG_MORE_FRAGMENTS, "the first fragment of a ping"),
        (100, "a later fragment of a ping"),
    ] {
        let mut part = ping();
        set_word(ipv4::offset::FLAGS_FRAGMENT, fragment)(&mut part);
        sample.packet(port, about, &part);
    }
    for (kind, about) in [(0, "an echo reply"), (3, "an error"), (13, "a question for the time")] {
        let other = packet(from, own, protocol::ICMP, &message(kind, &text(28)));
        sample.packet(port, about, &other);
    }
    let routing = packet(from, own, protocol::TCP, &text(40));
    sample.packet(port, "a packet of a routing protocol", &routing);
    rest(sample);
    for (protocol, about) in NOBODYS {
        for flags in if protocol == protocol::TCP { &SEGMENTS[..] } else { &[0] } {
            let sent = packet(from, own, protocol, &segment(*flags));
            sample.packet(port, about, &sent);
        }
    }
}

pub(super) fn message_ipv6(from: Ipv6Addr, to: Ipv6Addr, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0, 0, 7, 0, 1], data].concat();
    let sum = icmp::checksum_ipv6(from, to, &message);
    put_u16(&mut message, icmp::offset::CHECKSUM, sum);
    carry(from, to, protocol::ICMPV6, &message)
}

pub(super) fn carry(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    next_header: u8,
    payload: &[u8],
) -> Vec<u8> {
    let mut header = [0; ipv6::HEADER_LEN];
    ipv6::Fields {
        traffic_class: 0xb8,
        flow_label: 0x54321,
        payload_len: payload.len() as u16,
        next_header,
        hop_limit: 64,
        source,
        destination,
    }
    .emit(&mut header);
    [&header, payload].concat()
}

fn pings_ipv6(sample: &mut Sample, port: PortId) {
    if !sample.config.ipv6 {
        return;
    }
    rest(sample);
    let own = sample.config.ipv6_of(port).address;
    let other = sample.config.ipv6_of(other(port)).address;
    for to in [own, other] {
        for data in [0, 1, 56] {
            let ping = message_ipv6(SOURCE_IPV6, to, 128, &text(data));
            sample.packet(port, "IPv6: a ping", &ping);
        }
    }
    let mut spoiled = message_ipv6(SOURCE_IPV6, own, 128, &text(56));
    spoiled[50] ^= 1;
    sample.packet(port, "IPv6: a ping with a wrong checksum", &spoiled);
    sample.packet(port, "IPv6: a ping that is cut", &carry(SOURCE_IPV6, own, 58, &[128, 0, 0]));
    let mut dying = message_ipv6(SOURCE_IPV6, own, 128, &text(56));
    dying[ipv6::offset::HOP_LIMIT] = 1;
    sample.packet(port, "IPv6: a ping as the last hop", &dying);
    for kind in [129, 1, 133, 135, 137] {
        let one = message_ipv6(SOURCE_IPV6, own, kind, &text(24));
        sample.packet(port, "IPv6: another message", &one);
    }
    let behind = [&[58, 0, 1, 4, 0, 0, 0, 0][..], &message(128, &text(8))].concat();
    sample.packet(port, "IPv6: a ping behind options", &carry(SOURCE_IPV6, own, 60, &behind));
    let part = [&[58, 0, 0, 1, 0, 0, 0, 9][..], &message(128, &text(8))].concat();
    sample.packet(port, "IPv6: a fragment of a ping", &carry(SOURCE_IPV6, own, 44, &part));
    let beyond = carry(SOURCE_IPV6, own, 60, &[6, 9, 0, 0, 0, 0, 0, 0]);
    sample.packet(port, "IPv6: a header that reaches beyond the packet", &beyond);
    sample.packet(port, "IPv6: another protocol", &carry(SOURCE_IPV6, own, 89, &text(40)));
    rest(sample);
    for (protocol, about) in NOBODYS {
        for flags in if protocol == protocol::TCP { &SEGMENTS[..] } else { &[0] } {
            sample.packet(port, about, &carry(SOURCE_IPV6, own, protocol, &segment(*flags)));
            let behind = [&[protocol, 0, 1, 4, 0, 0, 0, 0][..], &segment(*flags)].concat();
            sample.packet(port, about, &carry(SOURCE_IPV6, own, 60, &behind));
        }
    }
}

/// Packets that cannot go on, of every kind about which an error may or may not be sent.
fn about_errors(sample: &mut Sample) {
    let payload = datagram((40_000, 9), &text(60));
    let from = sample.source();
    let mut destinations = vec![(sample.host(), 1)];
    destinations.extend(stranger(&sample.config).map(|host| (host, 64)));
    for (to, ttl) in destinations {
        rest(sample);
        let mut send = |about, change: &dyn Fn(&mut Vec<u8>), protocol, payload: &[u8]| {
            let mut one = packet(from, to, protocol, payload);
            change(&mut one);
            set(ipv4::offset::TTL, ttl)(&mut one);
            sample.packet(DOWNLINK, about, &one);
        };
        let as_it_is = |_: &mut Vec<u8>| {};
        send("a packet that ends here", &as_it_is, protocol::UDP, &payload);
        send("an empty packet that ends here", &as_it_is, protocol::UDP, &[]);
        let longest = text(1480);
        send("a long packet that ends here", &as_it_is, protocol::UDP, &longest);
        let padding = |one: &mut Vec<u8>| one.extend([0xbb; 8]);
        send("a packet with padding that ends here", &padding, protocol::UDP, &payload);
        for kind in [8, 0, 13, 18, 3, 11, 5, 40] {
            send("ICMP that ends here", &as_it_is, protocol::ICMP, &message(kind, &text(28)));
        }
        send("ICMP without a type that ends here", &as_it_is, protocol::ICMP, &[]);
        for (fragment, about) in [
            (ipv4::FLAG_MORE_FRAGMENTS, "a first fragment that ends here"),
            (5, "a later fragment that ends here"),
        ] {
            let part = |one: &mut Vec<u8>| set_word(ipv4::offset::FLAGS_FRAGMENT, fragment)(one);
            send(about, &part, protocol::UDP, &payload);
        }
    }
    let mut dying = packet(from, sample.host(), protocol::UDP, &payload);
    set(ipv4::offset::TTL, 1)(&mut dying);
    let own = sample.config.mac(DOWNLINK);
    let group = frame(own, MacAddr([1, 0, 0x5e, 0, 0, 9]), ethernet::TYPE_IPV4, &dying);
    sample.frame(DOWNLINK, "a packet from a group that ends here", group);
    sample.update(Update::RemoveNextHop { number: sample.last_hop() });
    rest(sample);
    let waiting = packet(from, sample.host(), protocol::UDP, &payload);
    sample.packet(DOWNLINK, "a packet whose next hop is gone", &waiting);
    let error = packet(from, sample.host(), protocol::ICMP, &message(3, &text(28)));
    sample.packet(DOWNLINK, "an error whose next hop is gone", &error);
    if sample.config.ipv6 {
        let waiting = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
        sample.packet(DOWNLINK, "IPv6: a packet whose next hop is gone", &waiting);
    }
    let visitor = sample.visitor(UPLINK);
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: visitor });
}

fn about_errors_ipv6(sample: &mut Sample) {
    if !sample.config.ipv6 {
        return;
    }
    let mut destinations = vec![(VISITED_HOST_IPV6, 1)];
    destinations.extend(stranger_ipv6(&sample.config).map(|host| (host, 64)));
    for (to, hops) in destinations {
        rest(sample);
        let mut send = |about, mut one: Vec<u8>| {
            one[ipv6::offset::HOP_LIMIT] = hops;
            sample.packet(DOWNLINK, about, &one);
        };
        send("IPv6: a packet that ends here", packet_ipv6(SOURCE_IPV6, to, 100));
        send("IPv6: a long packet that ends here", packet_ipv6(SOURCE_IPV6, to, 1500));
        for kind in [128, 129, 1, 3, 137, 200] {
            let one = message_ipv6(SOURCE_IPV6, to, kind, &text(20));
            send("IPv6: ICMPv6 that ends here", one);
        }
        for (offset, about) in [
            (1, "IPv6: a first fragment that ends here"),
            (0x0101, "IPv6: a later fragment that ends here"),
        ] {
            let [high, low] = u16::to_be_bytes(offset);
            let part = [&[17, 0, high, low, 0, 0, 0, 9][..], &text(32)].concat();
            send(about, carry(SOURCE_IPV6, to, 44, &part));
        }
        let broken = carry(SOURCE_IPV6, to, 0, &[17, 200, 0, 0, 0, 0, 0, 0]);
        send("IPv6: a broken header that ends here", broken);
    }
}

/// Packets as long as the link by which they leave, and a byte longer.
fn too_big(sample: &mut Sample) {
    let all = sample.config.all_interfaces();
    let Some(narrow) = narrow(&all) else { return };
    let vlan = (narrow.vlan > 0).then_some(narrow.vlan);
    let next_hop = NextHop { vlan, ..sample.visitor(narrow.port) };
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop });
    let mtu = usize::from(narrow.mtu);
    for len in [mtu, mtu + 1, 1500] {
        rest(sample);
        let payload = datagram((40_000, 9), &text(len - 28));
        for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
            let mut one = packet(sample.source(), sample.host(), protocol::UDP, &payload);
            set_word(ipv4::offset::FLAGS_FRAGMENT, flags)(&mut one);
            sample.packet(DOWNLINK, "a packet about as long as the link takes", &one);
        }
        let from = sample.source();
        let send = |sample: &mut Sample, about, change: &dyn Fn(&mut Vec<u8>)| {
            let mut one = packet(from, sample.host(), protocol::UDP, &payload[..len - 40]);
            change(&mut one);
            sample.packet(DOWNLINK, about, &one);
        };
        let part = ipv4::FLAG_MORE_FRAGMENTS | 100;
        send(sample, "a long fragment", &|one| set_word(ipv4::offset::FLAGS_FRAGMENT, part)(one));
        let last = 0x1ffe;
        send(sample, "a last one", &|one| set_word(ipv4::offset::FLAGS_FRAGMENT, last)(one));
        for options in LONG_OPTIONS {
            send(sample, "a long packet with options", &|one| with_options(one, options));
        }
        let mut error = packet(from, sample.host(), protocol::ICMP, &message(3, &text(len - 28)));
        set_word(ipv4::offset::FLAGS_FRAGMENT, ipv4::FLAG_DONT_FRAGMENT)(&mut error);
        sample.packet(DOWNLINK, "a long error that is not to be cut", &error);
        if sample.config.ipv6 {
            let one = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, len);
            sample.packet(DOWNLINK, "IPv6: a packet about as long as the link takes", &one);
        }
    }
    let visitor = sample.visitor(UPLINK);
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: visitor });
}

/// Puts options of whole words into a packet.
fn with_options(packet: &mut Vec<u8>, options: &[u8]) {
    packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, options.iter().copied());
    packet[0] += (options.len() / 4) as u8;
    let len = packet.len() as u16;
    set_word(ipv4::offset::TOTAL_LEN, len)(packet);
}

/// Options of which some stand in every fragment: router alert, a stream identifier; record route
/// does not; and one that is broken.
const LONG_OPTIONS: [&[u8]; 4] = [
    &[148, 4, 0, 0],
    &[7, 7, 4, 0, 0, 0, 0, 1, 148, 4, 0, 0],
    &[1, 136, 4, 0, 9, 1, 0, 0],
    &[148, 9, 0, 0],
];

/// An interface that is narrower than the longest frame of a sample.
pub(super) fn narrow(all: &[Resolved]) -> Option<Resolved> {
    all.iter().find(|one| (1..1500).contains(&one.mtu) && one.vrf == 0).copied()
}

/// More of each protocol than its policer lets pass at once.
fn floods(sample: &mut Sample) {
    let rates = sample.config.punt_rates;
    let count = rates.burst.min(BURST_MAX) + 3;
    let own = sample.config.ip(DOWNLINK).address;
    let from = sample.source();
    let mut dying = packet(from, sample.host(), protocol::UDP, &text(20));
    set(ipv4::offset::TTL, 1)(&mut dying);
    let mut part = packet(from, own, protocol::UDP, &text(20));
    set_word(ipv4::offset::FLAGS_FRAGMENT, 9)(&mut part);
    let ping = packet(from, own, protocol::ICMP, &message(8, &text(8)));
    let local = packet(from, own, protocol::UDP, &text(20));
    for (rate, about, one) in [
        (rates.icmp, "one of many pings", ping),
        (rates.fragments, "one of many fragments", part),
        (rates.ttl_expired, "one of many packets that end here", dying),
        (rates.local, "one of many packets for the router", local),
    ] {
        rest(sample);
        for _ in 0..if rate > 0 { count } else { 0 } {
            sample.packet(DOWNLINK, about, &one);
        }
    }
    if rates.nd > 0 && sample.config.ipv6 {
        let own = sample.config.ipv6_of(DOWNLINK).address;
        let one = message_ipv6(SOURCE_IPV6, own, 133, &text(8));
        (0..count).for_each(|_| sample.packet(DOWNLINK, "one of many of ND", &one));
    }
    if rates.arp > 0 {
        let request = request(sample, own);
        for _ in 0..count {
            sample.frame(DOWNLINK, "one of many ARP requests", request.clone());
        }
        // The others go on: each has a bucket of its own.
        let ping = packet(from, own, protocol::ICMP, &message(8, &text(8)));
        sample.packet(DOWNLINK, "a ping while ARP floods", &ping);
    }
}

fn request(sample: &Sample, target_ip: Ipv4Addr) -> Vec<u8> {
    let sender_mac = sample.sender(DOWNLINK);
    let mut packet = [0; arp::HEADER_LEN];
    arp::Fields {
        operation: arp::OPERATION_REQUEST,
        sender_mac,
        sender_ip: Ipv4Addr::from_bits(target_ip.to_bits() ^ 3),
        target_mac: MacAddr::ZERO,
        target_ip,
    }
    .emit(&mut packet);
    frame(MacAddr::BROADCAST, sender_mac, ethernet::TYPE_ARP, &packet)
}

/// The largest burst that the sample exceeds.
pub(super) const BURST_MAX: u32 = 256;
