//! The JSON Schema of scenario files, composed from the schemas of functions and methods.
//!
//! No key is described here twice: a function's keys come from its configuration types, and this
//! module only adds what a scenario adds to them: the name, the sections, and that any single value
//! may also be a list to sweep over.

use methods::METHODS;
use serde_json::{Map, Value, json};

use crate::scenario::keys::Place;
use crate::scenario::{DEVICES, Functions};

/// The schema of scenario files for these functions.
pub fn scenario_schema(functions: Functions) -> Value {
    let mut definitions = Map::new();
    let mut function_choices = vec![json!({"type": "string", "enum": names(functions)})];
    let mut traffic_choices = Vec::new();
    for unit in functions {
        let known_as: Vec<&str> =
            [unit.name()].into_iter().chain(unit.aliases().iter().copied()).collect();
        let name = json!({"description": unit.summary(), "enum": known_as});
        let config = Part { prefix: format!("{}.function", unit.name()), sweep: true };
        let config = config.embed(&unit.config_schema(), &mut definitions);
        function_choices.push(with_name(config, name));
        let traffic = Part { prefix: format!("{}.traffic", unit.name()), sweep: true };
        traffic_choices.push(traffic.embed(&unit.traffic_schema(), &mut definitions));
    }
    let mut method_choices =
        vec![json!({"type": "string", "enum": METHODS.iter().map(|m| m.name).collect::<Vec<_>>()})];
    for entry in METHODS {
        let part = Part { prefix: format!("method.{}", entry.name), sweep: false };
        let options = part.embed(&(entry.schema)(), &mut definitions);
        let name = json!({"description": entry.summary, "const": entry.name});
        method_choices.push(with_name(options, name));
    }
    definitions.insert("function".into(), one_of(function_choices));
    definitions.insert("method".into(), one_of(method_choices));
    definitions.insert(
        "methods".into(),
        json!({"anyOf": [
            {"$ref": "#/$defs/method"},
            {"type": "array", "items": {"$ref": "#/$defs/method"}, "minItems": 1},
        ]}),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plumbline scenario",
        "description": "Which function to measure, on which device, with which traffic, by which \
                        methods. A list in place of a single value is swept over.",
        "type": "object",
        "properties": top_level(one_of(traffic_choices)),
        "additionalProperties": false,
        "oneOf": [{"required": ["function"]}, {"required": ["pipeline"]}],
        "$defs": definitions,
    })
}

fn top_level(traffic: Value) -> Value {
    json!({
        "name": {
            "description": "Names the run's folder; default: the name of the file.",
            "type": "string",
        },
        "description": {"description": "What the scenario is for; shown in the report.",
            "type": "string"},
        "function": {"description": "The network function and its configuration.",
            "$ref": "#/$defs/function"},
        "pipeline": {
            "description": "TIPSY's word for `function`; `scale` then defaults to `none`.",
            "$ref": "#/$defs/function",
        },
        "device": device(),
        "traffic": nullable(traffic, "What the tester sends; every key has a default."),
        "methods": {"description": "What to find out; default: every method.",
            "$ref": "#/$defs/methods"},
        "method": {"description": "Another word for `methods`.", "$ref": "#/$defs/methods"},
        "scale": {
            "description": "How lists within a section combine: `none` (first values only), \
                            `outer` (every combination, the default) or `joint` (first values \
                            together, then the second ones …).",
            "enum": ["none", "outer", "joint"],
        },
    })
}

fn device() -> Value {
    let names = DEVICES.map(|(name, _)| name);
    let core = json!({"type": "integer", "minimum": 0});
    json!({
        "description": "What implements the function.",
        "anyOf": [
            {"type": "string", "enum": names},
            {
                "type": "object",
                "properties": {
                    "name": {"enum": names},
                    "tester-core": {"description": "The core for the tester.",
                        "type": "integer", "minimum": 0},
                    "worker-cores": {
                        "description": "The cores for the device's workers.",
                        "anyOf": [core, {"type": "array", "items": core, "minItems": 1}],
                    },
                },
                "additionalProperties": false,
            },
        ],
    })
}

/// A schema on its way into the scenario's: references get a prefix, and values may become lists.
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

/// Allows a list wherever the sweep takes one: for every key whose value is not a list by nature.
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

/// A section that may be left empty, as YAML has it when only comments stand below its name.
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
