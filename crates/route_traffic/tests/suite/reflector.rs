//! Events around a plain reflector that works.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::{Convergence, MeasureError, Routing, RoutingEvent, TrialProgress, Watch};
use protocol_bgp::Family;
use route_traffic::source::{Evpn, Members, Vpn};
use route_traffic::{Fed, Routes, Sharing, Tester};

use super::device::{Fault, Reflector};
use super::sources;
use super::tester::{NoWatch, PATIENCE, plan};

fn table(slow: u32) -> RoutingEvent {
    RoutingEvent::Table { slow }
}

fn converge(tester: &mut Tester<Reflector>, event: RoutingEvent) -> Convergence {
    let outcome = tester.converge(event, PATIENCE, &mut NoWatch).unwrap();
    assert_eq!(outcome.wrong, Vec::<String>::new(), "{event:?}");
    assert_eq!(outcome.sessions_lost, 0, "{event:?}");
    outcome
}

#[test]
fn every_source_converges_and_goes_again() {
    for (name, routes) in sources::all() {
        let is_of_edges = routes.feeder(0).is_some();
        let fed =
            Fed::new(Arc::clone(&routes), sources::feeders(&*routes), Sharing::Split).unwrap();
        let plan = plan(fed, 3, is_of_edges);
        let clients = plan.client_count();
        let mut tester =
            Tester::new(plan, Reflector::new(Fault::None), Arc::new(AtomicBool::new(false)))
                .unwrap();
        let outcome = converge(&mut tester, table(0));
        assert_eq!(outcome.clients_ns.len(), clients, "{name}");
        assert!(outcome.sessions_up.is_some() && outcome.last_ns().is_some());
        let count = u64::from(routes.count());
        let own = if is_of_edges { count } else { 0 };
        assert_eq!(outcome.routes, count * clients as u64 - own, "{name}");
        assert_eq!(outcome.withdrawals_seen, 0);
        let outcome = converge(&mut tester, RoutingEvent::WithdrawAll);
        assert_eq!(outcome.routes, count * clients as u64 - own, "{name}");
        let outcome = converge(&mut tester, table(0));
        assert_eq!(outcome.routes, count * clients as u64 - own, "{name}: anew");
    }
}

#[test]
fn the_best_of_several_feeders_is_expected() {
    let routes = sources::all().swap_remove(2).1;
    let fed = Fed::new(routes, 3, Sharing::Same { offset: 5 }).unwrap();
    let mut tester =
        Tester::new(plan(fed, 4, false), Reflector::new(Fault::None), Arc::default()).unwrap();
    let size = tester.size();
    assert_eq!((size.feeders, size.clients, size.routes), (3, 4, 3700));
    converge(&mut tester, table(0));
    // Changes of feeders that are not the best are no changes of clients.
    let flaps = RoutingEvent::Flaps { per_s: 2000.0, duration: Duration::from_millis(500) };
    let outcome = converge(&mut tester, flaps);
    let heard = outcome.changes_ns.unwrap().len();
    assert!(heard > 0 && heard <= 1000, "{heard}");
    converge(&mut tester, RoutingEvent::Restart);
    converge(&mut tester, RoutingEvent::WithdrawAll);
    // Nothing is told, but the sessions come back.
    let outcome = converge(&mut tester, RoutingEvent::Restart);
    assert_eq!((outcome.routes, outcome.sessions_up.is_some()), (0, true));
}

#[test]
fn clients_with_route_targets_are_told_those_alone() {
    let members = Members::new(40, 6, 3, 3).unwrap();
    let networks = (0..6).map(|edge| Some(members.networks(edge)));
    let routes: [Arc<dyn Routes>; 2] = [
        Arc::new(Evpn::new(members.clone(), 1500).unwrap()),
        Arc::new(Vpn::new(members.clone(), 900, 500).unwrap()),
    ];
    for routes in routes {
        let count = u64::from(routes.count());
        let fed = Fed::new(routes, 6, Sharing::Split).unwrap();
        let mut plan = plan(fed, 0, true);
        plan.targets = networks.clone().collect();
        plan.speaking.families.push(Family::RouteTarget);
        let mut tester = Tester::new(plan, Reflector::new(Fault::None), Arc::default()).unwrap();
        let outcome = converge(&mut tester, table(0));
        // Each network has two or three edges.
        assert!(outcome.routes >= count && outcome.routes <= 2 * count, "{}", outcome.routes);
    }
}

#[test]
fn slow_clients_are_checked_and_not_timed() {
    let routes = sources::all().swap_remove(2).1;
    let fed = Fed::new(routes, 2, Sharing::Split).unwrap();
    let mut tester =
        Tester::new(plan(fed, 5, false), Reflector::new(Fault::None), Arc::default()).unwrap();
    let outcome = converge(&mut tester, table(2));
    assert_eq!(outcome.clients_ns.len(), 3);
    assert_eq!(outcome.routes, 5 * 3700);
    let all = tester.converge(table(5), PATIENCE, &mut NoWatch);
    assert!(matches!(all, Err(MeasureError::NothingToMeasure(_))));
}

#[test]
fn sessions_come_back_and_every_change_is_heard() {
    let routes = sources::all().swap_remove(2).1;
    for fault in [Fault::None, Fault::Shuffles] {
        let fed = Fed::new(Arc::clone(&routes), 2, Sharing::Split).unwrap();
        let mut tester =
            Tester::new(plan(fed, 6, false), Reflector::new(fault), Arc::default()).unwrap();
        let early = tester.converge(RoutingEvent::WithdrawAll, PATIENCE, &mut NoWatch);
        assert!(early.is_err(), "the first event is a table");
        converge(&mut tester, table(0));
        let outcome = converge(&mut tester, RoutingEvent::LoseClients { clients: 4 });
        assert_eq!((outcome.clients_ns.len(), outcome.routes), (4, 4 * 3700));
        let flaps = RoutingEvent::Flaps { per_s: 3000.0, duration: Duration::from_millis(300) };
        let outcome = converge(&mut tester, flaps);
        assert_eq!(outcome.changes_ns.unwrap().len(), 900);
        assert!(outcome.routes >= 900 * 6);
        // What has changed holds for those who come later, too.
        converge(&mut tester, RoutingEvent::LoseClients { clients: 6 });
        let outcome = converge(&mut tester, RoutingEvent::Restart);
        assert_eq!(outcome.clients_ns.len(), 6);
        converge(&mut tester, RoutingEvent::WithdrawAll);
    }
}

#[test]
fn the_tester_alone_is_told_the_same() {
    let routes = sources::all().swap_remove(2).1;
    let fed = Fed::new(routes, 2, Sharing::Split).unwrap();
    let mut tester =
        Tester::new(plan(fed, 8, false), Reflector::new(Fault::None), Arc::default()).unwrap();
    assert!(tester.tester_alone(PATIENCE, &mut NoWatch).unwrap().is_none(), "there was no table");
    let table = converge(&mut tester, table(0));
    let alone = tester.tester_alone(PATIENCE, &mut NoWatch).unwrap().unwrap();
    assert_eq!((alone.wrong.len(), alone.clients_ns.len()), (0, 8));
    assert_eq!((alone.routes, alone.updates), (table.routes, table.updates));
    assert!(alone.device.is_some());
    // The sessions with the device are as they were.
    converge(&mut tester, RoutingEvent::WithdrawAll);
}

/// Asks to stop as soon as it is told of progress.
struct Stops(Arc<AtomicBool>);

impl Watch for Stops {
    fn at(&mut self, _progress: TrialProgress) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn who_asks_to_stop_is_heard() {
    let routes = sources::all().swap_remove(2).1;
    let fed = Fed::new(routes, 2, Sharing::Split).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    // It would wait for the lost routes for long.
    let device = Reflector::new(Fault::Loses(10));
    let mut tester = Tester::new(plan(fed, 2, false), device, Arc::clone(&stop)).unwrap();
    let outcome = tester.converge(table(0), Duration::from_secs(3600), &mut Stops(stop));
    assert!(matches!(outcome, Err(MeasureError::Interrupted)), "{outcome:?}");
}
