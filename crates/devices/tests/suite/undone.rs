//! What a device of another making is not told, it refuses by name, and what a person must tell it
//! is a limitation: no comparison is of different things. Needs no right and no program.

use devices::driver::Driver;
use devices::registry;
use function_kit::NetworkFunction;
use model_kit::Model;
use model_kit::service::Service;
use models::l2_switch::L2Switch;
use models::l3_router::L3Router;
use serde_json::{Map, Value, json};

fn driver(name: &str) -> &'static dyn Driver {
    registry::find(name).and_then(|device| device.driver).expect("registered")
}

fn router(keys: &Value) -> Service {
    let config: models::l3_router::Section =
        serde_json::from_value(keys.clone()).expect("keys of a router");
    L3Router::service(&config)
}

fn switch(keys: &Value) -> Service {
    let config: models::l2_switch::Section =
        serde_json::from_value(keys.clone()).expect("keys of a switch");
    L2Switch::service(&config)
}

fn box_keys() -> Map<String, Value> {
    let port = |name| json!({"type": "af-packet", "interface": name});
    let keys = json!({"ports": [port("t0"), port("t1")]});
    keys.as_object().cloned().expect("an object")
}

/// A key that no device of another making is told of, and a configuration that asks for it.
fn of_routers() -> Vec<(&'static str, Value)> {
    let tunnel = json!({"vni": 7, "remote": "10.1.0.9"});
    vec![
        ("fakedrop", json!({"fakedrop": true})),
        ("interfaces[].mtu", json!({"interfaces": [{"port": "uplink", "mtu": 1400}]})),
        (
            "interfaces[].vxlan",
            json!({"interfaces": [{"port": "uplink", "vlan": 9, "vxlan": tunnel}]}),
        ),
        ("icmp-errors-per-s", json!({"icmp-errors-per-s": 10})),
        ("ping", json!({"ping": true})),
        ("punt", json!({"punt": true})),
        ("punt-rates", json!({"punt-rates": {"arp": 5}})),
        ("resolve", json!({"resolve": true})),
        ("police-by", json!({"police-by": "source", "policers-by-source": {"count": 1}})),
        ("policers[].excess-burst", policers(json!({"algorithm": "rfc2697", "excess-burst": 9}))),
        ("policers[].colour-aware", policers(json!({"colour-aware": true}))),
        ("policers[].parent", policers(json!({"parent": 0}))),
        ("remark", json!({"remark": {"red": 8}})),
    ]
}

/// Policers by port, the second with these keys in addition.
fn policers(more: Value) -> Value {
    let plain = json!({"algorithm": "rfc4115", "committed-rate": 8000, "committed-burst": 1500});
    let mut second = plain.clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        second[key] = value.clone();
    }
    json!({"police-by": "port", "policers": [plain, second]})
}

fn of_switches() -> Vec<(&'static str, Value)> {
    let mirror = json!({"port": "downlink", "direction": "receive", "to": "uplink"});
    vec![
        ("domains", json!({"domains": [{"id": 1}]})),
        ("attachments", json!({"attachments": [{"port": "uplink", "domain": 1, "vlan": 5}]})),
        ("storm-control", json!({"storm-control": [{"port": "uplink", "broadcast": 10.0}]})),
        ("mirrors", json!({"mirrors": [mirror]})),
        ("acl", json!({"acl": [{"priority": 1, "action": "permit"}]})),
        ("egress-acl", json!({"egress-acl": [{"priority": 1, "action": "permit"}]})),
        ("move-limit", json!({"move-limit": {"moves": 3}})),
        ("when-full", json!({"when-full": "drop"})),
    ]
}

fn is_refused(device: &str, service: &Service, key: &str) {
    let refused = driver(device).limitations(service, &Map::new());
    let error = refused.expect_err(key);
    assert!(error.what.contains(device) && error.what.contains(key), "{error:?}");
    assert!(error.remedy.contains(key) && error.remedy.contains("embedded"), "{error:?}");
}

#[test]
fn keys_that_no_device_is_told_of_are_refused() {
    for device in ["linux", "ovs", "vpp"] {
        for (key, keys) in of_routers() {
            is_refused(device, &router(&keys), key);
        }
        for (key, keys) in of_switches() {
            is_refused(device, &switch(&keys), key);
        }
        driver(device).limitations(&router(&json!({})), &Map::new()).expect("a plain router");
        driver(device).limitations(&switch(&json!({})), &Map::new()).expect("a plain bridge");
    }
}

#[test]
fn lists_and_policers_are_refused_where_they_are_not_told() {
    let rule = json!([{"action": "permit"}]);
    let plain = json!({"algorithm": "rfc4115", "committed-rate": 8000, "committed-burst": 1500});
    for (key, keys) in [
        ("ingress-acl", json!({"ingress-acl": rule})),
        ("egress-acl", json!({"egress-acl": rule})),
        ("police-by", json!({"police-by": "port", "policers": [plain, plain]})),
    ] {
        is_refused("vpp", &router(&keys), key);
    }
    let by_rule = json!({"police-by": "acl", "policers": [plain], "ingress-acl": rule});
    is_refused("linux", &router(&by_rule), "police-by");
}

#[test]
fn a_patch_with_more_to_it_is_refused() {
    for (key, keys) in of_switches().into_iter().filter(|(key, _)| *key != "when-full") {
        let mut keys = keys;
        keys["mode"] = json!("patch");
        is_refused("testpmd", &switch(&keys), key);
    }
}

#[test]
fn vlans_and_sources_are_refused_where_they_are_not_told() {
    let by_vlan = json!({"interfaces": [{"port": "uplink", "vlan": 9, "ip": "10.9.0.1/24"}]});
    for device in ["linux", "vpp"] {
        is_refused(device, &router(&by_vlan), "interfaces[].vlan");
    }
    driver("ovs").limitations(&router(&by_vlan), &Map::new()).expect("the switch does it");
    let in_vrf = json!({"vrfs": 1, "routes": [{"prefix": "10.0.0.0/8", "next-hop": 0, "vrf": 1}]});
    for device in ["linux", "vpp"] {
        is_refused(device, &router(&in_vrf), "vrfs");
    }
    for urpf in ["loose", "strict"] {
        let asks = json!({"interfaces": [{"port": "uplink", "urpf": urpf}]});
        is_refused("ovs", &router(&asks), "interfaces[].urpf");
        is_refused("vpp", &router(&asks), "interfaces[].urpf");
        driver("linux").limitations(&router(&asks), &Map::new()).expect("the kernel does it");
    }
}

#[test]
fn a_policer_that_a_device_cannot_have_is_refused_before_the_start() {
    let coarse = policers(json!({"committed-rate": 1_000_000_000, "committed-burst": 100_000}));
    let refused = driver("linux").limitations(&router(&coarse), &Map::new());
    let error = refused.expect_err("a meter of nftables holds a second");
    assert!(error.key == "policers" && error.what.contains("policer 1 holds 100000 bytes"));
    assert!(error.remedy.contains("125000000 bytes or more"), "{error:?}");
    let told = driver("ovs").limitations(&router(&coarse), &Map::new()).expect("a meter");
    assert!(told.iter().any(|one| one.verdicts.contains(&"policed")), "{told:?}");
    let two = policers(json!({"excess-rate": 8000, "excess-burst": 1500}));
    driver("linux").limitations(&router(&two), &Map::new()).expect("two meters in turn");
    let error = driver("ovs").limitations(&router(&two), &Map::new()).expect_err("two buckets");
    assert!(error.remedy.contains("excess-burst: 0"), "{error:?}");
}

#[test]
fn what_a_person_must_tell_a_box_is_a_limitation() {
    for (key, service) in (of_routers().iter().map(|(key, keys)| (key, router(keys))))
        .chain(of_switches().iter().map(|(key, keys)| (key, switch(keys))))
    {
        let told = driver("external").limitations(&service, &box_keys()).expect("a person can");
        let named = told.iter().any(|one| one.what.contains(&format!("`{key}`")));
        assert!(named, "{key}: {told:?}");
    }
}

#[test]
fn chains_are_one_device_of_this_program_only() {
    let service = Service::Chain(vec![switch(&json!({})), router(&json!({}))]);
    for device in ["linux", "ovs", "vpp"] {
        let refused = driver(device).limitations(&service, &Map::new()).expect_err("a chain");
        assert!(refused.what.contains("several functions"), "{refused:?}");
    }
    assert!(driver("testpmd").limitations(&service, &Map::new()).is_err());
    // A box may be one: it is told by a person.
    driver("external").limitations(&service, &box_keys()).expect("two ports");
    assert_eq!(functions::Chain::NAME, "chain");
}
