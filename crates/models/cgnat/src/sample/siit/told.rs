//! Packets that are longer than links take, and those whose senders are told why they go no further
//! (RFC 7915 sections 4.1, 4.4, 5.1 and 5.4).
use std::net::Ipv6Addr;

use function_cgnat::config::{Side, SiitConfig};
use model_kit::build::{add_options, mend, set, set_word, text};
use wire::icmp::{v4, v6};
use wire::{ipv4, protocol, tcp};

use super::super::build;
use super::super::host::rest;
use super::super::ipv6::{self, datagram, echo, error, extended, segment};
use super::super::steps::Sample;
use super::places::{LONGEST, Places};

/// From IPv6: whole, alone in a fragment header, and pieces of larger ones.
pub(super) fn long_from_six(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0), places.four(0));
    let ipv4_mtu = usize::from(places.siit.ipv4_mtu);
    for len in [1279, 1280, 1281, ipv4_mtu + 20, ipv4_mtu + 21, LONGEST] {
        long_to(sample, places, (six.1, four.1), len.min(LONGEST));
    }
}

/// Between two hosts of IPv6 inside.
pub(super) fn long_hairpins(sample: &mut Sample, places: &Places) {
    let Some(prefix) = places.siit.prefix() else { return };
    let SiitConfig { mappings, ipv6_mtu, .. } = &places.siit;
    let Some(mapping) = mappings.iter().find(|mapping| mapping.side == Side::Inside) else {
        return;
    };
    let to = prefix.embed(mapping.ipv4.address);
    let ipv6_mtu = usize::from(*ipv6_mtu);
    for len in [1280, ipv6_mtu, ipv6_mtu + 1, ipv6_mtu + 9, LONGER] {
        long_to(sample, places, (places.six(0).1, to), len.min(LONGER));
    }
}

fn long_to(sample: &mut Sample, places: &Places, (from, to): (Ipv6Addr, Ipv6Addr), len: usize) {
    let whole = datagram((from, 5), (to, 6), len - 48);
    let shorter = datagram((from, 5), (to, 6), len - 56);
    let part = |high: u8, low: u8| {
        extended(&shorter, protocol::IPV6_FRAGMENT, [0, 0, high, low, 0xab, 0xcd, 1, 2])
    };
    let ping = [&[v6::ECHO_REQUEST, 0, 0, 0, 0, 1, 0, 7][..], &text(len - 48)].concat();
    let padding = [0, 0, 1, 4, 0, 0, 0, 0];
    for (about, packet) in [
        ("from IPv6, a long packet", whole.clone()),
        ("from IPv6, a long packet with options", {
            extended(&shorter, protocol::IPV6_HOP_BY_HOP, padding)
        }),
        ("from IPv6, a long fragment that is all", part(0, 0)),
        ("from IPv6, a long first fragment", part(0, 1)),
        ("from IPv6, a long fragment", part(8, 1)),
        ("from IPv6, a long last fragment", part(16, 0)),
        ("from IPv6, a long ping", ipv6::packet(from, to, protocol::ICMPV6, &ping)),
    ] {
        rest(sample);
        sample.six(places, about, &packet);
    }
    sample.six_of_group(places, &whole);
}

/// From IPv4: those that may be cut, those that may not, and pieces of larger ones.
pub(super) fn long_from_four(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0), places.four(0));
    let ipv6_mtu = usize::from(places.siit.ipv6_mtu);
    for len in [1252, 1253, ipv6_mtu - 20, ipv6_mtu - 19, ipv6_mtu - 28, ipv6_mtu - 27, LONGEST] {
        let data = text(len.min(LONGEST) - 28);
        let whole = build::datagram_of((four.0, 5), (six.0, 6), data.len());
        let bare = model_kit::build::datagram((5, 6), &data);
        let bare = model_kit::build::packet(four.0, six.0, protocol::UDP, &bare);
        let ping = [&[v4::ECHO_REQUEST, 0, 0, 0, 0, 1, 0, 7][..], &data].concat();
        let ping = model_kit::build::packet(four.0, six.0, protocol::ICMP, &ping);
        let mut optioned = whole.clone();
        add_options(&mut optioned);
        for (about, packet) in [
            ("from IPv4, a long packet", whole),
            ("from IPv4, a long packet without a checksum", bare),
            ("from IPv4, a long ping", ping),
            ("from IPv4, a long packet with options", optioned),
        ] {
            for place in [0, 0x2000, 0x2008, 0x0010, 0x4000, 0x6000, 0x6008] {
                let mut packet = packet.clone();
                set_word(ipv4::offset::FLAGS_FRAGMENT, place)(&mut packet);
                set_word(ipv4::offset::IDENTIFICATION, 0x1234)(&mut packet);
                mend(&mut packet);
                rest(sample);
                sample.four(places, about, &packet);
                if place == 0x4000 {
                    sample.unanswerable(places.four_port, &packet);
                }
            }
        }
    }
}

/// Packets whose hops end here, from both sides.
pub(super) fn last_hops(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0), places.four(0));
    let (from, to) = ((six.1, 4100), (four.1, 53));
    let whole = datagram(from, to, 30);
    let part = |low| extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, 1, low, 0, 0, 0, 1]);
    let quoted = datagram(to, from, 9);
    let mut cases = vec![
        whole.clone(),
        datagram(from, to, 1400),
        segment(from, to, (tcp::FLAG_SYN, &[]), &[]),
        echo(from.0, to.0, v6::ECHO_REQUEST, 5),
        echo(from.0, to.0, v6::ECHO_REPLY, 5),
        extended(&whole, protocol::IPV6_HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]),
        extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, 0, 1, 0, 0, 0, 1]),
        part(1),
        part(0),
    ];
    cases.extend((1..5).map(|kind| error((from.0, to.0), (kind, 0, 0), &quoted)));
    for mut packet in cases {
        rest(sample);
        packet[7] = 1;
        let mut padded = [sample.framed(places.six_port, &packet), vec![5; 7]].concat();
        padded[12..14].copy_from_slice(&wire::ethernet::TYPE_IPV6.to_be_bytes());
        sample.frame(places.six_port, "from IPv6, a packet whose hops end here", padded);
    }
    let mut last = whole;
    last[7] = 0;
    sample.six_of_group(places, &last);

    let (from, to) = ((four.0, 53), (six.0, 4100));
    let whole = build::datagram(from, to);
    let mut cases = vec![
        whole.clone(),
        build::datagram_of(from, to, 1400),
        build::query(from.0, to.0, v4::ECHO_REQUEST, 5),
        build::error(from.0, to.0, v4::UNREACHABLE, &build::datagram(to, from)),
    ];
    for place in [0x2000, 0x2008] {
        let mut part = whole.clone();
        set_word(ipv4::offset::FLAGS_FRAGMENT, place)(&mut part);
        cases.push(part);
    }
    for mut packet in cases {
        rest(sample);
        set(8, 1)(&mut packet);
        mend(&mut packet);
        sample.four(places, "from IPv4, a packet whose hops end here", &packet);
    }
}

/// Packets that have no counterpart, and those whose destinations have none.
pub(super) fn obstacles(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0), places.four(0));
    let (from, to) = ((six.1, 4100), (four.1, 53));
    let whole = datagram(from, to, 30);
    let routed =
        |packet: &[u8], left| extended(packet, protocol::IPV6_ROUTING, [0, 0, 0, left, 0, 0, 0, 0]);
    let group = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 9);
    let behind = extended(&routed(&whole, 3), protocol::IPV6_HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]);
    let fragment = |place| {
        let fragment = [0, 0, 0, place, 0, 0, 0, 1];
        routed(&extended(&whole, protocol::IPV6_FRAGMENT, fragment), 1)
    };
    for (about, packet) in [
        ("from IPv6, on its way", routed(&whole, 2)),
        ("from IPv6, on its way, behind options", behind),
        ("from IPv6, on its way, a fragment", fragment(1)),
        ("from IPv6, on its way, a later fragment", fragment(8)),
        ("from IPv6, on its way to a group", routed(&datagram(from, (group, 53), 9), 2)),
        ("from IPv6, of nobody on its way", {
            routed(&datagram((Ipv6Addr::UNSPECIFIED, 9), to, 9), 2)
        }),
        ("from IPv6, ICMP of IPv4", ipv6::packet(from.0, to.0, protocol::ICMP, &text(40))),
        ("from IPv6, to nobody", datagram(from, (places.nobody, 53), 9)),
        ("from IPv6, to a group", datagram(from, (group, 53), 9)),
        ("from IPv6, an error to nobody", {
            error((from.0, places.nobody), (v6::UNREACHABLE, 4, 0), &whole)
        }),
    ] {
        rest(sample);
        sample.six(places, about, &packet);
        sample.six_of_group(places, &packet);
    }
    let (from, to) = ((four.0, 53), (six.0, 4100));
    let mut route = build::datagram(from, to);
    add_options(&mut route);
    route[20..24].copy_from_slice(&[137, 4, 4, 0]);
    mend(&mut route);
    let mut part = route.clone();
    set_word(ipv4::offset::FLAGS_FRAGMENT, 0x2000)(&mut part);
    mend(&mut part);
    let mut cases = vec![route, part];
    for next in [0, 2, 43, 44, 58, 60] {
        cases.push(model_kit::build::packet(from.0, to.0, next, &text(40)));
    }
    cases.push(build::datagram(from, (sample.server(700), 9)));
    for packet in cases {
        rest(sample);
        sample.four(places, "from IPv4, what IPv6 has no words for", &packet);
        sample.unanswerable(places.four_port, &packet);
    }
}

/// More packets of both families at their end than errors may leave.
pub(super) fn more_than_may_leave(sample: &mut Sample, places: &Places) {
    let burst = sample.config.icmp_error_burst;
    if sample.config.icmp_errors_per_s == 0 || burst > BURST_MAX {
        return;
    }
    let (six, four) = (places.six(0), places.four(0));
    let mut from_six = datagram((six.1, 4100), (four.1, 53), 9);
    from_six[7] = 1;
    let mut from_four = build::datagram((four.0, 53), (six.0, 4100));
    set(8, 1)(&mut from_four);
    mend(&mut from_four);
    rest(sample);
    for _ in 0..burst.div_ceil(2) + 1 {
        sample.six(places, "from IPv6, one of many whose hops end here", &from_six);
        sample.four(places, "from IPv4, one of many whose hops end here", &from_four);
    }
    rest(sample);
    sample.six(places, "from IPv6, one more, later", &from_six);
}

/// The longest packet between two hosts of IPv6: longer than most links take.
const LONGER: usize = 1900;
/// The largest burst that the sample exceeds.
const BURST_MAX: u32 = 256;
