//! Devices that do something wrong, and what is said of them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use measure::{Convergence, Routing, RoutingEvent, TrialProgress, Watch};
use protocol_bgp::Family;
use route_traffic::{Change, Fed, Plan, Sharing, Speaker, Speaking, Tester};

use super::device::{AS, CLUSTER, FAMILIES, Fault, Reflector};
use super::sources;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct NoWatch;

impl Watch for NoWatch {
    fn at(&mut self, _progress: TrialProgress) {}
}

/// A plan with some clients beside the feeders, which have addresses that no other test has.
pub fn plan(fed: Fed, clients: usize, feeders_are_clients: bool) -> Plan {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f10_0001);
    let speaker = || {
        let local = Ipv4Addr::from_bits(NEXT.fetch_add(1, Ordering::Relaxed));
        Speaker { local: IpAddr::V4(local), identifier: local.to_bits() }
    };
    let feeders: Vec<Speaker> = (0..fed.feeders()).map(|_| speaker()).collect();
    let clients = (0..clients).map(|_| speaker()).collect();
    Plan {
        fed,
        speaking: Speaking {
            own_as: AS,
            device_as: AS,
            hold_time_s: 30,
            families: FAMILIES.to_vec(),
            graceful_restart_s: Some(60),
            has_extended_messages: false,
        },
        feeders,
        feeders_are_clients,
        clients,
        targets: Vec::new(),
        change: Change::Reflected { cluster: CLUSTER },
        passed: None,
        best: Arc::new(|_, told| (!told.is_empty()).then_some(0)),
        secret: [5, 6, 7, 8],
    }
}

fn outcome(fault: Fault, source: usize, patience: Duration) -> Convergence {
    let routes = sources::all().swap_remove(source).1;
    let is_of_edges = routes.feeder(0).is_some();
    let fed = Fed::new(Arc::clone(&routes), sources::feeders(&*routes), Sharing::Split).unwrap();
    let mut tester =
        Tester::new(plan(fed, 3, is_of_edges), Reflector::new(fault), Arc::default()).unwrap();
    tester.converge(RoutingEvent::Table { slow: 0 }, patience, &mut NoWatch).unwrap()
}

const SHORT: Duration = Duration::from_secs(5);

#[test]
fn a_route_that_is_lost_is_named() {
    let outcome = outcome(Fault::Loses(1000), 2, SHORT);
    assert_eq!(outcome.wrong.len(), 3);
    let has_all = |words: &String| words.contains(": 11 routes missing (");
    assert!(outcome.wrong.iter().all(has_all), "{:?}", outcome.wrong);
    assert_eq!(outcome.last_ns(), None);
}

#[test]
fn an_attribute_that_is_altered_is_named() {
    let outcome = outcome(Fault::Alters(1000), 2, SHORT);
    assert_eq!(outcome.wrong.len(), 3);
    for words in &outcome.wrong {
        assert!(words.contains(": 11 routes with other attributes"), "{words}");
        assert!(words.contains("LOCAL_PREF is 0x00000007 and not 0x"), "{words}");
    }
}

#[test]
fn routes_that_go_back_to_their_source_are_named() {
    let outcome = outcome(Fault::SendsBack, 3, SHORT);
    // The six edges, and not the three other clients.
    assert_eq!(outcome.wrong.len(), 6, "{:?}", outcome.wrong);
    assert!(outcome.wrong[0].contains("there that nobody is to have (mac "), "{:?}", outcome.wrong);
}

#[test]
fn orders_and_repetitions_are_no_faults() {
    for fault in [Fault::Shuffles, Fault::Repeats] {
        let outcome = outcome(fault, 2, PATIENCE);
        assert_eq!(outcome.wrong, Vec::<String>::new(), "{fault:?}");
        assert_eq!(outcome.clients_ns.len(), 3);
        assert!(outcome.withdrawals_seen > 0, "withdrawals of what is not there count");
    }
}

#[test]
fn sessions_that_end_are_counted_with_what_the_device_says() {
    let outcome = outcome(Fault::Closes, 2, SHORT);
    assert!(outcome.sessions_lost > 0);
    let words = outcome.wrong.join("\n");
    assert!(words.contains("its session has ended: "), "{words}");
    assert!(words.contains("Administrative Reset: a test"), "{words}");
}

#[test]
fn what_is_no_message_ends_a_session_and_no_more() {
    for (fault, expected) in [(Fault::Babbles, "a marker"), (Fault::Lies, "beyond")] {
        let outcome = outcome(fault, 2, SHORT);
        assert_eq!((outcome.wrong.len(), outcome.sessions_lost >= 3), (3, true), "{fault:?}");
        assert!(outcome.wrong[0].contains(expected), "{:?}", outcome.wrong);
    }
}

#[test]
fn a_device_that_is_not_there_or_of_another_kind_is_told() {
    let routes = sources::all().swap_remove(0).1;
    let fed = Fed::new(routes, 2, Sharing::Split).unwrap();
    let mut one = plan(fed.clone(), 2, false);
    one.speaking.device_as = 65001;
    let patience = Duration::from_secs(2);
    let error = |plan: Plan| {
        let mut tester = Tester::new(plan, Reflector::new(Fault::None), Arc::default()).unwrap();
        let outcome = tester.converge(RoutingEvent::Table { slow: 0 }, patience, &mut NoWatch);
        outcome.unwrap_err().to_string()
    };
    let why = error(one);
    assert!(
        why.contains("4 of 4 sessions") && why.contains("is of the AS 65000, not 65001"),
        "{why}"
    );
    let mut one = plan(fed, 2, false);
    one.speaking.families.push(Family::Vpls);
    let why = error(one);
    assert!(why.contains("the device does not offer vpls"), "{why}");
}

#[test]
fn plans_that_cannot_be_are_told() {
    let routes = sources::all().swap_remove(0).1;
    let fed = || Fed::new(Arc::clone(&routes), 2, Sharing::Split).unwrap();
    let why = |change: fn(&mut Plan)| {
        let mut plan = plan(fed(), 2, false);
        assert_eq!(plan.check(), Ok(()));
        change(&mut plan);
        plan.check().unwrap_err()
    };
    assert!(why(|plan| plan.clients.clear()).contains("a client"));
    assert!(why(|plan| plan.clients[0].local = plan.feeders[0].local).contains("the address"));
    assert!(why(|plan| plan.clients[0].identifier = 0).contains("identifier"));
    assert!(why(|plan| plan.targets = vec![None]).contains("lists of route targets"));
    assert!(why(|plan| plan.targets = vec![None, Some(vec![])]).contains("route-target"));
    assert!(why(|plan| plan.speaking.families.clear()).contains("not offered"));
    assert!(why(|plan| plan.feeders.truncate(1)).contains("feeders"));
}
