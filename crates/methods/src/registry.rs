//! The methods there are, in the order of the help text.

use crate::Entry;
use crate::figures::{KnownFigure, SHARED};

/// All methods.
pub static METHODS: &[Entry] = &[
    crate::capacity::ENTRY,
    crate::throughput::ENTRY,
    crate::forwarding_rate::ENTRY,
    crate::loss_curve::ENTRY,
    crate::latency::ENTRY,
    crate::burst::ENTRY,
    crate::recovery::ENTRY,
    crate::reset::ENTRY,
    crate::path_failure::ENTRY,
    crate::rate_precision::ENTRY,
    crate::churn::ENTRY,
    crate::denial_of_service::ENTRY,
    crate::session_rate::ENTRY,
    crate::session_capacity::ENTRY,
    crate::teardown_rate::ENTRY,
    crate::failover::ENTRY,
    crate::occupancy::ENTRY,
    crate::soak::ENTRY,
    crate::convergence::ENTRY,
];

/// The methods of a scenario that names none, as far as they measure what it has: those of a first
/// result, which takes a minute.
pub const DEFAULT_METHODS: &[&str] = &["capacity", "throughput", "convergence"];

/// The method with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    METHODS.iter().find(|m| m.name == name)
}

/// All figures, sorted by name: those that thresholds and plots can name.
pub fn figures() -> Vec<KnownFigure> {
    let own = METHODS.iter().flat_map(|entry| entry.figures);
    let mut all: Vec<KnownFigure> = own.chain(SHARED).copied().collect();
    all.sort_by_key(|known| (known.name, known.unit));
    all.dedup();
    all
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
        assert!(unknown.what.contains("`repetition`"), "{unknown}");
        assert!(unknown.remedy.contains("`repetitions`"), "{unknown}");
        let bad_unit = error("throughput", json!({"max-rate": "5 Mfoo"}));
        assert_eq!(bad_unit.key, "max-rate");
        assert!(bad_unit.what.contains("`5 Mpps`"), "{bad_unit}");
        assert_eq!(error("capacity", json!({"duration": 0})).key, "duration");
        assert_eq!(error("capacity", json!({"repetitions": 0})).key, "repetitions");
        assert_eq!(error("throughput", json!({"min-rate": 10, "max-rate": 5})).key, "max-rate");
    }

    #[test]
    fn a_figure_has_one_unit_whatever_method_gives_it() {
        let all = figures();
        assert!(all.len() > 100 && all.windows(2).all(|two| two[0].name < two[1].name));
    }
}
