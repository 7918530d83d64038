//! What holds when the connection is lost and comes back, and what is swept.

use std::time::Duration;

use protocol_fpm::{Config, Key, Lost, Report, RouteChange};
use protocol_kit::Machine;

use crate::support::*;

const SETTLE: Duration = Duration::from_secs(20);

const KEEP: Duration = Duration::from_secs(100);

const ALMOST: Duration = Duration::from_millis(1);

fn driven() -> Driven {
    let mut driven = Driven::new(Config { settle: SETTLE, keep: KEEP, ..config(100, 100) });
    driven.connect(1);
    driven
}

fn withdrawn(text: &str) -> Report {
    Report::Routing(RouteChange::Withdrawn(Key { table: 254, prefix: prefix(text) }))
}

fn routes(numbers: &[u8]) -> Vec<u8> {
    let routes: Vec<_> = numbers.iter().map(|at| route(NEW_ROUTE, [10, *at, 0, 16], 1)).collect();
    frame(&routes)
}

#[test]
fn what_is_not_told_again_is_swept_routes_before_groups_before_next_hops() {
    let mut driven = driven();
    let objects = [next_hop(1), next_hop(2), group(3, &[(1, 2), (2, 1)]), group(4, &[(1, 1)])];
    driven.feed(&frame(&objects));
    driven.feed(&routes(&[1, 2, 3, 4]));
    assert_eq!(driven.finish(), [Report::Lost { why: Lost::Closed }]);
    assert_eq!(driven.pass(KEEP - ALMOST), []);
    assert_eq!(driven.connect(1), [Report::Connected { peer: None }]);
    assert_eq!(driven.pass(SETTLE - ALMOST).len(), 0);
    driven.feed(&frame(&objects[1..3]));
    driven.feed(&routes(&[2, 4]));
    // Each thing that is told again gives the rest another span.
    assert_eq!(driven.pass(SETTLE - ALMOST), []);
    assert_eq!(driven.feed(&routes(&[3])).len(), 1);
    assert_eq!(driven.pass(SETTLE - ALMOST), []);
    // What is new or was told again already does not.
    assert_eq!(driven.feed(&routes(&[2, 5])).len(), 2);
    assert_eq!(driven.fpm.deadline(), Some(driven.now.after(ALMOST)));
    let [route, group, next_hop] = [
        withdrawn("10.1.0.0/16"),
        Report::Routing(RouteChange::NextHopGone { id: 4 }),
        Report::Routing(RouteChange::NextHopGone { id: 1 }),
    ];
    let settled = Report::Settled { swept: 3 };
    assert_eq!(driven.pass(ALMOST), [route, group, next_hop, settled]);
    assert_eq!((driven.fpm.deadline(), driven.fpm.held()), (None, [4, 2]));
    assert_eq!(driven.fpm.counters().swept, 3);
}

#[test]
fn a_resync_that_tells_everything_is_over_at_once() {
    let mut driven = driven();
    driven.feed(&routes(&[1, 2]));
    driven.finish();
    driven.connect(1);
    assert_eq!(driven.feed(&routes(&[1])).len(), 1);
    let said = driven.feed(&routes(&[2]));
    assert_eq!(said.last(), Some(&Report::Settled { swept: 0 }));
    assert_eq!(driven.fpm.deadline(), None);
}

#[test]
fn without_a_connection_everything_goes_after_a_time() {
    let mut driven = driven();
    driven.feed(&routes(&[1, 2]));
    driven.finish();
    assert_eq!(driven.fpm.deadline(), Some(driven.now.after(KEEP)));
    let said = driven.pass(KEEP);
    assert_eq!(said, [withdrawn("10.1.0.0/16"), withdrawn("10.2.0.0/16")]);
    assert_eq!((driven.fpm.deadline(), driven.fpm.held()), (None, [0, 0]));
}

#[test]
fn a_withdrawal_of_what_is_stale_is_told_once() {
    let mut driven = driven();
    driven.feed(&routes(&[1, 2]));
    driven.finish();
    driven.connect(1);
    let gone = frame(&[route(DEL_ROUTE, [10, 1, 0, 16], 1)]);
    assert_eq!(driven.feed(&gone), [withdrawn("10.1.0.0/16")]);
    assert_eq!(driven.pass(SETTLE), [withdrawn("10.2.0.0/16"), Report::Settled { swept: 1 }]);
}

#[test]
fn an_update_is_no_withdrawal_and_two_withdrawals_are_two() {
    let mut driven = driven();
    driven.feed(&routes(&[1, 2]));
    let [gone, new] = [DEL_ROUTE, NEW_ROUTE].map(|kind| route(kind, [10, 1, 0, 16], 9));
    let other = route(DEL_ROUTE, [10, 2, 0, 16], 1);
    let said = driven.feed(&frame(&[gone.clone(), new.clone()]));
    assert!(matches!(&said[..], [Report::Routing(RouteChange::Route(_))]), "{said:?}");
    let said = driven.feed(&frame(&[gone.clone(), other, new]));
    let [first, second, Report::Routing(RouteChange::Route(_))] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!([first, second], [&withdrawn("10.1.0.0/16"), &withdrawn("10.2.0.0/16")]);
    assert_eq!(driven.feed(&frame(&[gone])), [withdrawn("10.1.0.0/16")]);
}

#[test]
fn a_number_that_becomes_a_group_is_swept_as_one() {
    let mut driven = driven();
    driven.feed(&frame(&[next_hop(1), next_hop(2)]));
    driven.feed(&frame(&[group(1, &[(2, 1)]), next_hop_gone(9)]));
    driven.finish();
    driven.connect(1);
    let gone = [1, 2].map(|id| Report::Routing(RouteChange::NextHopGone { id }));
    let said = driven.pass(SETTLE);
    assert_eq!(said[..2], gone);
    assert_eq!(driven.fpm.counters().unknown, 1);
}
