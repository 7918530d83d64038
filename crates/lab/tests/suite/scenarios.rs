//! The scenarios that come with the source load, and their JSON Schema agrees.

use std::fs;
use std::path::{Path, PathBuf};

use lab::registry::FUNCTIONS;
use lab::scenario::{Document, SCENARIO, Scenario};
use lab::schema::scenario_schema;
use lab::starter::starter;
use serde_json::Value;

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(folder).expect("the source has scenarios");
    let paths = entries.map(|entry| entry.expect("readable").path());
    // Captures lie beside the scenarios that name them.
    paths.filter(|path| path.extension().is_none_or(|end| end != "pcap")).collect()
}

#[test]
fn every_scenario_loads_and_validates() {
    let schema = scenario_schema(FUNCTIONS);
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let paths = scenarios();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        let scenario = Scenario::read(&path, FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
        let document =
            Document::parse(&SCENARIO, "file", &scenario.text).expect("it was parsed before");
        let value = Value::Object(document.root);
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn the_main_job_names_every_key_there_is() {
    let (scenario, document) = names_every_key("mobile-gateway.yaml", "tunneling-method");
    let unit = scenario.benchmarks[0].unit;
    let entries = methods::DEFAULT_METHODS.iter().filter_map(|name| methods::find(name));
    for entry in entries.filter(|entry| entry.subject == unit.subject()) {
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
fn the_scenarios_of_bridge_and_router_name_every_key_there_is() {
    for (name, other_word) in [("l2-forward.yaml", "fakedrop"), ("l3-forward.yaml", "")] {
        names_every_key(name, other_word);
    }
}

/// Asserts that a scenario names every key of its function and traffic but another word for one.
fn names_every_key(name: &str, other_word: &str) -> (Scenario, Document) {
    let path = scenarios().into_iter().find(|path| path.ends_with(name)).expect("it is there");
    let scenario = Scenario::read(&path, FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
    let document =
        Document::parse(&SCENARIO, "file", &scenario.text).expect("it was parsed before");
    let unit = scenario.benchmarks[0].unit;
    let sections = [("function", unit.config_schema()), ("traffic", unit.traffic_schema())];
    for (section, schema) in sections {
        let known = schema.get("properties").and_then(Value::as_object).expect("keys");
        // A scenario either describes its frames or has them from a capture.
        let described = |key: &&String| *key != other_word && !key.starts_with("pcap");
        for key in known.keys().filter(described) {
            assert!(document.root[section].get(key).is_some(), "{name}: {section}.{key}");
        }
    }
    (scenario, document)
}

#[test]
fn tipsys_names_of_pipelines_mean_what_tipsy_means() {
    let function = |name: &str| {
        let path = scenarios().into_iter().find(|path| path.ends_with(name)).expect("it is there");
        let scenario = Scenario::read(&path, FUNCTIONS).unwrap_or_else(|error| panic!("{error}"));
        let (benchmark, cell) = scenario.cells().next().expect("a cell");
        benchmark.configure(cell).expect("valid").effective()["function"].clone()
    };
    let router = function("tipsy-l3fwd.json");
    assert_eq!(router["source-mac"], "next-hop");
    assert_eq!(router["fakedrop"], false, "as the file states");
    assert_eq!(router["uplink-mac"], "dd:dd:dd:dd:00:01");
    let bridge = function("tipsy-l2fwd.json");
    assert_eq!((&bridge["learning"], &bridge["unknown"]), (&false.into(), &"flood".into()));
    assert_eq!(bridge["upstream-table-size"], 100_000);
    let patch = function("tipsy-portfwd.json");
    assert_eq!(patch["mode"], "patch");
    assert_eq!(patch["mac-swap-upstream"], "aa:bb:bb:aa:00:01");
    assert_eq!(patch["mac-swap-downstream"], Value::Null);
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

#[test]
fn tipsys_main_file_means_what_tipsy_means() {
    let path = scenarios().into_iter().find(|path| path.ends_with("tipsy-main.json"));
    let scenario = Scenario::read(&path.expect("it is there"), FUNCTIONS)
        .unwrap_or_else(|error| panic!("{error}"));
    let cells: Vec<String> = scenario.cells().map(|(_, cell)| cell.id.clone()).collect();
    let expected = [
        "users:user=10",
        "users:user=100",
        "users:user=1000",
        "limit:user=100,bst=10,server=10",
        "limit:user=1000,bst=100,server=100",
    ];
    assert_eq!(cells, expected);
    let methods: Vec<&str> =
        scenario.benchmarks.iter().map(|one| one.methods[0].method.name()).collect();
    assert_eq!(methods, ["forwarding-rate", "throughput"]);
    let rate = scenario.benchmarks[0].methods[0].method.configuration();
    assert_eq!(rate["duration"].as_f64(), Some(2.0));
    let (benchmark, cell) = scenario.cells().next().expect("several");
    let effective = benchmark.configure(cell).expect("valid").effective();
    assert_eq!(effective["function"]["rate-limit"].as_f64(), Some(4e10));
    assert_eq!(effective["function"]["tunnel"], "vxlan");
    assert_eq!(scenario.plots.len(), 2, "the third is of a pipeline that is not built");
    assert_eq!(scenario.plots[0].filter["pipeline.name"], "mobile-gateway");
    for part in ["`bng` is TIPSY's broadband gateway", "sut.coremask", "`ovs`", "14.88 Mpps"] {
        assert!(scenario.notes.iter().any(|note| note.contains(part)), "{:#?}", scenario.notes);
    }
}

#[test]
fn tipsys_scaling_study_grows_to_a_million_users() {
    let path = scenarios().into_iter().find(|path| path.ends_with("tipsy-mgw-scaling.yaml"));
    let scenario = Scenario::read(&path.expect("it is there"), FUNCTIONS)
        .unwrap_or_else(|error| panic!("{error}"));
    let of = |key: &str, cell: &lab::scenario::sweep::Combination| cell.sections[0][key].as_u64();
    for key in ["user", "server", "bst", "core"] {
        let values: std::collections::BTreeSet<_> =
            scenario.cells().map(|(_, cell)| of(key, cell)).collect();
        assert!(values.len() >= 2, "{key} grows: {values:?}");
    }
    for base in [("user", 50), ("server", 5), ("bst", 2)] {
        let least = scenario.cells().filter_map(|(_, cell)| of(base.0, cell)).min();
        assert_eq!(least, Some(base.1), "{}", base.0);
    }
    let most = scenario.cells().filter_map(|(_, cell)| of("user", cell)).max();
    assert_eq!(most, Some(1_000_000));
    assert!(scenario.plots.iter().any(|plot| plot.y_axis == ["cell.setup_seconds"]));
    assert!(scenario.notes.is_empty(), "{:?}", scenario.notes);
}

/// Everything of a starter is true: it loads as it stands, and each key that it shows in a comment
/// is one, with the value that it has without it.
#[test]
fn a_starter_runs_as_it_stands_and_so_do_its_keys() {
    for unit in FUNCTIONS {
        let made = starter(unit.name(), ("a.yaml", "s.json"), FUNCTIONS).expect("a starter");
        let effective = |text: String| {
            let scenario = Scenario::parse("a.yaml", text, FUNCTIONS)
                .unwrap_or_else(|error| panic!("{error}"));
            let benchmark = &scenario.benchmarks[0];
            let methods: Vec<Value> =
                benchmark.methods.iter().map(|one| one.method.configuration()).collect();
            (benchmark.configure(&benchmark.cells[0]).expect("valid").effective(), methods)
        };
        let as_it_is = effective(made.text.clone());
        let with_keys: String = made
            .text
            .lines()
            .map(|line| match line.split_once('#') {
                // Prose has a blank behind the sign, and a key has none.
                Some((indent, key)) if !key.starts_with([' ', '-']) => format!("{indent}{key}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert!(with_keys.lines().filter(|line| !line.contains('#')).count() > 20, "{with_keys}");
        assert_eq!(effective(with_keys), as_it_is, "{}", unit.name());
    }
}
