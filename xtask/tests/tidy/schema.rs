//! The keys of scenario files in docs/scenarios.md are those of the program.
//!
//! `UPDATE_GOLDEN=1` rewrites the tables from the same schemas that `plumbline schema` prints.

use std::fs;

use lab::registry::FUNCTIONS;
use methods::METHODS;
use schemars::Schema;
use serde_json::Value;

use crate::tree::{file, root};

#[test]
fn the_documented_keys_are_those_of_the_program() {
    let text = file(PATH);
    let expected = with_tables(text);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(root().join(PATH), expected).expect("the document can be written");
        return;
    }
    assert!(text == expected, "{PATH} is out of date; run: cargo xtask golden");
}

/// The document with fresh tables between their marks.
fn with_tables(text: &str) -> String {
    let (head, rest) = text.split_once(BEGIN).expect("the tables have a beginning");
    let (_, tail) = rest.split_once(END).expect("the tables have an end");
    format!("{head}{BEGIN}\n{}{END}{tail}", tables())
}

fn tables() -> String {
    let mut out = String::new();
    for unit in FUNCTIONS {
        out += &table(&format!("`function: {{name: {}}}`", unit.name()), &unit.config_schema());
        out += &table(&format!("`traffic` of `{}`", unit.name()), &unit.traffic_schema());
    }
    for entry in METHODS {
        out += &table(&format!("`methods: [{{name: {}}}]`", entry.name), &(entry.schema)());
    }
    out
}

fn table(title: &str, schema: &Schema) -> String {
    let mut out = format!("\n### {title}\n\n| key | default | meaning |\n|---|---|---|\n");
    let root = schema.as_value();
    for (key, property) in root["properties"].as_object().into_iter().flatten() {
        let kind = kind(root, property);
        let default = match (property.get("default"), unit(kind)) {
            (None | Some(Value::Null), _) => "–".to_owned(),
            (Some(Value::String(text)), _) => format!("`{text}`"),
            (Some(Value::Object(_)), _) => "all defaults".to_owned(),
            (Some(value), unit) => format!("`{}{unit}`", number(value)),
        };
        let meaning = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        let meaning = meaning.replace('|', "\\|");
        // The keys of a mapping with defaults are told where they are at home.
        let choices = match property.get("default") {
            Some(Value::Object(_)) => String::new(),
            _ => choices(kind),
        };
        out += &format!("| `{key}` | {default} | {meaning}{choices} |\n");
    }
    out
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
        let words = words.filter_map(Value::as_str).map(|word| format!("`{word}`"));
        let keys = one["properties"].as_object().into_iter().flatten();
        words.chain(keys.map(|(key, _)| format!("`{{{key}: …}}`"))).collect::<Vec<_>>()
    });
    let forms: Vec<String> = each.collect();
    if forms.is_empty() { String::new() } else { format!(" One of {}.", forms.join(", ")) }
}

/// A number without a fraction that says nothing.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

const PATH: &str = "docs/scenarios.md";
const BEGIN: &str = "<!-- keys: written by `cargo xtask golden` -->";
const END: &str = "<!-- end of keys -->";
