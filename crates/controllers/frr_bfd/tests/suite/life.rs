//! Sessions as they come, fail, come back and go.

use controller_kit::Event;
use protocol_bfddp::Session;
use protocol_bfddp::message::Message;

use crate::support::{Driven, session};

#[test]
fn a_session_of_bfdd_runs_in_the_router_and_bfdd_hears_of_it() {
    let mut driven = Driven::new(4);
    driven.say(Message::AddSession(session(77, 2))).pass(4_000);
    assert_eq!(driven.paths(), [true; 2]);
    assert_eq!(driven.sessions(), [(77, "Up".to_owned())]);
    let (name, change) = driven.told.pop().expect("it is up");
    assert_eq!((name, change.peer_detect_multiplier), (77, 3));
    assert_eq!(change.peer_required_min_rx_us, 10_000);
    assert_ne!(change.peer_discriminator, 0);
    driven.heard();
    // The far end falls silent: in three intervals bfdd knows, and the next hop is gone before.
    driven.passes = false;
    driven.pass(32);
    assert_eq!((driven.heard(), driven.paths()[0]), (vec![(77, false)], false));
    driven.passes = true;
    driven.pass(4_000);
    assert_eq!((driven.heard(), driven.paths()), (vec![(77, true)], [true; 2]));
    // Other times leave it up, and are what the packets say from now on.
    let slower = Session { desired_min_tx_us: 20_000, ..session(77, 2) };
    driven.say(Message::AddSession(slower)).pass(500);
    assert!(driven.heard().iter().all(|told| *told == (77, true)), "it never went down");
    // What workers told in vain is asked for once more.
    driven.event(Event::Missed { count: 1 }).pass(2);
    assert_eq!(driven.heard(), [(77, true)]);
    driven.say(Message::DeleteSession(session(77, 2))).pass(100);
    assert_eq!((driven.sessions(), driven.paths()), (vec![], [true, false]));
    assert_eq!((driven.refused.len(), driven.alarmed()), (0, vec![]));
}

#[test]
fn a_bfdd_that_is_born_again_finds_its_session_up() {
    let mut driven = Driven::new(4);
    driven.say(Message::AddSession(session(77, 2))).pass(4_000);
    assert_eq!(driven.heard(), [(77, true)]);
    driven.fail().pass(1_500);
    assert_eq!(driven.alarmed(), [("bfdd-down", true)]);
    assert_eq!(driven.paths(), [true; 2], "it runs without bfdd");
    driven.connect().say(Message::AddSession(session(99, 2))).pass(100);
    assert_eq!(driven.heard(), [(99, true)], "by its new name");
    assert_eq!(driven.sessions(), [(77, "Up".to_owned())], "the peer has noticed nothing");
    assert_eq!(driven.alarmed(), [("bfdd-down", false)]);
    driven.passes = false;
    driven.pass(35);
    assert_eq!(driven.heard(), [(99, false)]);
    // Another one gets the name that the router still has.
    driven.say(Message::AddSession(session(77, 3))).pass(10);
    let names: Vec<u64> = driven.sessions().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [77, 78]);
    // Without bfdd, all are gone in the end.
    driven.fail();
    driven.now = driven.now.after(std::time::Duration::from_secs(301));
    driven.pass(2);
    assert_eq!(driven.sessions(), []);
}

#[test]
fn a_session_that_is_shut_down_tells_its_peer_so() {
    let mut driven = Driven::new(4);
    driven.say(Message::AddSession(session(77, 2))).pass(4_000);
    driven.heard();
    let shut = Session { is_shut_down: true, ..session(77, 2) };
    driven.say(Message::AddSession(shut)).pass(100);
    assert_eq!(driven.sessions(), [(77, "AdminDown".to_owned())]);
    assert_eq!(driven.heard().last(), Some(&(77, false)));
    driven.say(Message::AddSession(session(77, 2))).pass(4_000);
    assert_eq!(driven.heard().last(), Some(&(77, true)));
}
