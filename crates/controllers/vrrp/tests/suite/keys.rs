//! What is no configuration of the controller.

use controller_kit::Controller;
use controller_vrrp::{Config, Vrrp};
use serde_json::json;

use crate::support::{config, create};

#[test]
fn keys_that_do_not_fit_are_named() {
    for (keys, key) in [
        (json!({"interface": "wan"}), "interface"),
        (json!({"track": [{"interface": "wan", "decrement": 1}]}), "track"),
        (json!({"track": [{"next-hop": 0, "decrement": 1}]}), "track"),
        (json!({"track": [{"next-hop": 2, "decrement": 1}]}), "track"),
        (json!({"track": [{"decrement": 1}]}), "track"),
        (json!({"track": [{"interface": "core", "next-hop": 1, "decrement": 1}]}), "track"),
        (json!({"track": [{"route": "10.0.0.0/8", "vrf": 1, "decrement": 1}]}), "track"),
        (json!({"track": [{"route": "10.0.0.0/8", "next-hop": 1, "decrement": 1}]}), "track"),
        (json!({"track": [{"interface": "core", "vrf": 1, "decrement": 1}]}), "track"),
        (json!({"addresses": ["10.0.1.1"]}), "addresses"),
        (json!({"addresses": []}), "addresses"),
        (json!({"addresses": ["10.0.1.254", "fe80::1"]}), "addresses"),
        (json!({"addresses": ["2001:db8:1::254"]}), "addresses"),
        (json!({"addresses": ["10.0.1.254", "10.0.1.254"]}), "addresses"),
        (json!({"interface": "core", "addresses": ["fe80::254"]}), "interface"),
        (json!({"vrid": 0}), "addresses"),
        (json!({"priority": 255}), "priority"),
        (json!({"priority": 0}), "priority"),
        (json!({"advert-interval-ms": 15}), "addresses"),
        (json!({"peers": ["10.0.1.1"]}), "addresses"),
    ] {
        let refused = create(&config(keys.clone())).err();
        let refused = refused.unwrap_or_else(|| panic!("{keys} is taken"));
        assert!(refused.starts_with(&format!("routers[0].{key}: ")), "{keys}: {refused}");
    }
    let mut twice = config(json!({}));
    twice.routers.extend(twice.routers.clone());
    assert!(Vrrp::validate(&mut twice).is_err());
    assert!(Vrrp::validate(&mut Config::default()).is_ok());
    assert!(create(&config(json!({"peers": ["10.0.1.3"], "checksum": "pseudo-header"}))).is_ok());
}
