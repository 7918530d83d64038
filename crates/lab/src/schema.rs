//! The JSON Schema of scenario files, composed from the schemas of functions and methods.
//!
//! No key is described here twice: a function's keys come from its configuration types, and this
//! module only adds what a scenario adds to them: the name, the sections, the list of benchmarks,
//! and that any single value may also be a list to sweep over.

mod device;

use methods::METHODS;
use serde_json::{Map, Value, json};

use crate::scenario::plan::REPETITIONS_MAX;
use crate::scenario::{Functions, plots, scale, sections, thresholds, tipsy};
use keys::Place;

/// JSON Schema of scenario files for the given functions.
pub fn scenario_schema(functions: Functions) -> Value {
    let mut definitions = Map::new();
    let sections = functions_and_traffic(functions, &mut definitions);
    methods(&mut definitions);
    let tester = tester(&mut definitions);
    let named = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    definitions.insert("function".into(), sections.function);
    definitions.insert("any-function".into(), sections.any_function);
    definitions.insert("traffic".into(), sections.traffic);
    definitions.insert("device".into(), device::schema());
    let benchmark = benchmark(&named("any-function"), &named("traffic"));
    definitions.insert("benchmark".into(), benchmark);
    let mut properties = whole();
    properties.extend(entry(&named("function"), &named("traffic")));
    properties.insert("tester".into(), nullable(tester, TESTER));
    let of_entries: Map<String, Value> = sections::ENTRY_KEYS
        .iter()
        .filter(|key| !sections::WHOLE_KEYS.contains(key))
        .map(|key| ((*key).to_owned(), Value::Bool(false)))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plumbline scenario",
        "description": "The function to measure, the device, the traffic and the methods. A list in \
                        place of a single value is swept.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "oneOf": [
            {"required": ["function"]}, {"required": ["pipeline"]}, {"required": ["benchmark"]},
        ],
        "dependentRequired": {"default": ["benchmark"]},
        "if": {"required": ["benchmark"]},
        "then": {"properties": of_entries},
        "$defs": definitions,
    })
}

/// Schemas of the sections that depend on the function.
struct Sections {
    /// Schema of a section `function` with its name.
    function: Value,
    /// Schema of a section `function` in which any key may be absent, as in parts of benchmarks
    /// that are merged, and which may name TIPSY's pipelines that are not implemented.
    any_function: Value,
    /// Schema of the section `traffic` of any function.
    traffic: Value,
}

fn functions_and_traffic(functions: Functions, definitions: &mut Map<String, Value>) -> Sections {
    let mut choices = vec![json!({"type": "string", "enum": names(functions)})];
    let mut parts = choices.clone();
    let mut traffic_choices = Vec::new();
    for unit in functions {
        let known_as: Vec<&str> =
            [unit.name()].into_iter().chain(unit.aliases().iter().copied()).collect();
        let name = json!({"description": unit.summary(), "enum": known_as});
        let config = Part { prefix: format!("{}.function", unit.name()), sweep: true };
        let config = with_name(config.embed(&unit.config_schema(), definitions), name);
        let mut part = config.clone();
        if let Value::Object(keys) = &mut part {
            keys.remove("required");
        }
        parts.push(part);
        choices.push(config);
        let traffic = Part { prefix: format!("{}.traffic", unit.name()), sweep: true };
        let mut traffic = traffic.embed(&unit.traffic_schema(), definitions);
        for key in tipsy::TRAFFIC_ASIDE {
            traffic["properties"][key] = json!({"description": "Key of TIPSY's traces; ignored."});
        }
        traffic["properties"]["json"] = json!({"type": "null"});
        traffic_choices.push(traffic);
    }
    let absent: Vec<&str> = tipsy::PIPELINES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !functions.iter().any(|unit| unit.aliases().contains(name)))
        .collect();
    parts.push(json!({
        "description": "A pipeline of TIPSY that is not implemented; its benchmark is skipped.",
        "type": "object",
        "properties": {"name": {"description": "Name of the pipeline.", "enum": absent}},
        "required": ["name"],
    }));
    Sections {
        function: one_of(choices),
        any_function: one_of(parts),
        traffic: one_of(traffic_choices),
    }
}

fn methods(definitions: &mut Map<String, Value>) {
    let mut choices =
        vec![json!({"type": "string", "enum": METHODS.iter().map(|m| m.name).collect::<Vec<_>>()})];
    for entry in METHODS {
        let part = Part { prefix: format!("method.{}", entry.name), sweep: false };
        let options = part.embed(&(entry.schema)(), definitions);
        let name = json!({"description": entry.summary, "const": entry.name});
        choices.push(with_name(options, name));
    }
    definitions.insert("method".into(), one_of(choices));
    let method = json!({"$ref": "#/$defs/method"});
    let entry = json!({"anyOf": [method, scale::schema(&method)]});
    definitions.insert("method-entry".into(), entry);
    let entry = json!({"$ref": "#/$defs/method-entry"});
    definitions.insert(
        "methods".into(),
        json!({"anyOf": [
            entry,
            {"type": "array", "items": entry, "minItems": 1},
            {"type": "null"},
        ]}),
    );
}

fn tester(definitions: &mut Map<String, Value>) -> Value {
    let part = Part { prefix: "tester".into(), sweep: true };
    let schema = schemars::schema_for!(tipsy::tester::Keys);
    let mut tester = part.embed(&schema, definitions);
    for key in tipsy::tester::ASIDE {
        tester["properties"][key] = json!({"description": "Key of TIPSY's tester; ignored."});
    }
    definitions.insert("tester".into(), tester);
    json!({"$ref": "#/$defs/tester"})
}

/// Schema of one of several benchmarks, or of `default`.
fn benchmark(function: &Value, traffic: &Value) -> Value {
    let mut properties = entry(function, traffic);
    let text = json!({"anyOf": [{"type": ["string", "number", "null"]}]});
    for key in ["id", "name", "description"] {
        properties.insert(key.into(), text.clone());
    }
    properties["id"]["description"] =
        "Name of the benchmark; several benchmarks may have the same name.".into();
    properties["name"]["description"] = "Synonym of `id`.".into();
    properties["description"]["description"] = "Purpose of the benchmark.".into();
    let tester = json!({"$ref": "#/$defs/tester"});
    properties.insert("tester".into(), nullable(tester, TESTER));
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

/// Schemas of the keys of the scenario as a whole, and of those that split it.
fn whole() -> Map<String, Value> {
    let repetitions =
        json!({"type": ["integer", "null"], "minimum": 1, "maximum": REPETITIONS_MAX});
    let benchmark = json!({"$ref": "#/$defs/benchmark"});
    let keys = [
        (
            "name",
            json!({"description": "Name of the scenario, also used for the run's folder; by default \
                the file name.", "type": "string"}),
        ),
        (
            "description",
            json!({"description": "Purpose of the scenario; shown in the report.",
                "type": "string"}),
        ),
        (
            "references",
            json!({"description": "Published figures that the report shows next to ours, by the \
                prefixes of their names (`vswitch.fib`); by default all of the function.",
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        ),
        (
            "repetitions",
            described(
                repetitions,
                "Number of repetitions of each method in each cell; by default 1.",
            ),
        ),
        (
            "seed",
            described(
                json!({"type": ["integer", "null"], "minimum": 0}),
                "Seed of the random order of measurements; by default 1.",
            ),
        ),
        (
            "compare",
            described(
                json!({"type": ["string", "null"]}),
                "The swept key (`function.core`) whose values are measured side by side, in pairs.",
            ),
        ),
        ("thresholds", thresholds()),
        ("visualize", plots::schema()),
        (
            "benchmark",
            json!({"description": "List of benchmarks in one file, in TIPSY's form.",
                "type": "array", "items": benchmark, "minItems": 1}),
        ),
        (
            "default",
            json!({"description": "Keys common to all benchmarks: merged into each, with lists \
                concatenated.",
                "anyOf": [benchmark]}),
        ),
    ];
    keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect()
}

fn thresholds() -> Value {
    let quantity = json!({"type": ["number", "string", "null"]});
    let text = json!({"type": ["string", "null"]});
    let mut properties = Map::new();
    for key in thresholds::KEYS {
        let (what, schema) = match key {
            "figure" => ("Name of the figure: `throughput`.", json!({"type": "string"})),
            "method" => {
                ("Method that reports the figure; by default any method that does.", text.clone())
            }
            "of" => ("Direction or stage of the figure.", text.clone()),
            "cells" => (
                "Cells to which the threshold applies, as swept keys with values; by default all.",
                json!({"type": ["object", "null"]}),
            ),
            "at-least" => ("Smallest permitted value of the figure: `5 Mpps`.", quantity.clone()),
            _ => ("Largest permitted value of the figure: `100 us`.", quantity.clone()),
        };
        properties.insert(key.to_owned(), described(schema, what));
    }
    json!({
        "description": "Conditions on figures that must be met for the bench to pass.",
        "anyOf": [{"type": "array", "items": {
            "type": "object",
            "properties": properties,
            "required": ["figure"],
            "anyOf": [{"required": ["at-least"]}, {"required": ["at-most"]}],
            "additionalProperties": false,
        }}, {"type": "null"}],
    })
}

/// Schemas of the keys of a benchmark, without names and tester.
fn entry(function: &Value, traffic: &Value) -> Map<String, Value> {
    let methods = json!({"$ref": "#/$defs/methods"});
    let keys = [
        ("function", described(function.clone(), "The network function and its configuration.")),
        (
            "pipeline",
            described(
                function.clone(),
                "TIPSY's synonym of `function`; `scale` then defaults to `none`.",
            ),
        ),
        (
            "device",
            described(
                json!({"$ref": "#/$defs/device"}),
                "Implementation of the function: one device, or several to compare.",
            ),
        ),
        (
            "traffic",
            nullable(traffic.clone(), "Traffic that the tester sends; every key has a default."),
        ),
        (
            "methods",
            described(
                methods.clone(),
                "Methods of measurement; by default `capacity` and `throughput`.",
            ),
        ),
        ("method", described(methods, "Synonym of `methods`.")),
        (
            "scale",
            json!({
                "description": "How lists within a section combine: `none` (first values only), \
                                `outer` (all combinations, the default) or `joint` (the first \
                                values together, then the second values …).",
                "enum": ["none", "outer", "joint", null],
            }),
        ),
        ("sut", tipsy::sut::schema()),
    ];
    keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect()
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

const TESTER: &str = "TIPSY's tester, which is replaced by methods.";

/// Embeds a unit's schema into that of the scenario: references get a prefix, and values may become
/// lists.
struct Part {
    prefix: String,
    sweep: bool,
}

impl Part {
    /// Moves the definitions of `schema` to `definitions` and returns its root.
    fn embed(&self, schema: &schemars::Schema, definitions: &mut Map<String, Value>) -> Value {
        let mut root = schema.as_value().clone();
        if self.sweep {
            sweep(&mut root, Place::root(schema));
        }
        if let Value::Object(keys) = &mut root {
            keys.remove("$schema");
            if let Some(Value::Object(own)) = keys.remove("$defs") {
                for (name, mut definition) in own {
                    self.rename(&mut definition);
                    definitions.insert(format!("{}.{name}", self.prefix), definition);
                }
            }
        }
        self.rename(&mut root);
        root
    }

    fn rename(&self, schema: &mut Value) {
        match schema {
            Value::Object(keys) => {
                for (key, value) in keys {
                    match value {
                        Value::String(target) if key == "$ref" => {
                            if let Some(name) = target.strip_prefix("#/$defs/") {
                                *target = format!("#/$defs/{}.{name}", self.prefix);
                            }
                        }
                        other => self.rename(other),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(item)),
            _ => {}
        }
    }
}

/// Permits a list for every key whose value can be swept, which are those whose value is not a list
/// itself.
fn sweep(schema: &mut Value, place: Place<'_>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (key, property) in properties {
        let Some(inner) = place.key(key) else { continue };
        if inner.takes_list() {
            continue;
        }
        if inner.has_keys() {
            sweep(property, inner);
        }
        let single = property.take();
        let mut either =
            json!({"anyOf": [single, {"type": "array", "items": single, "minItems": 1}]});
        for kept in ["description", "default"] {
            if let Some(value) = single.get(kept) {
                either[kept] = value.clone();
            }
        }
        *property = either;
    }
}

fn with_name(mut schema: Value, name: Value) -> Value {
    if let Value::Object(keys) = &mut schema {
        let old = keys.remove("properties");
        let mut properties = Map::from_iter([("name".to_owned(), name)]);
        if let Some(Value::Object(old)) = old {
            properties.extend(old);
        }
        keys.insert("properties".into(), Value::Object(properties));
        let required = keys.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.push("name".into());
        }
    }
    schema
}

fn one_of(mut choices: Vec<Value>) -> Value {
    match choices.len() {
        1 => choices.remove(0),
        _ => json!({"anyOf": choices}),
    }
}

/// A section that may be empty, as in YAML if only comments follow its name.
fn nullable(schema: Value, description: &str) -> Value {
    json!({"description": description, "anyOf": [schema, {"type": "null"}]})
}

fn names(functions: Functions) -> Vec<&'static str> {
    functions
        .iter()
        .flat_map(|u| [u.name()].into_iter().chain(u.aliases().iter().copied()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FUNCTIONS;
    use crate::scenario::Scenario;

    /// The schema and the program must agree on what a scenario is.
    #[test]
    fn the_schema_accepts_what_loads_and_refuses_what_does_not() {
        let schema = scenario_schema(FUNCTIONS);
        let validator = jsonschema::validator_for(&schema).expect("the schema is one");
        for (good, value) in [
            (true, json!({"function": "fake"})),
            (true, json!({"function": {"name": "fake", "user": 5, "ports": [1, 2]}})),
            (true, json!({"function": {"name": "fake", "user": [5, 6]}, "scale": "joint"})),
            (true, json!({"pipeline": {"name": "fk"}, "traffic": {"pkt-size": [64, 128]}})),
            (true, json!({"function": "fake", "traffic": null, "methods": "capacity"})),
            (true, json!({"function": "fake", "methods": ["capacity", {"name": "capacity"}]})),
            (true, json!({"function": "fake", "device": {"name": "embedded"}})),
            (true, json!({"function": "fake", "repetitions": 3, "seed": 7, "visualize": []})),
            (
                true,
                json!({"function": "fake", "methods": [
                    {"name": "scale", "along": "function.user", "from": 1, "to": 1000},
                    {"name": "scale", "along": "traffic.pkt-size", "values": [64, 128],
                        "method": {"name": "throughput"}},
                ]}),
            ),
            (
                true,
                json!({"function": {"name": "fake", "user": [1, 2]}, "compare": "function.user",
                "thresholds": [{"figure": "throughput", "at-least": "5 Mpps"}]}),
            ),
            (
                true,
                json!({"function": "fake", "visualize": [{"x-axis": "function.user",
                "y-axis": ["cell.setup_seconds"], "group-by": "traffic.pkt-size"}]}),
            ),
            (
                true,
                json!({"pipeline": {"name": "fk"}, "tester": {"type": "moongen-rfc2544"},
                "sut": {"type": "ovs", "hostname": "a"}, "traffic": {"thread": 0}}),
            ),
            (
                true,
                json!({"benchmark": [{"id": "a", "pipeline": {"name": "fk", "user": [1, 2]}},
                {"pipeline": {"name": "bng", "cpe": 3}}], "default": {"scale": "outer"}}),
            ),
            (
                true,
                json!({"benchmark": [{"name": "a", "methods": ["capacity"]}, null],
                "default": {"function": {"name": "fake", "user": 5}}}),
            ),
            (false, json!({"benchmark": []})),
            (false, json!({"benchmark": [{"function": {"name": "fake", "usr": 5}}]})),
            (false, json!({"benchmark": [{"function": "fake"}], "device": "embedded"})),
            (false, json!({"function": "fake", "default": {}})),
            (false, json!({"function": "fake", "repetitions": 0})),
            (false, json!({"function": "fake", "thresholds": [{"figure": "throughput"}]})),
            (false, json!({"function": "fake", "visualize": [{"x-axis": "function.user"}]})),
            (false, json!({"function": "fake", "methods": [{"name": "scale"}]})),
            (false, json!({"function": "fake", "tester": {"rate": 5}})),
            (false, json!({})),
            (false, json!({"function": "fake", "pipeline": "fake"})),
            (false, json!({"function": {"user": 5}})),
            (false, json!({"function": {"name": "fake", "usr": 5}})),
            (false, json!({"function": {"name": "fake", "user": []}})),
            (false, json!({"function": {"name": "fake", "user": "many"}})),
            (false, json!({"function": {"name": "fake", "behaviour": "odd"}})),
            (false, json!({"function": "fake", "methods": []})),
            (false, json!({"function": "fake", "methods": [{"name": "capacity", "x": 1}]})),
            (false, json!({"function": "fake", "scale": "inner"})),
            (false, json!({"function": "fake", "device": "emb"})),
            (false, json!({"function": "fake", "other": 1})),
        ] {
            let loads = Scenario::parse("test.json", value.to_string(), FUNCTIONS);
            assert_eq!(loads.is_ok(), good, "loading {value}: {loads:?}");
            assert_eq!(validator.is_valid(&value), good, "validating {value}");
        }
    }

    #[test]
    fn every_reference_has_its_target() {
        let schema = scenario_schema(FUNCTIONS);
        fn walk(value: &Value, root: &Value) {
            match value {
                Value::Object(keys) => {
                    if let Some(Value::String(target)) = keys.get("$ref") {
                        let path = target.strip_prefix('#').expect("references stay inside");
                        assert!(root.pointer(path).is_some(), "{target}");
                    }
                    keys.values().for_each(|inner| walk(inner, root));
                }
                Value::Array(items) => items.iter().for_each(|inner| walk(inner, root)),
                _ => {}
            }
        }
        walk(&schema, &schema);
    }
}
