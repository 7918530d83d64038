//! The keys, figures and paths in docs/scenarios.md are those of the program: its own schemas and
//! lists.

use devices::registry;
use lab::registry::FUNCTIONS;
use lab::scenario::TIPSY_PIPELINES;
use lab::schema::scenario_schema;
use measure::record::PATHS;
use methods::METHODS;
use serde_json::{Value, json};

use crate::keys::{nested, table};
use crate::tree::{FILES, root};
use crate::{none, written};

#[test]
fn the_documented_keys_are_those_of_the_program() {
    written::hold("docs/scenarios.md", "keys", &tables());
}

/// The keys of an entry of a list are documented like those of the section: an access list's, say.
#[test]
fn keys_within_keys_are_documented() {
    let tables = tables();
    for (path, key) in [("`acl[]", "action"), ("`interfaces[]", "vlan"), ("`goals[]", "loss-ratio")]
    {
        let headed = |part: &&str| part.lines().next().is_some_and(|line| line.contains(path));
        let has_key = |part: &str| part.contains(&format!("\n| `{key}` | "));
        let found = tables.split("\n#### ").filter(headed).any(has_key);
        assert!(found, "no table of {path} has {key}");
    }
}

/// Editors show the meaning of a key by its description in the schema.
#[test]
fn every_key_of_a_scenario_has_a_description() {
    let scenario = scenario_schema(FUNCTIONS);
    let (mut findings, mut count) = (Vec::new(), 0);
    described(&scenario, &scenario, "", &mut findings, &mut count);
    assert!(count > 500, "only {count} keys were found");
    none("keys without a description in the schema of scenarios", &findings);
}

fn described(
    root: &Value,
    here: &Value,
    path: &str,
    findings: &mut Vec<String>,
    count: &mut usize,
) {
    match here {
        Value::Object(parts) => {
            let keys = parts.get("properties").and_then(Value::as_object);
            // A mapping of one key, which is a form of a value, is told as a whole.
            let is_told = |keys: &&serde_json::Map<String, Value>| {
                keys.len() > 1 || !parts.contains_key("description")
            };
            for (key, property) in keys.filter(is_told).into_iter().flatten() {
                // A key that is forbidden here has no meaning.
                let is_none = *property == json!({"type": "null"}) || property.is_boolean();
                let target = property["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
                let target = target.and_then(|at| root.pointer(at)).unwrap_or(&Value::Null);
                *count += 1;
                if !is_none && property.get("description").or(target.get("description")).is_none() {
                    findings.push(format!("{path}/{key}"));
                }
            }
            parts.iter().for_each(|(name, part)| {
                described(root, part, &format!("{path}/{name}"), findings, count);
            });
        }
        Value::Array(items) => {
            items.iter().for_each(|item| described(root, item, path, findings, count));
        }
        _ => {}
    }
}

/// `docs/scenario.schema.json` is what the first line of each scenario names for editors.
#[test]
fn editors_find_the_schema_of_every_scenario() {
    let mut parts = scenario_schema(FUNCTIONS);
    let definitions = parts["$defs"].take();
    let definitions = definitions.as_object().expect("definitions");
    // A line for each definition, so that a difference can be read.
    let lines: Vec<String> =
        definitions.iter().map(|(name, one)| format!("{}: {one}", json!(name))).collect();
    let text = parts
        .to_string()
        .replace("\"$defs\":null", &format!("\"$defs\": {{\n{}\n}}", lines.join(",\n")));
    let text = text + "\n";
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), scenario_schema(FUNCTIONS));
    let path = root().join("docs/scenario.schema.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("the document can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "docs/scenario.schema.json is old; run: cargo xtask golden");
    // JSON has no comments, so TIPSY's own files go without the line.
    let scenarios = FILES
        .iter()
        .filter(|file| file.path.starts_with("scenarios/") && file.path.ends_with(".yaml"));
    let line = "# yaml-language-server: $schema=../docs/scenario.schema.json\n";
    let without = scenarios.filter(|file| !file.text.starts_with(line));
    let without: Vec<String> = without.map(|file| file.path.clone()).collect();
    none("scenarios whose first line names no schema", &without);
}

fn tables() -> String {
    let scenario = scenario_schema(FUNCTIONS);
    let at = |path: &str| scenario.pointer(path).expect("the schema has it");
    let mut out = table("The scenario", &scenario, &scenario);
    out += &table("`benchmark` and `default`", &scenario, at("/$defs/benchmark"));
    out += &table("`device`", &scenario, at("/$defs/device/anyOf/1"));
    for (device, schema) in registry::schemas() {
        let schema = schema.as_value();
        out += &table(&format!("`device: {{name: {}}}`", device.name), schema, schema);
        out += &nested(schema, schema);
    }
    for unit in FUNCTIONS {
        let (function, traffic) = (unit.config_schema(), unit.traffic_schema());
        let function = function.as_value();
        out += &table(&format!("`function: {{name: {}}}`", unit.name()), function, function);
        out += &nested(function, function);
        let traffic = traffic.as_value();
        out += &table(&format!("`traffic` of `{}`", unit.name()), traffic, traffic);
        out += &nested(traffic, traffic);
    }
    for entry in METHODS {
        let schema = (entry.schema)();
        let schema = schema.as_value();
        out += &table(&format!("`methods: [{{name: {}}}]`", entry.name), schema, schema);
        out += &nested(schema, schema);
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
    out.extend(methods::figures().iter().map(|one| format!("| `{}` | {} |\n", one.name, one.unit)));
    out
}

fn paths() -> String {
    let mut out = "\n### Paths of plots\n\n\
        Beside these: keys as `pipeline.user` (or `function.user`), `traffic.pkt-size`,\n\
        `device.tester-core`, `tester.rate-limit`; figures as `throughput.latency_p99` or, of a part,\n\
        `throughput.latency_p99.uplink`. Rates are summed over directions.\n\n\
        | path | unit | meaning |\n|---|---|---|\n"
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
