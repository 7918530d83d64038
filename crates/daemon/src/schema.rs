//! The JSON Schema of files for `plumbline run`, composed from those of functions and ports.

use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value, json};

use crate::config::{Control, Log, Metrics, Punt, Reload, Workers};
use crate::read::Parts;

/// Returns the JSON Schema of a daemon's configuration file.
pub fn file_schema(parts: Parts) -> Value {
    let mut definitions = Map::new();
    let function = |kind: &&dyn functions::Kind| {
        let names: Vec<&str> =
            [kind.name()].into_iter().chain(kind.aliases().iter().copied()).collect();
        let name = json!({"description": kind.summary(), "enum": names});
        with_key(kind.schema(), kind.name(), ("name", name))
    };
    let port = |kind: &&dyn ports::Kind| {
        let name = json!({"description": kind.summary(), "const": kind.name()});
        with_key(kind.schema(), kind.name(), ("type", name))
    };
    let mut gather = |(schema, own): (Value, Map<String, Value>)| {
        definitions.extend(own);
        schema
    };
    let names: Vec<&str> = parts.functions.iter().map(|kind| kind.name()).collect();
    let mut functions = vec![json!({"type": "string", "enum": names})];
    functions.extend(parts.functions.iter().map(function).map(&mut gather));
    let controller = |kind: &&dyn controller_kit::erased::Kind| {
        let name = json!({"description": kind.summary(), "const": kind.name()});
        with_key(kind.schema(), kind.name(), ("name", name))
    };
    let names: Vec<&str> = parts.controllers.iter().map(|kind| kind.name()).collect();
    let mut controllers = vec![json!({"type": "string", "enum": names})];
    controllers.extend(parts.controllers.iter().map(controller).map(&mut gather));
    let ports: Vec<Value> = parts.ports.iter().map(port).map(&mut gather).collect();
    let mut section = |name: &str, schema: Schema| gather(apart(schema, name));
    let properties = json!({
        "name": {"type": "string", "description": "Name of the daemon and of its socket; by \
                 default the file name without its extension."},
        "function": {"oneOf": functions},
        "ports": {
            "type": "object",
            "description": "Ports of the function, by their names.",
            "additionalProperties": if ports.is_empty() { json!(true) } else { json!({"oneOf": ports}) },
        },
        "workers": section("workers", schema_of::<Workers>()),
        "punt": section("punt", schema_of::<Punt>()),
        "controller": {
            "description": "Control plane of the function, if it is a single one.",
            "oneOf": controllers,
        },
        "controllers": {
            "type": "array",
            "description": "Control planes of the function, each of another name.",
            "items": {"oneOf": controllers},
        },
        "control": section("control", schema_of::<Control>()),
        "metrics": section("metrics", schema_of::<Metrics>()),
        "log": section("log", schema_of::<Log>()),
        "state": {"type": "string", "description": "State file, which keeps changes made by control \
                  and learned entries over a restart."},
        "reload": section("reload", schema_of::<Reload>()),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plumbline function file",
        "description": "Configuration of a function as a daemon, read by `plumbline run`.",
        "type": "object",
        "properties": properties,
        "anyOf": [
            {"required": ["function", "ports"]},
            {"required": ["controllers"]},
            {"required": ["controller"]},
        ],
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// Returns the JSON Schema of the updates of a function, or of the commands of a controller; `None`
/// if there is neither.
pub fn update_schema(parts: Parts, name: &str) -> Option<Value> {
    let is_it =
        |kind: &&&dyn functions::Kind| kind.name() == name || kind.aliases().contains(&name);
    if let Some(function) = parts.functions.iter().find(is_it) {
        return Some(function.update_schema().to_value());
    }
    let controller = parts.controllers.iter().find(|kind| kind.name() == name)?;
    let (mut definitions, mut all) = (Map::new(), Vec::new());
    for command in controller.commands() {
        let (keys, own) = apart((command.keys)(), command.name);
        definitions.extend(own);
        if keys["required"].as_array().is_none_or(Vec::is_empty) {
            all.push(json!({"description": command.summary, "const": command.name}));
        }
        all.push(json!({
            "description": command.summary,
            "type": "object",
            "properties": {command.name: keys},
            "required": [command.name],
            "additionalProperties": false,
        }));
    }
    Some(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Commands",
        "oneOf": all,
        "$defs": definitions,
    }))
}

fn schema_of<T: JsonSchema>() -> Schema {
    schema_for!(T)
}

/// Returns a unit's schema, extended by the key that names the unit, and the schema's definitions.
fn with_key(schema: Schema, name: &str, key: (&str, Value)) -> (Value, Map<String, Value>) {
    let (mut schema, definitions) = apart(schema, name);
    schema["properties"][key.0] = key.1;
    let mut required = schema["required"].as_array().cloned().unwrap_or_default();
    required.push(json!(key.0));
    schema["required"] = Value::Array(required);
    (schema, definitions)
}

/// Splits a schema from its definitions, which are renamed after the unit to be unique.
fn apart(schema: Schema, name: &str) -> (Value, Map<String, Value>) {
    let text = schema.to_value().to_string();
    let text = text.replace("\"#/$defs/", &format!("\"#/$defs/{name}."));
    let mut schema: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut definitions = Map::new();
    if let Value::Object(keys) = &mut schema {
        keys.remove("$schema");
        keys.remove("title");
        if let Some(Value::Object(own)) = keys.remove("$defs") {
            definitions =
                own.into_iter().map(|(key, one)| (format!("{name}.{key}"), one)).collect();
        }
    }
    (schema, definitions)
}
