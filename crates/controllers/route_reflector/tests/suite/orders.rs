//! What operators tell the reflector to do with peers while it runs.

use protocol_bgp::config::Restart;
use protocol_bgp::ended::Ended;
use protocol_bgp::notification::{ADMINISTRATIVE_RESET, ADMINISTRATIVE_SHUTDOWN, Notification};
use serde_json::{Value, json};

use crate::lab::{Lab, address};
use crate::restarts::{lab, lasting};

/// Two routers that do graceful restart and NOTIFICATIONs with it, with nine routes each.
fn two() -> Lab {
    let restart = Restart { has_notification: true, ..Restart::default() };
    let mut lab = lab(json!({}), vec![lasting(1, restart), lasting(2, restart)]);
    lab.pass(10);
    assert_eq!([1, 2].map(|node| lab.router(node).known.len()), [9, 9]);
    lab
}

/// What a router was told at the end of its session, which was a Hard Reset.
fn hard(lab: &Lab, node: usize) -> Notification {
    match lab.why(node) {
        Some(Ended::Received(what)) if what.is_hard() => {
            Notification::read(&what.data).expect("what it is for")
        }
        other => panic!("{other:?}"),
    }
}

fn of(node: usize) -> Value {
    json!({"peer": address(node)})
}

/// - `route-reflector`, RFC 9003 section 2 and RFC 8538 section 3: a peer that is reset reads why,
///   keeps nothing and nothing is kept of it, and is back
#[test]
fn a_peer_that_is_reset_begins_anew() {
    let mut lab = two();
    lab.order("reset-peer", json!({"peer": address(1), "text": "new cables"})).expect("it is done");
    lab.pass(0);
    assert_eq!(lab.shown()["families"][0]["paths"], 9, "of the other one alone");
    lab.pass(10);
    let told = hard(&lab, 1);
    assert_eq!((told.cause, told.text()), (ADMINISTRATIVE_RESET, Some("new cables")));
    assert_eq!(lab.router(2).withdrawn, 9, "nothing was kept");
    assert_eq!([1, 2].map(|node| lab.router(node).known.len()), [9, 9]);
    assert!(lab.why(2).is_none(), "nobody else has lost anything");
    // What looks like a number is a text, too.
    lab.order("reset-peer", json!({"peer": address(1), "text": 7})).expect("it is done");
    lab.pass(10);
    assert_eq!(hard(&lab, 1).text(), Some("7"));
    assert_eq!(lab.router(1).known.len(), 9);
}

/// - `route-reflector`, RFC 9003 section 2: a peer that is shut reads why, and stays away until it
///   is enabled, whoever connects
#[test]
fn a_peer_that_is_shut_stays_away() {
    let mut lab = two();
    let keys = json!({"peer": address(1), "text": "until 4"});
    lab.order("shut-peer", keys.clone()).expect("it is done");
    lab.pass(120);
    let told = hard(&lab, 1);
    assert_eq!((told.cause, told.text()), (ADMINISTRATIVE_SHUTDOWN, Some("until 4")));
    assert!(lab.router(1).session.is_none() && lab.router(2).known.is_empty());
    assert_eq!(lab.shown()["peers"][0]["state"], "idle");
    for name in ["shut-peer", "reset-peer", "refresh-peer"] {
        let why = lab.order(name, of(1)).expect_err("it is shut");
        assert!(why.remedy.contains("enable-peer peer=10.0.1.1"), "{why:?}");
    }
    lab.order("enable-peer", of(1)).expect("it is done");
    lab.pass(60);
    assert_eq!([1, 2].map(|node| lab.router(node).known.len()), [9, 9]);
    assert!(lab.order("enable-peer", of(1)).expect_err("it is up").what.contains("not shut"));
    // What is kept of one that is gone goes when it is shut.
    lab.world.kill(1);
    lab.pass(1);
    assert_eq!(lab.router(2).known.len(), 9);
    lab.order("shut-peer", of(1)).expect("it is done");
    lab.pass(1);
    assert_eq!(lab.router(2).known.len(), 0);
}

/// - `route-reflector`: a host of a network that is shut stays known, and away
#[test]
fn a_host_of_a_network_that_is_shut_stays_away() {
    let keys = json!({"dynamic": [{"network": "10.0.1.0/24", "peers-max": 2}]});
    let routers = vec![(crate::lab::client(1), crate::lab::routes(1, 1))];
    let mut lab = Lab::new(keys, routers);
    lab.pass(10);
    lab.order("shut-peer", of(1)).expect("it is done");
    lab.pass(100);
    assert_eq!(lab.shown()["peers"][0]["state"], "idle");
    assert!(lab.router(1).session.is_none());
    lab.order("enable-peer", of(1)).expect("it is done");
    lab.pass(100);
    assert!(lab.router(1).session.is_some());
    lab.world.kill(1);
    lab.pass(100);
    assert_eq!(lab.shown()["peers"], json!([]), "it is forgotten");
}

/// - `route-reflector`, RFC 2918 section 4 and RFC 7313 section 4: a peer is asked for its routes
///   again, and told all of those of others, with their beginning and end
#[test]
fn a_peer_is_refreshed_in_both_directions() {
    let mut lab = two();
    let clear = |lab: &mut Lab, node: usize| {
        lab.change(node, |router| {
            let last = router.own.keys().next_back().copied().expect("a route");
            router.own.remove(&last);
            router.known.clear();
        });
    };
    clear(&mut lab, 1);
    let done = lab.order("refresh-peer", json!({"peer": address(1), "direction": "out"}));
    assert_eq!(done.expect("it is done")["families"], "ipv4-unicast");
    lab.pass(1);
    assert_eq!(lab.router(1).known.len(), 9, "told again");
    assert_eq!(lab.router(2).known.len(), 9, "and not asked");
    // It tells what it has without the beginning and end: nothing is taken back.
    lab.change(1, |router| {
        let (key, mut own) = router.own.pop_first().expect("a route");
        own.next_hop = [10, 0, 1, 99];
        router.own.insert(key, own);
    });
    lab.order("refresh-peer", json!({"peer": address(1), "direction": "in"})).expect("it is done");
    lab.pass(1);
    let changed = |lab: &Lab| {
        lab.router(2).known.values().filter(|one| one.next_hop == [10, 0, 1, 99]).count()
    };
    assert_eq!(changed(&lab), 1);
    lab.change(1, |router| router.known.clear());
    lab.order("refresh-peer", json!({"peer": address(1), "family": "ipv4-unicast"})).expect("done");
    lab.pass(1);
    assert_eq!(lab.router(1).known.len(), 9);
    assert!(lab.why(1).is_none() && lab.why(2).is_none(), "no session has ended");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    let mut lab = two();
    let mut refused = |name: &str, keys: Value| {
        let why = lab.order(name, keys).expect_err("it cannot be done");
        assert!(!why.what.is_empty() && !why.remedy.is_empty(), "{why:?}");
        format!("{}; {}", why.what, why.remedy)
    };
    for (name, keys, says) in [
        ("reset-per", of(1), "did you mean `reset-peer`?"),
        ("reset-peer", json!({}), "missing"),
        ("reset-peer", json!({"peer": "10.0.1.77"}), "there is no peer `10.0.1.77`"),
        ("reset-peer", json!({"peer": "rr2"}), "there is no peer `rr2`"),
        ("reset-peer", json!({"peer": 7}), "peer"),
        ("reset-peer", json!({"peer": address(1), "tekst": "x"}), "did you mean `text`?"),
        ("reset-peer", json!({"peer": address(1), "text": "ü".repeat(128)}), "256 bytes"),
        ("refresh-peer", json!({"peer": address(1), "direction": "up"}), "direction"),
        ("refresh-peer", json!({"peer": address(1), "family": "vpnv4"}), "choose one of ipv4"),
        ("refresh-peer", json!({"peer": address(1), "family": "ipv5"}), "family"),
        ("dump-tables", json!({"file": "x"}), "leave it out"),
    ] {
        let said = refused(name, keys);
        assert!(said.contains(says), "{name}: {said}");
    }
    lab.pass(10);
    assert!(lab.why(1).is_none() && lab.why(2).is_none(), "nothing was done");
    lab.world.kill(1);
    lab.pass(1);
    let why = lab.order("refresh-peer", of(1)).expect_err("it is gone");
    assert!(why.what.contains("no session"), "{why:?}");
}
