//! Sessions of IPv6 subscribers, and what of IPv6 comes no further than its headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::embedded::Prefix;
use wire::icmp::{v4, v6};
use wire::{MacAddr, ethernet, ipv4, protocol, tcp};

use super::super::config::{Config, Nat64};
use super::super::control::Update;
use super::super::interfaces::{INSIDE, OUTSIDE};
use super::ipv6::{self, End, datagram, echo, error, extended, segment};
use super::{Part, Sample, Sent, build};
use crate::build::{add_options, frame, mend, set_word, text};
use crate::check::{Answer, Step};

/// Everything that IPv6 subscribers do.
pub(super) fn all(sample: &mut Sample) {
    let Some(nat64) = sample.config.nat64.clone() else { return };
    let Ok(prefix) = Prefix::new(nat64.prefix.address, nat64.prefix.len) else { return };
    let places = Places { nat64, prefix };
    for part in [
        discovery,
        headers,
        transport,
        datagrams,
        lengths,
        connections,
        echoes,
        errors_in,
        errors_out,
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
    let is_on = config.nat64.is_some();
    let is_short =
        |nat64: &Nat64| usize::from(nat64.ipv6_mtu) < LONGEST + 20 || nat64.ipv4_mtu < 1480;
    [
        ("nd-ignored", is_on),
        ("not-embedded", is_on),
        ("untranslatable", is_on),
        ("too-big", config.nat64.as_ref().is_some_and(is_short)),
    ]
}

/// Whose frames these are.
struct Places {
    nat64: Nat64,
    prefix: Prefix,
}

impl Places {
    /// A subscriber, from the end of its network.
    fn visitor(&self, number: u128) -> Ipv6Addr {
        let network = self.nat64.inside[self.nat64.inside.len() - 1];
        let hosts = u128::MAX.checked_shr(network.len.into()).unwrap_or(0);
        Ipv6Addr::from_bits((network.address.to_bits() | hosts) - number.min(hosts))
    }

    /// A host outside, as subscribers know it.
    fn end(&self, (address, port): build::End) -> End {
        (self.prefix.embed(address), port)
    }

    /// Where the octets of an embedded address stand in an address.
    fn octets(&self) -> impl Iterator<Item = usize> {
        (usize::from(self.prefix.len() / 8)..16).filter(|&at| at != 8).take(4)
    }
}

impl Sample {
    /// An IPv6 packet from a subscriber.
    fn inside_ipv6(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed_ipv6(packet);
        self.frame(INSIDE, about, frame)
    }

    fn framed_ipv6(&self, packet: &[u8]) -> Vec<u8> {
        let (to, from) = (self.config.inside_mac.0, self.config.inside_next_hop_mac.0);
        frame(to, from, ethernet::TYPE_IPV6, packet)
    }

    /// The same with parts of frames that left.
    fn answer_ipv6(
        &mut self,
        about: &'static str,
        packet: &[u8],
        parts: impl IntoIterator<Item = (Sent, (usize, usize, usize))>,
    ) -> Sent {
        let count = self.count;
        let part = |(sent, (from, len, to)): (Sent, (usize, usize, usize))| Part {
            back: count - sent.0,
            from,
            len,
            to,
        };
        let parts = parts.into_iter().map(part).collect();
        let answer = Answer { frame: self.framed_ipv6(packet), parts, finish: ipv6::finish };
        self.steps.push(Step::Answer { port: INSIDE, answer, about });
        self.count += 1;
        Sent(count)
    }

    /// An IPv6 datagram to the outside end of whoever sent a frame that left.
    fn to_peer(&mut self, places: &Places, at: Sent, about: &'static str, from: End) -> Sent {
        let to = (places.prefix.embed(self.places.pool), 9);
        let octets = places.octets().enumerate();
        let mut parts: Vec<_> = octets.map(|(n, at)| (26 + n, 1, DESTINATION + at)).collect();
        parts.push((34, 2, TRANSPORT + 2));
        let packet = datagram(from, to, 20);
        self.answer_ipv6(about, &packet, parts.into_iter().map(|part| (at, part)))
    }
}

/// Questions for the address of the inside port (RFC 4861 section 7.1.1).
fn discovery(sample: &mut Sample, places: &Places) {
    let own = sample.config.inside_ipv6;
    let asking = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
    let group = |of: Ipv6Addr| {
        let [.., a, b, c] = of.octets();
        let last = u16::from_be_bytes([b, c]);
        (
            Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), last),
            MacAddr([0x33, 0x33, 0xff, a, b, c]),
        )
    };
    let said = [1, 1, 2, 0, 0, 0, 0, 9];
    let message = |kind: u8, code: u8, target: Ipv6Addr, options: &[u8]| {
        [&[kind, code, 0, 0, 0, 0, 0, 0][..], &target.octets(), options].concat()
    };
    let ask = |from: Ipv6Addr, to: Ipv6Addr, message: &[u8]| {
        let mut packet = ipv6::packet(from, to, protocol::ICMPV6, message);
        packet[7] = 255;
        packet
    };
    let (many, many_mac) = group(own);
    let mac = sample.config.inside_mac.0;
    let from_mac = sample.config.inside_next_hop_mac.0;
    let none = Ipv6Addr::UNSPECIFIED;
    let question = message(135, 0, own, &said);
    let mut old = ask(asking, many, &question);
    old[7] = 254;
    let mut wrong = ask(asking, many, &question);
    wrong[42] ^= 1;
    let other = places.visitor(0);
    let everybody = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    for (about, to, packet) in [
        ("ND: who has the port's address?", many_mac, ask(asking, many, &question)),
        ("ND: the same to the port alone", mac, ask(asking, own, &question)),
        ("ND: the same to everybody", everybody, ask(asking, many, &question)),
        ("ND: without an Ethernet address", mac, ask(asking, own, &question[..24])),
        ("ND: is it a duplicate?", many_mac, ask(none, many, &question[..24])),
        ("ND: one that says its address too early", many_mac, ask(none, many, &question)),
        ("ND: a duplicate, asked of the port alone", mac, ask(none, own, &question[..24])),
        ("ND: for another's address", many_mac, ask(asking, many, &message(135, 0, other, &said))),
        ("ND: to another group", group(other).1, ask(asking, many, &question)),
        ("ND: from a group", many_mac, ask(many, many, &question)),
        ("ND: of another code", many_mac, ask(asking, many, &message(135, 1, own, &said))),
        ("ND: an option of no length", mac, ask(asking, own, &message(135, 0, own, &[1; 3]))),
        ("ND: an option that is cut", mac, ask(asking, own, &message(135, 0, own, &[14, 2, 0]))),
        (
            "ND: other options",
            mac,
            ask(asking, own, &message(135, 0, own, &[14, 1, 0, 0, 0, 0, 0, 0])),
        ),
        ("ND: cut", mac, ask(asking, own, &question[..20])),
        ("ND: from another link", many_mac, old),
        ("ND: a wrong checksum", many_mac, wrong),
        (
            "ND: an advertisement",
            mac,
            ask(asking, own, &message(136, 0, asking, &[2, 1, 2, 0, 0, 0, 0, 9])),
        ),
    ] {
        sample.frame(INSIDE, about, frame(to, from_mac, ethernet::TYPE_IPV6, &packet));
    }
    let packet = ask(asking, many, &message(133, 0, own, &[]));
    sample.frame(
        INSIDE,
        "a packet to a group",
        frame(many_mac, from_mac, ethernet::TYPE_IPV6, &packet),
    );
    let packet = ask(asking, many, &question);
    let frame = frame(mac, from_mac, ethernet::TYPE_IPV6, &packet);
    sample.frame(OUTSIDE, "ND on the side of IPv4", frame);
}

/// Headers that are wrong, or of packets that go nowhere.
fn headers(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(0), 4000), places.end((sample.server(0), 53)));
    let whole = datagram(visitor, server, 30);
    let changed = |at: usize, value: u8| {
        let mut packet = whole.clone();
        packet[at] = value;
        packet
    };
    let own = sample.config.inside_ipv6;
    let loops = places.end((sample.server(7), 5));
    let fragment = |place: u16| {
        let [high, low] = place.to_be_bytes();
        extended(&whole, protocol::IPV6_FRAGMENT, [0, 0, high, low, 0, 0, 9, 9])
    };
    let behind = extended(&fragment(0), protocol::IPV6_FRAGMENT, [0; 8]);
    for (about, packet) in [
        ("IPv6: version 4", changed(0, 0x45)),
        ("IPv6: longer than the frame", changed(4, 2)),
        ("IPv6: cut in its header", whole[..30].to_vec()),
        ("IPv6: the last hop", changed(7, 1)),
        ("IPv6: beyond the last hop", changed(7, 0)),
        ("IPv6: the first fragment", fragment(1)),
        ("IPv6: a later fragment", fragment(0x100)),
        ("IPv6: a fragment in a fragment", behind),
        ("IPv6: for the inside port", datagram(visitor, (own, 179), 9)),
        ("IPv6: to no IPv4 host", datagram(visitor, (places.visitor(1), 53), 9)),
        ("IPv6: from an IPv4 host", datagram(loops, server, 9)),
        ("IPv6: from the unspecified address", datagram((Ipv6Addr::UNSPECIFIED, 9), server, 9)),
        ("IPv6: from an address of IPv4 form", {
            let visitor = sample.visitor(0).to_ipv6_compatible();
            datagram((visitor, 4000), server, 9)
        }),
        (
            "IPv6: from a neighbour",
            datagram((Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9), 9), server, 9),
        ),
        ("IPv6: an extension header that is cut", {
            let mut packet = extended(&whole, protocol::IPV6_HOP_BY_HOP, [0; 8]);
            packet[41] = 200;
            packet
        }),
        ("IPv6: a way that the sender chose", {
            extended(&whole, protocol::IPV6_ROUTING, [0, 0, 0, 1, 0, 0, 0, 0])
        }),
    ] {
        sample.inside_ipv6(about, &packet);
    }
    for address in ["127.0.0.1", "0.0.0.1", "224.0.0.5", "10.0.0.1", "192.0.2.7"] {
        let address: Ipv4Addr = address.parse().unwrap_or(Ipv4Addr::BROADCAST);
        let to = places.end((address, 53));
        sample.inside_ipv6("IPv6: to a host that may not be spoken to", &datagram(visitor, to, 9));
    }
    let mut other = sample.framed_ipv6(&whole);
    other[5] ^= 0x40;
    sample.frame(INSIDE, "IPv6: for another station", other);
}

/// Headers of UDP, TCP and ICMPv6 that are wrong.
fn transport(sample: &mut Sample, places: &Places) {
    let (visitor, server) = ((places.visitor(0), 4000), places.end((sample.server(0), 53)));
    let udp = datagram(visitor, server, 30);
    let tcp = segment(visitor, server, (tcp::FLAG_SYN, &[]), b"");
    let ping = echo(visitor.0, server.0, v6::ECHO_REQUEST, 7);
    let changed = |packet: &[u8], at: usize, value: u8| {
        let mut packet = packet.to_vec();
        packet[at] = value;
        packet
    };
    let of = |next: u8, payload: &[u8]| ipv6::packet(visitor.0, server.0, next, payload);
    for (about, packet) in [
        ("UDP: longer than its packet", changed(&udp, 45, udp[45] + 1)),
        ("UDP: shorter than its packet", changed(&udp, 45, udp[45] - 1)),
        ("UDP: cut", of(protocol::UDP, &[0; 7])),
        ("TCP: a short header", changed(&tcp, 52, 0x40)),
        ("TCP: a header longer than its packet", changed(&tcp, 52, 0xf0)),
        ("TCP: cut", of(protocol::TCP, &[0; 19])),
        ("ICMP: a wrong checksum", changed(&ping, 42, ping[42] ^ 1)),
        ("ICMP: cut", of(protocol::ICMPV6, &[128; 7])),
        ("ICMP: an answer from inside", echo(visitor.0, server.0, v6::ECHO_REPLY, 7)),
        ("ICMP: a question for groups", echo(visitor.0, server.0, 130, 7)),
        ("ICMP of the other version", of(protocol::ICMP, &text(20))),
        ("a protocol without ports", of(47, &text(20))),
        ("nothing behind the header", of(59, &[])),
    ] {
        sample.inside_ipv6(about, &packet);
    }
    let ack = segment(visitor, server, (tcp::FLAG_ACK, &[]), b"");
    sample.inside_ipv6("IPv6: a segment of no connection", &ack);
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
    crate::build::set(8, 2)(&mut last);
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

/// Packets as long as links take, and longer.
fn lengths(sample: &mut Sample, places: &Places) {
    let (visitor, far) = ((places.visitor(0), 5000), (sample.server(0), 53));
    let [ipv4_mtu, ipv6_mtu] = [places.nat64.ipv4_mtu, places.nat64.ipv6_mtu].map(usize::from);
    let mut sent = None;
    for len in [1240, 1241, ipv4_mtu, ipv4_mtu + 1, LONGEST - 20] {
        let len = len.min(LONGEST - 20) - 28;
        let packet = datagram(visitor, places.end(far), len);
        sent = sent.or(Some(sample.inside_ipv6("IPv6: long packets", &packet)));
    }
    let Some(sent) = sent else { return };
    for len in [ipv6_mtu - 20, ipv6_mtu - 19, LONGEST] {
        let data = crate::build::datagram((far.1, 9), &text(len.min(LONGEST) - 28));
        let pool = sample.places.pool;
        let packet = crate::build::packet(far.0, pool, protocol::UDP, &data);
        sample.answer_to((OUTSIDE, sent), "IPv6: long answers", &packet);
    }
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
    }
}

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
fn errors_in(sample: &mut Sample, places: &Places) {
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
fn errors_out(sample: &mut Sample, places: &Places) {
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
    let first = sample.to_peer(places, at_other, "IPv6: a peer sends to another", one);
    sample.to_peer(places, at_one, "IPv6: which answers", other);
    sample.to_peer(places, at_other, "IPv6: and is answered", one);
    let got = sample.to_peer(places, at_third, "IPv6: a peer sends to one of IPv4", one);
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
    let sessions = sample.config.sessions_per_subscriber;
    sample.update(Update::SetSessionLimit { sessions });
    for _ in 0..2 {
        sample.update(Update::ClearSubscriber { address: visitor.into() });
    }
    sample.update(Update::ClearSubscriber { address: Ipv6Addr::LOCALHOST.into() });
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
    sample.wait(2.0);
    sample.answer_to((OUTSIDE, sent), "IPv6: an answer too late", &answer);
    sample.inside_ipv6("IPv6: a packet too late", &packet);
}

/// Where the destination of an IPv6 packet stands in a frame.
const DESTINATION: usize = 14 + 24;
/// Where a transport header stands behind an IPv6 header without extensions.
const TRANSPORT: usize = 14 + 40;
/// The longest packet that the sample has: every link takes it.
const LONGEST: usize = 1500;
