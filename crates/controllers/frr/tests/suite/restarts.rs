//! What stays when zebra, the controller or the connection is not there for a time.

use std::time::Duration;

use controller_frr::Config;
use controller_kit::Severity;
use engine::Function;
use function_kit::NetworkFunction;
use function_l3_router::{L3Router, Update, config as l3};

use crate::support::*;

const SETTLE: Duration = Duration::from_secs(60);

const KEEP: Duration = Duration::from_secs(300);

const PREFIXES: [&str; 4] = ["192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32", "10.9.0.0/16"];

/// Two next hops, a group of both, a route to each, and one that is dropped.
fn told(ids: [u32; 3]) -> Vec<Vec<u8>> {
    let [a, b, both] = ids;
    vec![
        next_hop(a, "10.1.0.2", 4),
        next_hop(b, "10.0.0.2", 3),
        group(both, &[(a, 1), (b, 2)]),
        route(PREFIXES[0], a),
        route(PREFIXES[1], both),
        route(PREFIXES[2], b),
        dropping(PREFIXES[3], 6),
    ]
}

fn as_told(driven: &Driven) {
    let to = PREFIXES.map(|prefix| driven.to(prefix));
    assert_eq!(to, ["10.1.0.2", "10.0.0.2*2 10.1.0.2*1", "10.0.0.2", "nowhere"]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([2, 2], 0));
}

fn driven() -> Driven {
    let mut driven = Driven::new();
    driven.link().connect().tell(&told([1, 2, 3]));
    as_told(&driven);
    driven
}

#[test]
fn what_zebra_tells_again_changes_nothing_whatever_its_numbers() {
    let mut driven = driven();
    driven.finish().pass(Duration::from_secs(100)).connect();
    driven.changed();
    // The number of the one is that of the other now.
    driven.tell(&told([2, 1, 7])).pass(SETTLE);
    as_told(&driven);
    assert_eq!(driven.changed(), []);
    assert_eq!((driven.shown("/routes/stale"), driven.shown("/numbers")), (0.into(), 3.into()));
}

#[test]
fn what_zebra_does_not_tell_again_goes() {
    let mut driven = driven();
    driven.finish().connect().tell(&told([1, 2, 3])[..4]);
    as_told(&driven);
    driven.pass(SETTLE);
    let to = PREFIXES.map(|prefix| driven.to(prefix));
    assert_eq!(to, ["10.1.0.2", "-", "-", "-"]);
    assert_eq!(driven.shown("/counters/swept"), 3);
    driven.tell(&[withdrawn(PREFIXES[0])]);
    driven.tell(&[next_hop_gone(3), next_hop_gone(2), next_hop_gone(1)]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
}

#[test]
fn without_zebra_everything_goes_after_a_time() {
    let mut driven = driven();
    driven.finish().pass(KEEP - Duration::from_millis(1));
    as_told(&driven);
    driven.pass(Duration::from_millis(1));
    assert_eq!(PREFIXES.map(|prefix| driven.to(prefix)), ["-"; 4]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
}

#[test]
fn a_connection_that_is_lost_while_it_settles_leaves_nothing() {
    let mut driven = driven();
    driven.finish().connect().tell(&[next_hop(9, "10.1.0.8", 4)]).finish().pass(KEEP);
    assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
}

#[test]
fn a_controller_that_begins_takes_over_what_the_router_has() {
    for ids in [[1, 2, 3], [5, 1, 2]] {
        let mut driven = driven().restarted(Config::default());
        assert_eq!(driven.shown("/routes/stale"), 4);
        // The kernel's interfaces may be known later than the routes.
        driven.connect().tell(&told(ids)).pass(SETTLE - Duration::from_millis(1)).link();
        as_told(&driven);
        driven.pass(Duration::from_millis(1));
        as_told(&driven);
        assert_eq!((driven.changed(), driven.shown("/routes/stale")), (vec![], 0.into()));
        let all = PREFIXES.map(withdrawn);
        driven.tell(&all).tell(&[next_hop_gone(1), next_hop_gone(2), next_hop_gone(3)]);
        driven.tell(&[next_hop_gone(5)]);
        assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
    }
}

#[test]
fn what_was_taken_over_and_is_not_told_goes() {
    let mut driven = driven().restarted(Config::default());
    driven.link().pass(KEEP / 2).connect().pass(SETTLE / 2).tell(&told([1, 2, 3])[..5]);
    // Each that is told again gives the rest another span.
    driven.pass(SETTLE - Duration::from_millis(1));
    as_told(&driven);
    driven.pass(Duration::from_millis(1));
    let to = PREFIXES.map(|prefix| driven.to(prefix));
    assert_eq!(to, ["10.1.0.2", "10.0.0.2*2 10.1.0.2*1", "-", "-"]);
    assert_eq!(driven.shown("/counters/swept"), 2);
}

#[test]
fn what_was_taken_over_goes_without_zebra() {
    let mut driven = driven().restarted(Config::default());
    driven.pass(KEEP - Duration::from_millis(1));
    as_told(&driven);
    driven.pass(Duration::from_millis(1));
    assert_eq!(PREFIXES.map(|prefix| driven.to(prefix)), ["-"; 4]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
}

#[test]
fn next_hops_that_an_operator_made_stay() {
    let mut driven = driven();
    let mut made = driven.config.next_hops[0];
    made.ip = "10.1.0.77".parse().ok();
    made.mac.0.0 = [2, 0, 0, 0, 0, 1];
    let update = Update::SetNextHop { number: 500, next_hop: made };
    driven.router.apply(Update::said(update), 0).expect("there is room");
    let mut driven = driven.restarted(Config::default());
    driven.link().connect().tell(&[next_hop(1, "10.1.0.77", 4), route("192.0.2.0/24", 1)]);
    driven.pass(SETTLE);
    assert_eq!((driven.to("192.0.2.0/24").as_str(), driven.beyond()), ("10.1.0.77", [1, 0]));
}

#[test]
fn a_reload_with_more_of_the_routers_own_meets_nothing_of_zebras() {
    let grouped = |mut config: l3::Config, count: u32| {
        config.ecmp_capacity = 0;
        let own = config.next_hops[0];
        let more = |at: u32| format!("10.1.9.{at}").parse().ok();
        config.next_hops.extend((1..count).map(|at| l3::NextHop { ip: more(at), ..own }));
        let members = vec![l3::Member { next_hop: 0.into(), weight: 1 }];
        config.next_hop_groups = vec![l3::Group { members }; count as usize];
        config
    };
    let running = grouped(router(), 1);
    let mut driven = Driven::with(running.clone(), Config::default());
    driven.link().connect().tell(&told([1, 2, 3]));
    let wanted = grouped(router(), 5);
    for update in L3Router::difference(&running, &wanted).expect("there is room") {
        driven.router.apply(update, 0).expect("there is room");
    }
    driven.config = wanted;
    as_told(&driven);
    // The controller that begins then has numbers that the tables of before have.
    let mut driven = driven.restarted(Config::default());
    let more = [next_hop(8, "10.1.0.4", 4), route("192.88.99.0/24", 8)];
    driven.link().connect().tell(&told([1, 2, 3])).tell(&more);
    driven.tell(&[dropping("10.10.0.0/16", 6)]).pass(SETTLE);
    assert_eq!([driven.to("192.88.99.0/24"), driven.to("10.10.0.0/16")], ["10.1.0.4", "nowhere"]);
    driven.tell(&[withdrawn("192.88.99.0/24"), next_hop_gone(8)]);
    as_told(&driven);
}

#[test]
fn links_that_come_later_let_in_what_waits_for_them() {
    let mut driven = Driven::new();
    driven.connect().tell(&told([1, 2, 3]));
    driven.tell(&[route_by("172.16.0.0/12", &[("10.1.0.2", 4, 1), ("10.0.0.3", 3, 1)])]);
    assert_eq!(PREFIXES.map(|prefix| driven.to(prefix)), ["-", "-", "-", "nowhere"]);
    driven.links(&[(4, 1)]);
    let to = PREFIXES.map(|prefix| driven.to(prefix));
    assert_eq!(to, ["10.1.0.2", "10.1.0.2*1", "-", "nowhere"]);
    assert_eq!(driven.to("172.16.0.0/12"), "10.1.0.2");
    driven.link();
    assert_eq!(driven.to("172.16.0.0/12"), "10.0.0.3*1 10.1.0.2*1");
    driven.links(&[]);
    assert_eq!(driven.to("172.16.0.0/12"), "-");
    driven.link().tell(&[withdrawn("172.16.0.0/12")]);
    as_told(&driven);
}

#[test]
fn a_connection_that_is_lost_is_an_alarm_until_it_is_back() {
    let mut driven = Driven::new();
    driven.pass(SETTLE / 2).connect().pass(SETTLE).finish().connect();
    let said = |alarm: &controller_kit::Alarm| (alarm.cause, alarm.severity);
    let said: Vec<_> = driven.alarms.iter().map(said).collect();
    assert_eq!(said, DOWN_AND_BACK);
}

#[test]
fn a_zebra_that_never_connects_is_an_alarm_until_it_does() {
    for has_routes in [false, true] {
        let mut driven = if has_routes { driven() } else { Driven::new() };
        driven = driven.restarted(Config::default());
        driven.pass(SETTLE - Duration::from_millis(1));
        assert_eq!(driven.alarms, []);
        driven.pass(Duration::from_millis(1));
        assert_eq!(driven.alarms.len(), 1);
        driven.pass(KEEP * 2).connect().pass(SETTLE * 2);
        let said = |alarm: &controller_kit::Alarm| (alarm.cause, alarm.severity);
        let said: Vec<_> = driven.alarms.iter().map(said).collect();
        assert_eq!(said, DOWN_AND_BACK);
    }
}

const DOWN_AND_BACK: [(&str, Option<Severity>); 2] =
    [("fpm-down", Some(Severity::Major)), ("fpm-down", None)];
