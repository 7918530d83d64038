//! PPTP (RFC 2637): calls of subscribers and to them, and their packets of enhanced GRE.
use std::net::Ipv4Addr;

use function_cgnat::control::Update;
use function_cgnat::types::sides::OUTSIDE;
use model_kit::build::{packet, set, set_word};
use wire::protocol::GRE;

use super::algs::Talk;
use super::build::changed;
use super::steps::{Sample, Sent};

/// Calls of two subscribers with the same identifier to one server, and all that is told of them.
pub(super) fn pptp(sample: &mut Sample) {
    if !sample.config.alg.pptp {
        return;
    }
    let (one, server) = (sample.visitor(0), sample.server(0));
    let mut talk = Talk::begin(sample, (one, 3100), (server, PORT));
    talk.says(sample, control(START_REQUEST, 156, [0x0100, 0]));
    talk.hears(sample, control(START_REPLY, 156, [0x0100, 0x0100]));
    let told = talk.says(sample, control(OUTGOING_REQUEST, 168, [CALL, 1]));
    talk.repeats(sample);
    sample.inside("GRE of a call that is not answered", &gre(one, server, THEIRS));
    reply(sample, &mut talk, told, (THEIRS, 4));
    sample.inside("GRE of a call that was refused", &gre(one, server, THEIRS));
    reply(sample, &mut talk, told, (THEIRS, 1));
    sample.inside("GRE of a call", &gre(one, server, THEIRS));
    sample.inside("GRE of no call of the server's", &gre(one, server, THEIRS + 1));
    sample.inside("GRE of no call of the host's", &gre(one, sample.server(1), THEIRS));
    comes(sample, &talk, told, "GRE from the server", |_| {});
    comes(sample, &talk, told, "GRE from another host", |packet| packet[15] ^= 0x40);
    comes(sample, &talk, told, "GRE at its last hop", set(8, 1));
    strange(sample, one, server);

    let two = sample.visitor(1);
    let mut other = Talk::begin(sample, (two, 3100), (server, PORT));
    let other_told = other.says(sample, control(OUTGOING_REQUEST, 168, [CALL, 1]));
    reply(sample, &mut other, other_told, (THEIRS + 1, 1));
    sample.inside("GRE of the other one's call", &gre(two, server, THEIRS + 1));
    sample.inside("GRE of another one's call", &gre(two, server, THEIRS));
    comes(sample, &other, other_told, "GRE to the other one", |_| {});
    comes(sample, &talk, told, "GRE to the first one", |_| {});

    later(sample, &mut talk, told);
    // The same number of the server's for another call, of which it knows that it is another.
    let again = talk.says(sample, control(OUTGOING_REQUEST, 168, [CALL + 1, 2]));
    reply(sample, &mut talk, again, (THEIRS, 1));
    sample.inside("GRE of the newer call", &gre(one, server, THEIRS));
    comes(sample, &talk, again, "GRE to the newer call", |_| {});
    comes(sample, &talk, told, "GRE to the older one", |_| {});
    reply(sample, &mut talk, told, (THEIRS + 7, 1));
    sample.inside("GRE by the new number of the older one", &gre(one, server, THEIRS + 7));
    let half = sample.config.timeouts.udp_s / 2.0;
    if half > 2.0 {
        sample.wait(half);
        sample.inside("GRE keeps a call", &gre(one, server, THEIRS));
        comes(sample, &talk, told, "GRE from the server keeps none", |_| {});
        sample.wait(half + 1.0);
        sample.inside("GRE of a call that was kept", &gre(one, server, THEIRS));
        sample.inside("GRE of a call that is over", &gre(one, server, THEIRS + 7));
        comes(sample, &talk, told, "GRE to the call that is over", |_| {});
    }
    limited(sample, &mut talk);
    inside_server(sample);
}

/// Messages of a call but those that begin it, and some that are none.
fn later(sample: &mut Sample, talk: &mut Talk, told: Sent) {
    let peer = |sample: &mut Sample, talk: &mut Talk, message: Vec<u8>| {
        talk.hears_with(sample, message, vec![(told, (OWN_AT, 2, OWN_AT))]);
    };
    talk.says(sample, control(SET_LINK_INFO, 24, [THEIRS, 0]));
    peer(sample, talk, control(SET_LINK_INFO, 24, [0, 0]));
    peer(sample, talk, control(WAN_ERROR, 40, [0, 0]));
    talk.says(sample, control(CLEAR_REQUEST, 16, [CALL, 0]));
    talk.hears(sample, control(DISCONNECT_NOTIFY, 148, [THEIRS, 0]));
    talk.hears(sample, control(SET_LINK_INFO, 24, [9, 0]));
    let echo = control(ECHO_REQUEST, 16, [1, 1]);
    let clear = control(CLEAR_REQUEST, 16, [CALL, 0]);
    talk.says(sample, [&echo[..], &clear].concat());
    talk.says(sample, [&clear[..], &clear].concat());
    talk.says(sample, &clear[..13]);
    talk.says(sample, &clear[..7]);
    talk.says(sample, [&changed_octet(&clear, 4)[..], &clear].concat());
    talk.says(sample, [&control(CLEAR_REQUEST, 12, [0, 0])[..12], &clear].concat());
    let mut short = control(CLEAR_REQUEST, 16, [CALL, 0]);
    short[1] = 11;
    talk.says(sample, &short);
    let many: Vec<u8> =
        (0..10).flat_map(|number| control(CLEAR_REQUEST, 16, [CALL + 100 + number, 0])).collect();
    talk.says(sample, &many);
    talk.damaged(sample, control(OUTGOING_REQUEST, 168, [CALL + 50, 1]));
}

/// GRE that is not what RFC 2637 section 4.1 makes of it.
fn strange(sample: &mut Sample, from: Ipv4Addr, to: Ipv4Addr) {
    let whole = gre(from, to, THEIRS);
    for (about, at, value) in [
        ("GRE with a checksum", 20, 0xb0),
        ("GRE with a route", 20, 0x70),
        ("GRE without key", 20, 0x10),
        ("GRE with a strict route", 20, 0x38),
        ("GRE of version 0", 21, 0x80),
        ("GRE with something else than PPP", 23, 0),
        ("GRE at its last hop", 8, 1),
    ] {
        sample.inside(about, &changed(&whole, set(at, value)));
    }
    sample.inside("GRE that is cut", &packet(from, to, GRE, &whole[20..27]));
    sample.inside("GRE without a number", &packet(from, to, GRE, &whole[20..28]));
    let acknowledges = changed(&whole, |packet| (packet[20], packet[21]) = (0x20, 0x81));
    sample.inside("GRE that acknowledges alone", &acknowledges);
}

/// A subscriber that may have no more sessions.
fn limited(sample: &mut Sample, talk: &mut Talk) {
    sample.forget();
    let first = Talk::begin(sample, talk.own, talk.far);
    *talk = first;
    sample.update(Update::SetSessionLimit { sessions: 2 });
    let told = talk.says(sample, control(OUTGOING_REQUEST, 168, [CALL, 1]));
    reply(sample, talk, told, (THEIRS, 1));
    sample.inside("GRE of a call that found no room", &gre(talk.own.0, talk.far.0, THEIRS));
    sample.update(Update::SetSessionLimit { sessions: 1 });
    talk.says(sample, control(OUTGOING_REQUEST, 168, [CALL + 1, 1]));
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
    talk.ends(sample);
}

/// A subscriber's server, which takes calls from outside and calls back.
fn inside_server(sample: &mut Sample) {
    sample.forget();
    let (own, far) = (sample.visitor(2), sample.server(2));
    let mut talk = Talk::begin(sample, (own, PORT), (far, 4000));
    talk.hears(sample, control(OUTGOING_REQUEST, 168, [THEIRS, 1]));
    let told = talk.says(sample, reply_of(CALL, THEIRS, 1));
    sample.inside("GRE of a subscriber's server", &gre(own, far, THEIRS));
    comes(sample, &talk, told, "GRE to it", |_| {});
    talk.hears(sample, control(INCOMING_REQUEST, 220, [THEIRS + 1, 1]));
    let mut answer = control(INCOMING_REPLY, 24, [CALL + 1, THEIRS + 1]);
    answer[16] = 1;
    let told = talk.says(sample, answer);
    let connected = control(INCOMING_CONNECTED, 28, [0, 0]);
    talk.hears_with(sample, connected, vec![(told, (OWN_AT, 2, OWN_AT))]);
    sample.inside("GRE of an incoming call", &gre(own, far, THEIRS + 1));
    comes(sample, &talk, told, "GRE to an incoming call", |_| {});
    talk.ends(sample);
}

/// The server answers a call that was told.
fn reply(sample: &mut Sample, talk: &mut Talk, told: Sent, (call, result): (u16, u8)) {
    talk.hears_with(sample, reply_of(call, 0, result), vec![(told, (OWN_AT, 2, OWN_AT + 2))]);
}

/// A packet to the identifier that a message told, with a change.
fn comes(
    sample: &mut Sample,
    talk: &Talk,
    told: Sent,
    about: &'static str,
    change: impl FnOnce(&mut Vec<u8>),
) {
    let packet = changed(&gre(talk.far.0, talk.own.0, 0), change);
    let parts = vec![(told, (26, 4, 30)), (told, (OWN_AT, 2, 40))];
    sample.answer(OUTSIDE, about, &packet, parts);
}

/// A packet with data of PPP.
fn gre(from: Ipv4Addr, to: Ipv4Addr, call: u16) -> Vec<u8> {
    let [high, low] = call.to_be_bytes();
    let header = [0x30, 0x81, 0x88, 0x0b, 0, 6, high, low, 0, 0, 0, 7, 0, 0, 0, 3];
    packet(from, to, GRE, &[&header[..], &[0xff, 0x03, 0xc0, 0x21, 9, 1]].concat())
}

/// A control message of a length with the two numbers behind its head.
fn control(kind: u16, len: u16, [first, second]: [u16; 2]) -> Vec<u8> {
    let mut message = vec![0; usize::from(len).max(16)];
    for (at, word) in
        [(0, len), (2, 1), (4, 0x1a2b), (6, 0x3c4d), (8, kind), (12, first), (14, second)]
    {
        set_word(at, word)(&mut message);
    }
    message
}

/// The answer to a call: the sender's identifier, the caller's, and what came of it.
fn reply_of(call: u16, peer: u16, result: u8) -> Vec<u8> {
    let mut message = control(OUTGOING_REPLY, 32, [call, peer]);
    message[16] = result;
    message
}

fn changed_octet(message: &[u8], at: usize) -> Vec<u8> {
    let mut message = message.to_vec();
    message[at] ^= 1;
    message
}

/// RFC 2637 section 3: the port of the control connection.
const PORT: u16 = 1723;

/// Identifiers of calls: of subscribers, lower than any port that is given away, and of the other
/// ends.
const CALL: u16 = 5;
const THEIRS: u16 = 700;

/// Where a message's first identifier stands in a frame.
const OWN_AT: usize = 14 + 20 + 20 + 12;

/// Control messages (RFC 2637 section 2).
const START_REQUEST: u16 = 1;
const START_REPLY: u16 = 2;
const ECHO_REQUEST: u16 = 5;
const OUTGOING_REQUEST: u16 = 7;
const OUTGOING_REPLY: u16 = 8;
const INCOMING_REQUEST: u16 = 9;
const INCOMING_REPLY: u16 = 10;
const INCOMING_CONNECTED: u16 = 11;
const CLEAR_REQUEST: u16 = 12;
const DISCONNECT_NOTIFY: u16 = 13;
const WAN_ERROR: u16 = 14;
const SET_LINK_INFO: u16 = 15;
