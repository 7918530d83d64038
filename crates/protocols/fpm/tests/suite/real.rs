//! What zebra really writes: its own frames, and what each of them says.

use protocol_fpm::{Destination, Hop, Key, Member, NextHop, Report, Route, RouteChange};
use protocol_kit::Interface;

use crate::support::{Driven, config, prefix};

const ETH0: Option<Interface> = Some(Interface(3));

fn hop(gateway: &str) -> Hop {
    let gateway = (!gateway.is_empty()).then(|| gateway.parse().expect("an address"));
    Hop { gateway, interface: ETH0, weight: 1, is_onlink: false }
}

fn onlink(gateway: &str) -> Hop {
    Hop { is_onlink: true, ..hop(gateway) }
}

fn object(id: u32, hop: Hop) -> Report {
    Report::Routing(RouteChange::NextHop {
        id,
        next_hop: NextHop::Hop(hop),
        is_encapsulated: false,
    })
}

fn route(to: &str, destination: Destination) -> Report {
    let (table, metric, protocol) = (254, 20, STATICD);
    let prefix = prefix(to);
    let is_encapsulated = false;
    Report::Routing(RouteChange::Route(Route {
        table,
        prefix,
        metric,
        protocol,
        destination,
        is_encapsulated,
    }))
}

fn hops(to: &str, gateways: &[&str]) -> Report {
    route(to, Destination::Hops(gateways.iter().map(|gateway| hop(gateway)).collect()))
}

/// What the frames of the fuzz target's examples say, in their order.
fn said() -> Vec<Vec<Report>> {
    let members = [20, 22].map(|id| Member { id, weight: 1 });
    let blackhole = NextHop::Blackhole;
    let other_table = match route("10.7.0.0/16", Destination::Object(38)) {
        Report::Routing(RouteChange::Route(route)) => {
            Report::Routing(RouteChange::Route(Route { table: 1000, ..route }))
        }
        _ => unreachable!("a route was made"),
    };
    let single = vec![
        object(20, hop("10.9.0.2")),
        object(19, hop("")),
        object(24, hop("fd00:9::2")),
        object(40, onlink("10.9.0.6")),
        Report::Routing(RouteChange::NextHop {
            id: 16,
            next_hop: blackhole,
            is_encapsulated: false,
        }),
        Report::Routing(RouteChange::Group { id: 21, members: members.to_vec() }),
        route("10.1.0.0/16", Destination::Object(20)),
        route("2001:db8:1::/48", Destination::Object(24)),
        route("10.3.0.0/16", Destination::Blackhole),
        route("10.4.0.0/16", Destination::Unreachable),
        route("10.1.0.0/16", Destination::Object(37)),
        other_table,
        Report::Routing(RouteChange::Withdrawn(Key { table: 254, prefix: prefix("10.6.0.0/16") })),
        Report::Routing(RouteChange::NextHopGone { id: 19 }),
        hops("10.1.0.0/16", &["10.9.0.2"]),
        hops("10.2.0.0/16", &["10.9.0.2", "10.9.0.3"]),
        hops("2001:db8:2::/48", &["fd00:9::2", "fd00:9::3"]),
        hops("10.6.0.0/16", &[""]),
        route("10.12.0.0/16", Destination::Hops(vec![onlink("10.9.0.6")])),
    ];
    single.into_iter().map(|report| vec![report]).collect()
}

#[test]
fn frames_of_zebra_say_what_zebra_was_told() {
    let mut driven = Driven::new(config(100, 100));
    driven.connect(1);
    for (at, (example, said)) in protocol_fpm::fuzz::examples().iter().zip(said()).enumerate() {
        // What was never told cannot go.
        let said = if at == WITHDRAWAL { vec![] } else { said };
        assert_eq!(driven.feed(&example[1..]), said, "example {at}");
    }
    let counters = driven.fpm.counters();
    assert_eq!((counters.routes, counters.withdrawn, counters.unknown), (11, 0, 1), "{counters:?}");
    assert_eq!((counters.next_hops, counters.next_hops_gone), (6, 1), "{counters:?}");
    // Now that the route is there, it can.
    let withdrawal = &protocol_fpm::fuzz::examples()[WITHDRAWAL];
    assert_eq!(driven.feed(&withdrawal[1..]), said()[WITHDRAWAL]);
    let counters = driven.fpm.counters();
    let odd = [counters.other, counters.unsupported, counters.malformed, counters.encapsulated];
    assert_eq!(odd, [0; 4]);
}

/// The number of the example that withdraws a route.
const WITHDRAWAL: usize = 12;

/// Staticd as Linux numbers it.
const STATICD: u8 = 196;
