//! Sessions of every protocol, what answers them, and what may come from others.
use function_cgnat::types::networks::holds;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::add_options;
use packet::PortId;
use wire::{icmp, tcp};

use super::build::{self, datagram, datagram_without_checksum, query, segment, segment_with};
use super::steps::{Sample, Sent};

/// Datagrams with and without checksum, options and padding; one mapping for all servers.
pub(super) fn udp(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(0), 5000), (sample.server(0), 53));
    let sent = sample.inside("UDP: a subscriber asks", &datagram(visitor, server));
    let back = (OUTSIDE, sent);
    sample.answer_to(back, "UDP: a server answers", &datagram(server, visitor));
    sample.inside("UDP: without checksum", &datagram_without_checksum(visitor, server));
    let bare = datagram_without_checksum(server, visitor);
    sample.answer_to(back, "UDP: an answer without checksum", &bare);
    let other = (sample.server(1), 5353);
    sample.inside("UDP: the same port to another server", &datagram(visitor, other));
    sample.answer_to(back, "UDP: that one answers the same port", &datagram(other, visitor));
    for (about, stranger) in [
        ("UDP: another port of a server", (server.0, 54)),
        ("UDP: a server that was not asked", (sample.server(2), 53)),
    ] {
        sample.answer_to(back, about, &datagram(stranger, visitor));
        sample.inside("UDP: the subscriber answers that", &datagram(visitor, stranger));
    }
    let mut options = datagram(visitor, server);
    add_options(&mut options);
    sample.inside("UDP: options in the IPv4 header", &options);
    let padded = [sample.framed(INSIDE, &datagram_without_checksum(visitor, server)), vec![7; 9]];
    sample.frame(INSIDE, "UDP: padding behind the packet", padded.concat());
    let odd = (visitor.0, 5001);
    sample.inside("UDP: an odd port", &datagram(odd, server));
}

/// Connections that open, work and end.
pub(super) fn tcp(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(1), 6000), (sample.server(0), 80));
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    let (fin, push) = (tcp::FLAG_FIN, tcp::FLAG_PSH);
    // Their port stays the subscriber's between them, because another session of it goes on.
    let other = (sample.server(1), 80);
    sample.inside("TCP: SYN from the same port to another server", &segment(visitor, other, syn));
    for size in [1460u16, 100] {
        let [high, low] = size.to_be_bytes();
        let options = [2, 4, high, low, 1, 1, 1, 0];
        let first = segment_with(visitor, server, (syn, &options), &[]);
        let sent = sample.inside("TCP: SYN with a maximum segment size", &first);
        let second = segment_with(server, visitor, (syn | ack, &options), &[]);
        sample.answer_to((OUTSIDE, sent), "TCP: SYN and ACK", &second);
        sample.inside("TCP: ACK", &segment(visitor, server, ack));
        let data = segment_with(visitor, server, (ack | push, &[]), b"GET / HTTP/1.0\r\n\r");
        sample.inside("TCP: data", &data);
        let data = segment_with(server, visitor, (ack | push, &[]), b"HTTP/1.0 200 OK");
        sample.answer_to((OUTSIDE, sent), "TCP: data from the server", &data);
        let last = segment(server, visitor, fin | ack);
        sample.answer_to((OUTSIDE, sent), "TCP: FIN from the server", &last);
        sample.inside("TCP: FIN from the subscriber", &segment(visitor, server, fin | ack));
        let last = segment(server, visitor, ack);
        sample.answer_to((OUTSIDE, sent), "TCP: the last ACK", &last);
    }
    let reset = (visitor.0, 6001);
    let sent = sample.inside("TCP: SYN", &segment(reset, server, syn));
    let refused = segment(server, reset, tcp::FLAG_RST | ack);
    sample.answer_to((OUTSIDE, sent), "TCP: RST", &refused);
    sample.answer_to((OUTSIDE, sent), "TCP: SYN from the server", &segment(server, reset, syn));
    let unknown = (reset.0, reset.1 ^ 0x100);
    for (about, flags) in [
        ("TCP: RST of no session", tcp::FLAG_RST),
        ("TCP: an end of no session", tcp::FLAG_FIN),
        ("TCP: an answer of no session", ack),
    ] {
        sample.inside(about, &segment(unknown, server, flags));
    }
    sample.inside("TCP: RST from the subscriber", &segment(reset, server, tcp::FLAG_RST));
}

/// Queries and their answers.
pub(super) fn icmp(sample: &mut Sample) {
    let (visitor, server) = (sample.visitor(2), sample.server(0));
    let kinds = [(icmp::v4::ECHO_REQUEST, icmp::v4::ECHO_REPLY), (13, 14)];
    for (asked, answered) in kinds {
        let sent = sample.inside("ICMP: a query", &query(visitor, server, asked, 0x1234));
        let answer = query(server, visitor, answered, 0);
        sample.answer_to((OUTSIDE, sent), "ICMP: its answer", &answer);
        let other = query(sample.server(1), visitor, answered, 0);
        sample.answer_to((OUTSIDE, sent), "ICMP: an answer of another", &other);
        for asker in [server, sample.server(2)] {
            let query_back = query(asker, visitor, asked, 0);
            sample.answer_to((OUTSIDE, sent), "ICMP: a query from outside", &query_back);
            let answer = query(visitor, asker, answered, 0x1234);
            let left = sample.inside("ICMP: the subscriber answers it", &answer);
            let error = build::error(asker, visitor, icmp::v4::UNREACHABLE, &answer[..28]);
            let parts = vec![(left, (26, 4, 30)), (left, (14, 28, 42))];
            sample.answer(OUTSIDE, "ICMP: an error about that answer", &error, parts);
        }
        let answer = query(visitor, sample.server(3), answered, 0x1234);
        sample.inside("ICMP: an answer to one that did not ask", &answer);
        let nobody = query(server, sample.places.pool, asked, 0xffff);
        sample.outside("ICMP: a query for nobody", &nobody);
    }
}

/// Errors about packets of sessions, from both sides.
pub(super) fn errors(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(3), 7000), (sample.server(0), 80));
    let echo = query(visitor.0, server.0, icmp::v4::ECHO_REQUEST, 0x4321);
    let reply = query(server.0, visitor.0, icmp::v4::ECHO_REPLY, 0x4321);
    let packets = [
        (datagram(visitor, server), datagram(server, visitor)),
        (datagram_without_checksum(visitor, server), datagram_without_checksum(server, visitor)),
        (
            segment(visitor, server, tcp::FLAG_SYN),
            segment(server, visitor, tcp::FLAG_SYN | tcp::FLAG_ACK),
        ),
        (echo, reply),
    ];
    for (packet, back) in packets {
        let sent = sample.inside("a packet that an error is about", &packet);
        let got = sample.answer_to((OUTSIDE, sent), "its answer", &back);
        for kind in [icmp::v4::UNREACHABLE, icmp::v4::TIME_EXCEEDED, 12] {
            let router = sample.server(9);
            let error = build::error(router, visitor.0, kind, &packet[..28]);
            let parts = vec![(sent, (26, 4, 30)), (sent, (14, 28, 42))];
            sample.answer(OUTSIDE, "ICMP: an error from outside", &error, parts);
            let error = build::error(visitor.0, server.0, kind, &back[..28]);
            let parts = vec![(got, (14, 28, 42))];
            sample.answer(INSIDE, "ICMP: an error from inside", &error, parts);
        }
        let error =
            build::error(server.0, sample.places.pool, icmp::v4::UNREACHABLE, &packet[..28]);
        sample.outside("ICMP: an error about a packet that nobody sent", &error);
        let mut last = build::error(visitor.0, server.0, icmp::v4::UNREACHABLE, &back[..28]);
        model_kit::build::set(8, 1)(&mut last);
        sample.inside("ICMP: an error at its last hop", &last);
    }
    let whole = datagram(visitor, server);
    for (about, quoted) in [
        ("ICMP: an error that quotes nothing", Vec::new()),
        ("ICMP: an error that quotes too little", whole[..27].to_vec()),
        ("ICMP: an error that quotes no IPv4", vec![0x60; 28]),
        ("ICMP: an error about no session", whole[..28].to_vec()),
        ("ICMP: an error about a fragment", {
            let mut packet = whole.clone();
            model_kit::build::set_word(6, 5)(&mut packet);
            packet[..28].to_vec()
        }),
    ] {
        let error = build::error(server.0, sample.places.pool, icmp::v4::UNREACHABLE, &quoted);
        sample.outside(about, &error);
        let error = build::error(visitor.0, server.0, icmp::v4::UNREACHABLE, &quoted);
        sample.inside(about, &error);
    }
}

/// Two subscribers that know each other's outside addresses (RFC 4787 REQ-9).
pub(super) fn hairpins(sample: &mut Sample) {
    let (one, other) = ((sample.visitor(4), 8000), (sample.visitor(5), 8002));
    let server = (sample.server(0), 3478);
    let [at_one, at_other] = [one, other]
        .map(|who| sample.inside("a peer asks for its address", &datagram(who, server)));
    let to = |sample: &mut Sample, at: Sent, about, packet: &[u8]| -> Sent {
        sample.answer_to((INSIDE, at), about, packet)
    };
    let first = to(sample, at_other, "a peer sends to the other one", &datagram(one, server));
    to(sample, at_one, "and is answered", &datagram(other, server));
    to(sample, at_other, "and answers", &datagram(one, server));
    let error = build::error(other.0, server.0, icmp::v4::UNREACHABLE, &[0; 28]);
    let parts = vec![(first, (14, 28, 42)), (first, (26, 4, 30))];
    sample.answer(INSIDE, "an error about a packet between peers", &error, parts);
    let mut last = datagram(one, server);
    model_kit::build::set(8, 2)(&mut last);
    to(sample, at_other, "a packet whose hops end between peers", &last);
    let unknown = datagram((one.0, 8004), (sample.places.pool, 1));
    sample.inside("to a port of a pool that nobody has", &unknown);
    sample.unanswerable(INSIDE, &unknown);
    sample.inside("from the same port to a server", &datagram((one.0, 8004), server));
    let ping = query(one.0, sample.places.pool, icmp::v4::ECHO_REQUEST, 99);
    sample.inside("a ping to an address of a pool", &ping);
}

/// A subscriber with an address for itself.
pub(super) fn one_to_one(sample: &mut Sample) {
    let Some(own) = sample.places.one_to_one else { return };
    let server = (sample.server(0), 25);
    let rules = sample.config.static_rules.clone();
    let rule = rules.iter().find(|rule| holds(rule.inside, own.to_bits()));
    let Some(rule) = rule else { return };
    let host = ((1u64 << (32 - rule.inside.len)) - 1) as u32;
    let outside = rule.outside.address.to_bits() & !host | own.to_bits() & host;
    let outside = std::net::Ipv4Addr::from_bits(outside);
    sample.inside("one to one: a subscriber sends", &datagram((own, 9000), server));
    sample.outside("one to one: it is answered", &datagram(server, (outside, 9000)));
    sample.outside("one to one: it is asked", &datagram(server, (outside, 9002)));
    sample.inside("one to one: it answers", &datagram((own, 9002), server));
    let syn = segment(server, (outside, 22), tcp::FLAG_SYN);
    sample.outside("one to one: a connection from outside", &syn);
    let both = tcp::FLAG_SYN | tcp::FLAG_ACK;
    sample.inside("one to one: which is taken", &segment((own, 22), server, both));
    let port: PortId = OUTSIDE;
    let ack = segment(server, (outside, 22), tcp::FLAG_ACK);
    let frame = sample.framed(port, &ack);
    sample.frame(port, "one to one: and goes on", frame);
    let (asked, answered) = (icmp::v4::ECHO_REQUEST, icmp::v4::ECHO_REPLY);
    sample.outside("one to one: a ping", &query(server.0, outside, asked, 770));
    sample.inside("one to one: is answered", &query(own, server.0, answered, 770));
    sample.inside("one to one: a ping to itself", &query(own, outside, asked, 771));
    pings_of_peers(sample, own, outside);
}

/// A subscriber asks another one that has an address for itself (RFC 5508 REQ-7), which is known
/// there.
fn pings_of_peers(sample: &mut Sample, own: std::net::Ipv4Addr, outside: std::net::Ipv4Addr) {
    let (visitor, server) = (sample.visitor(4), sample.server(0));
    let (asked, answered) = (icmp::v4::ECHO_REQUEST, icmp::v4::ECHO_REPLY);
    let known = query(visitor, server, asked, 772);
    let known = sample.inside("a peer asks a server under some identifier", &known);
    // Under the identifier that the peer has outside, and to its address.
    let parts = vec![(known, (26, 4, 30)), (known, (38, 2, 38))];
    let to_peer = query(own, server, asked, 0);
    sample.answer(INSIDE, "one to one: a ping to a peer", &to_peer, parts);
    let ping = query(visitor, outside, asked, 772);
    for _ in 0..2 {
        let got = sample.inside("a ping to a peer", &ping);
        let answer = query(own, server, answered, 0);
        sample.answer_to((INSIDE, got), "a peer answers a ping", &answer);
        let error = build::error(own, server, icmp::v4::UNREACHABLE, &[0; 28]);
        let parts = vec![(got, (26, 4, 30)), (got, (14, 28, 42))];
        sample.answer(INSIDE, "a peer says that it is unreachable", &error, parts);
    }
    let mut last = ping;
    model_kit::build::set(8, 2)(&mut last);
    sample.inside("a ping whose hops end between peers", &last);
}
