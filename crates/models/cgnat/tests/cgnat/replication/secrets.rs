//! The key of replication is in no record, and a configuration that was kept gets it from the
//! current one.

use std::sync::Arc;

use function_kit::Invalid;
use function_kit::erased::{Configured, Kind, Unit};
use serde_json::{Map, Value};

const KEYED: &str = "{replication: {role: active, key: of-these-two-nats-alone}}";

fn read(text: &str) -> Result<Arc<dyn Configured>, Invalid> {
    let keys = serde_saphyr::from_str::<Map<String, Value>>(text).expect("a section");
    Unit::<function_cgnat::Cgnat>::new().read(keys)
}

#[test]
fn a_key_is_written_nowhere_and_taken_from_the_current_configuration() {
    let current = read(KEYED).expect("a key");
    let written = serde_json::to_string(&current.section()).expect("it can be written");
    assert!(written.contains("replication") && !written.contains("of-these-two"), "{written}");
    let kept = Unit::<function_cgnat::Cgnat>::new().read(current.keys()).expect("as written");
    let refused = kept.difference(&*current).expect_err("a key cannot come while it runs");
    assert_eq!(refused.key, "replication");
    let whole = kept.with_secrets_of(&*current);
    assert!(whole.difference(&*current).expect("the same").is_empty());
}

#[test]
fn a_short_key_is_refused_by_its_name() {
    let refused = read("{replication: {role: active, key: short}}").err().expect("too short");
    assert!(refused.key.starts_with("replication"), "{refused}");
    assert!(refused.to_string().contains("16 to 128"), "{refused}");
}
