//! Sessions that cannot run, and controllers that cannot be.

use controller_frr_bfd::{Config, FrrBfd};
use controller_kit::{Controller, Setup};
use function_kit::erased::configured;
use function_l3_router::L3Router;
use protocol_bfddp::Session;
use protocol_bfddp::message::Message;

use crate::support::{CORE, Driven, router, session};

#[test]
fn a_session_waits_for_its_interface() {
    let mut driven = Driven::bare(4);
    driven.connect().say(Message::AddSession(session(77, 2))).pass(10);
    assert_eq!((driven.sessions(), driven.alarmed()), (vec![], vec![("sessions-refused", true)]));
    driven.links(&[("core", CORE)]).pass(4_000);
    assert_eq!(
        (driven.heard(), driven.alarmed()),
        (vec![(77, true)], vec![("sessions-refused", false)])
    );
    // Without a name, it is the one on whose link the peer is.
    let nameless = Session { interface: None, interface_name: String::new(), ..session(78, 3) };
    driven.say(Message::AddSession(nameless)).pass(10);
    assert_eq!(driven.sessions().len(), 2);
    driven.links(&[]).pass(10);
    assert_eq!(driven.sessions().len(), 1, "the interface is gone");
}

#[test]
fn what_cannot_run_is_told_an_operator() {
    let mut driven = Driven::new(1);
    let far = Session { is_multihop: true, interface: None, ..session(77, 2) };
    driven.say(Message::AddSession(far.clone())).pass(10);
    assert_eq!((driven.sessions(), driven.alarmed()), (vec![], vec![("sessions-refused", true)]));
    assert_eq!(Controller::show(&driven.bfd)["sessions"][0]["trouble"], "Multihop");
    // There is room for one.
    driven.say(Message::AddSession(session(78, 3))).pass(10);
    assert_eq!(driven.alarmed(), [("sessions-full", true)]);
    driven.say(Message::DeleteSession(far)).pass(10);
    assert_eq!(driven.alarmed(), [("sessions-refused", false)]);
    // The router refuses an interval that is too short, until it is not any more.
    let fast = Session { desired_min_tx_us: 10, ..session(79, 2) };
    driven.say(Message::AddSession(fast)).pass(10);
    assert_eq!((driven.refused.len(), driven.alarmed()), (1, vec![("sessions-refused", true)]));
    driven.say(Message::AddSession(session(79, 2))).pass(10);
    assert_eq!((driven.sessions().len(), driven.alarmed()), (1, vec![("sessions-refused", false)]));
}

#[test]
fn a_controller_fits_a_router_with_room_for_sessions() {
    let create = |config: &Config, capacity| {
        let function = configured::<L3Router>(router(capacity));
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
        FrrBfd::new(config, setup).map(|_| ()).map_err(|why| why.key)
    };
    let at = |at: &str| Config { at: at.to_owned(), ..Config::default() };
    assert!(create(&at("/run/frr/bfdd.dplane"), 1).is_ok());
    assert_eq!(create(&at("bfdd"), 1).expect_err("no address"), "at");
    assert_eq!(create(&Config::default(), 0).expect_err("no room"), "name");
    let setup = Setup { function: None, state: Vec::new(), seed: 7 };
    assert!(FrrBfd::new(&Config::default(), setup).is_err());
}
