//! What is refused, what ends a connection, and when a connection has to wait.

use protocol_fpm::{Config, Limited, Lost, Malformed, Report, RouteChange};
use protocol_kit::{Arrival, Departure, Opening, Socket, Time};

use crate::support::*;

/// Reports by their kind alone.
fn kinds(reports: &[Report]) -> Vec<&'static str> {
    let kind = |report: &Report| match report {
        Report::Routing(RouteChange::Route(_)) => "route",
        Report::Routing(RouteChange::Withdrawn(_)) => "withdrawn",
        Report::Routing(RouteChange::NextHop { .. }) => "next hop",
        Report::Routing(RouteChange::Group { .. }) => "group",
        Report::Routing(RouteChange::NextHopGone { .. }) => "gone",
        Report::Full(Limited::Routes) => "no room for routes",
        Report::Full(Limited::NextHops) => "no room for next hops",
        Report::Connected { .. } => "connected",
        Report::Lost { .. } => "lost",
        Report::Rejected { .. } => "rejected",
        Report::Settled { .. } => "settled",
    };
    reports.iter().map(kind).collect()
}

#[test]
fn what_has_no_room_is_refused_and_said_once() {
    let mut driven = Driven::new(config(2, 1));
    driven.connect(1);
    let routes: Vec<_> = (0..4).map(|at| route(NEW_ROUTE, [10, at, 0, 16], 1)).collect();
    let said = driven.feed(&frame(&routes));
    assert_eq!(kinds(&said), ["route", "route", "no room for routes"]);
    // What is held can be replaced, and makes room when it goes.
    assert_eq!(kinds(&driven.feed(&frame(&routes[..1]))), ["route"]);
    let gone = |at| frame(&[route(DEL_ROUTE, [10, at, 0, 16], 1)]);
    assert_eq!(kinds(&driven.feed(&gone(3))), [""; 0]);
    assert_eq!(kinds(&driven.feed(&gone(0))), ["withdrawn"]);
    assert_eq!(kinds(&driven.feed(&frame(&routes[2..]))), ["route"]);
    let said = driven.feed(&frame(&[next_hop(7), group(8, &[(7, 1)]), next_hop(9)]));
    assert_eq!(kinds(&said), ["next hop", "no room for next hops"]);
    assert_eq!(driven.fpm.held(), [2, 1]);
    let counters = driven.fpm.counters();
    assert_eq!((counters.refused_routes, counters.refused_next_hops), (3, 2));
}

#[test]
fn a_second_connection_is_closed_and_the_first_one_stays() {
    let mut driven = Driven::new(config(8, 8));
    let [Departure::Open { socket: Socket(0), opening: Opening::Listener { streams, .. } }] =
        &driven.departures[..]
    else {
        panic!("{:?}", driven.departures)
    };
    assert_eq!(*streams, 1..3);
    assert_eq!(kinds(&driven.connect(1)), ["connected"]);
    assert_eq!(kinds(&driven.connect(2)), ["rejected"]);
    // Whether the first one still is there shows when something is sent.
    let [.., Departure::Close { socket: Socket(2) }, probe] = &driven.departures[..] else {
        panic!("{:?}", driven.departures)
    };
    let Departure::Bytes { socket: Socket(1), bytes } = probe else { panic!("{probe:?}") };
    assert_eq!(*bytes, frame(&[message(1, &[])].map(|noop| [&noop[..6], &[0; 10]].concat())));
    assert_eq!(kinds(&driven.connect(2)), ["rejected"]);
    assert_eq!(driven.departures.pop(), Some(Departure::Close { socket: Socket(2) }));
    driven.arrive(Arrival::Taken { socket: Socket(1), count: 20 });
    assert_eq!(kinds(&driven.connect(2)), ["rejected"]);
    assert!(matches!(driven.departures.pop(), Some(Departure::Bytes { .. })));
    let bytes = frame(&[route(NEW_ROUTE, [10, 0, 0, 8], 1)]);
    let other = Arrival::Bytes { socket: Socket(2), bytes: &bytes };
    assert_eq!(kinds(&driven.arrive(other)), [""; 0]);
    assert_eq!(kinds(&driven.feed(&bytes)), ["route"]);
    assert_eq!(driven.fpm.counters().rejected, 3);
}

#[test]
fn what_is_no_frame_closes_the_connection() {
    let whole = frame(&[route(NEW_ROUTE, [10, 0, 0, 8], 1)]);
    let cut = frame(&[route(NEW_ROUTE, [10, 0, 0, 8], 1)[..20].to_vec()]);
    let cases = [
        (vec![2, 1, 0, 4], Malformed::Header),
        (vec![1, 2, 0, 4], Malformed::Header),
        (vec![1, 1, 0, 3], Malformed::Length),
        (cut, Malformed::Messages),
        (frame(&[vec![0; 16]]), Malformed::Messages),
    ];
    for (bytes, why) in cases {
        let mut driven = Driven::new(config(8, 8));
        driven.connect(1);
        let said = driven.feed(&[&whole[..], &bytes, &whole].concat());
        assert_eq!(kinds(&said), ["route", "lost"], "{bytes:?}");
        assert_eq!(said.last(), Some(&Report::Lost { why: Lost::Malformed(why) }));
        assert_eq!(driven.departures.pop(), Some(Departure::Close { socket: Socket(1) }));
        let counters = driven.fpm.counters();
        let all =
            [counters.malformed_header, counters.malformed_length, counters.malformed_messages];
        let wanted = [Malformed::Header, Malformed::Length, Malformed::Messages];
        assert_eq!(all, wanted.map(|one| u64::from(one == why)), "{bytes:?}");
        assert_eq!(kinds(&driven.connect(1)), ["connected"]);
    }
}

#[test]
fn messages_that_say_too_little_are_counted_and_passed_over() {
    let mut driven = Driven::new(config(8, 8));
    driven.connect(1);
    let good = route(NEW_ROUTE, [10, 0, 0, 8], 1);
    let mut longer = good.clone();
    // More bits than an address has.
    longer[17] = 33;
    let mut by_source = good.clone();
    by_source[18] = 8;
    let mut local = good.clone();
    local[23] = 2;
    let mut labels = good.clone();
    labels[16] = 28;
    let mut overlong = good.clone();
    overlong[28] = 200;
    let no_way = message(NEW_ROUTE, &good[16..36]);
    let empty_group = group(5, &[]);
    let neighbour = message(28, &[0; 12]);
    let all = [longer, by_source, local, labels, overlong, no_way, empty_group, neighbour, good];
    for one in &all {
        driven.feed(&frame(std::slice::from_ref(one)));
    }
    let counters = driven.fpm.counters();
    assert_eq!((counters.malformed, counters.unsupported, counters.other), (4, 2, 2));
    assert_eq!((counters.routes, driven.fpm.held()), (1, [1, 0]));
}

#[test]
fn a_route_with_another_header_says_so() {
    let mut driven = Driven::new(config(8, 8));
    driven.connect(1);
    let plain = route(NEW_ROUTE, [10, 0, 0, 8], 1);
    let labelled = message(NEW_ROUTE, &[&plain[16..], &attribute(21, &[1, 0, 0, 0])].concat());
    let said = driven.feed(&frame(&[plain, labelled]));
    let is_encapsulated = |report: &Report| match report {
        Report::Routing(RouteChange::Route(route)) => route.is_encapsulated,
        other => panic!("{other:?}"),
    };
    assert_eq!(said.iter().map(is_encapsulated).collect::<Vec<_>>(), [false, true]);
    assert_eq!(driven.fpm.counters().encapsulated, 1);
}

#[test]
fn a_connection_waits_while_many_reports_do() {
    let mut driven = Driven::new(Config { waiting_max: 10, ..config(100, 100) });
    driven.connect(1);
    driven.departures.clear();
    let routes = |range: std::ops::Range<u8>| {
        let routes: Vec<_> = range.map(|at| route(NEW_ROUTE, [10, at, 0, 16], 1)).collect();
        frame(&routes)
    };
    assert_eq!(driven.feed(&routes(0..10)).len(), 10);
    assert_eq!(driven.departures, []);
    assert_eq!(driven.feed(&routes(10..21)).len(), 11);
    let read = |is_wanted| Departure::Read { socket: Socket(1), is_wanted };
    assert_eq!(driven.departures, [read(false), read(true)]);
}

#[test]
fn a_listener_that_fails_is_tried_again() {
    let mut driven = Driven::new(config(8, 8));
    driven.departures.clear();
    driven.arrive(Arrival::Failed { socket: Socket(0) });
    assert_eq!(driven.departures, []);
    driven.now = protocol_kit::Machine::deadline(&driven.fpm).expect("it tries again");
    assert!(driven.now > Time::ZERO);
    driven.poll();
    assert!(matches!(driven.departures[..], [Departure::Open { socket: Socket(0), .. }]));
}
