//! Descriptions of keys stand by themselves: each is read alone, in a table, in an editor, or in an
//! error. None therefore begins by leaning on the line before it.

use std::collections::BTreeSet;

use daemon::FUNCTIONS as RUNNING;
use devices::registry;
use lab::registry::FUNCTIONS;
use lab::schema::scenario_schema;
use methods::METHODS;
use serde_json::Value;

/// Beginnings that need the line before.
const LEANING: &[&str] = &[
    "Also ",
    "And ",
    "As ",
    "Both",
    "It ",
    "Its ",
    "Likewise",
    "So ",
    "Such ",
    "That ",
    "The other",
    "The same",
    "Their ",
    "They ",
    "This ",
    "Those ",
    "Who ",
    "Whose ",
];

/// Riddles: nobody looks for these words.
const RIDDLES: &[&str] = &["so many ", "somebody", "something to say", "otherwise than"];

#[test]
fn descriptions_of_keys_stand_by_themselves() {
    let mut schemas = vec![("scenario".to_owned(), scenario_schema(FUNCTIONS))];
    for unit in FUNCTIONS {
        let name = unit.name();
        schemas.push((format!("traffic of {name}"), unit.traffic_schema().to_value()));
        schemas.push((format!("function {name}"), unit.config_schema().to_value()));
    }
    for unit in RUNNING {
        schemas.push((format!("daemon's {}", unit.name()), unit.schema().to_value()));
        schemas.push((format!("update of {}", unit.name()), unit.update_schema().to_value()));
    }
    let drivers =
        registry::schemas().map(|(device, schema)| (device.name.to_owned(), schema.to_value()));
    schemas.extend(drivers);
    schemas.extend(METHODS.iter().map(|one| (one.name.to_owned(), (one.schema)().to_value())));
    let mut found = BTreeSet::new();
    for (name, schema) in &schemas {
        descriptions(schema, &mut |text| {
            if leans(text) {
                found.insert(format!("{name}: {text}"));
            }
        });
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{} descriptions lean on others:\n{}", found.len(), found.join("\n"));
}

fn descriptions(schema: &Value, found: &mut impl FnMut(&str)) {
    match schema {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value {
            Value::String(text) if key == "description" => found(text),
            value => descriptions(value, found),
        }),
        Value::Array(values) => values.iter().for_each(|value| descriptions(value, found)),
        _ => {}
    }
}

fn leans(text: &str) -> bool {
    let lower = text.to_lowercase();
    LEANING.iter().any(|form| text.starts_with(form))
        || RIDDLES.iter().any(|form| lower.contains(form))
}

#[test]
fn what_leans_is_told_from_what_does_not() {
    assert!(leans("Its network.") && leans("The same of the links outside."));
    assert!(leans("Sent again after so many messages."));
    assert!(!leans("Network of the route.") && !leans("Italian is no pronoun."));
}
