//! What bfdd is told: states, counters and answers.

use protocol_bfddp::message::{Echo, Message};
use protocol_bfddp::session::Traffic;
use protocol_bfddp::{Command, Report, SessionCounters, State};
use protocol_kit::{Arrival, Machine, STREAM_ROOM, Time};

use crate::support::*;

#[test]
fn a_state_is_told_when_it_changes_and_when_the_session_is_wanted_anew() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2)]);
    assert_eq!(driven.told(), []);
    driven.command(Command::Change(7, change(State::Up)));
    let (identifier, message) = driven.sent.pop().expect("it is told");
    assert_eq!((identifier, message), (0, Message::StateChange(7, change(State::Up))));
    // Bfdd takes a session for down that it wants anew.
    driven.fail();
    driven.command(Command::Change(7, change(State::Down)));
    driven.command(Command::Change(7, change(State::Up)));
    driven.pass(config().again);
    driven.connect();
    driven.command(Command::Change(7, change(State::Up)));
    assert_eq!(driven.told(), [], "bfdd does not know it yet");
    driven.feed(&[add(7, 2)]);
    assert_eq!(driven.told(), [(7, State::Up)]);
    driven.command(Command::Change(8, change(State::Up)));
    assert_eq!((driven.told(), driven.machine.counters().unknown), (vec![], 1));
}

#[test]
fn that_a_session_was_down_is_told_even_if_bfdd_is_slow() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2), add(8, 3)]);
    driven.command(Command::Change(7, change(State::Up)));
    driven.command(Command::Change(8, change(State::Up)));
    assert_eq!(driven.told(), [(7, State::Up), (8, State::Up)]);
    driven.congest();
    for state in [State::Down, State::Init, State::Up] {
        driven.command(Command::Change(7, change(state)));
    }
    for state in [State::Up, State::Down] {
        driven.command(Command::Change(8, change(state)));
    }
    assert_eq!(driven.told(), []);
    driven.relieve();
    assert_eq!(driven.told(), [(7, State::Down), (7, State::Up), (8, State::Down)]);
}

#[test]
fn a_session_that_is_gone_is_not_told_of() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2), add(8, 3)]);
    driven.congest();
    driven.command(Command::Change(7, change(State::Up)));
    driven.command(Command::Change(8, change(State::Up)));
    let gone = Message::DeleteSession(session(7, 2));
    assert_eq!(driven.feed(&[gone]), [Report::Removed { discriminator: 7 }]);
    driven.relieve();
    assert_eq!(driven.told(), [(8, State::Up)]);
}

#[test]
fn no_more_departs_than_the_stream_has_room_for() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2)]);
    driven.takes = false;
    let request = Message::RequestCounters(7);
    for _ in 0..2 * STREAM_ROOM / 80 {
        driven.feed(std::slice::from_ref(&request));
    }
    assert_eq!(driven.sent.len(), STREAM_ROOM / 80);
    let counters = driven.machine.counters();
    assert_eq!(counters.answered + counters.unanswered, 2 * (STREAM_ROOM / 80) as u64 + 1);
    assert_eq!(counters.answered, (STREAM_ROOM / 80) as u64 + 64);
    assert_eq!(driven.machine.deadline(), None);
}

#[test]
fn requests_are_answered_at_once_with_their_identifiers() {
    let mut driven = Driven::connected();
    driven.now = Time(5_000_000);
    driven.feed(&[add(7, 2)]);
    let sent = Traffic { bytes: 660, packets: 10 };
    let counters = SessionCounters { sent, ..SessionCounters::default() };
    driven.command(Command::Counters(7, counters));
    let none = SessionCounters::default();
    for (identifier, discriminator, counters) in [(3, 7, counters), (4, 9, none)] {
        let bytes = Message::RequestCounters(discriminator).emit(identifier);
        driven.arrive(Arrival::Bytes { socket: STREAM, bytes: &bytes });
        let answer = Message::Counters(discriminator, counters);
        assert_eq!(driven.sent.pop(), Some((identifier, answer)));
    }
    let echo = Echo { data_plane_time_us: 0, bfdd_time_us: 6 };
    driven.feed(&[Message::EchoRequest(echo)]);
    let reply = Message::EchoReply(Echo { data_plane_time_us: 5_000, ..echo });
    assert_eq!(driven.sent.pop(), Some((0, reply)));
}
