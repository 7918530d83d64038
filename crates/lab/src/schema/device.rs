//! The schema of the `device` section: the keys of all devices in one mapping.
//!
//! Which of them a device knows is judged when a scenario is read; the schema only knows that one
//! of them does.

use devices::registry;
use serde_json::{Map, Value, json};

/// Schema of the section `device`: a name, a mapping with the keys of all devices, or a list of
/// both.
pub(super) fn schema() -> Value {
    let names: Vec<&str> = registry::devices().map(|device| device.name).collect();
    let core = json!({"type": "integer", "minimum": 0});
    let name = json!({"type": "string", "enum": names});
    let mut properties = json!({
        "name": {"description": "Name of the device, or a list of names to compare several devices.",
            "anyOf": [name, {"type": "array", "items": name, "minItems": 1}]},
        "tester-core": {"description": "Core of the tester.",
            "type": "integer", "minimum": 0},
        "worker-cores": {
            "description": "Cores of the device's workers.",
            "anyOf": [core, {"type": "array", "items": core, "minItems": 1}],
        },
    });
    // Keys of one name mean different things to different devices: any of them will do here.
    let mut own: std::collections::BTreeMap<String, Vec<Value>> = Default::default();
    for (device, schema) in registry::schemas() {
        let whole = schema.as_value();
        let keys = schema.get("properties").and_then(Value::as_object);
        for (key, schema) in keys.into_iter().flatten() {
            let mut schema = inlined(schema, whole, 0);
            let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            schema["description"] = format!("`{}`: {said}", device.name).into();
            own.entry(key.clone()).or_default().push(schema);
        }
    }
    for (key, schemas) in own {
        let lists = schemas.iter().map(|one| json!({"type": "array", "items": one}));
        let all: Vec<Value> = schemas.iter().cloned().chain(lists).collect();
        let told = schemas.iter().filter_map(|one| one["description"].as_str());
        let told = told.collect::<Vec<_>>().join(" ");
        properties[key] = json!({"description": told, "anyOf": all});
    }
    let one = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let entries = json!({"type": "array", "minItems": 1, "items": {"anyOf": [name, one]}});
    json!({
        "description": "Implementation of the function: one device, or several to compare.",
        "anyOf": [name, one, entries, {"type": "null"}],
    })
}

/// A schema with its references replaced by their targets, so that names cannot clash.
fn inlined(schema: &Value, whole: &Value, depth: usize) -> Value {
    let inner = |value: &Value| inlined(value, whole, depth + 1);
    match schema {
        _ if depth > INLINE_DEPTH_MAX => Value::Bool(true),
        Value::Object(map) => {
            let target =
                map.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix('#'));
            let mut out = match target.and_then(|at| whole.pointer(at)).map(inner) {
                Some(Value::Object(target)) => target,
                _ => Map::new(),
            };
            let rest = map.iter().filter(|(key, _)| *key != "$ref");
            out.extend(rest.map(|(key, value)| (key.clone(), inner(value))));
            Value::Object(out)
        }
        Value::Array(list) => list.iter().map(inner).collect(),
        other => other.clone(),
    }
}

/// Largest depth of replaced references, above that of any device's keys.
const INLINE_DEPTH_MAX: usize = 32;
