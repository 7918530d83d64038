//! Packets that stay on their side, come from the wrong one, or have ends that are nobody's.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::Side;
use function_cgnat::control::Update;
use function_cgnat::types::sides::INSIDE;
use wire::icmp::v6;
use wire::{protocol, tcp};

use super::super::build;
use super::super::ipv6::{datagram, echo, error, extended, segment};
use super::super::steps::Sample;
use super::places::Places;

/// Between hosts of one side, and from the side on which the sender is not.
pub(super) fn loops(sample: &mut Sample, places: &Places) {
    for number in 0..3 {
        let (six, other_six) = (places.six(number), places.six(number + 1));
        let (four, other_four) = (places.four(number), places.four(number + 1));
        for (about, from, to) in [
            ("from IPv6, to a neighbour", six, other_six),
            ("from IPv6, one of IPv4 to one of IPv6", four, six),
            ("from IPv6, one of IPv4 to one of its neighbours", four, other_four),
        ] {
            sample.six(places, about, &datagram((from.1, 9), (to.1, 7), 9));
        }
        for (about, from, to) in [
            ("from IPv4, to a neighbour", four, other_four),
            ("from IPv4, one of IPv6 to one of IPv4", six, four),
            ("from IPv4, one of IPv6 to one of its neighbours", six, other_six),
        ] {
            sample.four(places, about, &build::datagram((from.0, 9), (to.0, 7)));
        }
    }
}

/// Ends without a counterpart, and those that no host has.
pub(super) fn strangers(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0), places.four(0));
    let nobody = places.nobody;
    let groups = [Ipv6Addr::UNSPECIFIED, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 5)];
    let prefix = places.siit.prefix();
    let odd = [[224, 0, 0, 1], [127, 0, 0, 1], [0, 0, 0, 9], [255; 4], [10, 0, 0, 1]];
    let odd = odd.map(Ipv4Addr::from);
    let embedded = odd.iter().filter_map(|it| prefix.map(|prefix| prefix.embed(*it)));
    for stranger in [nobody].into_iter().chain(groups).chain(embedded) {
        let about = "from IPv6, with an end that is nobody's";
        sample.six(places, about, &datagram((six.1, 9), (stranger, 7), 9));
        sample.six(places, about, &datagram((stranger, 9), (four.1, 7), 9));
        let said = (v6::TIME_EXCEEDED, 0, 0);
        let quoted = datagram((four.1, 7), (six.1, 9), 9);
        sample.six(places, about, &error((stranger, four.1), said, &quoted));
    }
    let more = [sample.server(300), sample.visitor(3), [192, 0, 2, 77].into()];
    for stranger in odd.into_iter().chain(more) {
        let about = "from IPv4, with an end that is nobody's";
        sample.four(places, about, &build::datagram((four.0, 9), (stranger, 7)));
        sample.four(places, about, &build::datagram((stranger, 9), (six.0, 7)));
    }
}

/// Between two hosts of IPv6 inside by embedded addresses (RFC 7757 section 4).
pub(super) fn hairpins(sample: &mut Sample, places: &Places) {
    let Some(prefix) = places.siit.prefix() else { return };
    let known = |side: Side| places.siit.mappings.iter().filter(move |it| it.side == side);
    for mapping in known(Side::Inside).chain(known(Side::Outside)) {
        let address = mapping.ipv4.address;
        let Some(host) = places.table.to_ipv6(address) else { continue };
        for number in 0..places.six.len().min(4) {
            let (from, to) = ((places.six(number).1, 5000), (prefix.embed(address), 53));
            let about = "from IPv6, to a mapped host by its embedded address";
            let whole = datagram(from, to, 20);
            sample.six(places, about, &whole);
            let fragment = [0, 0, 1, 1, 0xab, 0xcd, 1, 2];
            sample.six(places, about, &extended(&whole, protocol::IPV6_FRAGMENT, fragment));
            let syn = (tcp::FLAG_SYN, &[2, 4, 5, 180][..]);
            sample.six(places, about, &segment(from, to, syn, &[]));
            sample.six(places, about, &echo(from.0, to.0, v6::ECHO_REQUEST, 3));
            sample.six(places, about, &echo(from.0, to.0, 131, 3));
            for hops in 0..4 {
                let mut last = whole.clone();
                last[7] = hops;
                sample.six(places, about, &last);
            }
            // The other host got this packet, and answers or complains.
            let embedded = prefix.embed(places.six(number).0);
            let got = datagram((embedded, 5000), (host, 53), 20);
            let said = (v6::UNREACHABLE, v6::PORT, 0);
            let about = "from IPv6, an error about a packet that turned around";
            for who in [host, places.nobody] {
                sample.six(places, about, &error((who, embedded), said, &got));
                let other = datagram((places.four(0).1, 5000), (host, 53), 20);
                sample.six(places, about, &error((who, embedded), said, &other));
            }
            let answer = datagram((host, 53), (embedded, 5000), 20);
            sample.six(places, "from IPv6, an answer that turns around", &answer);
        }
    }
}

/// Pools that would take addresses of hosts.
pub(super) fn pools(sample: &mut Sample, places: &Places) {
    let mut networks = places.siit.networks().filter(|network| network.len >= 24);
    let Some(pool) = networks.next() else { return };
    sample.update(Update::AddPool { pool });
    sample.update(Update::DrainPool { pool });
    let (six, four) = (places.six(0), places.four(0));
    sample.four(places, "from IPv4, as before", &build::datagram((four.0, 9), (six.0, 7)));
    let visitor = sample.visitor(0);
    let packet = build::datagram((visitor, 9), (six.0, 7));
    let frame = sample.framed(INSIDE, &packet);
    sample.frame(INSIDE, "a subscriber with sessions to such a host", frame);
}
