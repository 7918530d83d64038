//! The functions of a chain, known by what every function provides.

use std::sync::Arc;

use function_kit::Invalid;
use function_kit::erased::{Configured, Kind};
use serde_json::{Map, Value};

use super::key::chain_key;

/// The functions that a chain can have.
pub trait Members: Send + Sync + 'static {
    /// Their list.
    const KINDS: &'static [&'static dyn Kind];
}

/// Reads the section at a place of the chain as one of the functions there are.
pub(super) fn read(
    kinds: &[&dyn Kind],
    place: usize,
    section: Map<String, Value>,
) -> Result<Arc<dyn Configured>, Invalid> {
    let names = kinds.iter().map(|kind| (kind.name(), kind.aliases()));
    let Named { index, name, mut keys } = named(names, place, section)?;
    for (key, value) in kinds[index].meant_by(&name) {
        keys.entry(key).or_insert(value);
    }
    kinds[index].read(keys).map_err(|invalid| at(place, &name, invalid))
}

/// A section whose function is known.
pub struct Named {
    /// The function's place in the list.
    pub index: usize,
    /// Its name in the section.
    pub name: String,
    /// The other keys.
    pub keys: Map<String, Value>,
}

/// Finds the function that the section at a place of the chain names, by all their names.
///
/// # Errors
/// When it names none of them.
pub fn named<'a>(
    names: impl Iterator<Item = (&'a str, &'a [&'a str])> + Clone,
    place: usize,
    mut keys: Map<String, Value>,
) -> Result<Named, Invalid> {
    let known = || names.clone().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let refuse = |name: &str, what: &str| {
        let what = format!("{} ({name}): {what}", place + 1);
        chain_key(what, &format!("Name one of: {}", known()))
    };
    let Some(Value::String(name)) = keys.remove("name") else {
        return Err(refuse("no name", "it has no `name`"));
    };
    let is_meant = |(one, others): (&str, &[&str])| one == name || others.contains(&&*name);
    match names.clone().position(is_meant) {
        Some(index) => Ok(Named { index, name, keys }),
        None => Err(refuse(&name, "there is no such function")),
    }
}

/// What is wrong with the section at a place of the chain.
pub fn at(place: usize, name: &str, invalid: Invalid) -> Invalid {
    let Invalid { section, key, what, remedy } = invalid;
    let key = if key.is_empty() { key } else { format!("{key}: ") };
    let what = format!("{} ({name}): {key}{what}", place + 1);
    let remedy = match remedy.as_str() {
        "" => "See the keys of this function in docs/scenarios.md".to_owned(),
        _ => remedy,
    };
    match section {
        "traffic" => Invalid { section, key: "of the chain".to_owned(), what, remedy },
        _ => chain_key(what, &remedy),
    }
}
