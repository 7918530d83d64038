//! PPPoE.

use controller_kit::Controller;
use protocol_ppp::Method;
use protocol_radius::List;
use serde_json::json;

use crate::host::Host;
use crate::server::{START, STOP};
use crate::world::{World, keys, seconds};

fn world(seed: u64) -> World {
    let mut world = World::new(&keys(json!({"pppoe": {"authentication": "radius"}})), seed);
    world.server.add("somebody", "right", List::new());
    world
}

#[test]
fn a_host_dials_in_by_chap_and_by_pap() {
    for (seed, methods) in [(1, [Method::ChapMd5]), (2, [Method::Pap])] {
        let mut world = world(seed);
        world.apply_time = seconds(1) / 2;
        let host = world.add(Host::dialled(7, 1, &methods, "somebody", "right"));
        world.begin(host);
        world.run(seconds(20));
        let address = world.hosts[host].address().expect("it is up");
        assert!(world.pass(host, 10), "its first packet passes");
        assert!(world.dialled(host).v6.is_some());
        let (session, _) = world.gateway.sessions.values().next().expect("a session");
        assert_eq!((session.ipv4, session.slaac.is_some()), (Some(address), true));
        assert_eq!(session.user.map(String::from).as_deref(), Some("somebody"));
        assert_eq!(session.pppoe.map(|it| it.id), world.hosts[host].pppoe());
        assert!(world.server.of_user("somebody", START).is_some());
        // Echoes keep it up, and a PADT ends it.
        world.run(seconds(600));
        assert_eq!(world.hosts[host].address(), Some(address));
        world.end(host, true);
        world.run(seconds(5));
        assert_eq!(world.gateway.sessions.len(), 0);
        assert_eq!(world.server.of_user("somebody", STOP).and_then(|it| it.cause), Some(1));
        world.run(seconds(61));
        assert_eq!(world.used(), [0; 4]);
    }
}

#[test]
fn who_takes_the_place_of_an_old_session_is_up_by_one_request() {
    let mut world = World::new(&keys(json!({"pppoe": {"mac-sessions": 1}})), 9);
    let host = world.add(Host::dialled(7, 1, &[], "", ""));
    world.begin(host);
    world.run(seconds(10));
    assert!(world.pass(host, 1));
    // It crashes, and nobody hears of that.
    world.end(host, false);
    world.begin(host);
    world.run(seconds(10));
    assert!(world.pass(host, 2));
    world.run(seconds(20));
    assert!(world.pass(host, 3));
    assert_eq!(world.bng.show()["ended"]["moved"], json!(1));
    assert_eq!(world.gateway.sessions.len(), 1);
}

#[test]
fn a_wrong_password_is_no_way_in() {
    for (seed, methods) in [(3, [Method::ChapMd5]), (4, [Method::Pap])] {
        let mut world = world(seed);
        let host = world.add(Host::dialled(7, 1, &methods, "somebody", "wrong"));
        world.begin(host);
        world.run(seconds(30));
        assert_eq!((world.hosts[host].address(), world.gateway.sessions.len()), (None, 0));
        assert_eq!((world.server.asked, world.server.sessions(START).len()), (1, 0));
        assert_eq!(world.used(), [0; 4]);
        assert!(world.dialled(host).closed > 0, "it was told");
    }
}

#[test]
fn a_host_that_is_silent_ends_and_one_that_is_ended_is_told() {
    let mut world = world(5);
    let host = world.add(Host::dialled(7, 1, &[Method::ChapMd5], "somebody", "right"));
    world.begin(host);
    world.run(seconds(20));
    assert!(world.hosts[host].address().is_some());
    let ended = world.command("disconnect", json!({"user": "somebody"}));
    assert_eq!(ended, Ok(json!({"ended": 1})));
    world.run(seconds(5));
    assert_eq!((world.hosts[host].address(), world.gateway.sessions.len()), (None, 0));
    world.begin(host);
    world.run(seconds(20));
    assert!(world.hosts[host].address().is_some());
    world.end(host, false);
    world.run(seconds(60));
    assert_eq!(world.gateway.sessions.len(), 1, "it is asked a few times");
    world.run(seconds(90));
    assert_eq!(world.gateway.sessions.len(), 0);
    assert_eq!(world.server.sessions(STOP).len(), 2);
}

#[test]
fn nobody_is_asked_where_nobody_has_to_be() {
    let mut world = World::new(&keys(json!({})), 6);
    let host = world.add(Host::dialled(7, 1, &[], "", ""));
    world.begin(host);
    world.run(seconds(10));
    assert!(world.hosts[host].address().is_some() && world.pass(host, 1));
    assert_eq!(world.server.asked, 0);
}

#[test]
fn the_gateway_refuses_a_session_before_its_host_hears_of_it() {
    let mut world = world(7);
    world.gateway.refuses = true;
    let host = world.add(Host::dialled(7, 1, &[Method::Pap], "somebody", "right"));
    world.begin(host);
    world.run(seconds(30));
    assert_eq!((world.hosts[host].pppoe(), world.server.asked), (None, 0));
    assert_eq!(world.table("subscribers", &[]).len(), 0);
}
