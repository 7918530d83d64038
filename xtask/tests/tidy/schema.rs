//! The keys, figures and paths in docs/scenarios.md are those of the program.
//!
//! `UPDATE_GOLDEN=1` rewrites the tables from the same schemas and lists that the program uses.

use std::fs;

use devices::registry::DRIVERS;
use lab::registry::FUNCTIONS;
use lab::scenario::TIPSY_PIPELINES;
use lab::schema::scenario_schema;
use measure::record::{FIGURES, PATHS};
use methods::METHODS;
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
    let scenario = scenario_schema(FUNCTIONS);
    let at = |path: &str| scenario.pointer(path).expect("the schema has it");
    let mut out = table("The scenario", &scenario, &scenario);
    out += &table("`benchmark` and `default`", &scenario, at("/$defs/benchmark"));
    out += &table("`device`", &scenario, at("/properties/device/anyOf/1"));
    for driver in DRIVERS {
        let schema = driver.schema();
        let schema = schema.as_value();
        out += &table(&format!("`device: {{name: {}}}`", driver.name()), schema, schema);
    }
    for unit in FUNCTIONS {
        let (function, traffic) = (unit.config_schema(), unit.traffic_schema());
        let function = function.as_value();
        out += &table(&format!("`function: {{name: {}}}`", unit.name()), function, function);
        let traffic = traffic.as_value();
        out += &table(&format!("`traffic` of `{}`", unit.name()), traffic, traffic);
    }
    for entry in METHODS {
        let schema = (entry.schema)();
        let schema = schema.as_value();
        out += &table(&format!("`methods: [{{name: {}}}]`", entry.name), schema, schema);
    }
    let along = at("/$defs/method-entry/anyOf/1");
    out += &table("`methods: [{name: scale}]`", &scenario, along);
    let thresholds = at("/properties/thresholds/anyOf/0/items");
    out += &table("`thresholds`", &scenario, thresholds);
    out += &table("`visualize`", &scenario, at("/properties/visualize/anyOf/0/items"));
    out += &table("`tester`", &scenario, at("/$defs/tester"));
    out + &figures() + &paths() + &pipelines()
}

fn figures() -> String {
    let mut out = "\n### Figures\n\n| figure | unit |\n|---|---|\n".to_owned();
    out.extend(FIGURES.iter().map(|one| format!("| `{}` | {} |\n", one.name, one.unit)));
    out
}

fn paths() -> String {
    let mut out = "\n### Paths of plots\n\nBeside these: keys as `pipeline.user` (or `function.user`), \
                   `traffic.pkt-size`, `device.tester-core`, `tester.rate-limit`; figures as \
                   `throughput.latency_p99` or, of a part, `throughput.latency_p99.uplink`. Rates are \
                   summed over directions.\n\n| path | unit | meaning |\n|---|---|---|\n"
        .to_owned();
    out.extend(
        PATHS.iter().map(|one| format!("| `{}` | {} | {} |\n", one.path, one.unit, one.meaning)),
    );
    out
}

fn pipelines() -> String {
    let mut out =
        "\n### TIPSY's pipelines\n\n| `pipeline.name` | what it is | here |\n|---|---|---|\n"
            .to_owned();
    for (name, what) in TIPSY_PIPELINES {
        let unit = FUNCTIONS.iter().find(|unit| unit.aliases().contains(&name));
        let here = unit.map_or("not yet".to_owned(), |unit| format!("`{}`", unit.name()));
        out += &format!("| `{name}` | {} | {here} |\n", what.trim_start_matches("TIPSY's "));
    }
    out
}

fn table(title: &str, root: &Value, schema: &Value) -> String {
    let mut out = format!("\n### {title}\n\n| key | default | meaning |\n|---|---|---|\n");
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
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
        // A mapping of one key is a form of the value; one of many is a section of its own.
        let keys = one["properties"].as_object().filter(|keys| keys.len() == 1);
        let keys = keys.into_iter().flatten();
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
