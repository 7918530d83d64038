//! The body of the fuzz target: any stream in pieces of any length, to a machine with little room.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use protocol_kit::{Arrival, Departure, Endpoint, Input, Machine, Output, Socket, Time};

use crate::machine::{BfdDataPlane, Command, Config, PORT, Report};
use crate::message::{Echo, Message};
use crate::session::{Change, Session, SessionCounters, State, Traffic};

/// Reads the bytes as a message, and feeds two machines with them, the first one at once and the
/// second one in pieces, whose length the first byte tells. It panics when a message is not written
/// back as it was read, when the machines differ, when a report does not follow from those before
/// it, or when something stays that ought to be gone.
pub fn fuzz(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    law(stream);
    let whole = said(stream, stream.len().max(1));
    assert_eq!(whole, said(stream, usize::from(*piece) + 1), "it depends on the pieces");
    let mut sessions = BTreeMap::new();
    for report in whole {
        match report {
            Report::Added(session) => {
                assert_eq!(sessions.insert(session.discriminator, session), None);
            }
            Report::Changed { before, session } => {
                let was = sessions.remove(&before).expect("it was added");
                assert_eq!((was.peer, was.local), (session.peer, session.local));
                assert_eq!(sessions.insert(session.discriminator, session), None);
            }
            Report::Removed { discriminator } => {
                sessions.remove(&discriminator).expect("it was added");
            }
            _ => {}
        }
        assert!(sessions.len() <= SESSIONS_MAX as usize);
    }
    assert!(sessions.is_empty(), "bfdd is gone for good");
}

/// What was read is written back so that it reads the same.
fn law(bytes: &[u8]) {
    let Ok((identifier, message)) = Message::parse(bytes) else { return };
    let written = message.emit(identifier);
    assert_eq!(Message::parse(&written), Ok((identifier, message)));
}

/// What a machine says of a stream and of its end, and of one more connection that repeats nothing.
fn said(stream: &[u8], piece: usize) -> Vec<Report> {
    let to = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let config = Config { sessions_max: SESSIONS_MAX, ..Config::new(to) };
    let (settle, keep) = (config.settle, config.keep);
    let mut machine = BfdDataPlane::new(config);
    let mut said = Vec::new();
    let socket = Socket(0);
    let connected = Arrival::Connected { socket, local: None, peer: None };
    drain(&mut machine, Time::ZERO, &mut said);
    machine.input(Time::ZERO, Input::Arrival(connected));
    let mut is_open = drain(&mut machine, Time::ZERO, &mut said);
    for bytes in stream.chunks(piece) {
        if is_open {
            machine.input(Time::ZERO, Input::Arrival(Arrival::Bytes { socket, bytes }));
            is_open = drain(&mut machine, Time::ZERO, &mut said);
        }
    }
    if is_open {
        machine.input(Time::ZERO, Input::Arrival(Arrival::Failed { socket }));
    }
    let now = Time::ZERO.after(settle);
    drain(&mut machine, now, &mut said);
    machine.input(now, Input::Arrival(connected));
    drain(&mut machine, now.after(keep), &mut said);
    assert_eq!(machine.sessions(), 0);
    said
}

/// Takes what a machine wants, and answers each session that it adds; false once the stream is
/// closed.
fn drain(machine: &mut BfdDataPlane, now: Time, said: &mut Vec<Report>) -> bool {
    let mut is_open = true;
    while let Some(output) = machine.poll(now) {
        match output {
            Output::Report(report) => {
                if let Report::Added(Session { discriminator, .. }) = &report {
                    let command = Command::Change(*discriminator, CHANGE);
                    machine.input(now, Input::Command(command));
                }
                said.push(report);
            }
            Output::Departure(Departure::Close { .. }) => is_open = false,
            Output::Departure(Departure::Bytes { socket, bytes }) => {
                let (_, message) = Message::parse(&bytes).expect("what is sent is a message");
                assert!(!matches!(message, Message::AddSession(_) | Message::DeleteSession(_)));
                let taken = Arrival::Taken { socket, count: bytes.len() };
                machine.input(now, Input::Arrival(taken));
            }
            Output::Departure(_) => {}
        }
    }
    is_open
}

/// Streams with a length of the pieces: what bfdd 8.4.4 wrote, and a message of each other kind.
pub fn examples() -> Vec<Vec<u8>> {
    let session: Vec<Vec<u8>> = BFDD.iter().map(|head| whole(head)).collect();
    let echo = Echo { data_plane_time_us: 1, bfdd_time_us: 2 };
    let counters =
        SessionCounters { sent: Traffic { bytes: 66, packets: 1 }, ..Default::default() };
    let others = [
        Message::EchoRequest(echo),
        Message::EchoReply(echo),
        Message::StateChange(7, CHANGE),
        Message::RequestCounters(7),
        Message::Counters(7, counters),
    ];
    let mut all: Vec<Vec<u8>> = session.clone();
    all.extend(others.iter().map(|message| message.emit(3)));
    all.push(session.concat());
    all.iter().map(|stream| [&[29], &stream[..]].concat()).collect()
}

/// A message of a session from its first bytes; what follows is zero.
fn whole(head: &str) -> Vec<u8> {
    let octet = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    let mut bytes: Vec<u8> = head.as_bytes().chunks(2).filter_map(octet).collect();
    bytes.resize(SESSION_LEN, 0);
    bytes
}

const CHANGE: Change = Change {
    state: State::Up,
    peer_diagnostic: 0,
    peer_discriminator: 9,
    is_peer_independent: true,
    is_peer_demand: false,
    is_peer_multipoint: false,
    peer_desired_min_tx_us: 50_000,
    peer_required_min_rx_us: 60_000,
    peer_required_echo_rx_us: 0,
    peer_detect_multiplier: 3,
};

/// Messages of bfdd 8.4.4, as hexadecimal digits without the zeros at their ends.
const BFDD: &[&str] = &[
    // A session that is shut down, without a source address and an interface.
    "010000020000008c00000040000000000000000000000000000000000a090003000000000000000000000000\
     dcbb6ee4000493e0000493e00000c3500000c35000000000ff03",
    // One over several hops, passive, of IPv6.
    "010000020000008c00000031fd000009000000000000000000000001fd000009000000000000000000000002\
     67df425c000493e0000493e00000c3500000c35000000000fa03",
    // One of neighbours, with Echo packets.
    "010000020000008c000000080a0900010000000000000000000000000a090002000000000000000000000000\
     df6cee24000111700000ea6000015f900001388000000000ff040000000000036574683000",
    // It is wanted with another interval.
    "010000020000008c000000080a0900010000000000000000000000000a090002000000000000000000000000\
     df6cee2400011170000493e000015f900001388000000000ff040000000000036574683000",
    // The first one is not wanted any more.
    "010000030000008c00000040000000000000000000000000000000000a090003000000000000000000000000\
     dcbb6ee4000493e0000493e00000c3500000c35000000000ff03",
];

/// Bytes of a message of a session.
const SESSION_LEN: usize = 140;

/// Room of the machine.
const SESSIONS_MAX: u32 = 4;
