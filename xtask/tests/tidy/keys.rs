//! Tables of keys, as schemas have them: in docs/scenarios.md, and in the README of each unit.

use std::collections::BTreeSet;

use controllers::CONTROLLERS;
use daemon::FUNCTIONS as RUNNING;
use devices::registry::schemas;
use lab::registry::FUNCTIONS;
use methods::METHODS;
use ports::PORTS;
use serde_json::Value;

use crate::tree::FILES;
use crate::{none, written};

/// READMEs whose keys no registry has.
const OF_NO_REGISTRY: &[&str] = &["crates/ports/fault/README.md"];

#[test]
fn the_documented_keys_of_each_unit_are_those_of_the_program() {
    let mut held = BTreeSet::new();
    let mut hold = |folder: &str, name: &str, schema: &Value| {
        let path = format!("{folder}/{}/README.md", name.replace('-', "_"));
        written::hold(&path, "keys", &format!("{HEAD}{}", rows(schema, schema)));
        held.insert(path);
    };
    for unit in RUNNING {
        hold("crates/functions", unit.name(), unit.schema().as_value());
    }
    for model in FUNCTIONS {
        let path = format!("crates/models/{}/README.md", model.name().replace('-', "_"));
        let unit = RUNNING.iter().find(|unit| unit.name() == model.name());
        let (Some(unit), true) = (unit, FILES.iter().any(|file| file.path == path)) else {
            continue;
        };
        // Keys of the function are told there.
        let (of_function, mut schema) = (unit.schema(), model.config_schema().to_value());
        if let Some(keys) = schema["properties"].as_object_mut() {
            keys.retain(|key, _| of_function.as_value()["properties"].get(key).is_none());
        }
        hold("crates/models", model.name(), &schema);
    }
    for unit in CONTROLLERS {
        hold("crates/controllers", unit.name(), unit.schema().as_value());
    }
    PORTS.iter().for_each(|port| hold("crates/ports", port.name(), port.schema().as_value()));
    for (device, schema) in schemas() {
        hold("crates/devices/src", &device.folder(), schema.as_value());
    }
    for entry in METHODS {
        hold("crates/methods/src", entry.name, (entry.schema)().as_value());
    }
    let is_held = |path: &str| held.contains(path) || OF_NO_REGISTRY.contains(&path);
    let of_hand = FILES.iter().filter(|file| {
        let is_unit = file.path.starts_with("crates/") && file.path.ends_with("/README.md");
        is_unit && file.text.contains(HEAD) && !is_held(&file.path)
    });
    let of_hand: Vec<String> = of_hand.map(|file| file.path.clone()).collect();
    none("tables of keys that nobody holds", &of_hand);
}

/// A table of the keys of a schema within another, with a title.
pub fn table(title: &str, root: &Value, schema: &Value) -> String {
    format!("\n### {title}\n\n{HEAD}{}", rows(root, schema))
}

/// Tables of the keys of all mappings within a schema, each with the paths at which it stands:
/// `acl[]` for the entries of a list.
pub fn nested(root: &Value, schema: &Value) -> String {
    let mut found = Vec::new();
    mappings(root, schema, "", &mut found, 0);
    let table = |one: &Mapping| {
        let paths: Vec<String> = one.paths.iter().map(|path| format!("`{path}`")).collect();
        format!("\n#### {}\n\n{HEAD}{}", paths.join(", "), rows(root, one.schema))
    };
    found.iter().map(table).collect()
}

/// A mapping with keys of its own, within a schema.
struct Mapping<'a> {
    schema: &'a Value,
    paths: Vec<String>,
}

/// Collects the mappings below a schema, in the order of the keys.
fn mappings<'a>(
    root: &'a Value,
    schema: &'a Value,
    path: &str,
    found: &mut Vec<Mapping<'a>>,
    depth: usize,
) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        forms(root, property, &path, found, depth);
    }
}

/// Collects the mappings among the forms of a value, and those below them.
fn forms<'a>(
    root: &'a Value,
    value: &'a Value,
    path: &str,
    found: &mut Vec<Mapping<'a>>,
    depth: usize,
) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(name) = value["$ref"].as_str().and_then(|at| at.strip_prefix("#/$defs/")) {
        forms(root, &root["$defs"][name], path, found, depth + 1);
    }
    if value["items"].is_object() {
        forms(root, &value["items"], &format!("{path}[]"), found, depth + 1);
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        for one in value[choice].as_array().into_iter().flatten() {
            // A mapping of one key is a form of the value, which its row tells.
            let is_form = one["properties"].as_object().is_some_and(|keys| keys.len() == 1);
            match choice == "oneOf" && is_form {
                true => mappings(root, one, path, found, depth + 1),
                false => forms(root, one, path, found, depth + 1),
            }
        }
    }
    if value["properties"].as_object().is_some_and(|keys| !keys.is_empty()) {
        // The same type at several keys has one table.
        match found.iter_mut().find(|one| std::ptr::eq(one.schema, value)) {
            Some(known) if known.paths.iter().any(|one| one == path) => {}
            Some(known) => known.paths.push(path.to_owned()),
            None => {
                found.push(Mapping { schema: value, paths: vec![path.to_owned()] });
                mappings(root, value, path, found, depth + 1);
            }
        }
    }
}

fn rows(root: &Value, schema: &Value) -> String {
    let mut out = String::new();
    let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
    let is_required = |key: &String| required.iter().any(|one| *one == key);
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let kind = kind(root, property);
        let default = match (property.get("default"), unit(kind)) {
            (None, _) if is_required(key) => "required".to_owned(),
            (None | Some(Value::Null), _) => "–".to_owned(),
            (Some(Value::Object(parts)), _) if parts.len() <= PARTS_SHOWN => each(parts),
            (Some(Value::String(text)), _) => format!("`{text}`"),
            (Some(Value::Object(_)), _) => "all defaults".to_owned(),
            (Some(value), unit) => format!("`{}{unit}`", number(value)),
        };
        let told = property.get("description").or(kind.get("description"));
        let meaning = told.and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        let meaning = meaning.replace('|', "\\|");
        // The keys of a mapping with defaults are told where they are at home.
        let forms = match property.get("default") {
            Some(Value::Object(_)) => String::new(),
            _ => choices(kind) + &parts(root, kind),
        };
        out += &format!("| `{key}` | {default} | {meaning}{}{forms} |\n", range(property));
    }
    out
}

/// The defaults of a mapping's keys.
fn each(parts: &serde_json::Map<String, Value>) -> String {
    let each = parts.iter().map(|(key, value)| format!("`{key}: {}`", number(value)));
    each.collect::<Vec<_>>().join(", ").replace('"', "")
}

/// The schema of a property's type, where it has a name of its own.
fn kind<'a>(root: &'a Value, property: &'a Value) -> &'a Value {
    let alternatives = property["anyOf"].as_array();
    let named = alternatives.and_then(|all| all.iter().find(|one| one.get("$ref").is_some()));
    let reference = named.unwrap_or(property)["$ref"].as_str().unwrap_or_default();
    reference.strip_prefix("#/$defs/").map_or(property, |name| &root["$defs"][name])
}

/// The declared unit of a quantity, with a space before it.
fn unit(kind: &Value) -> String {
    let unit = kind["description"].as_str().and_then(|text| text.strip_prefix("A number in "));
    let unit = unit.and_then(|rest| rest.split(',').next()).filter(|unit| !unit.starts_with('('));
    unit.map(|unit| format!(" {unit}")).unwrap_or_default()
}

/// The forms of a value, where only some are taken: words, and mappings of one key.
fn choices(kind: &Value) -> String {
    let alternatives = kind["oneOf"].as_array().into_iter().flatten();
    let each = std::iter::once(kind).chain(alternatives).flat_map(|one| {
        let words = one["enum"].as_array().into_iter().flatten().chain([&one["const"]]);
        let words = words.filter(|word| word.is_string() || word.is_number());
        let words = words.map(|word| format!("`{}`", word.to_string().trim_matches('"')));
        // A mapping of one key is a form of the value; one of many is a section of its own.
        let keys = one["properties"].as_object().filter(|keys| keys.len() == 1);
        let keys = keys.into_iter().flatten();
        words.chain(keys.map(|(key, _)| format!("`{{{key}: …}}`"))).collect::<Vec<_>>()
    });
    let forms: Vec<String> = each.collect();
    if forms.is_empty() { String::new() } else { format!(" One of {}.", forms.join(", ")) }
}

/// The keys of a mapping, or of each entry of a list, where there are several.
fn parts(root: &Value, property: &Value) -> String {
    let (of, word) = match property.get("items") {
        Some(items) => (kind(root, items), "Each entry has"),
        None => (property, "It has"),
    };
    let keys = of["properties"].as_object().filter(|keys| keys.len() > 1);
    let keys: Vec<String> = keys.into_iter().flatten().map(|(key, _)| format!("`{key}`")).collect();
    if keys.is_empty() { String::new() } else { format!(" {word} {}.", keys.join(", ")) }
}

/// The limits that a key and the entries of its list state; what its type can hold is none.
fn range(property: &Value) -> String {
    let each = property.get("items").map(of_value).unwrap_or_default();
    let mut each = each.trim_start().chars();
    let each = each.next().map(|first| format!(" Each {}{}", first.to_lowercase(), each.as_str()));
    of_value(property) + &each.unwrap_or_default()
}

fn of_value(property: &Value) -> String {
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    let mut single = alternatives.filter_map(|one| one["const"].as_f64());
    if let (Some(single), Some(least)) = (single.next(), property.pointer("/anyOf/1/minimum")) {
        return format!(" {single}, or at least {least}.");
    }
    let limits = [&property["minimum"], &property["maximum"]].map(Value::as_f64);
    let word = |word: &str, of: &str| property[of].as_f64().map(|limit| format!("{word} {limit}"));
    let above = word("more than", "exclusiveMinimum");
    let below = word("less than", "exclusiveMaximum");
    if above.is_some() || below.is_some() {
        let above = above.or_else(|| word("at least", "minimum"));
        let below = below.or_else(|| word("at most", "maximum"));
        let both: Vec<String> = above.into_iter().chain(below).collect();
        return format!(" Must be {}.", both.join(" and "));
    }
    match (limits, property["maxItems"].as_u64()) {
        ([Some(0.0), Some(255.0 | 65535.0)], _) => String::new(),
        ([least, Some(most)], _) => format!(" From {} to {most}.", least.unwrap_or_default()),
        ([Some(least), None], _) if least != 0.0 => format!(" At least {least}."),
        (_, Some(most)) => match property["minItems"].as_u64() {
            Some(least) => format!(" From {least} to {most} entries."),
            None => format!(" At most {most} entries."),
        },
        _ => String::new(),
    }
}

/// A number without a fraction that says nothing.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Deepest forms and keys that are followed.
const DEPTH_MAX: usize = 16;

/// Most keys of a mapping whose defaults are listed.
const PARTS_SHOWN: usize = 6;

const HEAD: &str = "| key | default | meaning |\n|---|---|---|\n";
