//! Sessions that cannot run, and controllers that cannot be.

use std::time::Duration;

use controller_frr_bfd::{Config, FrrBfd};
use controller_kit::{Controller, EventKind, Setup};
use engine::Function;
use function_kit::erased::configured;
use function_l3_router::{L3Router, Update};
use protocol_bfddp::Session;
use protocol_bfddp::message::Message;
use serde_json::json;

use crate::support::{CORE, Driven, router, session};

const MS: Duration = Duration::from_millis(1);

/// How often the router hears of what it has refused.
const RETRY: Duration = Duration::from_secs(10);

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
fn what_the_router_has_refused_is_tried_again() {
    let mut driven = Driven::new(1);
    // An operator's session has the only place.
    let discriminator = 5;
    let set = json!({
        "port": "core", "peer": "10.0.2.9", "min-tx-us": 10_000, "min-rx-us": 10_000,
        "multiplier": 3,
    });
    let set = json!({ "discriminator": discriminator, "session": set });
    let set = serde_json::from_value(json!({ "set-bfd": set })).expect("an update");
    driven.near.router.apply(set, 0).expect("there is room");
    driven.say(Message::AddSession(session(77, 2))).wait(RETRY - MS);
    assert_eq!((driven.refused.len(), driven.alarmed()), (1, vec![("sessions-refused", true)]));
    driven.wait(MS).wait(RETRY - MS);
    assert_eq!((driven.refused.len(), driven.alarmed()), (2, vec![]));
    let remove = Update::RemoveBfd { discriminator: Some(discriminator) };
    driven.near.router.apply(remove, driven.now.0).expect("it is there");
    driven.wait(MS).pass(10);
    assert_eq!((driven.refused.len(), driven.alarmed()), (2, vec![("sessions-refused", false)]));
    assert_eq!(driven.sessions().len(), 1);
    assert_eq!(driven.sessions()[0].0, 77);
}

#[test]
fn a_watched_route_is_no_session() {
    let mut driven = Driven::new(4);
    driven.say(Message::AddSession(session(77, 2))).pass(4_000);
    assert_eq!(driven.heard(), [(77, true)]);
    // Another controller watches a route by the number that the session has, which comes and goes.
    let prefix = "198.51.100.0/24".to_owned().try_into().expect("a prefix");
    for update in [
        Update::WatchRoute { number: 77, prefix, vrf: 0 },
        Update::SetRoute { prefix, next_hop: 0, vrf: 0 },
        Update::RemoveRoute { prefix, vrf: 0 },
    ] {
        driven.near.router.apply(Update::said(update), driven.now.0).expect("it may");
    }
    driven.pass(10);
    let of_routes = driven.happened.iter().filter(|(subject, _)| *subject == 2 << 32 | 77);
    let of_routes: Vec<EventKind> = of_routes.map(|(_, kind)| *kind).collect();
    assert_eq!(of_routes, [EventKind::Down, EventKind::Up, EventKind::Down]);
    assert_eq!(driven.heard(), []);
    assert_eq!(Controller::show(&driven.bfd)["sessions"][0]["state"], "up");
}

#[test]
fn a_bfdd_that_cannot_be_connected_is_an_alarm_until_it_is() {
    let mut driven = Driven::bare(4);
    let settle = Duration::from_secs(Config::default().settle_s.into());
    driven.wait(settle - Duration::from_millis(1));
    assert_eq!(driven.alarmed(), []);
    driven.wait(Duration::from_millis(1)).fail().wait(settle);
    assert_eq!(driven.alarmed(), [("bfdd-down", true)]);
    driven.connect().wait(settle);
    assert_eq!(driven.alarmed(), [("bfdd-down", false)]);
    // One that is there in time is none.
    let mut driven = Driven::bare(4);
    driven.connect().wait(settle);
    assert_eq!(driven.alarmed(), []);
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
