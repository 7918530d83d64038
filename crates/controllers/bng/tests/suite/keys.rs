//! Keys that cannot be used are named, with what to do.

use controller_bng::{Bng, Config};
use controller_kit::{Controller, Setup};
use function_bng::BroadbandGateway;
use function_kit::erased::configured;
use serde_json::{Value, json};

use crate::host::Host;
use crate::world::{World, gateway, keys, seconds};

fn refused(change: Value) -> (String, String) {
    let mut all = serde_json::to_value(keys(json!({}))).expect("keys");
    for (key, value) in change.as_object().expect("keys") {
        all[key] = value.clone();
    }
    let mut config: Config = serde_json::from_value(all).expect("keys");
    let why = match Bng::validate(&mut config) {
        Err(why) => why,
        Ok(()) => {
            let function = configured::<BroadbandGateway>(gateway());
            let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
            Bng::new(&config, setup).err().expect("it cannot be used")
        }
    };
    (why.key.to_string(), why.remedy.to_string())
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let pool = |change: Value| {
        let mut pool = json!({"name": "a", "kind": "ipv4", "prefix": "10.1.0.0/24"});
        for (key, value) in change.as_object().expect("keys") {
            pool[key] = value.clone();
        }
        json!({"pools": [pool]})
    };
    let server = |local: &str| json!({"address": "192.0.2.1", "local": local, "secret": "s"});
    for (change, key) in [
        (json!({"ipoe": {"authentication": "radius"}, "radius": null}), "ipoe.authentication"),
        (json!({"pppoe": {"authentication": "radius"}, "radius": null}), "pppoe.authentication"),
        (json!({"ipoe": {"user-name": "circuit"}}), "ipoe.user-name"),
        (json!({"pppoe": {"services": [""]}}), "pppoe.services"),
        (json!({"profile": "silver"}), "profile"),
        (pool(json!({"prefix": "2001:db8::/32"})), "pools[0].prefix"),
        (pool(json!({"kind": "delegated", "prefix": "2001:db8::/60"})), "pools[0].prefix"),
        (pool(json!({"gateway": "10.2.0.1"})), "pools[0].gateway"),
        (
            pool(json!({"kind": "na", "prefix": "2001:db8::/64", "gateway": "10.1.0.1"})),
            "pools[0].gateway",
        ),
        (pool(json!({"length": 20})), "pools[0].length"),
        (json!({"radius": {"servers": [server("::1")]}}), "radius.servers[0].local"),
        (json!({"relay": {"ipv4": {"servers": [], "local": "192.0.2.9"}}}), "relay.ipv4.servers"),
        (json!({"relay": {"ipv6": {"servers": [], "local": "2001:db8::9"}}}), "relay.ipv6.servers"),
        (
            json!({"radius": {"servers": [server("192.0.2.9")], "interim-interval-s": 5}}),
            "radius.interim-interval-s",
        ),
        (
            json!({"radius": {"servers": [server("192.0.2.9")], "records-file": "records"}}),
            "radius.records-file",
        ),
        (
            json!({"radius": {"servers": [server("192.0.2.9")], "attributes": [
            {"attribute": "No-Such", "pattern": "{profile}"}]}}),
            "radius.attributes",
        ),
    ] {
        let (named, remedy) = refused(change.clone());
        assert_eq!(named, key, "{change}");
        assert!(!remedy.is_empty(), "{change}");
    }
}

#[test]
fn a_gateway_with_other_profiles_is_controlled_on_and_other_keys_begin_anew() {
    let mut world = World::new(&keys(json!({})), 1);
    let reload = |world: &mut World, config: &Config, change: Value| {
        let mut gateway = serde_json::to_value(gateway()).expect("keys");
        for (key, value) in change.as_object().expect("keys") {
            gateway[key] = value.clone();
        }
        let gateway = serde_json::from_value(gateway).expect("keys");
        let function = configured::<BroadbandGateway>(gateway);
        world.bng.reload(config, Some(&*function), world.now)
    };
    let config = keys(json!({}));
    let profiles = json!({"profiles": [{"name": "default"}, {"name": "bronze"}]});
    assert!(reload(&mut world, &config, profiles));
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    assert!(world.command("profile", json!({"session": 1, "profile": "gold"})).is_err());
    let changed = world.command("profile", json!({"session": 1, "profile": "bronze"}));
    assert_eq!(changed, Ok(json!({"changed": 1})));
    assert!(!reload(&mut world, &config, json!({"profiles": []})), "the usual one is gone");
    assert!(!reload(&mut world, &config, json!({"session-capacity": 7})));
    assert!(!reload(&mut world, &keys(json!({"lease-time-s": 60})), json!({})));
}

#[test]
fn another_function_cannot_be_controlled() {
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let why = Bng::new(&keys(json!({})), setup).err().expect("there is none");
    assert_eq!(why.key, "name");
}
