//! Which sessions are wanted while the connection comes and goes.

use std::time::Duration;

use protocol_bfddp::message::Message;
use protocol_bfddp::{Command, Config, Lost, Report, Session, State};
use protocol_kit::{Arrival, Departure, Interface, Machine};

use crate::support::*;

const ALMOST: Duration = Duration::from_millis(1);

#[test]
fn sessions_are_added_changed_and_removed() {
    let mut driven = Driven::connected();
    assert_eq!(driven.feed(&[add(7, 2)]), [Report::Added(session(7, 2))]);
    assert_eq!(driven.feed(&[add(7, 2)]), [], "nothing is new");
    let faster = Session { desired_min_tx_us: 50_000, ..session(7, 2) };
    let changed = Report::Changed { before: 7, session: faster.clone() };
    assert_eq!(driven.feed(&[Message::AddSession(faster)]), [changed]);
    // With other addresses it is another session.
    let removed = Report::Removed { discriminator: 7 };
    assert_eq!(driven.feed(&[add(7, 3)]), [removed.clone(), Report::Added(session(7, 3))]);
    let gone = Message::DeleteSession(session(7, 3));
    assert_eq!(driven.feed(std::slice::from_ref(&gone)), [removed]);
    assert_eq!((driven.feed(&[gone]), driven.machine.counters().unknown), (vec![], 1));
}

#[test]
fn sessions_stay_until_they_are_repeated_or_swept() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2), add(8, 3), add(9, 4)]);
    assert_eq!(driven.fail(), [Report::Lost { why: Lost::Closed }]);
    assert_eq!(driven.pass(config().again - ALMOST), []);
    assert_eq!(driven.departures, []);
    driven.pass(ALMOST);
    assert!(matches!(driven.departures[..], [Departure::Open { socket: STREAM, .. }]));
    assert_eq!(driven.connect(), [Report::Connected]);
    assert_eq!(driven.pass(config().settle - ALMOST), []);
    assert_eq!(driven.feed(&[add(7, 2)]), []);
    assert_eq!(driven.pass(config().settle - ALMOST), []);
    let [eight, nine] = [8, 9].map(|discriminator| Report::Removed { discriminator });
    assert_eq!(driven.pass(ALMOST), [eight, nine, Report::Settled { swept: 2 }]);
    assert_eq!((driven.machine.sessions(), driven.machine.deadline()), (1, None));
}

#[test]
fn bfdd_that_is_born_again_takes_its_sessions_by_other_discriminators() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2), add(8, 3)]);
    driven.command(Command::Change(7, change(State::Up)));
    assert_eq!(driven.told(), [(7, State::Up)]);
    driven.fail();
    driven.pass(config().again);
    driven.connect();
    let changed = |before, session| Report::Changed { before, session };
    let said = driven.feed(&[add(70, 2), add(80, 3), add(90, 4)]);
    let added = Report::Added(session(90, 4));
    let wanted = [
        changed(7, session(70, 2)),
        changed(8, session(80, 3)),
        added,
        Report::Settled { swept: 0 },
    ];
    assert_eq!(said, wanted);
    assert_eq!(driven.told(), [(70, State::Up)], "what is known of it is known still");
}

#[test]
fn an_interface_may_become_known_and_is_never_another_one() {
    let mut driven = Driven::connected();
    let at = |discriminator, interface: Option<u32>| Session {
        interface: interface.map(Interface),
        ..session(discriminator, 2)
    };
    let want = |session: &Session| Message::AddSession(session.clone());
    let (early, known, other) = (at(7, None), at(7, Some(3)), at(7, Some(4)));
    assert_eq!(driven.feed(&[want(&early)]), [Report::Added(early)]);
    let changed = Report::Changed { before: 7, session: known.clone() };
    assert_eq!(driven.feed(&[want(&known)]), [changed]);
    let said = driven.feed(&[want(&other)]);
    assert_eq!(said, [Report::Removed { discriminator: 7 }, Report::Added(other)]);
    // After a new birth, too; the one that is at the interface goes before one that may be.
    driven.feed(&[want(&at(8, None))]);
    driven.fail();
    driven.pass(config().again);
    driven.connect();
    let [exact, else_where] = [at(70, Some(4)), at(80, Some(5))];
    let changed = |before, session: Session| Report::Changed { before, session };
    let said = driven.feed(&[want(&exact), want(&else_where)]);
    let settled = Report::Settled { swept: 0 };
    assert_eq!(said, [changed(7, exact), changed(8, else_where), settled]);
}

#[test]
fn without_bfdd_all_sessions_go_after_a_time() {
    let mut driven = Driven::connected();
    driven.feed(&[add(7, 2)]);
    driven.arrive(Arrival::Finished { socket: STREAM });
    assert_eq!(driven.departures, [Departure::Close { socket: STREAM }]);
    let mut said = Vec::new();
    while driven.now.since(protocol_kit::Time::ZERO) < config().keep {
        assert_eq!(said, []);
        said.extend(driven.pass(config().again));
        said.extend(driven.fail());
    }
    assert_eq!(said, [Report::Removed { discriminator: 7 }]);
    assert!(driven.machine.counters().failed > 100);
}

#[test]
fn what_has_no_room_is_refused_and_said_once() {
    let mut driven = Driven::new(Config { sessions_max: 1, ..config() });
    driven.connect();
    let said = driven.feed(&[add(7, 2), add(8, 3), add(9, 4)]);
    assert_eq!(said, [Report::Added(session(7, 2)), Report::Full]);
    assert_eq!(driven.machine.counters().refused, 2);
    driven.feed(&[Message::DeleteSession(session(7, 2))]);
    assert_eq!(driven.feed(&[add(8, 3)]), [Report::Added(session(8, 3))]);
}

#[test]
fn what_is_no_message_closes_the_connection_and_what_says_nonsense_does_not() {
    let mut driven = Driven::connected();
    let mut nonsense = add(7, 2).emit(0);
    nonsense[28..44].fill(0);
    let unknown = [1, 0, 0, 9, 0, 0, 0, 8];
    let bytes = [&nonsense[..], &unknown, &add(8, 3).emit(0)].concat();
    for piece in bytes.chunks(50) {
        driven.arrive(Arrival::Bytes { socket: STREAM, bytes: piece });
    }
    let counters = driven.machine.counters();
    assert_eq!((counters.malformed, counters.other, driven.machine.sessions()), (1, 1, 1));
    driven.departures.clear();
    let said = driven.arrive(Arrival::Bytes { socket: STREAM, bytes: &[2, 0, 0, 0, 0, 0, 0, 8] });
    assert_eq!(said, [Report::Lost { why: Lost::Malformed }]);
    assert_eq!(driven.departures, [Departure::Close { socket: STREAM }]);
    assert_eq!(driven.machine.counters().malformed_header, 1);
}

#[test]
fn a_connection_waits_while_many_reports_do() {
    let mut driven = Driven::new(Config { waiting_max: 10, ..config() });
    driven.connect();
    driven.departures.clear();
    let sessions: Vec<_> = (0..21).map(|number| add(number, number as u8 + 1)).collect();
    assert_eq!(driven.feed(&sessions[..10]).len(), 10);
    assert_eq!(driven.departures, []);
    assert_eq!(driven.feed(&sessions[10..]).len(), 11);
    let read = |is_wanted| Departure::Read { socket: STREAM, is_wanted };
    assert_eq!(driven.departures, [read(false), read(true)]);
}

#[test]
fn half_a_message_ends_with_its_connection() {
    let mut driven = Driven::connected();
    let bytes = add(7, 2).emit(0);
    assert_eq!(driven.arrive(Arrival::Bytes { socket: STREAM, bytes: &bytes[..70] }), []);
    driven.fail();
    driven.pass(config().again);
    driven.connect();
    assert_eq!(driven.feed(&[add(7, 2)]), [Report::Added(session(7, 2))]);
}
