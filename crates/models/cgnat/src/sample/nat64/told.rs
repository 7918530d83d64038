//! Packets that are longer than links take, and IPv6 subscribers that are told why theirs go no
//! further.
use std::net::Ipv6Addr;

use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{set_word, text};
use model_kit::check::Step;
use wire::icmp::{v4, v6};
use wire::{ipv4, protocol, tcp};

use super::super::build;
use super::super::host::rest;
use super::super::ipv6::{datagram, echo, error, extended, segment};
use super::super::steps::{Sample, Sent};
use super::places::{LONGEST, Places};

/// Packets as long as links take, and longer.
pub(super) fn lengths(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(0), 5000), (sample.server(0), 53));
    let [ipv4_mtu, ipv6_mtu] = [places.nat64.ipv4_mtu, places.nat64.ipv6_mtu].map(usize::from);
    let mut sent = None;
    for len in [1240, 1241, ipv4_mtu, ipv4_mtu + 1, LONGEST - 20] {
        let len = len.min(LONGEST - 20) - 28;
        rest(sample);
        let packet = datagram(visitor, places.end(far), len);
        sent = sent.or(Some(sample.inside_ipv6("IPv6: long packets", &packet)));
        let mut frame = sample.framed_ipv6(&packet);
        frame[6] |= 1;
        sample.frame(INSIDE, "IPv6: long packets of a group of stations", frame);
        let packet = datagram(visitor, places.end(far), len - 8);
        let alone = extended(&packet, protocol::IPV6_FRAGMENT, [0, 0, 0, 0, 0, 0, 0xab, 0xcd]);
        sample.inside_ipv6("IPv6: a long fragment that is all", &alone);
    }
    let Some(sent) = sent else { return };
    let third = (sample.visitor(6), 8004);
    let lengths = [ipv6_mtu - 20, ipv6_mtu - 19, LONGEST].map(|len| len.min(LONGEST) - 28);
    let ping = echo(visitor.0, places.prefix.embed(far.0), v6::ECHO_REQUEST, 77);
    for len in lengths {
        for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
            let from = |sample: &mut Sample, (port, at): (_, Sent), packet: Vec<u8>| {
                let mut packet = packet;
                set_word(ipv4::offset::FLAGS_FRAGMENT, flags)(&mut packet);
                set_word(ipv4::offset::IDENTIFICATION, 0x1234)(&mut packet);
                rest(sample);
                sample.answer_to((port, at), "IPv6: long answers", &packet);
            };
            let nobody = (sample.places.pool, 9);
            from(sample, (OUTSIDE, sent), build::datagram_of(far, nobody, len));
            from(sample, (INSIDE, sent), build::datagram_of(third, nobody, len));
            let data = model_kit::build::datagram((far.1, 9), &text(len));
            let bare = model_kit::build::packet(far.0, nobody.0, protocol::UDP, &data);
            from(sample, (OUTSIDE, sent), bare);
            let message = [&[v4::ECHO_REPLY, 0, 0, 0, 0, 0, 0, 1][..], &text(len)].concat();
            let reply = model_kit::build::packet(far.0, nobody.0, protocol::ICMP, &message);
            let asked = sample.inside_ipv6("IPv6: a ping", &ping);
            from(sample, (OUTSIDE, asked), reply);
            from(sample, (OUTSIDE, sent), build::datagram_of(far, nobody, len));
            if let Some(Step::Answer { answer, .. }) = sample.steps.last_mut() {
                // Of a group of stations, about which nobody is told.
                answer.frame[6] |= 1;
            }
        }
    }
}

/// Packets at their last hop, and those of whoever has all that it may have.
pub(super) fn errors(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(1), 4100), places.end((sample.server(0), 4101)));
    let whole = datagram(visitor, server, 30);
    let mut cases = vec![
        whole.clone(),
        datagram(visitor, server, 1400),
        segment(visitor, server, (tcp::FLAG_SYN, &[]), &[]),
        echo(visitor.0, server.0, v6::ECHO_REQUEST, 5),
        echo(visitor.0, server.0, v6::ECHO_REPLY, 5),
        extended(&whole, protocol::IPV6_HOP_BY_HOP, [0, 0, 1, 4, 0, 0, 0, 0]),
        extended(&whole, protocol::IPV6_FRAGMENT, [0; 8]),
    ];
    let quoted = datagram(server, visitor, 9);
    cases.extend((1..5).map(|kind| error((visitor.0, server.0), (kind, 0, 0), &quoted)));
    for nobody in ["::", "::1", "ff02::9", "::2", "2001:db8::1"] {
        let nobody: Ipv6Addr = nobody.parse().unwrap_or(Ipv6Addr::LOCALHOST);
        cases.push(datagram((nobody, 4100), server, 9));
    }
    for mut packet in cases {
        rest(sample);
        packet[7] = 1;
        let padded = [sample.framed_ipv6(&packet), vec![5; 7]].concat();
        sample.frame(INSIDE, "IPv6: a packet whose hops end here", padded);
    }
    let mut last = whole;
    last[7] = 0;
    let mut frame = sample.framed_ipv6(&last);
    frame[6] |= 1;
    sample.frame(INSIDE, "IPv6: the same of a group of stations", frame);
    let limit = sample.config.icmp_error_burst;
    if sample.config.icmp_errors_per_s > 0 && limit <= 256 {
        rest(sample);
        for _ in 0..limit + 2 {
            sample.inside_ipv6("IPv6: one of many whose hops end here", &last);
        }
    }
    rest(sample);
    sample.update(Update::SetSessionLimit { sessions: 1 });
    for port in [4102, 4103] {
        sample
            .inside_ipv6("IPv6: one session, and no more", &datagram((visitor.0, port), server, 9));
    }
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
}
