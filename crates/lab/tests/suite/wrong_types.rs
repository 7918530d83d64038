//! A value of a wrong type, at every key there is: the answer is in words of a person, and no type
//! of the program is among them.

use lab::registry::FUNCTIONS;
use lab::scenario::Scenario;
use lab::schema::scenario_schema;
use serde_json::{Map, Value, json};

/// Values of every kind, of which each key refuses some.
fn values() -> [Value; 7] {
    [
        json!(null),
        json!(true),
        json!(-1.5),
        json!("perhaps"),
        json!([]),
        json!([[true]]),
        json!({"a": {}}),
    ]
}

/// A step to a value below another.
#[derive(Clone)]
enum Step {
    Key(String),
    Entry,
}

/// Passes the paths of all keys of a schema to `each`, down to a depth.
fn paths(root: &Value, here: &Value, path: &mut Vec<Step>, each: &mut impl FnMut(&[Step])) {
    if path.len() > DEPTH_MAX {
        return;
    }
    let target = here["$ref"].as_str().and_then(|at| root.pointer(at.strip_prefix('#')?));
    if let Some(target) = target {
        paths(root, target, path, each);
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        let alternatives = here[choice].as_array().into_iter().flatten();
        alternatives.for_each(|one| paths(root, one, path, each));
    }
    for (key, property) in here["properties"].as_object().into_iter().flatten() {
        path.push(Step::Key(key.clone()));
        each(path);
        paths(root, property, path, each);
        path.pop();
    }
    if here["items"].is_object() {
        path.push(Step::Entry);
        each(path);
        paths(root, &here["items"], path, each);
        path.pop();
    }
}

/// A value with nothing but one at a path.
fn with(path: &[Step], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, step| match step {
        Step::Key(key) => json!({ key: inner }),
        Step::Entry => json!([inner]),
    })
}

/// Tries all values at all keys of a schema, and collects the answers that name a type.
fn tried(
    (what, schema): (&str, &Value),
    found: &mut Vec<String>,
    read: &dyn Fn(Map<String, Value>) -> Option<String>,
) -> usize {
    let mut seen = std::collections::BTreeSet::new();
    let mut count = 0;
    paths(schema, schema, &mut Vec::new(), &mut |path| {
        for value in values() {
            let Value::Object(keys) = with(path, &value) else { return };
            if !seen.insert(json!(keys).to_string()) {
                continue;
            }
            count += 1;
            let Some(answer) = read(keys.clone()) else { continue };
            if names_a_type(&answer) {
                found.push(format!("{what} {}: {answer}", json!(keys)));
            }
        }
    });
    count
}

/// Whether a text has a word of Rust or of its parsers in it.
fn names_a_type(text: &str) -> bool {
    // What the file says, and the names of keys, are in quotes.
    let mut plain = String::new();
    for (at, part) in text.split('`').enumerate() {
        plain += if at % 2 == 0 { part } else { " " };
    }
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|word| {
        let inner = word.chars().zip(word.chars().skip(1));
        let is_camel =
            inner.clone().filter(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
        WORDS.contains(&word)
            || word.contains('_')
            || (is_camel.count() > 0 && !NAMES.contains(&word))
    })
}

#[test]
fn no_answer_to_a_value_of_a_wrong_type_names_a_type_of_the_program() {
    let mut found = Vec::new();
    let mut count = 0;
    for unit in FUNCTIONS {
        let (config, traffic) = (unit.config_schema(), unit.traffic_schema());
        count += tried((unit.name(), config.as_value()), &mut found, &|keys| {
            unit.read(keys, Map::new()).err().map(|error| error.what)
        });
        count += tried((unit.name(), traffic.as_value()), &mut found, &|keys| {
            unit.read(Map::new(), keys).err().map(|error| error.what)
        });
    }
    for entry in methods::METHODS {
        let schema = (entry.schema)();
        count += tried((entry.name, schema.as_value()), &mut found, &|keys| {
            (entry.read)(Value::Object(keys)).err().map(|error| error.what)
        });
    }
    let parsed = |scenario: Value| {
        let read = Scenario::parse("a.json", scenario.to_string(), FUNCTIONS);
        read.err().map(|error| error.what)
    };
    for (device, schema) in devices::registry::schemas() {
        count += tried((device.name, schema.as_value()), &mut found, &|mut keys| {
            keys.insert("name".into(), device.name.into());
            let function = if device.name == "embedded" { "l2-switch" } else { "l3-router" };
            parsed(json!({"function": function, "methods": "throughput", "device": keys}))
        });
    }
    // The keys of the scenario itself, and the parts of it that no unit has.
    let mut whole = scenario_schema(FUNCTIONS);
    for (key, property) in whole["properties"].as_object_mut().expect("keys") {
        if ["function", "pipeline", "traffic", "device"].contains(&key.as_str()) {
            *property = json!({});
        }
    }
    whole["$defs"]["benchmark"] = json!({});
    whole["$defs"]["method"] = json!({});
    count += tried(("scenario", &whole), &mut found, &|mut keys| {
        if !keys.contains_key("function") {
            keys.insert("function".into(), "l2-switch".into());
        }
        if let Some(Value::Object(scale)) = keys.get_mut("methods") {
            scale.entry("name").or_insert("scale".into());
            scale.entry("along").or_insert("traffic.pkt-size".into());
        }
        parsed(Value::Object(keys))
    });
    assert!(count > 5_000, "only {count} values were tried");
    assert!(found.is_empty(), "{} of {count}:\n{}", found.len(), found.join("\n"));
}

/// Words that only a programmer knows.
const WORDS: &[&str] = &[
    "struct",
    "enum",
    "tuple",
    "variant",
    "untagged",
    "newtype",
    "boolean",
    "integer",
    "sequence",
    "string",
    "unit",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "f32",
    "f64",
    "bool",
    "Option",
    "Vec",
    "String",
    "deserialize",
    "serde",
    "invalid",
    "field",
];

/// Words that look like names of types.
const NAMES: &[&str] = &[
    "MongoDB", "IPv4", "IPv6", "MPv6", "ICMPv6", "MiB", "GiB", "KiB", "kB", "MByte", "Mbit",
    "Gbit", "kbit", "kHz", "iBGP", "eBGP",
];

const DEPTH_MAX: usize = 5;
