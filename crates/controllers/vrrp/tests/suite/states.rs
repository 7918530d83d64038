//! States of virtual routers, and what the router has of them.

use std::time::Duration;

use controller_kit::{Controller, EventKind};
use engine::Function;
use function_kit::sections::Mac;
use function_l3_router::Update;
use function_l3_router::config::{PortName, Prefixed};
use protocol_kit::Departure;
use serde_json::json;
use wire::MacAddr;

use crate::support::{Driven, LAN, config};

const ADDRESS: &str = "10.0.1.254";

/// More than the time without advertisement after which a router becomes active.
const SILENCE: Duration = Duration::from_secs(4);

/// A controller that is active, because nobody else is there.
fn active(keys: serde_json::Value) -> Driven {
    let mut driven = Driven::new(&config(keys));
    driven.links(&[("lan", LAN), ("core", 4)]).pass(SILENCE);
    assert_eq!(driven.state(), "active");
    driven
}

#[test]
fn the_router_has_the_address_while_its_virtual_router_is_active() {
    let mut driven = Driven::new(&config(json!({"accept": true})));
    assert_eq!((driven.state().as_str(), driven.departures.len()), ("initialize", 0));
    driven.links(&[("lan", LAN)]);
    assert!(matches!(driven.departures[0], Departure::Open { .. }));
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("backup", None));
    driven.pass(SILENCE);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("active", Some(true)));
    let sent = |driven: &Driven| {
        driven.departures.iter().filter(|one| matches!(one, Departure::Frame { .. })).count()
    };
    assert!(sent(&driven) >= 2, "an advertisement and an announcement at least");
    driven.advertise(200, &[ADDRESS]);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("backup", None));
    driven.pass(SILENCE);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("active", Some(true)));
    let shown = Controller::show(&driven.vrrp);
    assert_eq!(shown["routers"][0]["activations"], 2);
    assert_eq!(shown["routers"][0]["mac"], "00:00:5e:00:01:07");
    assert_eq!(shown["counters"]["received"], 1);
    assert_eq!(driven.alarmed(), []);
}

#[test]
fn both_families_are_virtual_routers_of_their_own() {
    let addresses = ["fe80::254", "2001:db8:1::254"];
    let driven = active(json!({"addresses": addresses}));
    assert_eq!(addresses.map(|one| driven.has(one)), [Some(false); 2]);
    let shown = Controller::show(&driven.vrrp);
    assert_eq!(shown["routers"][0]["mac"], "00:00:5e:00:02:07");
}

#[test]
fn an_interface_that_goes_takes_its_virtual_router_with_it() {
    let mut driven = active(json!({}));
    driven.links(&[("core", 4)]);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("initialize", None));
    assert_eq!(driven.alarmed(), [("no-interface", true)]);
    // It is made again, with another number in the kernel.
    driven.links(&[("lan", 9), ("core", 4)]).pass(SILENCE);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("active", Some(false)));
    assert_eq!(driven.alarmed(), [("no-interface", false)]);
    driven.links(&[("lan", 10), ("core", 4)]);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("backup", None));
    driven.pass(SILENCE).link(10, false);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("initialize", None));
    driven.link(10, true).pass(SILENCE);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("active", Some(false)));
}

#[test]
fn a_tracked_interface_without_link_lowers_the_priority() {
    let mut driven = active(json!({"track": [{"interface": "core", "decrement": 60}]}));
    let priority =
        |driven: &Driven| Controller::show(&driven.vrrp)["routers"][0]["priority"].clone();
    assert_eq!(priority(&driven), 100);
    driven.link(4, false);
    assert_eq!(priority(&driven), 40);
    driven.link(4, true);
    assert_eq!(priority(&driven), 100);
    driven.links(&[("lan", LAN)]);
    assert_eq!((priority(&driven), driven.state().as_str()), (json!(40), "active"));
    driven.advertise(50, &[ADDRESS]);
    assert_eq!(driven.state(), "backup");
}

#[test]
fn a_tracked_next_hop_lowers_the_priority_while_its_session_is_not_up() {
    let mut driven = active(json!({"track": [
        {"next-hop": 1, "decrement": 30},
        {"interface": "core", "decrement": 60},
    ]}));
    let seen = |driven: &Driven| {
        let shown = Controller::show(&driven.vrrp);
        (shown["routers"][0]["priority"].clone(), shown["tracked"][0]["works"].clone())
    };
    assert_eq!(seen(&driven), (json!(70), json!(false)), "until it was up");
    driven.hop(1, EventKind::Up);
    assert_eq!(seen(&driven), (json!(100), json!(true)));
    driven.hop(0, EventKind::Down).hop(1, EventKind::Idle);
    assert_eq!(seen(&driven), (json!(100), json!(true)), "what is told of others");
    driven.hop(1, EventKind::Down).link(4, false);
    assert_eq!(seen(&driven), (json!(10), json!(false)));
    driven.advertise(50, &[ADDRESS]);
    assert_eq!(driven.state(), "backup");
}

#[test]
fn a_tracked_route_lowers_the_priority_while_the_router_does_not_have_it() {
    let keys = |others: &[&str]| {
        let track = |prefix: &&str| json!({"route": prefix, "decrement": 30});
        let mut all: Vec<_> = others.iter().map(track).collect();
        all.push(json!({"route": "10.9.0.0/16", "decrement": 40}));
        json!({"track": all})
    };
    let mut driven = active(keys(&[]));
    let seen = |driven: &Driven| {
        let shown = Controller::show(&driven.vrrp);
        let last = shown["tracked"].as_array().and_then(|all| all.last()).cloned();
        (shown["routers"][0]["priority"].clone(), last.expect("one")["works"].clone())
    };
    let set = |prefix: &str| json!({"set-route": {"prefix": prefix, "next-hop": 0}});
    let remove = |prefix: &str| json!({"remove-route": {"prefix": prefix}});
    assert_eq!(seen(&driven), (json!(60), json!(false)));
    driven.change(set("10.8.0.0/16"));
    assert_eq!(seen(&driven), (json!(60), json!(false)), "another one");
    driven.change(set("10.9.0.0/16"));
    assert_eq!(seen(&driven), (json!(100), json!(true)));
    // Another route is tracked before it: it has another number, and is what it was.
    driven.reload(&config(keys(&["10.8.0.0/16", "10.7.0.0/16"])));
    assert_eq!(seen(&driven), (json!(70), json!(true)), "one of the three is not there");
    driven.change(set("10.7.0.0/16"));
    assert_eq!(seen(&driven), (json!(100), json!(true)));
    // Whoever begins anew is told what there is, and has no others watched.
    let mut again = Driven::on(&config(keys(&[])), driven.router);
    again.links(&[("lan", LAN)]).pass(SILENCE);
    assert_eq!(seen(&again), (json!(100), json!(true)));
    again.change(remove("10.8.0.0/16")).change(remove("10.9.0.0/16"));
    assert_eq!(seen(&again), (json!(60), json!(false)));
    again.advertise(80, &[ADDRESS]);
    assert_eq!(again.state(), "backup");
}

#[test]
fn a_reload_changes_the_virtual_routers_that_differ_alone() {
    let list = |routers: serde_json::Value| -> controller_vrrp::Config {
        serde_json::from_value(json!({ "routers": routers })).expect("keys")
    };
    let one = |vrid: u8, priority: u8, address: &str| json!({"interface": "lan", "vrid": vrid, "addresses": [address], "priority": priority});
    let others = ["10.0.1.251", "10.0.1.252", "10.0.1.253"];
    let before = [one(1, 100, others[0]), one(7, 100, ADDRESS), one(3, 100, others[2])];
    let mut driven = Driven::new(&list(json!(before)));
    driven.links(&[("lan", LAN)]).pass(SILENCE);
    let shown = |driven: &Driven| {
        let shown = Controller::show(&driven.vrrp);
        let one = |one: &serde_json::Value| {
            let of = |key: &str| one[key].as_u64().unwrap_or_default();
            (of("vrid"), one["state"].as_str().unwrap_or_default().to_owned(), of("priority"))
        };
        let mut all: Vec<_> =
            shown["routers"].as_array().expect("a list").iter().map(one).collect();
        all.sort_unstable();
        all
    };
    let is = |vrid: u64, state: &str, priority: u64| (vrid, state.to_owned(), priority);
    let all = [is(1, "active", 100), is(3, "active", 100), is(7, "active", 100)];
    assert_eq!(shown(&driven), all);
    // The first one is gone, the second has another priority, the third another address, and
    // another one is new.
    let after = [one(7, 120, ADDRESS), one(3, 100, others[1]), one(9, 100, others[0])];
    driven.reload(&list(json!(after)));
    let all = [is(3, "backup", 100), is(7, "active", 120), is(9, "backup", 100)];
    assert_eq!(shown(&driven), all);
    let has = |driven: &Driven| others.map(|address| driven.has(address).is_some());
    assert_eq!((has(&driven), driven.has(ADDRESS)), ([false; 3], Some(false)));
    driven.pass(SILENCE);
    assert_eq!(has(&driven), [true, true, false]);
    assert!(shown(&driven).iter().all(|(_, state, _)| state == "active"));
    // None is left, then one comes back; the farewell of those that went has been sent.
    driven.reload(&list(json!([])));
    assert_eq!((shown(&driven).len(), has(&driven), driven.has(ADDRESS)), (0, [false; 3], None));
    driven.reload(&list(json!([one(7, 120, ADDRESS)]))).pass(SILENCE);
    assert_eq!(shown(&driven), [is(7, "active", 120)]);
    assert_eq!(driven.alarmed(), []);
}

#[test]
fn a_reload_of_others_leaves_a_group_as_it_is() {
    let other = json!({"interface": "lan", "vrid": 1, "addresses": ["10.0.1.200"]});
    let group = [("lan", 7, ADDRESS), ("core", 8, "10.0.2.254")].map(|(interface, vrid, address)| {
        json!({"interface": interface, "vrid": vrid, "addresses": [address], "group": "both"})
    });
    let [one, two] = group;
    let list =
        |all: &[&serde_json::Value]| serde_json::from_value(json!({"routers": all})).expect("keys");
    let mut driven = Driven::new(&list(&[&other, &one, &two]));
    driven.links(&[("lan", LAN), ("core", 4)]).pass(SILENCE);
    for keys in [list(&[&one, &two]), list(&[&other, &two, &one])] {
        driven.reload(&keys);
        let shown = Controller::show(&driven.vrrp);
        let of_group = shown["routers"].as_array().expect("a list").iter();
        let of_group = of_group.filter(|one| one["group"] == "both");
        let seen: Vec<_> = of_group.map(|one| (&one["state"], &one["activations"])).collect();
        assert_eq!(seen, [(&json!("active"), &json!(1)); 2]);
    }
}

#[test]
fn mistakes_of_others_are_alarms_until_they_are_over() {
    let mut driven = active(json!({}));
    driven.advertise(50, &["10.0.1.253"]).advertise(50, &["10.0.1.253"]);
    let mut alarms = driven.alarmed();
    alarms.sort_unstable();
    assert_eq!(alarms, [("misconfigured", true), ("split-brain", true)]);
    assert_eq!(driven.state(), "active");
    driven.pass(Duration::from_secs(20));
    assert_eq!(driven.alarmed(), [("split-brain", false)]);
    driven.pass(Duration::from_secs(200));
    assert_eq!(driven.alarmed(), [("misconfigured", false)]);
}

#[test]
fn an_address_that_the_router_refuses_is_left_to_others_for_a_while() {
    let mut driven = Driven::new(&config(json!({})));
    let prefix = Prefixed { address: ADDRESS.parse().expect("an address"), len: 32 };
    let number = 0;
    let next_hop = json!({"port": "core", "mac": "02:00:00:00:00:99"});
    let next_hop = serde_json::from_value(next_hop).expect("keys");
    driven.router.apply(Update::SetNextHop { number, next_hop }.said(), 0).expect("room");
    driven
        .router
        .apply(Update::SetRoute { prefix, next_hop: number, vrf: 0 }.said(), 0)
        .expect("room");
    driven.links(&[("lan", LAN)]).pass(SILENCE);
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("initialize", None));
    assert_eq!(driven.alarmed(), [("address-refused", true)]);
    // It tries anew at another interface.
    driven.links(&[("lan", 9)]);
    assert_eq!(driven.alarmed(), [("address-refused", false)]);
    driven.pass(SILENCE);
    assert_eq!(driven.alarmed(), [("address-refused", true)]);
    driven.router.apply(Update::RemoveRoute { prefix, vrf: 0 }, 0).expect("it is there");
    driven.pass(Duration::from_secs(70));
    assert_eq!((driven.state().as_str(), driven.has(ADDRESS)), ("active", Some(false)));
    assert_eq!(driven.alarmed(), [("address-refused", false)]);
}

#[test]
fn what_an_earlier_life_has_left_goes_first() {
    let set = Update::SetVirtual {
        port: PortName::new("lan"),
        vlan: None,
        mac: Mac(MacAddr([0, 0, 0x5e, 0, 1, 7])),
        address: ADDRESS.parse().expect("an address"),
        accept: true,
    };
    let mut driven = active(json!({}));
    driven.router.apply(set, 0).expect("it is there");
    let again = Driven::on(&config(json!({})), driven.router);
    assert_eq!((again.state().as_str(), again.has(ADDRESS)), ("initialize", None));
}
