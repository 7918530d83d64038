//! What the kernel has is the router's.

use std::net::IpAddr;
use std::time::Duration;

use controller_kernel::{Config, Followed};
use controller_kit::{Controller, Setup};
use function_kit::erased::configured;
use function_l3_router::{L3Router, Update};
use wire::MacAddr;

use crate::support::*;

const PERMANENT: u8 = 0x80;
const REACHABLE: u8 = 0x02;

/// The address of the configuration, which the kernel has from the daemon.
fn usual(driven: &mut Driven) {
    driven.lists.push((22, address(20, 3, "10.0.0.1/24")));
    driven.link();
}

#[test]
fn addresses_of_host_interfaces_are_the_routers_while_the_kernel_has_them() {
    let mut driven = Driven::new();
    usual(&mut driven);
    assert!(driven.memory().is_empty(), "{:?}", driven.memory());
    driven.tell(&[address(20, 4, "10.4.0.1/16"), address(20, 4, "2001:db8::1/64")]);
    for (own, link) in [("10.4.0.1", "10.4.0.0/16"), ("2001:db8::1", "2001:db8::/64")] {
        assert!(driven.is_own(own) && driven.has(link), "{own}");
    }
    assert_eq!(driven.router.state().interfaces.get(1).ip.expect("one").len, 16);
    // A second one of the link, then the first goes.
    driven.tell(&[address(20, 4, "10.4.0.2/16"), address(21, 4, "10.4.0.1/16")]);
    assert!(!driven.is_own("10.4.0.1") && driven.is_own("10.4.0.2") && driven.has("10.4.0.0/16"));
    let speaks_as = driven.router.state().interfaces.get(1).ip.expect("one").address;
    assert_eq!(speaks_as.octets(), [10, 4, 0, 2]);
    driven.tell(&[address(20, 4, "10.4.0.2/24")]);
    assert!(!driven.has("10.4.0.0/16") && driven.has("10.4.0.0/24"));
    // One of the configuration, too.
    driven.tell(&[address(21, 4, "10.4.0.2/24"), address(21, 3, "10.0.0.1/24")]);
    assert!(!driven.has("10.4.0.0/24") && !driven.is_own("10.0.0.1"));
    assert!(driven.router.state().interfaces.get(0).ip.is_none());
    // Those of other interfaces, and those that end on their link, are not the router's.
    driven.tell(&[address(20, 9, "10.9.0.1/24"), address(20, 4, "fe80::1/64")]);
    assert!(!driven.has("10.9.0.0/24") && !driven.has("fe80::/64"));
    assert_eq!((driven.refused.len(), driven.alarms.len()), (0, 0), "{:?}", driven.refused);
}

#[test]
fn an_address_that_collides_is_tried_again() {
    let mut driven = Driven::new();
    usual(&mut driven);
    driven.tell(&[address(20, 4, "10.0.0.9/24")]);
    assert!(!driven.is_own("10.0.0.9"), "the link is another interface's");
    assert_eq!((driven.refused.len(), driven.alarms.len()), (1, 1));
    driven.lists = vec![(22, address(20, 4, "10.0.0.9/24"))];
    driven.tell(&[address(21, 3, "10.0.0.1/24")]);
    driven.pass(Duration::from_secs(10));
    assert!(driven.is_own("10.0.0.9"));
    assert_eq!(driven.alarms.last().expect("two").severity, None);
}

#[test]
fn neighbours_that_are_named_stay_and_those_that_answer_are_known() {
    let mut driven = Driven::new();
    usual(&mut driven);
    driven.tell(&[
        neighbour(28, 3, "10.0.0.77", PERMANENT),
        neighbour(28, 3, "10.0.0.78", REACHABLE),
        neighbour(28, 9, "10.0.0.79", PERMANENT),
    ]);
    let named = |driven: &Driven| {
        let memory = driven.memory();
        let of = |update: &Update| match *update {
            Update::SetNeighbour { address, mac, .. } => Some((address, mac.0)),
            _ => None,
        };
        memory.iter().filter_map(of).collect::<Vec<_>>()
    };
    let address: IpAddr = "10.0.0.77".parse().expect("an address");
    assert_eq!(named(&driven), [(address, MacAddr([2, 0, 0, 0, 0, 0x77]))]);
    assert_eq!(driven.shown("/own-changes/applied"), 2, "the other one was heard");
    driven.tell(&[neighbour(29, 3, "10.0.0.77", PERMANENT)]);
    assert!(named(&driven).is_empty() && driven.refused.is_empty());
}

#[test]
fn routes_lead_to_neighbours_by_host_interfaces() {
    let mut driven = Driven::new();
    usual(&mut driven);
    driven.tell(&[
        route(24, 254, "203.0.113.0/24", "10.0.0.9", 3),
        route(24, 100, "198.51.100.0/24", "10.0.0.9", 3),
        route(24, 254, "192.0.2.0/24", "10.9.0.9", 9),
    ]);
    assert!(driven.has("203.0.113.0/24") && driven.has("10.0.0.9/32"));
    assert!(!driven.has("198.51.100.0/24"), "it is of a table that is no VRF");
    assert!(!driven.has("192.0.2.0/24"), "it is by an interface that is not the router's");
    assert_eq!(driven.shown("/counters/other-table"), 1);
    // The route of an interface that comes later waits for it.
    driven.links(&[(3, 0), (9, 1)]);
    assert!(driven.has("192.0.2.0/24"));
    driven.tell(&[route(25, 254, "203.0.113.0/24", "10.0.0.9", 3)]);
    assert!(!driven.has("203.0.113.0/24") && !driven.has("10.0.0.9/32"));
}

#[test]
fn what_there_was_no_room_for_comes_when_there_is() {
    let mut driven = Driven::with(router(), Config { routes_max: 1, ..Config::default() });
    usual(&mut driven);
    let routes = ["203.0.113.0/24", "198.51.100.0/24"];
    let [first, second] = routes.map(|prefix| route(24, 254, prefix, "10.0.0.9", 3));
    driven.tell(&[first, second.clone()]);
    assert_eq!(routes.map(|prefix| driven.has(prefix)), [true, false]);
    driven.lists.push((26, second));
    driven.tell(&[route(25, 254, routes[0], "10.0.0.9", 3)]).pass(Duration::from_secs(10));
    assert_eq!(routes.map(|prefix| driven.has(prefix)), [false, true]);
    let said = |alarm: &controller_kit::Alarm| (alarm.cause, alarm.severity.is_some());
    let said: Vec<_> = driven.alarms.iter().map(said).collect();
    assert_eq!(said, [("kernel-full", true), ("kernel-full", false)]);
}

#[test]
fn what_does_not_fit_is_refused_with_its_key() {
    let create = |change: &dyn Fn(&mut function_l3_router::Config), config: Config| {
        let mut router = router();
        change(&mut router);
        let function = configured::<L3Router>(router);
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
        controller_kernel::Kernel::new(&config, setup).map(drop).map_err(|bad| bad.key.to_string())
    };
    assert_eq!(create(&|_| {}, Config::default()), Ok(()));
    let without = |router: &mut function_l3_router::Config| router.resolve = false;
    assert_eq!(create(&without, Config::default()), Err("resolve".to_owned()));
    let addresses = Config { follow: vec![Followed::Addresses], ..Config::default() };
    assert_eq!(create(&without, addresses.clone()), Ok(()));
    let narrow = |router: &mut function_l3_router::Config| router.ecmp_capacity = 0;
    assert_eq!(create(&narrow, Config::default()), Err("ecmp-capacity".to_owned()));
    assert_eq!(create(&narrow, addresses), Ok(()));
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let bad = controller_kernel::Kernel::new(&Config::default(), setup).map(drop);
    assert_eq!(bad.map_err(|bad| bad.key.to_string()), Err("name".to_owned()));
}
