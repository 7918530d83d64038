//! Packets that are translated without sessions, in both directions, and what is refused of them.
use function_cgnat::config::Config;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{add_options, mend, set, set_word, text};
use wire::icmp::{v4, v6};
use wire::{ethernet, ipv4, protocol, tcp};

use super::build;
use super::ipv6::{self, datagram, echo, extended, segment};
use super::nat64::refusals::solicitations;
use super::refusals::question;
use super::steps::Sample;

mod errors;
mod places;
mod sides;
mod told;

use places::{LONGEST, Places};

/// Everything of it.
pub(super) fn all(sample: &mut Sample) {
    let Some(places) = Places::new(sample) else { return };
    for part in [
        discovery,
        from_six,
        from_four,
        told::long_from_six,
        told::long_from_four,
        told::long_hairpins,
        told::last_hops,
        told::obstacles,
        told::more_than_may_leave,
        errors::from_six,
        errors::from_four,
        sides::loops,
        sides::strangers,
        sides::hairpins,
        sides::pools,
    ] {
        part(sample, &places);
        // Some of it is others' affair, which has sessions.
        sample.forget();
    }
}

/// Whether it leads to a drop reason.
pub(super) fn reaches(config: &Config, reason: &str) -> bool {
    let Some(siit) = &config.siit else { return false };
    match reason {
        "nd-ignored" | "untranslatable" | "no-counterpart" | "loop" => true,
        "too-big" => usize::from(siit.ipv6_mtu) < LONGEST + 20 || siit.ipv4_mtu < 1480,
        _ => false,
    }
}

/// Questions for addresses of ports, and of hosts inside.
fn discovery(sample: &mut Sample, places: &Places) {
    let port = places.six_port;
    let own = [sample.config.inside_ipv6, sample.config.outside_ipv6][usize::from(port.0)];
    solicitations(sample, port, [own, places.nobody]);
    for host in [places.four(0), places.six(0)] {
        solicitations(sample, port, [host.1, own]);
        for port in [INSIDE, OUTSIDE] {
            let asks = question(sample, (port, false), wire::arp::OPERATION_REQUEST, host.0);
            sample.frame(port, "ARP: for a host that is translated without sessions", asks);
        }
    }
    let packet = datagram((places.four(0).1, 5), (own, 7), 9);
    sample.six(places, "IPv6: for the port", &packet);
}

/// Packets from IPv6, of every form.
fn from_six(sample: &mut Sample, places: &Places) {
    for number in 0..places.six.len().max(places.four.len()).min(HOSTS_MAX) {
        let (from, to) = ((places.six(number).1, 5000), (places.four(number).1, 53));
        sample.six(places, "from IPv6, a datagram", &datagram(from, to, number));
    }
    let (from, to) = ((places.six(0).1, 5001), (places.four(0).1, 80));
    let whole = datagram(from, to, 33);
    for (about, options) in [
        ("from IPv6, a SYN", &[2, 4, 5, 220, 1, 1, 1, 0][..]),
        ("from IPv6, a SYN that takes less", &[2, 4, 2, 0][..]),
    ] {
        sample.six(places, about, &segment(from, to, (tcp::FLAG_SYN, options), &[]));
    }
    sample.six(places, "from IPv6, data", &segment(from, to, (tcp::FLAG_ACK, &[]), b"data"));
    for kind in [v6::ECHO_REQUEST, v6::ECHO_REPLY, 130, 133, 127] {
        sample.six(places, "from IPv6, ICMP", &echo(from.0, to.0, kind, 77));
    }
    for next in [47, 50, 132, 33, 136, 59, protocol::ICMP, 51] {
        let packet = ipv6::packet(from.0, to.0, next, &text(40));
        sample.six(places, "from IPv6, another protocol", &packet);
    }
    let fragment = |packet: &[u8], place: u16| {
        let [high, low] = place.to_be_bytes();
        extended(packet, protocol::IPV6_FRAGMENT, [0, 0, high, low, 0xab, 0xcd, 1, 2])
    };
    let ping = echo(from.0, to.0, v6::ECHO_REQUEST, 78);
    let routed = |left| extended(&whole, protocol::IPV6_ROUTING, [0, 0, 0, left, 0, 0, 0, 0]);
    let changed = |at: usize, value: u8| {
        let mut packet = whole.clone();
        packet[at] = value;
        packet
    };
    let mut bare = whole.clone();
    bare[46..48].fill(0);
    for (about, packet) in [
        ("from IPv6, the first fragment", fragment(&whole, 1)),
        ("from IPv6, a fragment", fragment(&whole, 0x101)),
        ("from IPv6, the last fragment", fragment(&whole, 0x200)),
        ("from IPv6, a fragment that is all", fragment(&whole, 0)),
        ("from IPv6, a fragment of ICMP", fragment(&ping, 1)),
        ("from IPv6, a later fragment of ICMP", fragment(&ping, 0x100)),
        ("from IPv6, a fragment in a fragment", {
            extended(&fragment(&whole, 0), protocol::IPV6_FRAGMENT, [0; 8])
        }),
        ("from IPv6, at the end of its way", routed(0)),
        ("from IPv6, on its way", routed(2)),
        ("from IPv6, the last hop", changed(7, 1)),
        ("from IPv6, beyond the last hop", changed(7, 0)),
        ("from IPv6, a wrong checksum", changed(46, whole[46] ^ 0x55)),
        ("from IPv6, no checksum", bare),
        ("from IPv6, of version 4", changed(0, 0x45)),
        ("from IPv6, longer than its frame", changed(4, 9)),
        ("from IPv6, cut", whole[..30].to_vec()),
        ("from IPv6, a cut datagram", ipv6::packet(from.0, to.0, protocol::UDP, &[9; 5])),
        ("from IPv6, a cut segment", ipv6::packet(from.0, to.0, protocol::TCP, &[2; 15])),
        ("from IPv6, a short segment", ipv6::packet(from.0, to.0, protocol::TCP, &[2; 18])),
        ("from IPv6, a cut ping", ipv6::packet(from.0, to.0, protocol::ICMPV6, &[128, 0])),
        ("from IPv6, nothing", ipv6::packet(from.0, to.0, 59, &[])),
    ] {
        sample.six(places, about, &packet);
    }
    let mut other = sample.framed(places.six_port, &whole);
    other[12..14].copy_from_slice(&ethernet::TYPE_IPV6.to_be_bytes());
    other[4] ^= 2;
    sample.frame(places.six_port, "from IPv6, for another station", other);
}

/// Packets from IPv4, of every form.
fn from_four(sample: &mut Sample, places: &Places) {
    for number in 0..places.six.len().max(places.four.len()).min(HOSTS_MAX) {
        let (from, to) = ((places.four(number).0, 53), (places.six(number).0, 5000));
        sample.four(places, "from IPv4, a datagram", &build::datagram(from, to));
    }
    let (from, to) = ((places.four(0).0, 80), (places.six(0).0, 5001));
    let whole = build::datagram(from, to);
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    let options: &[u8] = &[2, 4, 5, 220];
    let first = build::segment_with(from, to, (syn | ack, options), &[]);
    sample.four(places, "from IPv4, a SYN", &first);
    sample.four(places, "from IPv4, data", &build::segment_with(from, to, (ack, &[]), b"data"));
    for kind in [v4::ECHO_REQUEST, v4::ECHO_REPLY, 13, 14, 5, 9, 10] {
        sample.four(places, "from IPv4, ICMP", &build::query(from.0, to.0, kind, 77));
    }
    for next in [47, 50, 132, 33, 136, 2, 43, 44, 58, 60, 0] {
        let packet = model_kit::build::packet(from.0, to.0, next, &text(40));
        sample.four(places, "from IPv4, another protocol", &packet);
    }
    let changed = |packet: &[u8], change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = packet.to_vec();
        change(&mut packet);
        mend(&mut packet);
        packet
    };
    let place = |place: u16| move |packet: &mut Vec<u8>| set_word(6, place)(packet);
    let bare = build::datagram_without_checksum(from, to);
    let ping = build::query(from.0, to.0, v4::ECHO_REQUEST, 9);
    let mut route = whole.clone();
    add_options(&mut route);
    route[20..24].copy_from_slice(&[131, 4, 4, 0]);
    mend(&mut route);
    for (about, packet) in [
        ("from IPv4, without a checksum", bare.clone()),
        ("from IPv4, options", changed(&whole, &add_options)),
        ("from IPv4, on a way that its sender chose", route),
        ("from IPv4, the first fragment", changed(&whole, &place(0x2000))),
        ("from IPv4, a fragment", changed(&whole, &place(0x2020))),
        ("from IPv4, the last fragment", changed(&whole, &place(0x0040))),
        ("from IPv4, not to be cut", changed(&whole, &place(0x4000))),
        ("from IPv4, a fragment without a checksum", changed(&bare, &place(0x2000))),
        ("from IPv4, a fragment of a ping", changed(&ping, &place(0x2000))),
        ("from IPv4, the last hop", changed(&whole, &|packet| set(8, 1)(packet))),
        ("from IPv4, a last hop of ICMP", changed(&ping, &|packet| set(8, 1)(packet))),
        ("from IPv4, a wrong checksum", changed(&whole, &|packet| packet[26] ^= 0x55)),
        ("from IPv4, a cut datagram", model_kit::build::packet(from.0, to.0, 17, &[9; 5])),
        ("from IPv4, a cut segment", model_kit::build::packet(from.0, to.0, 6, &[2; 15])),
        ("from IPv4, a short segment", model_kit::build::packet(from.0, to.0, 6, &[2; 18])),
        ("from IPv4, a cut ping", model_kit::build::packet(from.0, to.0, 1, &[8, 0])),
        ("from IPv4, nothing", model_kit::build::packet(from.0, to.0, 59, &[])),
    ] {
        sample.four(places, about, &packet);
    }
    let mut wrong = whole.clone();
    wrong[ipv4::offset::CHECKSUM] ^= 1;
    sample.four(places, "from IPv4, a wrong checksum of its header", &wrong);
    let padded = [sample.framed(places.four_port, &whole), vec![7; 9]].concat();
    sample.frame(places.four_port, "from IPv4, padding", padded);
}

/// Hosts of one side that speak.
const HOSTS_MAX: usize = 40;
