//! The models of a chain's functions, known by what every model provides.

use std::sync::Arc;

use function_chain::part::{Named, at, named};
use function_kit::Invalid;
use model_kit::erased::{Configured, Kind};
use serde_json::{Map, Value, json};

/// The models of the functions that a chain can have.
pub trait Models: Send + Sync + 'static {
    /// The functions.
    type Members: function_chain::Members;
    /// Their models.
    const KINDS: &'static [&'static dyn Kind];
}

/// Reads the section at a place of the chain and its traffic as those of one of the models there
/// are.
pub(super) fn read(
    kinds: &[&dyn Kind],
    place: usize,
    section: Map<String, Value>,
    traffic: Map<String, Value>,
) -> Result<Arc<dyn Configured>, Invalid> {
    let names = kinds.iter().map(|kind| (kind.name(), kind.aliases()));
    let Named { index, name, mut keys } = named(names, place, section)?;
    for (key, value) in kinds[index].meant_by(&name) {
        keys.entry(key).or_insert(value);
    }
    kinds[index].read(keys, traffic).map_err(|invalid| at(place, invalid))
}

/// Keys with the name of their function.
pub(super) fn with_name(member: &dyn Configured, keys: Map<String, Value>) -> Map<String, Value> {
    let mut section = Map::from_iter([("name".to_owned(), member.name().into())]);
    section.extend(keys);
    section
}

/// The keys of the traffic of all functions, as properties of a schema.
pub(super) fn traffic_keys(kinds: &[&dyn Kind]) -> Map<String, Value> {
    let mut keys = Map::new();
    for kind in kinds {
        let schema = kind.traffic_schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            let text = property["description"].as_str().unwrap_or_default();
            let is_list = property.to_string().contains("\"array\"");
            keys.entry(key.clone()).or_insert_with(|| open_key(is_list, text));
        }
    }
    keys
}

/// The keys of a section as a schema's properties have them: named, and open in their values.
fn open_key(takes_list: bool, description: &str) -> Value {
    match takes_list {
        // What is a list by nature must not be taken for a sweep.
        true => {
            json!({"type": ["array", "object", "string", "number"], "description": description})
        }
        false => json!({"description": description}),
    }
}
