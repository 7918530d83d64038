//! The kernel's netlink: what it has, what changes, and what it loses because nobody reads.

use std::fmt::Write as _;
use std::time::Duration;

use host::Host;
use nix::net::if_::if_nametoindex;
use protocol_kit::Interface;
use protocol_netlink::{Config, Destination, Hop, Netlink, Prefix, Report, RouteChange};

use crate::frr::until;
use crate::probe::{linked, may_link};

/// Turns a host until it has reported something that is looked for.
fn report(host: &mut Host<Netlink>, what: &str, is_it: impl Fn(&Report) -> bool) {
    until(what, || {
        let reports = host.turn(Duration::from_millis(20)).expect("it turns");
        reports.iter().any(&is_it).then_some(())
    });
}

#[test]
fn a_machine_knows_what_the_kernel_has_whatever_was_lost() {
    if !may_link() {
        return;
    }
    let (own, _far) = linked();
    own.ip("route add 203.0.113.0/24 via 10.9.0.9 metric 20").expect("a route");
    own.ip("neigh add 10.9.0.8 lladdr 02:00:00:00:00:08 dev eth0").expect("a neighbour");
    own.run(|| {
        let interface = Interface(if_nametoindex("eth0").expect("it is there"));
        let mut host = Host::new(Netlink::new(Config::default())).expect("a host");
        let (mut told, mut is_settled) = (Vec::new(), false);
        until("everything to be told", || {
            told.extend(host.turn(Duration::from_millis(20)).expect("it turns"));
            is_settled |= told.contains(&Report::Settled);
            is_settled.then_some(())
        });
        let has = |report: &Report| told.contains(report);
        let address = |text: &str| text.parse().expect("an address");
        assert!(has(&Report::Address { interface, address: address("10.9.0.1"), len: 24 }));
        assert!(has(&Report::Address { interface, address: address("fd00:9::1"), len: 64 }));
        let mac = [2, 0, 0, 0, 0, 8];
        assert!(has(&Report::Neighbour { interface, address: address("10.9.0.8"), mac }));
        let hop = Hop {
            gateway: Some(address("10.9.0.9")),
            interface: Some(interface),
            weight: 1,
            is_onlink: false,
        };
        let is_it = |report: &&Report| match report {
            Report::Routing(RouteChange::Route(route)) => {
                Some(route.prefix) == Prefix::new(address("203.0.113.0"), 24)
                    && route.destination == Destination::Hops(vec![hop])
                    && (route.table, route.metric) == (254, 20)
            }
            _ => false,
        };
        assert_eq!(told.iter().filter(is_it).count(), 1, "{told:?}");
        // Changes, one by one.
        own.ip("addr add 10.9.1.1/28 dev eth0").expect("an address");
        let new = Report::Address { interface, address: address("10.9.1.1"), len: 28 };
        report(&mut host, "an address", |one| *one == new);
        own.ip("neigh del 10.9.0.8 dev eth0").expect("it is there");
        let gone = Report::NeighbourGone { interface, address: address("10.9.0.8") };
        report(&mut host, "a neighbour to be gone", |one| *one == gone);
        // The last address takes routes with it, of which the kernel says nothing.
        own.ip("addr del 10.9.1.1/28 dev eth0").expect("it is there");
        own.ip("addr del 10.9.0.1/24 dev eth0").expect("it is there");
        report(&mut host, "a route to be gone", |one| {
            matches!(one, Report::Routing(RouteChange::Withdrawn(_)))
        });
        // More than the kernel has room for, while nobody reads.
        let mut lines = String::new();
        for number in 0..NEIGHBOURS {
            let (high, low) = (number >> 8, number & 255);
            writeln!(lines, "neigh add 10.8.{high}.{low} lladdr 02:00:00:00:00:09 dev eth0")
                .expect("memory");
        }
        own.ip_batch(&lines).expect("neighbours");
        until("all neighbours", || {
            host.turn(Duration::from_millis(20)).expect("it turns");
            (host.machine().held()[2] == NEIGHBOURS).then_some(())
        });
        let counters = host.machine().counters();
        assert!(counters.overruns > 0 && counters.malformed == 0, "{counters:?}");
        assert_eq!(host.counters().unsent, 0);
    })
    .expect("the namespace");
}

/// The kernel's own limit is 1024 for those that it has learned, and none for named ones; a socket
/// has room for fewer messages.
const NEIGHBOURS: usize = 20_000;
