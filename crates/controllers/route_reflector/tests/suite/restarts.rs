//! The reflector's own restart (RFC 4724 section 4.1, RFC 8538): peers that take part lose nothing.

use std::time::Duration;

use controller_kit::Event;
use protocol_bgp::config::{self as bgp, Restart};
use protocol_bgp::ended::Ended;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::notification::ADMINISTRATIVE_SHUTDOWN;
use serde_json::{Value, json};
use simulation::Either;

use crate::lab::{Lab, address, client, routes};
use crate::simulated::router::Said;

pub fn families() -> FamilySet {
    [Family::Ipv4Unicast].into_iter().collect()
}

/// A client that does graceful restart.
pub fn lasting(node: usize, restart: Restart) -> bgp::Config {
    let restart = Restart { time_s: 90, families: families(), preserved: families(), ..restart };
    bgp::Config { restart: Some(restart), ..client(node) }
}

/// A reflector with these routers, each with some routes.
pub fn lab(keys: Value, routers: Vec<bgp::Config>) -> Lab {
    let named = (1..=routers.len()).map(|node| json!({"address": address(node), "passive": true}));
    let named: Vec<Value> = named.collect();
    let mut all = json!({"peers": named});
    all.as_object_mut().expect("keys").extend(keys.as_object().expect("keys").clone());
    Lab::new(all, (1..).zip(routers).map(|(node, it)| (it, routes(node, 9))).collect())
}

/// - `route-reflector`, RFC 4724 section 4.1: after a restart peers are told so, and nothing before
///   all have told all their routes, so that nobody loses a route of anybody
#[test]
fn nobody_loses_a_route_by_a_restart() {
    let mut routers: Vec<_> = (1..=4).map(|node| lasting(node, Restart::default())).collect();
    // One comes back late.
    routers[3].connect_retry = Duration::from_secs(20);
    let mut lab = lab(json!({"graceful-restart": {}}), routers);
    lab.pass(60);
    (1..=4).for_each(|node| assert_eq!(lab.router(node).known.len(), 27, "of {node}"));
    for round in 0..2 {
        lab.world.kill(0);
        lab.pass(10);
        lab.world.revive(0);
        lab.pass(60);
        for node in 1..=4 {
            let router = lab.router(node);
            let agreed = router.session.as_ref().expect("it is back");
            let restart = agreed.restart.expect("it does graceful restart");
            assert!(restart.is_restarting && restart.preserved == families(), "{restart:?}");
            assert_eq!((router.withdrawn, router.swept), (0, 0), "of {node}, round {round}");
            assert_eq!(router.known.len(), 27, "of {node}, round {round}");
        }
    }
    // Later, whoever comes is told of no restart any more.
    lab.pass(120);
    lab.world.kill(1);
    lab.world.revive(1);
    lab.pass(30);
    let restart = lab.router(1).session.as_ref().and_then(|agreed| agreed.restart);
    let restart = restart.expect("it does graceful restart");
    assert!(!restart.is_restarting && restart.preserved == families(), "{restart:?}");
    assert_eq!(lab.router(1).known.len(), 27);
}

/// - `route-reflector`, RFC 4724 section 4.1: peers that are absent are waited for, for a while,
///   and neither those that do no graceful restart nor those that restart themselves are
#[test]
fn only_who_tells_all_is_waited_for() {
    let keys = json!({"graceful-restart": {"absent-s": 40, "deferral-s": 70}});
    // The third one is dead.
    let mut absent = lab(keys.clone(), (1..=3).map(client).collect());
    absent.world.kill(3);
    absent.pass(38);
    assert!(absent.router(1).session.is_some() && absent.router(1).known.is_empty());
    absent.pass(3);
    assert_eq!(absent.router(1).known.len(), 9);
    let restarts = Restart { is_restarting: true, ..Restart::default() };
    let mut all = lab(keys, vec![client(1), client(2), lasting(3, restarts)]);
    all.pass(20);
    (1..=3).for_each(|node| assert_eq!(all.router(node).known.len(), 18, "of {node}"));
    // Of hosts of networks nobody knows how many come.
    let network = json!([{"network": "10.0.9.0/24"}]);
    let keys = json!({"graceful-restart": {"absent-s": 40}, "dynamic": network});
    let mut some = lab(keys, vec![client(1), client(2)]);
    some.pass(38);
    assert!(some.router(1).session.is_some() && some.router(1).known.is_empty());
    some.pass(3);
    assert_eq!(some.router(1).known.len(), 9);
}

/// Stops a reflector with three clients: one with both ways of graceful restart, one without
/// NOTIFICATIONs, one without any. Returns why each has lost its session, and what it still knows.
fn stopped(keys: Value) -> Vec<(Ended, usize)> {
    let both = Restart { has_notification: true, ..Restart::default() };
    let routers = vec![lasting(1, both), lasting(2, Restart::default()), client(3)];
    let mut lab = lab(keys, routers);
    lab.pass(50);
    (1..=3).for_each(|node| assert_eq!(lab.router(node).known.len(), 18, "of {node}"));
    lab.said.clear();
    lab.world.command(0, Either::One(Event::Ends));
    lab.pass(5);
    lab.world.kill(0);
    lab.pass(5);
    let why = |node: usize| {
        let downs =
            lab.said.iter().filter(|(of, _)| *of == node).filter_map(|(_, said)| match said {
                Said::Down { why, .. } => Some(why.clone()),
                _ => None,
            });
        let all: Vec<Ended> = downs.collect();
        assert_eq!(all.len(), 1, "{all:?}");
        (all[0].clone(), lab.router(node).known.len())
    };
    (1..=3).map(why).collect()
}

/// - `route-reflector`, RFC 8538 section 3 and 4: who is stopped for a restart says so where a
///   NOTIFICATION takes nothing away, and closes the connection where it would
#[test]
fn a_stop_takes_routes_away_where_that_is_wanted() {
    let cause = |why: &Ended| match why {
        Ended::Received(what) => Some(what.cause),
        _ => None,
    };
    let keeping = stopped(json!({"graceful-restart": {}}));
    assert_eq!(cause(&keeping[0].0), Some(ADMINISTRATIVE_SHUTDOWN), "{keeping:?}");
    assert!(matches!(keeping[1].0, Ended::Closed | Ended::Failed), "{keeping:?}");
    assert_eq!(cause(&keeping[2].0), Some(ADMINISTRATIVE_SHUTDOWN), "{keeping:?}");
    let known: Vec<usize> = keeping.iter().map(|one| one.1).collect();
    assert_eq!(known, [18, 18, 0], "{keeping:?}");
    for keys in [json!({"graceful-restart": {"at-stop": "drop"}}), json!({})] {
        let dropping = stopped(keys);
        assert!(dropping.iter().all(|(why, known)| cause(why).is_some() && *known == 0));
        let (first, _) = &dropping[0];
        assert!(first.to_string().contains("Hard Reset for Cease, Administrative Shutdown: the"));
    }
}
