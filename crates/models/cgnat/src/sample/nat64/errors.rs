//! ICMP errors about packets of IPv6 subscribers, both ways.
use std::net::Ipv4Addr;

use function_cgnat::types::sides::OUTSIDE;
use model_kit::build::text;
use wire::icmp::{v4, v6};
use wire::{protocol, tcp};

use super::super::build;
use super::super::ipv6::{self, datagram, echo, error, extended, segment};
use super::super::steps::Sample;
use super::places::{Places, TRANSPORT};

/// Packets of sessions that errors are about: from inside, and answers.
fn subjects(sample: &Sample, places: &Places) -> [(Vec<u8>, Vec<u8>); 3] {
    let (visitor, far) = ((places.visitor(3), 7000), (sample.server(0), 80));
    let (server, nobody) = (places.end(far), (sample.places.pool, 9));
    let both = tcp::FLAG_SYN | tcp::FLAG_ACK;
    [
        (datagram(visitor, server, 40), build::datagram(far, nobody)),
        (segment(visitor, server, (tcp::FLAG_SYN, &[]), &[]), build::segment(far, nobody, both)),
        (
            echo(visitor.0, server.0, v6::ECHO_REQUEST, 0x4321),
            build::query(far.0, nobody.0, v4::ECHO_REPLY, 0),
        ),
    ]
}

/// ICMP errors from outside (RFC 7915 section 4.2).
pub(super) fn inwards(sample: &mut Sample, places: &Places) {
    let pool = sample.places.pool;
    for (packet, _) in subjects(sample, places) {
        let sent = sample.inside_ipv6("IPv6: a packet that an error is about", &packet);
        let about = |sample: &mut Sample, what, (kind, code, rest): (u8, u8, u32), from, len| {
            let mut error = build::error(from, pool, kind, &vec![0; len]);
            error[21] = code;
            error[24..28].copy_from_slice(&rest.to_be_bytes());
            let parts = vec![(sent, (26, 4, 30)), (sent, (14, len, 42))];
            sample.answer(OUTSIDE, what, &error, parts);
        };
        let router = sample.server(9);
        for code in 0..17 {
            about(sample, "IPv6: unreachable", (v4::UNREACHABLE, code, 0), router, 28);
        }
        for rest in [0, 68, 1280, 1400, 9000, 48 << 16 | 1400] {
            let what = (v4::UNREACHABLE, v4::TOO_BIG, rest);
            about(sample, "IPv6: too big for a router", what, router, 40);
        }
        for pointer in [0, 1, 2, 8, 9, 10, 12, 19, 20] {
            let what = (v4::PARAMETER_PROBLEM, 0, pointer << 24);
            about(sample, "IPv6: a parameter problem", what, router, 28);
        }
        let missing = (v4::PARAMETER_PROBLEM, v4::MISSING_OPTION, 0);
        about(sample, "IPv6: an option is missing", missing, router, 28);
        about(sample, "IPv6: no more hops", (v4::TIME_EXCEEDED, 0, 0), router, 28);
        let private = Ipv4Addr::new(192, 168, 3, 3);
        about(sample, "IPv6: no more hops", (v4::TIME_EXCEEDED, 0, 0), private, 28);
    }
}

/// ICMPv6 errors from inside (section 5.2).
pub(super) fn outwards(sample: &mut Sample, places: &Places) {
    let (visitor, far) = (places.visitor(3), (sample.server(0), 80));
    let server = places.end(far);
    let router = places.visitor(77);
    for (packet, back) in subjects(sample, places) {
        let sent = sample.inside_ipv6("IPv6: a packet", &packet);
        let got =
            sample.answer_to((OUTSIDE, sent), "IPv6: an answer that an error is about", &back);
        let about = |sample: &mut Sample, what, said: (u8, u8, u32), from, len: usize| {
            let error = error((from, server.0), said, &vec![0; len]);
            let parts = [(got, (14, len, TRANSPORT + 8))];
            sample.answer_ipv6(what, &error, parts)
        };
        for code in 0..7 {
            about(
                sample,
                "IPv6: unreachable, says a subscriber",
                (v6::UNREACHABLE, code, 0),
                visitor,
                48,
            );
        }
        for mtu in [0, 1280, 1480, 9000] {
            about(sample, "IPv6: too big, says a router", (v6::TOO_BIG, 0, mtu), router, 60);
        }
        for (code, pointer) in
            [(0, 0), (0, 4), (0, 6), (0, 7), (0, 8), (0, 24), (0, 40), (1, 6), (2, 0)]
        {
            let what = (v6::PARAMETER_PROBLEM, code, pointer);
            about(sample, "IPv6: a parameter problem, says a subscriber", what, visitor, 48);
        }
        about(sample, "IPv6: no more hops, says a router", (v6::TIME_EXCEEDED, 0, 0), router, 48);
        let whole = error((visitor, server.0), (v6::UNREACHABLE, 4, 0), &packet);
        sample.inside_ipv6("IPv6: an error about a packet from inside", &whole);
        let mut last = error((visitor, server.0), (v6::UNREACHABLE, 4, 0), &[0; 48]);
        last[7] = 1;
        sample.answer_ipv6(
            "IPv6: an error at its last hop",
            &last,
            [(got, (14, 48, TRANSPORT + 8))],
        );
    }
    let answer = datagram(server, (visitor, 7000), 20);
    let mut part = extended(&answer, protocol::IPV6_FRAGMENT, [0, 0, 1, 0, 0, 0, 9, 9]);
    part.truncate(60);
    let compatible = (sample.visitor(3).to_ipv6_compatible(), 7000);
    for (about, quoted) in [
        ("IPv6: an error that quotes nothing", Vec::new()),
        ("IPv6: an error that quotes too little", answer[..39].to_vec()),
        ("IPv6: an error that quotes no port", answer[..43].to_vec()),
        ("IPv6: an error that quotes IPv4", vec![0x45; 48]),
        ("IPv6: an error that quotes an error", error((server.0, visitor), (1, 0, 0), &[0; 48])),
        ("IPv6: an error about a fragment", part),
        ("IPv6: an error about no session", datagram(server, (visitor, 7999), 9)),
        ("IPv6: an error about a packet of IPv4 form", datagram(server, compatible, 9)),
        (
            "IPv6: an error about a packet of no IPv4 host",
            datagram((router, 9), (visitor, 7000), 9),
        ),
        ("IPv6: an error about another protocol", ipv6::packet(server.0, visitor, 47, &text(20))),
    ] {
        let error = error((visitor, server.0), (v6::UNREACHABLE, 4, 0), &quoted);
        sample.inside_ipv6(about, &error);
    }
}
