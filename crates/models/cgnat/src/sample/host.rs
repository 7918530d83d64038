//! The NAT as a host: pings, packets whose senders are told that they went no further, and next
//! hops that are asked for their MAC address: they answer, and fall silent while packets come for
//! them.
use std::time::Duration;

use function_cgnat::config::Config;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{add_options, packet, set, set_word, text};
use model_kit::check::Step;
use wire::{MacAddr, icmp, protocol, tcp};

use super::build::{self, changed, datagram, make_right, query, segment};
use super::next_hops::{LIFETIME_S, are_awaited, hops, known_mac};
use super::steps::Sample;

/// Echo requests at both ports, and what looks alike.
pub(super) fn pings(sample: &mut Sample) {
    for (port, asker) in [(INSIDE, sample.visitor(0)), (OUTSIDE, sample.server(0))] {
        let own = if port == INSIDE { sample.config.inside_ip } else { sample.config.outside_ip };
        let echo = query(asker, own, icmp::v4::ECHO_REQUEST, 7);
        let mut cases =
            vec![("a ping", echo.clone()), ("a ping at its last hop", changed(&echo, set(8, 1)))];
        cases.push(("a ping with flags", changed(&echo, set_word(6, 0xc000))));
        cases.push(("a ping with options", changed(&echo, add_options)));
        cases.push(("a first fragment of a ping", changed(&echo, set_word(6, 0x2000))));
        cases.push(("a damaged ping", changed(&echo, |packet| packet[30] ^= 1)));
        let of_code = |packet: &mut Vec<u8>| {
            packet[21] = 3;
            make_right(packet, true);
        };
        cases.push(("a ping with a code", changed(&echo, of_code)));
        cases.push(("a cut ping", packet(asker, own, protocol::ICMP, &echo[20..26])));
        cases.push(("an answer for the port", query(asker, own, icmp::v4::ECHO_REPLY, 7)));
        for from in [[224, 0, 0, 9], [127, 0, 0, 1], [0, 0, 0, 0], own.octets()] {
            cases.push(("a ping of nobody", query(from.into(), own, icmp::v4::ECHO_REQUEST, 7)));
        }
        cases.push(("a datagram for the port", datagram((asker, 5), (own, 7))));
        for (about, packet) in cases {
            let frame = sample.framed(port, &packet);
            sample.frame(port, about, frame);
        }
        let padded = [sample.framed(port, &echo), vec![9; 11]].concat();
        sample.frame(port, "a ping with padding", padded);
    }
    let (visitor, own) = (sample.visitor(0), sample.config.outside_ip);
    sample.inside("a ping for the other port", &query(visitor, own, icmp::v4::ECHO_REQUEST, 8));
}

/// Packets at their last hop from both sides, and those about which nobody is told.
pub(super) fn errors(sample: &mut Sample) {
    let pool = sample.places.pool;
    let (visitor, server) = (sample.visitor(1), sample.server(0));
    for (port, from, to) in [(INSIDE, visitor, server), (OUTSIDE, server, pool)] {
        let whole = datagram((from, 4100), (to, 4101));
        let long = packet(from, to, protocol::UDP, &model_kit::build::datagram((1, 2), &text(900)));
        let kinds = [8, 0, 13, 3, 11, 5].map(|kind| build::error(from, to, kind, &whole[..28]));
        let mut cases = vec![whole.clone(), long, segment((from, 1), (to, 2), tcp::FLAG_ACK)];
        cases.push(changed(&whole, add_options));
        cases.extend(kinds);
        for address in [[224, 0, 0, 1], [255, 255, 255, 255], [127, 0, 0, 1], [0, 0, 0, 0]] {
            cases.push(datagram((address.into(), 4100), (to, 4101)));
            cases.push(datagram((from, 4100), (address.into(), 4101)));
        }
        for one in cases {
            rest(sample);
            let last = changed(&one, set(8, 1));
            let padded = [sample.framed(port, &last), vec![5; 7]].concat();
            sample.frame(port, "a packet whose hops end here", padded);
        }
        sample.unanswerable(port, &changed(&whole, set(8, 0)));
    }
}

/// More packets at their end than errors may leave.
pub(super) fn more_errors_than_may_leave(sample: &mut Sample) {
    let config = &sample.config;
    if !(1..=BURST_MAX).contains(&config.icmp_error_burst) || config.icmp_errors_per_s == 0 {
        return;
    }
    let burst = config.icmp_error_burst;
    let ends = [(sample.visitor(2), 4100), (sample.server(0), 4101)];
    let last = changed(&datagram(ends[0], ends[1]), set(8, 1));
    rest(sample);
    for _ in 0..burst + 2 {
        sample.inside("one of many whose hops end here", &last);
    }
    rest(sample);
    sample.inside("one more, later", &last);
}

/// Waits until as many errors may leave as at most.
pub(super) fn rest(sample: &mut Sample) {
    let Config { icmp_errors_per_s: rate, icmp_error_burst: burst, .. } = sample.config;
    if rate > 0 {
        sample.wait((f64::from(burst) / f64::from(rate)).min(REST_S_MAX) + REST_S_MIN);
    }
}

/// The largest burst that the sample exceeds.
const BURST_MAX: u32 = 256;

/// What a rest has beyond what it needs: short, as devices wait for it in real time.
const REST_S_MIN: f64 = 0.05;

/// The longest rest; whoever lets errors leave more slowly sees them limited.
const REST_S_MAX: f64 = 20.0;

/// The first answers; before them one to no question, as which nobody asks before it runs.
pub(super) fn answers(sample: &mut Sample) {
    if let Some(&hop) = hops(&sample.first).first() {
        sample.say("a next hop tells its address unasked", hop, known_mac(&sample.first, hop));
        sample.say("an answer with the address of a group", hop, MacAddr([1, 0, 0, 0, 0, 1]));
        sample.say("an answer without an address", hop, MacAddr::ZERO);
    }
    sample.speak_up();
}

/// Packets of a connection while next hops are silent, have moved, and are back.
pub(super) fn silence(sample: &mut Sample) {
    if !are_awaited(&sample.config) {
        return;
    }
    let (own, server) = ((sample.visitor(0), 4711), (sample.server(0), 80));
    let syn = segment(own, server, tcp::FLAG_SYN);
    let sent = sample.inside("a connection", &syn);
    let back = |sample: &mut Sample, about, flags| {
        sample.answer_to((OUTSIDE, sent), about, &segment(server, own, flags));
    };
    back(sample, "is answered", tcp::FLAG_SYN | tcp::FLAG_ACK);
    let on = segment(own, server, tcp::FLAG_ACK);
    sample.inside("and goes on", &on);
    let moved = MacAddr([0x0a, 0, 0, 0, 6, 1]);
    for hop in hops(&sample.first) {
        sample.say("a next hop has moved", hop, moved);
    }
    sample.inside("a packet to a next hop that has moved", &on);
    back(sample, "a packet to a next hop that has moved", tcp::FLAG_ACK);
    pass(sample, LIFETIME_S + 1.0);
    sample.inside("a packet to a next hop that is asked whether it is there", &on);
    (0..4).for_each(|_| pass(sample, 1.0));
    for _ in 0..10 {
        sample.inside("a packet to a next hop that was forgotten", &on);
        back(sample, "a packet to a next hop that was forgotten", tcp::FLAG_ACK);
    }
    (0..4).for_each(|_| pass(sample, 1.0));
    for _ in 0..2 {
        sample.inside("a packet to a next hop that did not answer", &on);
        back(sample, "a packet to a next hop that did not answer", tcp::FLAG_ACK);
    }
    // One that nothing came for is asked for by nobody.
    sample.speak_up();
    sample.inside("a packet to a next hop that is back", &on);
    back(sample, "a packet to a next hop that is back", tcp::FLAG_ACK);
}

fn pass(sample: &mut Sample, seconds: f64) {
    sample.steps.push(Step::Wait(Duration::from_secs_f64(seconds)));
}
