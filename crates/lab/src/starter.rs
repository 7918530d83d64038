//! A scenario to start from: a function with every key, its meaning and its default.
//!
//! It runs as it stands. Keys stand in comments with the values that they have without them, so
//! that removing a `#` changes nothing until the value is changed, too. All of it comes from the
//! types of the function and of its methods.

use keys::Place;
use schemars::Schema;
use serde_json::{Map, Value};

use crate::scenario::{Given, Scenario, ScenarioError};
use crate::unit::Functions;

/// A scenario to start from.
pub struct Starter {
    /// Name of the function.
    pub function: String,
    /// The text of the file.
    pub text: String,
}

/// Writes a scenario for a function, which may be named by another of its names; `file` is what
/// the text calls itself, and `schema` the file of the JSON Schema of scenarios.
///
/// # Errors
/// When there is no such function.
pub fn starter(
    function: &str,
    (file, schema): (&str, &str),
    functions: Functions,
) -> Result<Starter, ScenarioError> {
    let given = Given { function: Some(function.to_owned()), ..Given::default() };
    let scenario = Scenario::given(&given, functions)?;
    let (benchmark, cell) = (&scenario.benchmarks[0], &scenario.benchmarks[0].cells[0]);
    let effective = benchmark.configure(cell)?.effective();
    let unit = benchmark.unit;
    let name = unit.name();
    let mut out = format!("# yaml-language-server: $schema={schema}\n");
    comment(&mut out, "", &format!("{name}: {}", unit.summary()));
    out += &format!(
        "#\n#   plumbline check {file}    is it correct?\n#   plumbline bench {file}    how fast \
         is it?\n#\n"
    );
    comment(&mut out, "", ABOUT);
    out += &format!("\nname: {name}\n#description: what this is to find out\n\n");
    comment(&mut out, "", "The function, and how it is configured.");
    out += &format!("function:\n  name: {name}\n");
    keys(&mut out, "  ", &unit.config_schema(), &effective["function"]);
    out += "\n";
    comment(&mut out, "", "What the tester sends.");
    out += "traffic:\n";
    keys(&mut out, "  ", &unit.traffic_schema(), &effective["traffic"]);
    out += "\n";
    comment(&mut out, "", "How it is measured; `plumbline list` names all methods.");
    out += "methods:\n";
    for choice in &benchmark.methods {
        let Some(entry) = methods::find(choice.method.name()) else { continue };
        comment(&mut out, "  ", &format!("{}: {}.", entry.name, entry.summary));
        out += &format!("  - name: {}\n", entry.name);
        let (schema, configuration) = ((entry.schema)(), choice.method.configuration());
        keys(&mut out, "    ", &schema, &configuration);
    }
    out += "\n";
    comment(&mut out, "", DEVICE);
    out += &format!("device: {}\n\n", benchmark.devices[0].name());
    comment(&mut out, "", "How often each measurement is made, in random order.");
    out += "#repetitions: 1\n";
    Ok(Starter { function: name.to_owned(), text: out })
}

/// Writes the keys of a schema, in comments, with their meaning and the values that they have.
fn keys(out: &mut String, indent: &str, schema: &Schema, values: &Value) {
    let (place, schema) = (Place::root(schema), schema.as_value());
    let none = Map::new();
    for (key, property) in schema["properties"].as_object().unwrap_or(&none) {
        comment(out, indent, told(schema, property));
        if let Some(items) = place.key(key).and_then(Place::items) {
            comment(out, indent, &format!("Keys of each: {}.", items.keys().join(", ")));
        }
        let default = property.get("default").filter(|default| !default.is_null());
        match values.get(key).filter(|value| !value.is_null()).or(default) {
            Some(value) => out.push_str(&format!("{indent}#{key}: {value}\n")),
            // What is not there without the key has no value that could be written.
            None => out.push_str(&format!("{indent}# {key}: …\n")),
        }
    }
}

/// The description of a key, or else of its type.
fn told<'a>(schema: &'a Value, property: &'a Value) -> &'a str {
    let target = property["$ref"].as_str().and_then(|at| schema.pointer(at.strip_prefix('#')?));
    let said = property.get("description").or_else(|| target?.get("description"));
    said.and_then(Value::as_str).unwrap_or_default()
}

/// Writes a text as a comment, in lines of at most 100 columns.
fn comment(out: &mut String, indent: &str, text: &str) {
    let mut line = format!("{indent}#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS {
            *out += &format!("{line}\n");
            line = format!("{indent}#");
        }
        line += &format!(" {word}");
    }
    if line.len() > indent.len() + 1 {
        *out += &format!("{line}\n");
    }
}

const ABOUT: &str = "It runs as it stands. Every key of function, traffic and methods is here with \
                     its meaning, in a comment with the value that it has without it: remove the \
                     `#` in front of a key to set it. A list in place of a single value is swept: \
                     each value is a cell with its own check and figures.";

const DEVICE: &str = "What implements the function: one device, or several to compare, as in \
                      `[embedded, linux]`. `plumbline doctor` tells which can run here.";

const COLUMNS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FUNCTIONS;

    #[test]
    fn an_unknown_function_is_answered_as_in_a_scenario() {
        let files = ("a.yaml", "scenario.schema.json");
        let error = starter("fak", files, FUNCTIONS).err().expect("there is none");
        assert!(error.to_string().contains("did you mean `fake`?"), "{error}");
        assert_eq!(starter("fk", files, FUNCTIONS).expect("an alias").function, "fake");
    }

    #[test]
    fn comments_are_lines_that_fit() {
        let mut out = String::new();
        comment(&mut out, "  ", &"word ".repeat(40));
        assert!(out.lines().all(|line| line.starts_with("  # word") && line.len() <= COLUMNS));
        assert_eq!(out.matches("word").count(), 40);
        comment(&mut out, "", "");
        assert_eq!(out.lines().count(), 3, "an empty text is no line: {out}");
    }
}
