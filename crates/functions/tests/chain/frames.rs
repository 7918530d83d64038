//! Chains that several tests use.

use functions::NetworkFunction;
use functions::chain::{Chain, Config, Traffic};
use serde_json::{Value, json};

/// A validated chain of these sections.
pub fn chain(sections: Value) -> Config {
    let mut config: Config = serde_json::from_value(json!({"chain": sections})).expect("sections");
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

/// Chains of every kind.
pub fn kinds() -> Vec<Config> {
    let learning = json!({"name": "l2-switch", "preload": false});
    let patch = json!({"name": "portfwd"});
    let sections = [
        json!([router()]),
        json!([bridge(), router()]),
        json!([router(), bridge()]),
        json!([learning, router(), patch]),
        json!([patch, patch, patch, patch]),
        json!([bridge(), router(), router(), bridge()]),
        json!([bridge(), {"name": "mobile-gateway", "user": 5}]),
    ];
    sections.into_iter().map(chain).collect()
}
