//! Routes, what they lead to, and when that changes.

use controller_frr::Config;
use controller_frr::config::Table;
use function_l3_router::Update;

use crate::support::*;

#[test]
fn a_route_leads_to_its_neighbour_for_as_long_as_it_is_told() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("192.0.2.0/24", 1)]);
    driven.tell(&[route("2001:db8::/32", 1), route("198.51.100.0/24", 1)]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.2");
    assert_eq!(driven.to("2001:db8::/32"), "10.1.0.2");
    assert_eq!(driven.beyond(), [1, 0]);
    driven.tell(&[withdrawn("192.0.2.0/24"), withdrawn("2001:db8::/32")]);
    assert_eq!(driven.to("192.0.2.0/24"), "-");
    driven.tell(&[next_hop_gone(1)]);
    // Without what it leads to, a route is not there.
    assert_eq!(driven.to("198.51.100.0/24"), "-");
    driven.tell(&[withdrawn("198.51.100.0/24")]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([0, 0], 0));
    assert_eq!(driven.shown("/routes/all"), 0);
}

#[test]
fn a_neighbour_is_told_before_what_leads_to_it_and_goes_after() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), next_hop(2, "10.0.0.2", 3)]);
    driven.changed();
    driven.tell(&[route("192.0.2.0/24", 1), route("192.0.2.0/24", 2), next_hop_gone(1)]);
    let changes = driven.changed();
    let [first, second, third] = &changes[..] else { panic!("{changes:?}") };
    assert!(matches!(first, Update::SetRoute { .. }) && matches!(second, Update::SetRoute { .. }));
    assert!(matches!(third, Update::RemoveNextHop { .. }), "{third:?}");
}

#[test]
fn a_neighbour_of_the_configuration_keeps_its_number() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.9", 4), route("192.0.2.0/24", 1)]);
    assert!(matches!(driven.changed()[..], [Update::SetRoute { next_hop: 0, .. }]));
    driven.tell(&[withdrawn("192.0.2.0/24"), next_hop_gone(1)]);
    assert!(matches!(driven.changed()[..], [Update::RemoveRoute { .. }]));
}

#[test]
fn several_numbers_of_one_neighbour_are_one_next_hop() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), next_hop(2, "10.1.0.2", 0)]);
    driven.tell(&[route("192.0.2.0/24", 1), route("198.51.100.0/24", 2)]);
    assert_eq!(driven.beyond(), [1, 0]);
    driven.tell(&[withdrawn("192.0.2.0/24"), next_hop_gone(1)]);
    assert_eq!((driven.to("198.51.100.0/24").as_str(), driven.beyond()), ("10.1.0.2", [1, 0]));
}

#[test]
fn an_object_may_be_told_behind_what_names_it() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[route("192.0.2.0/24", 3), group(3, &[(1, 2), (2, 1)])]);
    assert_eq!((driven.to("192.0.2.0/24").as_str(), driven.beyond()), ("-", [0, 0]));
    assert_eq!(driven.shown("/routes/waiting"), 1);
    driven.tell(&[next_hop(2, "10.1.0.2", 4)]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.2*1");
    driven.tell(&[next_hop(1, "10.1.0.1", 4), next_hop(1, "10.1.0.3", 4)]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.2*1 10.1.0.3*2");
    assert_eq!((driven.beyond(), driven.refused.len()), ([2, 2], 0));
}

#[test]
fn a_changed_group_moves_all_its_routes_by_its_members() {
    let mut driven = Driven::new();
    driven.link().connect();
    let hops = [(1, "10.1.0.2"), (2, "10.1.0.3"), (3, "10.1.0.4")];
    driven.tell(&hops.map(|(id, gateway)| next_hop(id, gateway, 4)));
    driven.tell(&[group(9, &[(1, 1), (2, 3)])]);
    let prefixes: Vec<String> = (0..50).map(|at| format!("192.0.{at}.0/24")).collect();
    driven.tell(&prefixes.iter().map(|prefix| route(prefix, 9)).collect::<Vec<_>>());
    driven.changed();
    driven.tell(&[group(9, &[(2, 4), (3, 1)])]);
    let changes = driven.changed();
    let [first, second, third] = &changes[..] else { panic!("{changes:?}") };
    assert!(matches!(first, Update::SetGroupMember { .. }), "{first:?}");
    assert!(matches!(second, Update::SetGroupMember { .. }), "{second:?}");
    assert!(matches!(third, Update::RemoveGroupMember { .. }), "{third:?}");
    assert_eq!(driven.to("192.0.33.0/24"), "10.1.0.3*4 10.1.0.4*1");
    // A next hop becomes another one: the group follows, and its routes stay.
    driven.tell(&[next_hop(2, "10.1.0.5", 4)]);
    assert_eq!(driven.to("192.0.33.0/24"), "10.1.0.4*1 10.1.0.5*4");
    let is_route = |update: &Update| matches!(update, Update::SetRoute { .. });
    assert!(!driven.changed().iter().any(is_route));
}

#[test]
fn lists_of_next_hops_in_routes_are_shared_by_their_contents() {
    let mut driven = Driven::new();
    driven.link().connect();
    let [a, b] = [("10.1.0.2", 4, 1), ("10.0.0.2", 3, 2)];
    driven.tell(&[route_by("192.0.2.0/24", &[a, b]), route_by("198.51.100.0/24", &[b, a])]);
    driven.tell(&[route_by("2001:db8::/32", &[a])]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.0.0.2*2 10.1.0.2*1");
    assert_eq!(driven.to("198.51.100.0/24"), "10.0.0.2*2 10.1.0.2*1");
    assert_eq!(driven.to("2001:db8::/32"), "10.1.0.2");
    assert_eq!((driven.beyond(), driven.shown("/lists")), ([2, 2], 2.into()));
    driven.tell(&[withdrawn("192.0.2.0/24"), withdrawn("198.51.100.0/24")]);
    assert_eq!((driven.beyond(), driven.shown("/groups")), ([1, 0], 0.into()));
}

#[test]
fn a_changed_next_hop_moves_its_routes() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("192.0.2.0/24", 1), route("::/0", 1)]);
    driven.tell(&[next_hop(1, "fd00::2", 4)]);
    assert_eq!((driven.to("192.0.2.0/24").as_str(), driven.beyond()), ("fd00::2", [1, 0]));
    driven.tell(&[blackhole(1)]);
    assert_eq!((driven.to("::/0").as_str(), driven.beyond()), ("nowhere", [0, 0]));
    driven.tell(&[next_hop(2, "10.1.0.2", 4), group(1, &[(2, 1)])]);
    assert_eq!(driven.to("::/0"), "10.1.0.2*1");
    assert_eq!(driven.refused, []);
}

#[test]
fn routes_follow_once_what_changes_several_times_at_once() {
    let mut driven = Driven::new();
    driven.link().connect();
    let gateways = ["10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5"];
    driven.tell(&[next_hop(1, gateways[0], 4), route("192.0.2.0/24", 1), route("::/0", 1)]);
    driven.changed();
    driven.tell(&gateways.map(|gateway| next_hop(1, gateway, 4)));
    let is_route = |update: &&Update| matches!(update, Update::SetRoute { .. });
    assert_eq!(driven.changed().iter().filter(is_route).count(), 2);
    assert_eq!((driven.to("::/0").as_str(), driven.beyond()), ("10.1.0.5", [1, 0]));
}

#[test]
fn blackholes_lead_to_a_group_of_nobody() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[dropping("192.0.2.0/24", 6), dropping("2001:db8::/32", 7)]);
    driven.tell(&[dropping("198.51.100.0/24", 8)]);
    for prefix in ["192.0.2.0/24", "2001:db8::/32", "198.51.100.0/24"] {
        assert_eq!(driven.to(prefix), "nowhere");
    }
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("192.0.2.0/24", 1)]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.2");
}

#[test]
fn tables_are_vrfs() {
    let tables = vec![Table { table: 1001, vrf: 1 }];
    let mut driven = Driven::with(router(), Config { tables, ..Config::default() });
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.7.0.2", 5), next_hop(2, "10.1.0.2", 4)]);
    let prefix = "192.0.2.0/24";
    driven.tell(&[route_in(1001, prefix, 1), route(prefix, 2), route_in(1003, prefix, 2)]);
    assert_eq!(driven.route(1, prefix).as_deref(), Some("10.7.0.2@7"));
    assert_eq!((driven.to(prefix).as_str(), driven.route(2, prefix)), ("10.1.0.2", None));
    assert_eq!(driven.shown("/counters/other-table"), 1);
}

#[test]
fn what_is_the_routers_own_is_no_route() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("203.0.113.0/24", 1)]);
    driven.tell(&[route_at("10.1.0.0/16", 4), route("10.0.0.1/32", 1), route("10.1.0.9/32", 1)]);
    assert_eq!(driven.shown("/counters/taken"), 3);
    driven.tell(&[route_at("192.0.2.0/24", 4), encapsulated("198.51.100.0/24", 1)]);
    assert_eq!(driven.shown("/counters/no-gateway"), 1);
    assert_eq!(driven.shown("/counters/encapsulated"), 1);
    assert_eq!((driven.to("203.0.113.0/24").as_str(), driven.refused.len()), ("10.1.0.9", 0));
    // A route that becomes one that cannot be is gone.
    driven.tell(&[route("198.51.100.0/24", 1)]);
    assert_eq!(driven.to("198.51.100.0/24"), "10.1.0.2");
    driven.tell(&[encapsulated("198.51.100.0/24", 1)]);
    assert_eq!(driven.to("198.51.100.0/24"), "-");
}

#[test]
fn a_route_to_an_address_gives_way_to_the_neighbour_that_has_it() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("10.1.0.3/32", 1)]);
    assert_eq!(driven.to("10.1.0.3/32"), "10.1.0.2");
    driven.tell(&[next_hop(2, "10.1.0.3", 4), route("192.0.2.0/24", 2)]);
    assert_eq!(driven.to("10.1.0.3/32"), "10.1.0.3");
    driven.tell(&[withdrawn("192.0.2.0/24"), next_hop_gone(2)]);
    assert_eq!(driven.to("10.1.0.3/32"), "10.1.0.2");
    assert_eq!(driven.refused, []);
}
