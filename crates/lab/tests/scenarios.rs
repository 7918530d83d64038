//! The scenarios that come with the source load, and their JSON Schema agrees.

use std::fs;
use std::path::{Path, PathBuf};

use lab::registry::FUNCTIONS;
use lab::scenario::{Document, Scenario};
use lab::schema::scenario_schema;
use serde_json::Value;

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(folder).expect("the source has scenarios");
    entries.map(|entry| entry.expect("readable").path()).collect()
}

#[test]
fn every_scenario_loads_and_validates() {
    let schema = scenario_schema(FUNCTIONS);
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let paths = scenarios();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        let scenario = Scenario::read(&path, FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
        let document = Document::parse("file", &scenario.text).expect("it was parsed before");
        let value = Value::Object(document.root);
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn the_main_job_names_every_key_there_is() {
    let path = scenarios().into_iter().find(|path| path.ends_with("mobile-gateway.yaml"));
    let path = path.expect("the main job is there");
    let scenario = Scenario::read(&path, FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
    let document = Document::parse("file", &scenario.text).expect("it was parsed before");
    let unit = scenario.benchmarks[0].unit;
    let sections = [("function", unit.config_schema()), ("traffic", unit.traffic_schema())];
    for (section, schema) in sections {
        let known = schema.get("properties").and_then(Value::as_object).expect("keys");
        for key in known.keys().filter(|key| *key != "tunneling-method") {
            assert!(document.root[section].get(key).is_some(), "{section}.{key} is not shown");
        }
    }
    for entry in methods::DEFAULT_METHODS.iter().filter_map(|name| methods::find(name)) {
        let schema = (entry.schema)();
        let known = schema.get("properties").and_then(Value::as_object).expect("keys");
        let shown = document.root["methods"].as_array().expect("a list");
        let shown = shown.iter().find(|method| method["name"] == entry.name);
        let shown = shown.unwrap_or_else(|| panic!("{} is not shown", entry.name));
        for key in known.keys() {
            assert!(shown.get(key).is_some(), "{}.{key} is not shown", entry.name);
        }
    }
}

#[test]
fn tipsys_sample_means_its_first_values() {
    let path = scenarios().into_iter().find(|path| path.ends_with("tipsy-mgw-sample.json"));
    let scenario = Scenario::read(&path.expect("it is there"), FUNCTIONS)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.cells().count(), 1);
    let (benchmark, cell) = scenario.cells().next().expect("one cell");
    let effective = benchmark.configure(cell).expect("valid").effective();
    for (key, value) in [("user", 1), ("bst", 9), ("server", 1), ("nhop", 4)] {
        assert_eq!(effective["function"][key], value, "{key}");
    }
    assert_eq!(effective["function"]["rate-limit"].as_f64(), Some(10_000.0), "byte/s");
    assert_eq!(effective["function"]["fluct-user"].as_f64(), Some(17.0));
    assert_eq!(effective["function"]["fakedrop"], false);
}
