//! Lists become cells: one combination of values each.
//!
//! TIPSY's rule: the scale joins the lists *within* a section, and the sections are then combined
//! each with each. The order is that of the file, the last key running fastest, so that the same
//! file always yields the same cells under the same names. The number of cells is limited. A list
//! where the schema takes a list is a value and is left alone.

use serde_json::{Map, Value};

use super::Document;
use super::ScenarioError;
use keys::Place;

/// How the lists of a section combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Only the first value of each list: one cell.
    None,
    /// All combinations.
    #[default]
    Outer,
    /// The first values together, then the second values, to the end of the shortest list.
    Joint,
}

/// A section of the scenario whose values may be swept.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Name of the section in the file: `pipeline` for `function`, for example.
    pub key_in_file: &'a str,
    /// Name of the section in the record.
    pub name: &'a str,
    /// The keys and values.
    pub values: &'a Map<String, Value>,
    /// The schema of the keys.
    pub schema: Place<'a>,
}

/// One combination of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// Identifier that is unique in the scenario and the same for the same values:
    /// `user=1000,pkt-size=64`.
    pub id: String,
    /// The swept keys (`function.user`) and their values, in the order of the file.
    pub parameters: Map<String, Value>,
    /// The sections in the given order, without swept lists.
    pub sections: Vec<Map<String, Value>>,
    /// Index of the benchmark's device on which the cell is measured.
    pub device: usize,
}

/// All combinations, with notes for the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expansion {
    /// The combinations in the order of the file; at least one.
    pub combinations: Vec<Combination>,
    /// Notes for the user on lists that were truncated.
    pub notes: Vec<String>,
}

/// Expands the lists of all sections.
///
/// # Errors
/// An empty list, a nested list, two equal cells, or more cells than [`CELLS_MAX`].
pub fn expand(
    document: &Document,
    sections: &[Section<'_>],
    scale: Scale,
) -> Result<Expansion, ScenarioError> {
    let mut notes = Vec::new();
    let mut choices: Vec<Vec<Choice>> = Vec::new();
    let mut count = 1_usize;
    for section in sections {
        let axes = axes(document, section)?;
        let rows = match scale {
            Scale::None => first(&axes, &mut notes),
            Scale::Outer => {
                let cells =
                    axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
                let within = cells.filter(|&cells| cells <= CELLS_MAX);
                within.map(|_| product(&axes)).unwrap_or_default()
            }
            Scale::Joint => zip(&axes, &mut notes),
        };
        count = count.saturating_mul(rows.len());
        if count == 0 || count > CELLS_MAX {
            return Err(too_many(document, section, &axes));
        }
        choices.push(rows);
    }
    let mut combinations = vec![Combination::default()];
    for (section, rows) in sections.iter().zip(&choices) {
        combinations = combinations
            .iter()
            .flat_map(|so_far| rows.iter().map(|row| so_far.with(section, row, scale)))
            .collect();
    }
    for at in 0..combinations.len() {
        let (before, rest) = combinations.split_at_mut(at);
        if let Some(twin) = before.iter().find(|one| one.parameters == rest[0].parameters) {
            let what = format!("two cells are the same: {}", twin.id);
            let key = rest[0].parameters.keys().next_back().cloned().unwrap_or_default();
            return Err(document.error(&key, what, "list each value once"));
        }
        if before.iter().any(|one| one.id == rest[0].id) {
            rest[0].id += &format!("~{at}");
        }
    }
    Ok(Expansion { combinations, notes })
}

/// Largest number of cells of a scenario.
pub const CELLS_MAX: usize = 1_000;

/// A swept key with its values.
struct Axis {
    path: Vec<String>,
    name: String,
    values: Vec<Value>,
}

/// A value for each axis of a section.
type Choice = Vec<(Vec<String>, String, Value)>;

impl Combination {
    /// The value of a key: `function.gw-ip`.
    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        let (section, key) = path.split_once('.')?;
        self.sections.get(section_index(section)?)?.get(key)
    }

    /// The combination with a value for one more swept key.
    pub(super) fn with_value(&self, key: &str, value: &Value) -> Combination {
        let mut next = self.clone();
        next.parameters.insert(key.to_owned(), value.clone());
        let mut parts = key.split('.');
        let section = parts.next().unwrap_or_default();
        let path: Vec<String> = parts.map(str::to_owned).collect();
        if let Some(values) = section_index(section).and_then(|at| next.sections.get_mut(at)) {
            put(values, &path, value.clone());
        }
        next.id = id(&next.parameters);
        next
    }

    /// The combination with swept keys of another section, which do not change function or traffic.
    pub(super) fn with_parameters(&self, more: &Map<String, Value>) -> Combination {
        let mut next = self.clone();
        next.parameters.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        next.id = id(&next.parameters);
        next
    }

    fn with(&self, section: &Section<'_>, choice: &Choice, scale: Scale) -> Combination {
        let mut next = self.clone();
        let mut values = section.values.clone();
        for (path, name, value) in choice {
            set(&mut values, path, value.clone());
            if scale != Scale::None {
                next.parameters.insert(name.clone(), value.clone());
            }
        }
        next.sections.push(values);
        next.id = id(&next.parameters);
        next
    }
}

/// Index of a section in [`Combination::sections`].
fn section_index(section: &str) -> Option<usize> {
    ["function", "traffic"].iter().position(|name| *name == section)
}

fn axes(document: &Document, section: &Section<'_>) -> Result<Vec<Axis>, ScenarioError> {
    let mut found = Vec::new();
    collect(document, section, section.values, section.schema, &mut Vec::new(), &mut found)?;
    Ok(found)
}

fn collect(
    document: &Document,
    section: &Section<'_>,
    values: &Map<String, Value>,
    schema: Place<'_>,
    path: &mut Vec<String>,
    found: &mut Vec<Axis>,
) -> Result<(), ScenarioError> {
    for (key, value) in values {
        let place = schema.key(key);
        path.push(key.clone());
        let name = |root: &str| format!("{root}.{}", path.join("."));
        match value {
            Value::Array(_) if place.is_some_and(Place::takes_list) => {}
            Value::Array(list) => {
                let in_file = name(section.key_in_file);
                if list.is_empty() {
                    let what = "an empty list sweeps nothing";
                    let remedy = "give at least one value, or remove the key";
                    return Err(document.error(&in_file, what, remedy));
                }
                if let Some(at) = list.iter().position(Value::is_array) {
                    let what = "a nested list";
                    let remedy = "write all values in one list";
                    return Err(document.error(&format!("{in_file}[{at}]"), what, remedy));
                }
                let name = name(section.name);
                found.push(Axis { path: path.clone(), name, values: list.clone() });
            }
            Value::Object(inner) => {
                if let Some(place) = place.filter(|place| place.has_keys()) {
                    collect(document, section, inner, place, path, found)?;
                }
            }
            _ => {}
        }
        path.pop();
    }
    Ok(())
}

fn first(axes: &[Axis], notes: &mut Vec<String>) -> Vec<Choice> {
    let cut: Vec<String> = axes
        .iter()
        .filter(|axis| axis.values.len() > 1)
        .map(|axis| format!("{} = {}", axis.last_key(), axis.values[0]))
        .collect();
    if !cut.is_empty() {
        notes.push(format!(
            "scale is `none`: only the first value of each list is used ({}); \
             write `scale: outer` to measure every combination, `scale: joint` to go through \
             the lists together",
            cut.join(", ")
        ));
    }
    vec![axes.iter().map(|axis| axis.choose(0)).collect()]
}

fn product(axes: &[Axis]) -> Vec<Choice> {
    axes.iter().fold(vec![Choice::new()], |rows, axis| {
        let extend = |row: &Choice| {
            let row = row.clone();
            (0..axis.values.len())
                .map(move |at| row.iter().cloned().chain([axis.choose(at)]).collect())
                .collect::<Vec<Choice>>()
        };
        rows.iter().flat_map(extend).collect()
    })
}

/// Combines lists element by element; a list of one value is the same in every cell.
fn zip(axes: &[Axis], notes: &mut Vec<String>) -> Vec<Choice> {
    let lengths = || axes.iter().map(|axis| axis.values.len()).filter(|&length| length > 1);
    let shortest = lengths().min().unwrap_or(1);
    if let Some(axis) = axes.iter().find(|axis| axis.values.len() > shortest.max(1)) {
        notes.push(format!(
            "scale is `joint`: {} has {} values, of which the first {shortest} are used, \
             as many as the shortest list has",
            axis.last_key(),
            axis.values.len()
        ));
    }
    (0..shortest)
        .map(|at| axes.iter().map(|axis| axis.choose(at.min(axis.values.len() - 1))).collect())
        .collect()
}

impl Axis {
    fn choose(&self, at: usize) -> (Vec<String>, String, Value) {
        (self.path.clone(), self.name.clone(), self.values[at].clone())
    }

    fn last_key(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

fn too_many(document: &Document, section: &Section<'_>, axes: &[Axis]) -> ScenarioError {
    let sizes: Vec<String> =
        axes.iter().map(|axis| format!("{} {}", axis.last_key(), axis.values.len())).collect();
    document.error(
        section.key_in_file,
        format!("the lists make more than {CELLS_MAX} cells (values: {})", sizes.join(", ")),
        "shorten the lists, or combine them with `scale: joint`",
    )
}

fn set(values: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            values.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            if let Some(Value::Object(inner)) = values.get_mut(key) {
                set(inner, rest, value);
            }
        }
    }
}

/// Sets a value as [`set`] does, and creates mappings where needed.
fn put(values: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            values.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = values.entry(key.clone()).or_insert(Value::Null);
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// An identifier that is also usable as a file name.
fn id(parameters: &Map<String, Value>) -> String {
    if parameters.is_empty() {
        return "base".to_owned();
    }
    let one = |(name, value): (&String, &Value)| {
        let key = name.rsplit('.').next().unwrap_or(name);
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| format!("{key}x{value}"))
                .collect::<Vec<_>>()
                .join("+"),
            other => other.to_string(),
        };
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | ':' | '-');
        let text: String =
            text.chars().take(VALUE_CHARS_MAX).map(|c| if safe(c) { c } else { '-' }).collect();
        format!("{key}={text}")
    };
    parameters.iter().map(one).collect::<Vec<_>>().join(",")
}

const VALUE_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "properties": {
                "user": {"type": "integer"},
                "bst": {"type": "integer"},
                "size": {},
                "cores": {"type": "array"},
                "events": {"properties": {"rate": {"type": "number"}}},
            },
        })
    }

    fn expand_text(text: &str, scale: Scale) -> Result<Expansion, ScenarioError> {
        let document = Document::parse(&crate::scenario::SCENARIO, "test.yaml", text)
            .expect("the text is well-formed");
        let schema = schema();
        let empty = Map::new();
        let section = |key_in_file, name| Section {
            key_in_file,
            name,
            values: document.root.get(key_in_file).and_then(Value::as_object).unwrap_or(&empty),
            schema: Place::root(&schema),
        };
        expand(&document, &[section("pipeline", "function"), section("traffic", "traffic")], scale)
    }

    fn ids(text: &str, scale: Scale) -> Vec<String> {
        let expansion = expand_text(text, scale).expect("the lists are good");
        expansion.combinations.into_iter().map(|one| one.id).collect()
    }

    #[test]
    fn outer_makes_every_combination_in_the_order_of_the_file() {
        let text = "pipeline: {user: [1, 2], bst: 5}\ntraffic: {size: [64, imix]}\n";
        let expected = ["user=1,size=64", "user=1,size=imix", "user=2,size=64", "user=2,size=imix"];
        assert_eq!(ids(text, Scale::Outer), expected);
        let expansion = expand_text(text, Scale::Outer).expect("good");
        assert_eq!(expansion.combinations[3].sections[0]["user"], 2);
        assert_eq!(expansion.combinations[3].sections[0]["bst"], 5);
        let keys: Vec<_> = expansion.combinations[3].parameters.keys().collect();
        assert_eq!(keys, ["function.user", "traffic.size"]);
    }

    #[test]
    fn joint_goes_through_the_lists_of_a_section_together() {
        let text = "pipeline: {user: [1, 2, 3], bst: [10, 20]}\ntraffic: {size: [64, 128]}\n";
        let expansion = expand_text(text, Scale::Joint).expect("good");
        let ids: Vec<_> = expansion.combinations.iter().map(|one| one.id.as_str()).collect();
        let expected = [
            "user=1,bst=10,size=64",
            "user=1,bst=10,size=128",
            "user=2,bst=20,size=64",
            "user=2,bst=20,size=128",
        ];
        assert_eq!(ids, expected);
        assert!(expansion.notes[0].contains("user has 3 values"), "{:?}", expansion.notes);
    }

    #[test]
    fn none_takes_first_values_and_says_so() {
        let text = "pipeline: {user: [1, 2, 3], bst: [9], size: 7}\n";
        let expansion = expand_text(text, Scale::None).expect("good");
        assert_eq!(expansion.combinations.len(), 1);
        assert_eq!(expansion.combinations[0].id, "base");
        assert_eq!(expansion.combinations[0].sections[0]["bst"], 9);
        assert_eq!(expansion.notes.len(), 1);
        assert!(expansion.notes[0].contains("user = 1"), "{:?}", expansion.notes);
        assert!(!expansion.notes[0].contains("bst"), "nothing of bst was cut");
    }

    #[test]
    fn native_lists_and_maps_are_values_and_inner_keys_are_swept() {
        let text = "pipeline: {cores: [1, 2], size: {64: 7}, events: {rate: [1, 2]}}\n";
        assert_eq!(ids(text, Scale::Outer), ["rate=1", "rate=2"]);
        let expansion = expand_text(text, Scale::Outer).expect("good");
        assert_eq!(expansion.combinations[1].sections[0]["events"]["rate"], 2);
        assert_eq!(expansion.combinations[1].sections[0]["cores"], serde_json::json!([1, 2]));
    }

    #[test]
    fn lists_that_make_no_sense_are_errors_with_key_and_line() {
        let error = |text| expand_text(text, Scale::Outer).expect_err("the list is bad");
        let empty = error("pipeline:\n  user: []\n");
        assert_eq!((empty.key.as_str(), empty.line), ("pipeline.user", Some(2)));
        assert_eq!(error("pipeline: {user: [1, [2]]}\n").key, "pipeline.user[1]");
        assert!(error("pipeline: {user: [1, 1]}\n").what.contains("the same"));
        let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let many = many.join(", ");
        let text = format!("pipeline: {{user: [{many}], bst: [{many}]}}\n");
        assert!(error(&text).what.contains("more than 1000 cells"));
    }
}
