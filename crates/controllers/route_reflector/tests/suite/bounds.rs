//! How much peers may tell: what becomes of more, and that nobody else notices.

use controller_kit::{Controller, Severity};
use controller_route_reflector::RouteReflector;
use controller_route_reflector::bounds::{Bound, Then};
use controller_route_reflector::reflector::Ending;
use protocol_bgp::families::FAMILIES;
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::notification::{MAXIMUM_PREFIXES, OUT_OF_RESOURCES};
use serde_json::{Value, json};

use crate::hostile::{FAMILY, open, reading, reflector, settle, update_of};
use crate::lab::{Lab, address, client, routes};
use crate::sessions::config;
use crate::simulated::router::Said;

/// Two routers, of which one has 20 routes and a bound.
fn lab(bound: Value) -> Lab {
    let peers = json!([
        {"address": address(1), "prefixes-max": [bound], "passive": true},
        {"address": address(2), "passive": true},
    ]);
    let routers = vec![(client(1), routes(1, 20)), (client(2), routes(2, 3))];
    Lab::new(json!({"peers": peers}), routers)
}

fn severities(lab: &Lab) -> Vec<Option<Severity>> {
    let source = format!("{} ipv4-unicast", address(1));
    let of_bound = lab.alarms.iter().filter(|alarm| alarm.source == source);
    of_bound.map(|alarm| alarm.severity).collect()
}

/// - `route-reflector`, RFC 4271 section 6.7, RFC 4486 section 4: a peer that tells more routes
///   than it may is told so and loses its session, and may come back later; nobody else notices
#[test]
fn a_peer_with_too_many_routes_stays_away_for_a_while() {
    let mut lab = lab(json!({"routes": 19, "then": "close", "again-s": 40}));
    lab.pass(20);
    let is_told = |said: &Said| match said {
        Said::Down { why, .. } => why.to_string().contains("Maximum Number of Prefixes Reached"),
        _ => false,
    };
    assert!(lab.said.iter().any(|(node, said)| *node == 1 && is_told(said)), "{:?}", lab.said);
    assert!(lab.router(2).known.is_empty(), "they are gone: {:?}", lab.router(2).known);
    let shown = lab.shown();
    assert_eq!(
        (&shown["peers"][0]["sessions"], &shown["peers"][0]["away"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(shown["counters"]["beyond"], 1);
    assert_eq!(severities(&lab), [Some(Severity::Major)]);
    lab.pass(60);
    assert_eq!(lab.shown()["peers"][0]["sessions"], 2, "it has come back once more");
    let shown = lab.shown();
    assert_eq!(
        (&shown["peers"][1]["sessions"], &shown["peers"][1]["lost"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(severities(&lab)[..3], [Some(Severity::Major), None, Some(Severity::Major)]);
}

/// - `route-reflector`, RFC 4271 section 6.7: what is more is not taken, and the session goes on
#[test]
fn routes_beyond_the_bound_are_not_taken() {
    let mut lab = lab(json!({"routes": 12, "then": "drop"}));
    lab.pass(20);
    assert_eq!(lab.router(2).known.len(), 12);
    let shown = lab.shown();
    assert_eq!(
        (&shown["peers"][0]["refused"], &shown["counters"]["beyond"]),
        (&json!(8), &json!(8))
    );
    assert_eq!(shown["peers"][0]["told"], json!({"ipv4-unicast": 12}));
    assert_eq!(
        (&shown["peers"][0]["state"], severities(&lab)),
        (&json!("established"), vec![Some(Severity::Major)])
    );
}

/// - `route-reflector`: routes beyond the bound are taken where an alarm is enough, and one says
///   that most of what may be is there
#[test]
fn an_alarm_may_be_all() {
    let mut fewer = lab(json!({"routes": 25, "then": "warn"}));
    fewer.pass(20);
    assert_eq!(severities(&fewer), [Some(Severity::Warning)], "20 of 25 are 80 percent");
    let mut more = lab(json!({"routes": 12, "then": "warn"}));
    more.pass(20);
    assert_eq!((more.router(2).known.len(), severities(&more)), (20, vec![Some(Severity::Major)]));
}

/// - `route-reflector`: hosts of networks have a bound by themselves, and entries of other peers
///   that would never count are refused
#[test]
fn bounds_are_those_of_the_first_entry() {
    let all = config(json!({"dynamic": [{"network": "10.0.0.0/8"}]}));
    assert_eq!(all.dynamic[0].prefixes_max[0].routes, 2_500_000);
    let refused = |bounds: Value| {
        let peer = json!({"address": "192.0.2.2", "prefixes-max": bounds});
        let mut all = config(json!({"peers": [peer]}));
        RouteReflector::validate(&mut all).err().map(|bad| bad.key.to_string())
    };
    let (one, all) = (json!({"families": ["vpnv4"], "routes": 5}), json!({"routes": 7}));
    assert_eq!(refused(json!([one, all])), None);
    for bad in [json!([all, one]), json!([one, one]), json!([all, all])] {
        assert_eq!(refused(bad).as_deref(), Some("prefixes-max"));
    }
}

/// - `route-reflector`, RFC 4486 section 4: routes and attribute sets without end end with the
///   session of who tells them, and others have room again
#[test]
fn what_has_no_room_ends_the_session_of_who_tells_it() {
    const MAX: usize = 8 << 20;
    let mut reflector = reflector();
    reflector.limit_memory(MAX);
    (0..3).for_each(|peer| open(&mut reflector, peer, LEN_MAX));
    for number in 0..1000 {
        let body = update_of(number, 0);
        reflector.update(1, &body, &mut reading()).expect("there is room");
    }
    let told = |refused: &protocol_bgp::Notification| refused.cause;
    // An attribute set of its own for each route, and one for all of them.
    for (round, kinds) in [u32::MAX, 1, u32::MAX, 1].into_iter().enumerate() {
        let refused = (1000..2_000_000).find_map(|number| {
            let body = update_of(number, number % kinds);
            let heard = reflector.update(0, &body, &mut reading());
            if number % 1000 == 0 {
                settle(&mut reflector, &[0, 1, 2]);
            }
            assert!(reflector.used() <= MAX, "{} bytes", reflector.used());
            heard.err().map(Ending::into_notification)
        });
        assert_eq!(refused.as_ref().map(told), Some(OUT_OF_RESOURCES), "round {round}");
        let (routes, _) = reflector.count(FAMILY);
        assert!(routes > 10_000, "{routes} routes had room");
        assert!(reflector.counters().no_room == round as u64 + 1);
        // Another one may take back, and say nothing new.
        let withdrawal = [0, 4, 24, 0, 0, 7, 0, 0];
        reflector.update(1, &withdrawal, &mut reading()).expect("that needs no room");
        reflector.close(0, protocol_bgp::families::FamilySet::NONE);
        settle(&mut reflector, &[1, 2]);
        assert_eq!(reflector.count(FAMILY), (999, 999), "those of the other one stay");
        let kept = (reflector.memory(), reflector.used());
        assert!(kept.0 < MAX / 8, "round {round} with {routes} routes: {kept:?}");
        reflector.update(1, &update_of(7, 0), &mut reading()).expect("there is room again");
        open(&mut reflector, 0, LEN_MAX);
    }
}

/// - `route-reflector`, RFC 4486 section 4: the NOTIFICATION has the family and the bound
#[test]
fn the_notification_says_of_which_family_there_are_too_many() {
    let mut reflector = reflector();
    open(&mut reflector, 0, LEN_MAX);
    let bound = Bound { most: 3, then: Then::Close, again_s: 5, ..Bound::NONE };
    reflector.bound(0, [bound; FAMILIES.len()]);
    for number in [1, 2, 3, 2, 1] {
        reflector.update(0, &update_of(number, 0), &mut reading()).expect("it may");
    }
    let refused = reflector.update(0, &update_of(4, 0), &mut reading()).expect_err("too many");
    let refused = refused.into_notification();
    assert_eq!((refused.cause, &refused.data[..]), (MAXIMUM_PREFIXES, &[0, 1, 1, 0, 0, 0, 3][..]));
    assert_eq!(reflector.pause(0, &refused).map(|it| it.as_secs()), Some(5));
    assert_eq!(reflector.count(FAMILY), (3, 3));
}
