//! Tables without room, answers that are late, and what the router cannot do.

use controller_frr::config::Table;
use controller_frr::{Config, Frr};
use controller_kit::{Controller, Setup};
use function_kit::erased::configured;
use function_l3_router::config as l3;
use function_l3_router::{L3Router, Update};
use protocol_kit::{Departure, Socket};

use crate::support::*;

/// What cannot be used of a configuration, as `section.key`.
fn refusal(router: l3::Config, config: &Config) -> String {
    let function = configured::<L3Router>(router);
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
    Frr::new(config, setup).map(|_| ()).map_or_else(|invalid| invalid.path(), |()| "fine".into())
}

#[test]
fn a_router_needs_room_for_what_zebra_tells() {
    let of_router = |change: fn(&mut l3::Config)| {
        let mut config = router();
        change(&mut config);
        refusal(config, &Config::default())
    };
    assert_eq!(of_router(|_| {}), "fine");
    assert_eq!(of_router(|config| config.resolve = false), "function.resolve");
    assert_eq!(of_router(|config| config.ecmp_capacity = 0), "function.ecmp-capacity");
    assert_eq!(of_router(|config| config.next_hop_capacity = 1), "function.next-hop-capacity");
    let of_config = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        refusal(router(), &config)
    };
    let table = |table, vrf| Table { table, vrf };
    assert_eq!(of_config(|config| config.at = "2620".into()), "controller.at");
    assert_eq!(of_config(|config| config.at = "/run/frr/fpm.sock".into()), "fine");
    let tables: [(_, fn(&mut Config)); 4] = [
        ("controller.tables", |config| config.tables = vec![Table { table: 9, vrf: 3 }]),
        ("controller.tables", |config| config.tables = vec![Table { table: 254, vrf: 1 }]),
        ("controller.tables", |config| config.tables = vec![Table { table: 9, vrf: 1 }; 2]),
        ("fine", |config| config.tables = vec![Table { table: 9, vrf: 2 }]),
    ];
    for (path, change) in tables {
        assert_eq!(of_config(change), path);
    }
    let twice = Config { tables: vec![table(9, 1), table(8, 1)], ..Config::default() };
    assert_eq!(refusal(router(), &twice), "controller.tables");
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let Err(nothing) = Frr::new(&Config::default(), setup) else { panic!("there is nothing") };
    assert_eq!(nothing.path(), "controller.name");
}

#[test]
fn routes_wait_for_room_in_the_router() {
    // Two links and their addresses of the ports and the VLAN, one neighbour, one route: ten.
    let small = l3::Config { route_capacity: 12, ..router() };
    let mut driven = Driven::with(small, Config::default());
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4)]);
    let prefixes = ["192.0.2.0/24", "192.0.3.0/24", "192.0.4.0/24", "192.0.5.0/24"];
    let room = |driven: &Driven| prefixes.iter().filter(|prefix| driven.to(prefix) != "-").count();
    driven.tell(&prefixes.map(|prefix| route(prefix, 1)));
    let fit = room(&driven);
    assert!((1..4).contains(&fit), "{fit}");
    assert_eq!(driven.shown("/routes/refused"), 4 - fit);
    assert_eq!(driven.shown("/changes/refused/full"), 4 - fit);
    assert_eq!(driven.alarms.last().map(|alarm| alarm.cause), Some("routes-full"));
    assert_eq!(driven.alarms.len(), 1);
    // Other routes go, and those that wait come; at last the alarm is over.
    for (at, prefix) in prefixes.iter().enumerate() {
        assert_eq!(room(&driven), fit.min(4 - at), "{prefix}");
        driven.tell(&[withdrawn(prefix)]);
    }
    let [_, over] = &driven.alarms[..] else { panic!("{:?}", driven.alarms) };
    assert_eq!((over.cause, over.severity), ("routes-full", None));
}

#[test]
fn a_neighbour_waits_for_room_and_its_routes_follow() {
    let small = l3::Config { route_capacity: 10, ..router() };
    let mut driven = Driven::with(small, Config::default());
    driven.link().connect();
    let all: Vec<_> = (1..9_u8).map(|at| format!("10.{}.0.0/16", 20 + at)).collect();
    driven.tell(&[next_hop(1, "10.1.0.9", 4)]);
    driven.tell(&all.iter().map(|prefix| route(prefix, 1)).collect::<Vec<_>>());
    driven.tell(&[next_hop(2, "10.1.0.2", 4), route("192.0.2.0/24", 2)]);
    assert_eq!(driven.to("192.0.2.0/24"), "-");
    driven.tell(&all.iter().map(|prefix| withdrawn(prefix)).collect::<Vec<_>>());
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.2");
    assert_eq!(driven.shown("/routes/refused"), 0);
    assert!(driven.alarms.iter().rev().take(2).all(|alarm| alarm.severity.is_none()));
}

#[test]
fn what_wants_for_numbers_gets_those_that_become_free() {
    let small = l3::Config { next_hop_capacity: 3, ecmp_capacity: 2, ..router() };
    let mut driven = Driven::with(small, Config::default());
    driven.link().connect();
    let hops = [(1, "10.1.0.2"), (2, "10.1.0.3"), (3, "10.1.0.4")];
    driven.tell(&hops.map(|(id, gateway)| next_hop(id, gateway, 4)));
    driven.tell(&[group(8, &[(1, 1), (2, 1)]), group(9, &[(1, 2), (3, 1)])]);
    driven.tell(&[route("192.0.2.0/24", 8), route("192.0.3.0/24", 9), route("192.0.4.0/24", 3)]);
    let to = ["192.0.2.0/24", "192.0.3.0/24", "192.0.4.0/24"].map(|prefix| driven.to(prefix));
    assert_eq!(to, ["10.1.0.2*1 10.1.0.3*1", "10.1.0.2", "-"]);
    driven.tell(&[withdrawn("192.0.2.0/24"), next_hop_gone(8), next_hop_gone(2)]);
    assert_eq!(driven.to("192.0.3.0/24"), "10.1.0.2*2 10.1.0.4*1");
    assert_eq!((driven.to("192.0.4.0/24").as_str(), driven.refused.len()), ("10.1.0.4", 0));
}

#[test]
fn an_address_at_two_interfaces_of_a_vrf_is_a_neighbour_at_each() {
    let mut driven = Driven::new();
    driven.link().connect();
    driven.tell(&[next_hop(1, "fe80::1", 4), next_hop(2, "fe80::1", 3), next_hop(3, "fe80::1", 5)]);
    driven.tell(&[group(8, &[(1, 1), (2, 1)])]);
    let prefixes = ["192.0.2.0/24", "192.0.3.0/24", "192.0.4.0/24", "192.0.5.0/24"];
    let routes: Vec<_> = prefixes.into_iter().zip([1, 2, 3, 8]).collect();
    driven.tell(&routes.iter().map(|&(prefix, to)| route(prefix, to)).collect::<Vec<_>>());
    let ports = |driven: &Driven| {
        let of = |hop: &l3::NextHop| format!("{}/{}", hop.port, hop.vlan.unwrap_or(0));
        let all = driven.router.state().neighbours.values();
        let mut all: Vec<_> = all.filter(|hop| hop.ipv6.is_some()).map(of).collect();
        all.sort();
        all.join(" ")
    };
    assert_eq!(ports(&driven), "downlink/0 uplink/0 uplink/7");
    let to = |driven: &Driven| prefixes.map(|prefix| driven.to(prefix));
    assert_eq!(to(&driven), ["fe80::1", "fe80::1", "fe80::1@7", "fe80::1*1 fe80::1*1"]);
    driven.tell(&[next_hop_gone(1), withdrawn("192.0.2.0/24"), group(8, &[(2, 1)])]);
    assert_eq!(to(&driven), ["-", "fe80::1", "fe80::1@7", "fe80::1*1"]);
    assert_eq!(ports(&driven), "downlink/0 uplink/7");
    assert_eq!(driven.refused, []);
}

#[test]
fn a_group_has_the_first_members_that_there_is_room_for() {
    let mut driven = Driven::new();
    driven.link().connect();
    let ids = 1..=80_u32;
    let hops: Vec<_> = ids.clone().map(|id| next_hop(id, &format!("10.1.1.{id}"), 4)).collect();
    driven.tell(&hops);
    driven.tell(&[group(100, &ids.clone().map(|id| (id, 1)).collect::<Vec<_>>())]);
    driven.tell(&[route("192.0.2.0/24", 100)]);
    assert_eq!(
        (driven.beyond(), driven.shown("/counters/members-left-out")),
        ([80, 64], 16.into())
    );
    driven.tell(&[group(100, &ids.rev().map(|id| (id, 1)).collect::<Vec<_>>())]);
    assert_eq!((driven.beyond(), driven.refused.len()), ([80, 64], 0));
    assert!(driven.to("192.0.2.0/24").contains("10.1.1.80*1"));
}

#[test]
fn a_route_that_collides_with_an_operators_is_an_alarm() {
    let mut driven = Driven::new();
    let prefix = "10.1.0.2/32".to_owned().try_into().expect("a prefix");
    let update = Update::SetRoute { prefix, next_hop: 0, vrf: 0 };
    engine::Function::apply(&mut driven.router, update.said(), 0).expect("there is room");
    driven.link().connect();
    driven.tell(&[next_hop(1, "10.1.0.2", 4), route("192.0.2.0/24", 1)]);
    assert_eq!(driven.to("192.0.2.0/24"), "-");
    assert_eq!(driven.alarms.last().map(|alarm| alarm.cause), Some("changes-refused"));
    driven.tell(&[next_hop(1, "10.1.0.3", 4)]);
    assert_eq!(driven.to("192.0.2.0/24"), "10.1.0.3");
    let last = driven.alarms.last().expect("an alarm");
    assert_eq!((last.cause, last.severity), ("changes-refused", None));
}

#[test]
fn zebra_waits_for_answers_of_the_router() {
    let mut driven = Driven::with(
        l3::Config { route_capacity: 100_000, ..router() },
        Config { routes_max: 50_000, ..Config::default() },
    );
    driven.link().connect().tell(&[next_hop(1, "10.1.0.2", 4)]);
    driven.answers = false;
    let prefix = |at: u32| format!("100.{}.{}.0/24", at >> 8, at & 255);
    let wanted = |driven: &Driven| {
        let last = driven.departures.iter().rev().find_map(|departure| match departure {
            Departure::Read { socket: Socket(1), is_wanted } => Some(*is_wanted),
            _ => None,
        });
        last.unwrap_or(true)
    };
    let mut told = 0;
    while wanted(&driven) {
        assert!(told < 30_000, "zebra is read for ever");
        let routes: Vec<_> = (told..told + 1000).map(|at| route(&prefix(at), 1)).collect();
        driven.tell(&routes);
        told += 1000;
    }
    let open = driven.shown("/changes/open").as_u64().expect("a number");
    assert!((16_384..16_384 + 1024).contains(&open), "{open}");
    driven.answers = true;
    driven.answer();
    driven.poll();
    assert!(wanted(&driven));
    assert_eq!(driven.shown("/routes/installed"), told);
    assert_eq!(driven.shown("/changes/open"), 0);
}

#[test]
fn more_routes_than_zebra_may_tell_are_an_alarm_of_the_connection() {
    let mut driven = Driven::with(router(), Config { routes_max: 2, ..Config::default() });
    driven.link().connect().tell(&[next_hop(1, "10.1.0.2", 4)]);
    driven.tell(&["10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"].map(|prefix| route(prefix, 1)));
    let said = |driven: &Driven| {
        let last = driven.alarms.last().expect("an alarm");
        (last.source.clone(), last.cause, last.severity.is_some())
    };
    assert_eq!(said(&driven), ("zebra".to_owned(), "routes-full", true));
    driven.finish().connect();
    assert_eq!(said(&driven), ("zebra".to_owned(), "routes-full", false));
}
