//! What operators tell the reflector to do with peers while it runs.

use protocol_bgp::config::Restart;
use protocol_bgp::ended::Ended;
use protocol_bgp::families::Family;
use protocol_bgp::notification::{
    ADMINISTRATIVE_RESET, ADMINISTRATIVE_SHUTDOWN, DECONFIGURED, Notification,
};
use serde_json::{Value, json};

use crate::lab::{Lab, address, client, routes};
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
    let routers = vec![(client(1), routes(1, 1))];
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

/// What a router knows of the first route of another one: preference and communities.
fn known(lab: &Lab, node: usize, of: usize) -> (Option<u32>, Vec<u32>) {
    let key = (Family::Ipv4Unicast, (24, [198, of as u8, 0, 0]), 0);
    let one = lab.router(node).known.get(&key).expect("it is told");
    (one.preference, one.communities.clone())
}

fn groups(lab: &Lab) -> usize {
    lab.shown()["families"][0]["groups"].as_array().map_or(0, Vec::len)
}

/// Five routers, of which the last one is of another AS: each has its route, and all but the fourth
/// have one that all tell.
fn site(keys: Value) -> Lab {
    let common = (Family::Ipv4Unicast, (24, [203, 0, 113, 0]));
    let routers = (1..=5).map(|node| {
        let mut own = routes(node, 1);
        let mut session = client(node);
        own.values_mut().for_each(|one| one.preference = (node != 5).then_some(100));
        if node == 5 {
            session.local_as = 64_501;
            own.values_mut().for_each(|one| one.path = vec![64_501]);
        }
        if node != 4 {
            let mut one = own.values().next().cloned().expect("a route");
            // The first one is the best one, but for what is told of preferences.
            one.path = if node == 5 { vec![64_501, 7] } else { vec![7; node] };
            own.insert(common, one);
        }
        (session, own)
    });
    let peers = (1..=5).map(|node| {
        let asn = if node == 5 { 64_501 } else { 64_500 };
        let policy = (node == 5).then_some("accept");
        json!({
            "address": address(node), "passive": true, "as": asn,
            "import": policy, "export": policy,
        })
    });
    let mut all = json!({"peers": peers.collect::<Vec<_>>()});
    all.as_object_mut().expect("keys").extend(keys.as_object().expect("keys").clone());
    let mut lab = Lab::new(all, routers.collect());
    lab.pass(10);
    lab
}

/// Who has told the route that all tell, by what a router knows.
fn chosen(lab: &Lab, node: usize) -> u8 {
    let key = (Family::Ipv4Unicast, (24, [203, 0, 113, 0]), 0);
    lab.router(node).known.get(&key).map_or(0, |one| one.next_hop[2])
}

/// - `route-reflector`, RFC 8326 section 4.2: a peer that is drained is told everything again with
///   the community and without preference, others prefer whatever is not its own, and all is as it
///   was when that ends
#[test]
fn a_drained_peer_is_told_and_told_of_as_one_that_goes() {
    let mut lab = site(json!({}));
    assert_eq!(known(&lab, 1, 2), (Some(100), vec![]));
    assert_eq!((chosen(&lab, 4), groups(&lab)), (1, 2));
    let withdrawn: Vec<usize> = (1..=5).map(|node| lab.router(node).withdrawn).collect();
    lab.order("drain", of(1)).expect("it is done");
    lab.pass(1);
    assert_eq!(known(&lab, 1, 2), (Some(0), vec![GOING]), "told");
    assert_eq!(known(&lab, 2, 1), (Some(0), vec![GOING]), "told of");
    assert_eq!(known(&lab, 5, 1), (None, vec![GOING]), "to another AS");
    assert_eq!(known(&lab, 3, 2), (Some(100), vec![]), "others as before");
    assert_eq!((chosen(&lab, 4), chosen(&lab, 1)), (5, 5), "another one's is preferred");
    assert_eq!(groups(&lab), 3, "a group of its own");
    // What comes meanwhile is told so, too, and a new session is.
    lab.change(2, |router| router.own.extend(routes(2, 3).into_iter().skip(1)));
    lab.order("refresh-peer", json!({"peer": address(2), "direction": "in"})).expect("it is done");
    lab.pass(1);
    let late = lab.router(1).known.get(&(Family::Ipv4Unicast, (24, [198, 2, 2, 0]), 0));
    assert_eq!(late.map(|one| one.preference), Some(Some(0)));
    lab.order("reset-peer", of(1)).expect("it is done");
    lab.pass(10);
    assert_eq!((known(&lab, 1, 2).0, known(&lab, 2, 1).0), (Some(0), Some(0)));
    lab.order("undrain", of(1)).expect("it is done");
    lab.pass(1);
    assert_eq!((known(&lab, 1, 2), known(&lab, 2, 1)), ((Some(100), vec![]), (Some(100), vec![])));
    assert_eq!((known(&lab, 5, 1), chosen(&lab, 4), groups(&lab)), ((None, vec![]), 1, 2));
    for node in 2..=5 {
        let gone = lab.router(node).withdrawn - withdrawn[node - 1];
        assert!(gone <= 2, "{gone} of {node}: those of the peer that was reset alone");
    }
    for (keys, name) in [(of(1), "undrain"), (json!({}), "undrain")] {
        assert!(!lab.order(name, keys).expect_err("it is not").remedy.is_empty());
    }
}

/// - `route-reflector`, RFC 8326 section 4.2: before the reflector itself goes, all are told so,
///   and what is told of which peer stays as it was
#[test]
fn all_peers_are_drained_and_those_that_come() {
    let mut lab = site(json!({}));
    lab.world.kill(3);
    lab.order("drain", json!({})).expect("it is done");
    lab.world.revive(3);
    lab.pass(10);
    assert_eq!(lab.shown()["drained"], true);
    for node in 1..=4 {
        let others = (1..=5).filter(|of| *of != node);
        for of in others {
            assert_eq!(known(&lab, node, of), (Some(0), vec![GOING]), "{node} of {of}");
        }
    }
    assert_eq!((chosen(&lab, 4), chosen(&lab, 2), groups(&lab)), (1, 1, 2));
    assert!(lab.order("drain", json!({})).is_err());
    lab.order("undrain", json!({})).expect("it is done");
    lab.pass(1);
    assert_eq!((known(&lab, 3, 1), known(&lab, 5, 1)), ((Some(100), vec![]), (None, vec![])));
}

/// - `route-reflector`, RFC 8326 section 4.1: routes of another AS that says that they are about to
///   go have the lowest preference here and in the own AS, unless a key says otherwise
#[test]
fn routes_that_are_about_to_go_are_preferred_least() {
    for honours in [true, false] {
        let mut lab = site(json!({"graceful-shutdown": honours}));
        let tell = |lab: &mut Lab, node: usize, communities: Vec<u32>, path: Vec<u32>| {
            lab.change(node, |router| {
                let common = (Family::Ipv4Unicast, (24, [203, 0, 113, 0]));
                let one = router.own.get_mut(&common).expect("a route");
                (one.communities, one.path) = (communities, path);
            });
            let keys = json!({"peer": address(node), "direction": "in"});
            lab.order("refresh-peer", keys).expect("it is done");
            lab.pass(1);
        };
        // As long as the best one, and of another AS.
        tell(&mut lab, 5, vec![], vec![64_501]);
        assert_eq!(chosen(&lab, 4), 5);
        tell(&mut lab, 5, vec![GOING], vec![64_501]);
        assert_eq!(chosen(&lab, 4), if honours { 1 } else { 5 });
        // Of the own AS it means nothing here: its border has lowered it.
        tell(&mut lab, 5, vec![], vec![64_501, 7, 7, 7]);
        tell(&mut lab, 1, vec![GOING], vec![7]);
        assert_eq!(chosen(&lab, 4), 1);
        // Without another one it is told all the same.
        lab.change(5, |router| {
            router.own.values_mut().for_each(|one| one.communities = vec![GOING]);
        });
        lab.order("refresh-peer", json!({"peer": address(5), "direction": "in"})).expect("done");
        lab.pass(1);
        let preference = Some(if honours { 0 } else { 100 });
        assert_eq!(known(&lab, 1, 5), (preference, vec![GOING]));
    }
}

/// - `route-reflector`: peers come and go by commands; a reload of the file leaves them, but for
///   those of which it says something else than before
#[test]
fn peers_are_added_and_removed_while_others_stay() {
    let file = json!({"peers": [{"address": address(1), "passive": true}]});
    let routers = (1..=3).map(|node| (client(node), routes(node, 2))).collect();
    let mut lab = Lab::new(file.clone(), routers);
    lab.pass(10);
    assert!(lab.router(2).session.is_none());
    let keys = json!({"address": address(2), "passive": true, "prefixes-max": [{"routes": 9}]});
    lab.order("add-peer", keys.clone()).expect("it is done");
    lab.pass(60);
    assert_eq!([1, 2].map(|node| lab.router(node).known.len()), [2, 2]);
    let mut refused = |name: &str, keys: Value| {
        let why = lab.order(name, keys).expect_err("it cannot be done");
        assert!(!why.remedy.is_empty(), "{why:?}");
        format!("{}; {}", why.what, why.remedy)
    };
    for (name, keys, says) in [
        ("add-peer", keys, "there is a peer"),
        ("add-peer", json!({"address": address(3), "md5": "k"}), "reload"),
        ("add-peer", json!({"address": address(3), "role": "provider"}), "role"),
        ("add-peer", json!({"address": address(3), "pasive": true}), "did you mean `passive`?"),
        ("add-peer", json!({"address": address(3), "port": 0}), "port"),
        ("add-peer", json!({"passive": true}), "address"),
        ("remove-peer", json!({"peer": address(3)}), "there is no peer"),
    ] {
        let said = refused(name, keys);
        assert!(said.contains(says), "{name}: {said}");
    }
    assert_eq!(lab.shown()["peers"].as_array().map(Vec::len), Some(2), "nothing was done");
    // The same file again, with a key changed of nobody.
    assert!(lab.reload(&file));
    lab.pass(10);
    assert!(lab.router(2).session.is_some() && lab.why(1).is_none());
    lab.order("remove-peer", of(1)).expect("it is done");
    lab.pass(100);
    assert!(lab.router(1).session.is_none() && lab.router(2).known.is_empty());
    match lab.why(1) {
        Some(Ended::Received(what)) => assert_eq!(what.cause, DECONFIGURED),
        other => panic!("{other:?}"),
    }
    assert!(lab.reload(&file));
    lab.pass(60);
    assert!(lab.router(1).session.is_none(), "the file says what it said");
    let other = json!({"peers": [
        {"address": address(1), "passive": true, "prefixes-max": [{"routes": 5}]},
    ]});
    assert!(lab.reload(&other));
    lab.pass(60);
    assert_eq!([1, 2].map(|node| lab.router(node).known.len()), [2, 2], "now it says more");
    // What the file takes over is the file's.
    let both = json!({"peers": [other["peers"][0], {"address": address(2), "passive": true}]});
    assert!(lab.reload(&both));
    lab.pass(60);
    assert!(lab.reload(&other));
    lab.pass(60);
    assert!(lab.router(2).session.is_none());
    lab.order("add-peer", json!({"address": address(2), "passive": true})).expect("it is done");
    lab.order("remove-peer", of(2)).expect("it is done");
    lab.order("remove-peer", of(1)).expect("it is done");
    lab.order("add-peer", json!({"address": address(1), "passive": true})).expect("it is done");
    lab.pass(60);
    assert!(lab.router(1).session.is_some() && lab.router(2).session.is_none());
}

/// The community of routes that are about to go.
const GOING: u32 = 0xffff_0000;
