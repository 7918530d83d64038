//! Sessions that come to their end, and ports that rest.
use function_cgnat::types::sides::OUTSIDE;
use wire::{icmp, tcp};

use super::build::{End, datagram, query, segment};
use super::steps::{BEYOND_S, Sample, Sent};

/// Packets from inside keep sessions, packets from outside do not (RFC 4787 REQ-6).
pub(super) fn timeouts(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(0), 5000), (sample.server(0), 53));
    let times = sample.config.timeouts;
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    age(sample, times.udp_s, (&datagram(visitor, server), &datagram(server, visitor)));
    sample.forget();
    let echo = query(visitor.0, server.0, icmp::v4::ECHO_REQUEST, 77);
    let reply = query(server.0, visitor.0, icmp::v4::ECHO_REPLY, 0);
    age(sample, times.icmp_s, (&echo, &reply));
    sample.forget();
    let (open, back) = (segment(visitor, server, syn), segment(server, visitor, ack));
    age(sample, times.tcp_syn_s, (&open, &back));
    sample.forget();
    let sent = connection(sample, visitor, server);
    let data = segment(visitor, server, ack);
    age_from(sample, (sent, times.tcp_established_s), (&data, &back));
}

/// Closed connections have their last time from the segment on that closed them, wherever it came
/// from.
pub(super) fn closing(sample: &mut Sample) {
    let (address, server) = (sample.visitor(1), (sample.server(0), 80));
    let times = sample.config.timeouts;
    // Ports of their own: where nobody waits for ends, a connection is not begun again at once.
    let (fin, rst, ack) = (tcp::FLAG_FIN, tcp::FLAG_RST, tcp::FLAG_ACK);
    let established = times.tcp_established_s;
    let ways = [
        (5000, Some(fin), fin, established),
        (5002, Some(ack), rst, established),
        (5006, None, rst, times.tcp_syn_s),
    ];
    for (port, own, other, lives_s) in ways {
        let visitor = (address, port);
        let back = segment(server, visitor, ack);
        let (sent, about) = match own {
            Some(own) => {
                let sent = connection(sample, visitor, server);
                sample.inside("TCP: it ends, or not", &segment(visitor, server, own | ack));
                (sent, ["TCP: a late segment", "TCP: too late a segment"])
            }
            None => {
                let syn = segment(visitor, server, tcp::FLAG_SYN);
                let sent = sample.inside("TCP: SYN that is refused", &syn);
                (sent, ["TCP: a segment after a refusal"; 2])
            }
        };
        let idle = (times.tcp_transitory_s + 2.5).min(lives_s - 1.0);
        if idle > 1.0 {
            sample.wait(idle);
        }
        let end = segment(server, visitor, other | ack);
        sample.answer_to((OUTSIDE, sent), "TCP: the other end ends it", &end);
        let left = times.tcp_transitory_s.min(lives_s - idle.max(0.0));
        if left > 2.0 {
            sample.wait(left - 1.0);
            sample.answer_to((OUTSIDE, sent), about[0], &back);
        }
        sample.wait(BEYOND_S);
        sample.answer_to((OUTSIDE, sent), about[1], &back);
        sample.forget();
    }
    let visitor = (address, 5004);
    let back = segment(server, visitor, ack);
    let sent = connection(sample, visitor, server);
    let reset = segment(server, visitor, rst);
    sample.answer_to((OUTSIDE, sent), "TCP: RST of somebody else", &reset);
    sample.inside("TCP: the subscriber goes on", &segment(visitor, server, ack));
    if times.tcp_transitory_s + 2.0 < times.tcp_established_s {
        sample.wait(times.tcp_transitory_s + 1.0);
    }
    sample.answer_to((OUTSIDE, sent), "TCP: so does the connection", &back);
}

/// A port that rests takes nothing, and a mapping does not outlive its sessions.
pub(super) fn quarantine(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(2), 5000), (sample.server(0), 53));
    let sent = sample.inside("a mapping", &datagram(visitor, server));
    sample.wait(sample.config.timeouts.udp_s + 1.0);
    sample.answer_to((OUTSIDE, sent), "an answer too late", &datagram(server, visitor));
    for number in 0..4 {
        let visitor = (visitor.0, 5000 + 2 * number);
        sample.inside("mappings beside a port that rests", &datagram(visitor, server));
    }
}

/// An established connection; the number of its first frame.
fn connection(sample: &mut Sample, visitor: End, server: End) -> Sent {
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    let sent = sample.inside("TCP: SYN", &segment(visitor, server, syn));
    let second = segment(server, visitor, syn | ack);
    sample.answer_to((OUTSIDE, sent), "TCP: SYN and ACK", &second);
    sample.inside("TCP: ACK", &segment(visitor, server, ack));
    sent
}

/// A session lives until a little before its time is up, and not a little after.
fn age(sample: &mut Sample, time_s: f64, (packet, back): (&[u8], &[u8])) {
    let sent = sample.inside("a session begins", packet);
    age_from(sample, (sent, time_s), (packet, back));
}

fn age_from(sample: &mut Sample, (sent, time_s): (Sent, f64), (packet, back): (&[u8], &[u8])) {
    let almost = time_s - 1.0;
    if almost > 0.0 {
        sample.wait(almost);
        sample.inside("a packet that keeps it", packet);
        sample.wait(almost);
        sample.answer_to((OUTSIDE, sent), "an answer in time", back);
        sample.wait(BEYOND_S);
    } else {
        sample.wait(time_s + 1.0);
    }
    sample.answer_to((OUTSIDE, sent), "an answer too late", back);
    sample.inside("a packet too late", packet);
}
