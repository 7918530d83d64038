//! Sessions of IPv6 subscribers, and what of IPv6 comes no further than its headers.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{Config, Nat64};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{add_options, mend, set_word};
use wire::embedded::Prefix;
use wire::icmp::{v4, v6};
use wire::{ipv4, protocol, tcp};

use super::build;
use super::ipv6::{datagram, echo, error, extended, segment};
use super::steps::{BEYOND_S, Sample};

mod errors;
mod fragments;
mod places;
pub(super) mod refusals;
mod told;

use places::{DESTINATION, LONGEST, Places, TRANSPORT};

/// Everything that IPv6 subscribers do.
pub(super) fn all(sample: &mut Sample) {
    let Some(nat64) = sample.config.nat64.clone() else { return };
    let Ok(prefix) = Prefix::new(nat64.prefix.address, nat64.prefix.len) else { return };
    let places = Places { nat64, prefix };
    for part in [
        refusals::discovery,
        refusals::headers,
        refusals::transport,
        datagrams,
        told::lengths,
        told::errors,
        fragments::orders,
        fragments::lengths,
        fragments::refusals,
        fragments::peers,
        connections,
        echoes,
        errors::inwards,
        errors::outwards,
        peers,
        limits,
        aging,
    ] {
        part(sample, &places);
        sample.forget();
    }
}

/// Drop reasons that only IPv6 leads to, each with whether the sample reaches it.
pub(super) fn reached(config: &Config) -> [(&'static str, bool); 4] {
    let is_on = config.nat64.is_some() || config.ds_lite.is_some();
    let is_short =
        |nat64: &Nat64| usize::from(nat64.ipv6_mtu) < LONGEST + 20 || nat64.ipv4_mtu < 1480;
    [
        ("nd-ignored", is_on),
        ("not-embedded", is_on),
        ("untranslatable", is_on),
        ("too-big", config.nat64.as_ref().is_some_and(is_short)),
    ]
}

/// Datagrams of every form, both ways.
fn datagrams(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(0), 5000), (sample.server(0), 53));
    let server = places.end(far);
    let whole = datagram(visitor, server, 41);
    let sent = sample.inside_ipv6("IPv6: a subscriber asks", &whole);
    let back = (OUTSIDE, sent);
    let nobody = (sample.places.pool, 9);
    sample.answer_to(back, "IPv6: a server answers", &build::datagram(far, nobody));
    let bare = build::datagram_without_checksum(far, nobody);
    sample.answer_to(back, "IPv6: an answer without checksum", &bare);
    let other = (sample.server(1), 5353);
    sample.inside_ipv6("IPv6: another server", &datagram(visitor, places.end(other), 0));
    sample.answer_to(back, "IPv6: it answers the same port", &build::datagram(other, nobody));
    for stranger in [(far.0, 54), (sample.server(2), 53), (Ipv4Addr::new(192, 168, 0, 9), 53)] {
        let about = "IPv6: one that was not asked";
        sample.answer_to(back, about, &build::datagram(stranger, nobody));
    }
    let mut options = build::datagram(far, nobody);
    add_options(&mut options);
    sample.answer_to(back, "IPv6: an answer with options", &options);
    let mut route = options.clone();
    route[20..24].copy_from_slice(&[131, 4, 4, 0]);
    mend(&mut route);
    sample.answer_to(back, "IPv6: an answer on a way that its sender chose", &route);
    let mut last = build::datagram(far, nobody);
    model_kit::build::set(8, 2)(&mut last);
    sample.answer_to(back, "IPv6: an answer with a hop left", &last);
    let hops = extended(&whole, protocol::IPV6_HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]);
    sample.inside_ipv6("IPv6: options for every hop", &hops);
    let routed = extended(&hops, protocol::IPV6_ROUTING, [0; 8]);
    sample.inside_ipv6("IPv6: at the end of its way", &routed);
    let alone = extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, 0, 0, 0, 0, 0xab, 0xcd]);
    sample.inside_ipv6("IPv6: a fragment that is all", &alone);
    let padded = [sample.framed_ipv6(&datagram(visitor, server, 3)), vec![7; 9]].concat();
    sample.frame(INSIDE, "IPv6: padding behind the packet", padded);
    for (at, value) in [(46, 0), (46, 1)] {
        let mut odd = whole.clone();
        odd[at] ^= value;
        if value == 0 {
            odd[46..48].fill(0);
        }
        sample.inside_ipv6("IPv6: a wrong checksum, or none", &odd);
    }
    let mut wrong = build::datagram(far, nobody);
    set_word(ipv4::offset::IDENTIFICATION, 0x77)(&mut wrong);
    sample.answer_to(back, "IPv6: an answer of another number", &wrong);
}

/// Connections that open, work and end.
fn connections(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(1), 6000), (sample.server(0), 80));
    let (server, nobody) = (places.end(far), (sample.places.pool, 9));
    let (syn, ack, fin) = (tcp::FLAG_SYN, tcp::FLAG_ACK, tcp::FLAG_FIN);
    for size in [1440u16, 1281, 1280, 100] {
        let [high, low] = size.to_be_bytes();
        let options = [2, 4, high, low, 1, 1, 1, 0];
        let first = segment(visitor, server, (syn, &options), &[]);
        let sent = sample.inside_ipv6("IPv6: SYN with a maximum segment size", &first);
        let back = (OUTSIDE, sent);
        let second = build::segment_with(far, nobody, (syn | ack, &options), &[]);
        sample.answer_to(back, "IPv6: SYN and ACK", &second);
        let data = segment(visitor, server, (ack, &[]), b"GET / HTTP/1.0\r\n\r");
        sample.inside_ipv6("IPv6: data", &data);
        let data = build::segment_with(far, nobody, (ack, &[]), b"HTTP/1.0 200 OK");
        sample.answer_to(back, "IPv6: data from the server", &data);
        let last = build::segment(far, nobody, fin | ack);
        sample.answer_to(back, "IPv6: FIN from the server", &last);
        let last = segment(visitor, server, (fin | ack, &[]), &[]);
        sample.inside_ipv6("IPv6: FIN from the subscriber", &last);
        let last = build::segment(far, nobody, ack);
        sample.answer_to(back, "IPv6: the last ACK", &last);
    }
    let reset = (visitor.0, 6001);
    let sent = sample.inside_ipv6("IPv6: SYN", &segment(reset, server, (syn, &[]), &[]));
    let refused = build::segment(far, nobody, tcp::FLAG_RST | ack);
    sample.answer_to((OUTSIDE, sent), "IPv6: RST", &refused);
}

/// Echoes.
fn echoes(sample: &mut Sample, places: &Places) {
    let (visitor, far) = (places.visitor(2), sample.server(0));
    for identifier in [0x1234, 0, 0xffff] {
        let ping = echo(visitor, places.prefix.embed(far), v6::ECHO_REQUEST, identifier);
        let sent = sample.inside_ipv6("IPv6: a ping", &ping);
        let pool = sample.places.pool;
        let reply = build::query(far, pool, v4::ECHO_REPLY, 0);
        sample.answer_to((OUTSIDE, sent), "IPv6: its answer", &reply);
        let other = build::query(far, pool, 14, 0);
        sample.answer_to((OUTSIDE, sent), "IPv6: an answer to another question", &other);
        for asker in [far, sample.server(2)] {
            let ping = build::query(asker, pool, v4::ECHO_REQUEST, 0);
            sample.answer_to((OUTSIDE, sent), "IPv6: a ping from outside", &ping);
            let asker = places.prefix.embed(asker);
            let answer = echo(visitor, asker, v6::ECHO_REPLY, identifier);
            sample.inside_ipv6("IPv6: the subscriber answers it", &answer);
        }
        let nobody = places.prefix.embed(sample.server(3));
        let answer = echo(visitor, nobody, v6::ECHO_REPLY, identifier);
        sample.inside_ipv6("IPv6: an answer to one that did not ask", &answer);
    }
}

/// Subscribers of both families that know each other's outside addresses (RFC 6146 section 3.8).
fn peers(sample: &mut Sample, places: &Places) {
    let (one, other) = ((places.visitor(4), 8000), (places.visitor(5), 8002));
    let third = (sample.visitor(6), 8004);
    let far = (sample.server(0), 3478);
    let server = places.end(far);
    let [at_one, at_other] = [one, other].map(|who| {
        sample.inside_ipv6("IPv6: a peer asks for its address", &datagram(who, server, 9))
    });
    let at_third =
        sample.inside("a peer of IPv4 asks for its address", &build::datagram(third, far));
    let first = sample.meet(places, at_other, "IPv6: a peer sends to another", one);
    sample.meet(places, at_one, "IPv6: which answers", other);
    sample.meet(places, at_other, "IPv6: and is answered", one);
    let got = sample.meet(places, at_third, "IPv6: a peer sends to one of IPv4", one);
    let answer = build::datagram(third, far);
    let back = sample.answer_to((INSIDE, at_one), "a peer of IPv4 answers", &answer);
    let to = (places.prefix.embed(sample.places.pool), 0);
    let unreachable = (v6::UNREACHABLE, v6::PORT, 0);
    for (about, who, at) in [
        ("IPv6: an error between peers", other, first),
        ("IPv6: an error to a peer of IPv4", one, back),
    ] {
        // The error goes to whom the quoted packet came from.
        let error = error((who.0, to.0), unreachable, &[0; 48]);
        let parts = [(at, (14 + 8, 16, DESTINATION)), (at, (14, 48, TRANSPORT + 8))];
        sample.answer_ipv6(about, &error, parts);
    }
    let error = build::error(third.0, far.0, v4::UNREACHABLE, &[0; 28]);
    let parts = vec![(got, (26, 4, 30)), (got, (14, 28, 42))];
    sample.answer(INSIDE, "an error to a peer of IPv6", &error, parts);
    let ping = echo(one.0, to.0, v6::ECHO_REQUEST, 99);
    sample.inside_ipv6("IPv6: a ping to an address of a pool", &ping);
    let unknown = datagram((one.0, 8004), (to.0, 1), 9);
    sample.inside_ipv6("IPv6: to a port of a pool that nobody has", &unknown);
}

/// Limits of a subscriber, and its sessions that are cleared.
fn limits(sample: &mut Sample, places: &Places) {
    let visitor = places.visitor(6);
    let server = places.end((sample.server(0), 53));
    sample.update(Update::SetSessionLimit { sessions: 5 });
    for port in 0..8 {
        sample.inside_ipv6("IPv6: up to the limit", &datagram((visitor, 3000 + port), server, 9));
    }
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
    for _ in 0..2 {
        sample.update(Update::ClearSubscriber { address: visitor.into(), vlan: 0 });
    }
    sample.update(Update::ClearSubscriber { address: Ipv6Addr::LOCALHOST.into(), vlan: 0 });
    sample.inside_ipv6("IPv6: after it was cleared", &datagram((visitor, 3000), server, 9));
}

/// A session ends by its time.
fn aging(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(7), 5000), (sample.server(0), 53));
    let packet = datagram(visitor, places.end(far), 9);
    let answer = build::datagram(far, (sample.places.pool, 9));
    let sent = sample.inside_ipv6("IPv6: a session begins", &packet);
    let almost = sample.config.timeouts.udp_s - 1.0;
    if almost > 0.0 {
        sample.wait(almost);
        sample.answer_to((OUTSIDE, sent), "IPv6: an answer in time", &answer);
    }
    sample.wait(BEYOND_S);
    sample.answer_to((OUTSIDE, sent), "IPv6: an answer too late", &answer);
    sample.inside_ipv6("IPv6: a packet too late", &packet);
}
