//! The methods there are, in the order of the help text.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    ConfigError, Method, burst, capacity, churn, denial_of_service, failover, forwarding_rate,
    latency, loss_curve, occupancy, rate_precision, recovery, reset, session_capacity,
    session_rate, soak, teardown_rate, throughput,
};

/// One line of the registry.
pub struct Entry {
    /// The name in scenario files.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// The standard's clauses that the method follows or leans on.
    pub standards: &'static [&'static str],
    /// Reads a configuration; a key that is left out gets its documented default.
    pub read: fn(Value) -> Result<Box<dyn Method>, ConfigError>,
    /// JSON Schema of the configuration.
    pub schema: fn() -> schemars::Schema,
}

/// All methods.
pub const METHODS: &[Entry] = &[
    capacity::ENTRY,
    throughput::ENTRY,
    forwarding_rate::ENTRY,
    loss_curve::ENTRY,
    latency::ENTRY,
    burst::ENTRY,
    recovery::ENTRY,
    reset::ENTRY,
    rate_precision::ENTRY,
    churn::ENTRY,
    denial_of_service::ENTRY,
    session_rate::ENTRY,
    session_capacity::ENTRY,
    teardown_rate::ENTRY,
    failover::ENTRY,
    occupancy::ENTRY,
    soak::ENTRY,
];

/// What is measured where a scenario names no method: what a first result needs, in a minute.
pub const DEFAULT_METHODS: &[&str] = &["capacity", "throughput"];

/// The method of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    METHODS.iter().find(|m| m.name == name)
}

/// Reads and validates a configuration, naming the key that is wrong.
pub(crate) fn read<C>(
    value: Value,
    validate: fn(&C) -> Result<(), ConfigError>,
) -> Result<Box<dyn Method>, ConfigError>
where
    C: DeserializeOwned + Method + 'static,
{
    let config: C = serde_path_to_error::deserialize(value).map_err(|e| {
        let path = e.path().to_string();
        let key = if path == "." { String::new() } else { path };
        ConfigError { key, problem: e.into_inner().to_string() }
    })?;
    validate(&config)?;
    Ok(Box::new(config))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_method_runs_on_its_defaults_and_writes_what_it_reads() {
        for entry in METHODS {
            let method = (entry.read)(json!({})).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            assert_eq!(method.name(), entry.name);
            let full = method.configuration();
            let again =
                (entry.read)(full.clone()).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            assert_eq!(again.configuration(), full);
        }
    }

    #[test]
    fn the_default_methods_are_there() {
        assert!(DEFAULT_METHODS.iter().all(|name| find(name).is_some()));
    }

    #[test]
    fn every_key_has_a_description_and_the_schema_knows_no_others() {
        for entry in METHODS {
            let schema = serde_json::to_value((entry.schema)()).expect("a schema is JSON");
            assert_eq!(schema["additionalProperties"], json!(false), "{}", entry.name);
            let keys = schema["properties"].as_object().expect("a method has keys");
            for (key, property) in keys {
                assert!(property["description"].is_string(), "{}.{key}", entry.name);
                assert!(property.get("default").is_some(), "{}.{key}", entry.name);
                assert_eq!(*key, key.replace('_', "-"), "{}.{key} is kebab-case", entry.name);
            }
        }
    }

    #[test]
    fn a_wrong_key_or_value_is_named() {
        let error = |name: &str, value| match (find(name).expect("known").read)(value) {
            Ok(_) => panic!("accepted"),
            Err(e) => e,
        };
        let unknown = error("capacity", json!({"repetition": 5}));
        assert!(unknown.problem.contains("`repetition`"), "{unknown}");
        assert!(unknown.problem.contains("`repetitions`"), "{unknown}");
        let bad_unit = error("throughput", json!({"max-rate": "5 Mfoo"}));
        assert_eq!(bad_unit.key, "max-rate");
        assert!(bad_unit.problem.contains("`5 Mpps`"), "{bad_unit}");
        assert_eq!(error("capacity", json!({"duration": 0})).key, "duration");
        assert_eq!(error("capacity", json!({"repetitions": 0})).key, "repetitions");
        assert_eq!(error("throughput", json!({"min-rate": 10, "max-rate": 5})).key, "max-rate");
    }
}
