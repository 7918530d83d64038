//! Chains that several tests use.

use model_chain::{Section, Traffic};
use model_kit::Model;
use models::Chain;
use serde_json::{Value, json};

/// A validated chain of these sections.
pub fn chain(sections: Value) -> Section {
    let mut config: Section = serde_json::from_value(json!({"chain": sections})).expect("sections");
    Chain::validate(&mut config, &mut Traffic::default()).expect("a valid chain");
    config
}

/// A bridge that forgets nothing and learns nothing, so that batches do not matter.
pub fn bridge() -> Value {
    json!({"name": "l2-switch", "learning": false})
}

/// A small router.
pub fn router() -> Value {
    json!({"name": "l3-router", "ipv6": true, "upstream-l3-table-size": 7})
}

/// A router with four ports, of which two lead to no other function of a chain.
pub fn router_of_four_ports() -> Value {
    let port = |name: &str, number: u8| {
        json!({"name": name, "mac": format!("de:dd:dd:dd:00:0{number}"),
               "ip": format!("10.{number}.0.1/24")})
    };
    let names = ["users", "core", "peer-1", "peer-2"];
    let ports: Vec<Value> = (0..).zip(names).map(|(number, name)| port(name, number)).collect();
    json!({
        "name": "l3-router", "ports": ports, "upstream-l3-table-size": 7,
        "next-hops": [{"port": "peer-1", "mac": "0a:00:00:00:03:01", "ip": "10.2.0.2"}],
        "routes": [{"prefix": "198.19.0.0/16", "next-hop": 0}],
    })
}

/// Chains of every kind.
pub fn kinds() -> Vec<Section> {
    let learning = json!({"name": "l2-switch", "preload": false});
    let patch = json!({"name": "portfwd"});
    let sections = [
        json!([router()]),
        json!([bridge(), router()]),
        json!([router(), bridge()]),
        json!([learning, router(), patch]),
        json!([patch, patch, patch, patch]),
        json!([bridge(), router(), router(), bridge()]),
        json!([router_of_four_ports(), {"name": "l2-switch", "ports": 4}]),
        json!([bridge(), {"name": "mobile-gateway", "user": 5}]),
    ];
    sections.into_iter().map(chain).collect()
}
