//! Subscribers behind softwires: all that others do, by themselves and beside others with the same
//! addresses; what comes no further than its outer header, and what is too long for it.
use std::net::Ipv6Addr;

use function_cgnat::config::DsLite;
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{frame, set, set_word};
use wire::icmp::v4;
use wire::{MacAddr, ethernet, protocol, tcp};

use super::any_realm::OF_ANY_REALM;
use super::build::{self, changed, datagram, datagram_of, query, segment, segment_with};
use super::fragments::{arrives, cut};
use super::ipv6::{changed_ipv6, echo, error, extended, packet};
use super::nat64::refusals::solicitations;
use super::softwires::{FIRST, b4};
use super::steps::Sample;
use super::{fragments, host, vrfs};

mod outer;

/// All of it, where there are softwires.
pub(super) fn all(sample: &mut Sample) {
    let Some(ds_lite) = sample.config.ds_lite.clone() else { return };
    discovery(sample, &ds_lite);
    headers(sample, &ds_lite);
    outer::all(sample, &ds_lite);
    let own: [fn(&mut Sample); 5] = [itself, hosts, lengths, long_pieces, moves];
    for part in OF_ANY_REALM.into_iter().chain(own) {
        sample.forget();
        sample.vlan = FIRST;
        part(sample);
        sample.vlan = 0;
    }
    let realms = [&[0, FIRST, FIRST + 1][..], &sample.places.vlans()].concat();
    for part in [vrfs::same_address, vrfs::between, vrfs::pieces, vrfs::clear] {
        sample.forget();
        part(sample, &realms);
        sample.vlan = 0;
    }
}

/// Questions for both addresses of the inside port.
fn discovery(sample: &mut Sample, ds_lite: &DsLite) {
    let other = b4(&sample.config, FIRST);
    solicitations(sample, INSIDE, [ds_lite.aftr, other]);
    solicitations(sample, INSIDE, [sample.config.inside_ipv6, other]);
}

/// What is no packet in a softwire of this end's.
fn headers(sample: &mut Sample, ds_lite: &DsLite) {
    let (from, to) = (b4(&sample.config, FIRST), ds_lite.aftr);
    let inner = datagram((sample.visitor(0), 4000), (sample.server(0), 53));
    let whole = packet(from, to, protocol::IPV4, &inner);
    let ends = (sample.config.inside_mac.0, sample.config.inside_next_hop_mac.0);
    let framed = |packet: &[u8]| frame(ends.0, ends.1, ethernet::TYPE_IPV6, packet);
    let with_place = |place: [u8; 2]| {
        extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, place[0], place[1], 0, 0, 0, 9])
    };
    let too_big = error((from, to), (2, 0, 1280), &whole);
    let elsewhere = Ipv6Addr::from_bits(to.to_bits() ^ 0x100);
    let options = [0, 0, 4, 1, 4, 1, 0, 0];
    for (about, packet) in [
        ("softwire: a packet", whole.clone()),
        ("softwire: at its last hop outside", changed_ipv6(&whole, set(7, 0))),
        ("softwire: with a limit of encapsulation", extended(&whole, 60, options)),
        ("softwire: with options of each hop", extended(&whole, 0, options)),
        ("softwire: a fragment that is alone", with_place([0, 0])),
        ("softwire: a first fragment", with_place([0, 1])),
        ("softwire: a last fragment", with_place([0, 8])),
        ("softwire: a fragment before further headers", {
            let with_options = extended(&whole, 60, options);
            extended(&with_options, protocol::IPV6_FRAGMENT, [0, 0, 0, 1, 0, 0, 0, 9])
        }),
        ("softwire: by a way of its own", extended(&whole, 43, [0, 0, 0, 1, 0, 0, 0, 0])),
        ("softwire: IPv6 in IPv6", packet(from, to, 41, &whole)),
        ("softwire: an outer packet was too big", too_big),
        ("softwire: a ping to its end", echo(from, to, 128, 7)),
        ("softwire: no next header", packet(from, to, 59, &[])),
        ("softwire: nothing in it", packet(from, to, protocol::IPV4, &[])),
        ("softwire: too little in it", packet(from, to, protocol::IPV4, &inner[..19])),
        ("softwire: no IPv4 in it", packet(from, to, protocol::IPV4, &whole[..40])),
        ("softwire: another version outside", changed_ipv6(&whole, set(0, 0x50))),
        ("softwire: of nobody", packet(Ipv6Addr::UNSPECIFIED, to, 4, &inner)),
        ("softwire: of this end", packet(to, to, 4, &inner)),
        ("softwire: of a stranger", packet(outer::STRANGER, to, 4, &inner)),
        ("softwire: to another end", packet(from, elsewhere, 4, &inner)),
        ("softwire: to the port", packet(from, sample.config.inside_ipv6, 4, &inner)),
    ] {
        sample.frame(INSIDE, about, framed(&packet));
    }
    for len in [13, 14, 20, 53, 54, 60, 74] {
        let cut = framed(&whole)[..len].to_vec();
        sample.frame(INSIDE, "softwire: a frame that ends early", cut);
    }
    let mut other = framed(&whole);
    other[5] ^= 4;
    sample.frame(INSIDE, "softwire: a frame for another station", other.clone());
    other[..6].fill(0xff);
    sample.frame(INSIDE, "softwire: a frame for all stations", other);
    sample.frame(INSIDE, "softwire: with padding", [framed(&whole), vec![3; 9]].concat());
    let outside = frame(
        sample.config.outside_mac.0,
        MacAddr([2, 0, 0, 0, 0, 9]),
        ethernet::TYPE_IPV6,
        &whole,
    );
    sample.frame(OUTSIDE, "softwire: at the outside port", outside);
}

/// Pings to the end of the softwire by its own address there, and what else comes to that.
fn itself(sample: &mut Sample) {
    let (asker, own) = (sample.visitor(0), function_cgnat::ds_lite::AFTR);
    let ping = query(asker, own, v4::ECHO_REQUEST, 7);
    for (about, packet) in [
        ("a ping to the AFTR", ping.clone()),
        ("one at its last hop", changed(&ping, set(8, 1))),
        ("a part of one", changed(&ping, set_word(6, 0x2000))),
        ("one with a wrong header", {
            let mut ping = ping.clone();
            ping[10] ^= 1;
            ping
        }),
        ("one of nobody", query([127, 0, 0, 1].into(), own, v4::ECHO_REQUEST, 7)),
        ("one of its own", query(own, own, v4::ECHO_REQUEST, 7)),
        ("a datagram to the AFTR", datagram((asker, 5), (own, 7))),
    ] {
        sample.inside(about, &packet);
    }
    sample.vlan = 0;
    sample.inside("a ping to that address in no softwire", &ping);
    sample.outside("the same from outside", &ping);
}

/// Hosts of any address: they are one subscriber; but those that nobody can have.
fn hosts(sample: &mut Sample) {
    let server = (sample.server(0), 53);
    let own = sample.config.outside_ip.octets();
    for address in [[192, 0, 0, 2], [10, 1, 2, 3], [192, 168, 0, 9], [8, 8, 8, 8], own] {
        let host = (address.into(), 5000);
        let sent = sample.inside("a host behind a softwire", &datagram(host, server));
        sample.answer_to((OUTSIDE, sent), "it is answered", &datagram(server, host));
    }
    for address in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255]] {
        sample.inside("nobody's address", &datagram((address.into(), 5000), server));
        sample.inside(
            "a part of that",
            &changed(&datagram((address.into(), 5000), server), set_word(6, 0x2000)),
        );
    }
}

/// Answers as long as the tunnel takes, and longer, whether they may be cut or not; and long ones
/// out.
fn lengths(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(1), 5000), (sample.server(0), 53));
    let mtu = sample.config.ds_lite.as_ref().map_or(0, |ds_lite| usize::from(ds_lite.ipv6_mtu));
    let sent = sample.inside("a host asks for much", &datagram(visitor, server));
    let most = mtu - 40 - 28;
    for len in [most - 1, most, most + 1, most + 9, LONGEST - 28] {
        let answer = datagram_of(server, visitor, len.min(LONGEST - 28));
        let whole = changed(&answer, set_word(6, 0x4000));
        let parted = changed(&changed(&answer, set_word(6, 0)), set(1, 0xb9));
        sample.answer_to((OUTSIDE, sent), "a long answer that may not be cut", &whole);
        sample.answer_to((OUTSIDE, sent), "a long answer that may", &parted);
    }
    sample.inside("a long packet out", &datagram_of(visitor, server, LONGEST - 28));
    let (syn, size) = (tcp::FLAG_SYN, [2, 4, 5, 180]);
    let sent = sample.inside("SYN", &segment_with(visitor, server, (syn, &size), &[]));
    let both = syn | tcp::FLAG_ACK;
    sample.answer_to(
        (OUTSIDE, sent),
        "SYN, ACK",
        &segment_with(server, visitor, (both, &size), &[]),
    );
    sample.vlan = 0;
    let known = sample.inside("who is in no softwire asks, too", &datagram(visitor, server));
    sample.vlan = FIRST;
    let peer = (sample.visitor(2), 5002);
    let known_here = sample.inside("a peer of it asks", &datagram(peer, server));
    let long = datagram_of(peer, server, LONGEST - 28);
    let sent = sample.answer_to((INSIDE, known), "a long packet to no softwire", &long);
    sample.leaves_towards(sent, 0);
    sample.vlan = 0;
    let sent = sample.answer_to((INSIDE, known_here), "and one into it", &long);
    sample.leaves_towards(sent, FIRST);
}

/// Pieces of packets that are too long for the tunnel once more, those before the first one as
/// well.
fn long_pieces(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(1), 5000), (sample.server(0), 53));
    let sent = sample.inside("a host asks for very much", &datagram(visitor, server));
    let whole = datagram_of(server, visitor, 2 * 1480 + 500);
    let more = wire::ipv4::FLAG_MORE_FRAGMENTS;
    for (number, order) in [[0, 1, 2], [1, 2, 0], [2, 0, 1]].into_iter().enumerate() {
        let rest = whole.len() - 20 - 2 * 1480;
        let parts = [(0, 1480, more), (1480, 1480, more), (2960, rest, 0)];
        for index in order {
            let (offset, len, more) = parts[index];
            let piece = cut(&whole, (offset, len), (more, number as u16));
            arrives(sample, (OUTSIDE, sent), "a long piece", &piece);
        }
        fragments::rest(sample);
    }
}

/// The B4 element gets another address: in its prefix its subscriber goes on, elsewhere it is
/// another one.
fn moves(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(1), 5000), (sample.server(0), 53));
    let plain = datagram(visitor, server);
    let sent = sample.inside("before a B4 element moves", &plain);
    let Some(aftr) = sample.config.ds_lite.as_ref().map(|ds_lite| ds_lite.aftr) else { return };
    let before = b4(&sample.config, FIRST);
    let after = Ipv6Addr::from_bits(before.to_bits() ^ 1);
    let moved = |sample: &mut Sample, about, inner: &[u8]| {
        let plain = sample.framed(INSIDE, inner);
        let packet = packet(after, aftr, protocol::IPV4, inner);
        sample.frame(INSIDE, about, [&plain[..14], &packet].concat())
    };
    let lost = segment((visitor.0, 5001), server, tcp::FLAG_ACK);
    moved(sample, "a packet of no session from its next address", &lost);
    let back = datagram(server, visitor);
    sample.answer_to((OUTSIDE, sent), "an answer to the old one", &back);
    let asked = moved(sample, "a packet of a session from its next address", &plain);
    sample.answer_to((OUTSIDE, sent), "an answer to what was asked before", &back);
    sample.answer_to((OUTSIDE, asked), "an answer to what was asked after", &back);
    moved(sample, "a ping from there", &query(visitor.0, function_cgnat::ds_lite::AFTR, 8, 1));
    let last = changed(&plain, set(8, 1));
    host::rest(sample);
    moved(sample, "a packet whose hops end, from there", &last);
    sample.inside("a packet from the old one", &plain);
    sample.answer_to((OUTSIDE, sent), "an answer after it came back", &back);
    for address in [after, before, before] {
        sample.update(Update::ClearSubscriber { address: address.into(), vlan: 0 });
        sample.answer_to((OUTSIDE, sent), "an answer after its end", &back);
    }
    let error = build::error(server.0, sample.places.pool, v4::UNREACHABLE, &plain[..28]);
    let parts = vec![(sent, (26, 4, 30)), (sent, (14, 28, 42))];
    sample.answer(OUTSIDE, "an error about what has ended", &error, parts);
}

/// The longest IPv4 packets of the sample.
const LONGEST: usize = 1900;
