//! The README says what the code says.

use functions::chain::Config;
use serde_json::json;

const README: &str = include_str!("../../src/chain/README.md");

#[test]
fn every_config_key_is_explained() {
    let config: Config = serde_json::from_value(json!({"chain": []})).expect("a section");
    let keys = serde_json::to_value(config).expect("a configuration can be written");
    for key in keys.as_object().expect("a map").keys() {
        assert!(README.contains(&format!("\n| `{key}` | ")), "{key}");
    }
}
