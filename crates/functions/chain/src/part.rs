//! The functions of a chain, known by what every function provides.

use std::sync::Arc;

use function_kit::Invalid;
use function_kit::erased::{Configured, Kind};
use function_kit::sections::function_key;
use serde_json::{Map, Value};

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
    kinds[index].read(keys).map_err(|invalid| at(place, invalid))
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
    let refuse =
        |what: String| at(place, function_key("name", what, &format!("Name one of: {}", known())));
    let Some(Value::String(name)) = keys.remove("name") else {
        return Err(refuse("is missing".to_owned()));
    };
    let is_meant = |(one, others): (&str, &[&str])| one == name || others.contains(&&*name);
    match names.clone().position(is_meant) {
        Some(index) => Ok(Named { index, name, keys }),
        None => Err(refuse(format!("there is no function `{name}`"))),
    }
}

/// Something about the list of functions.
pub(super) fn chain_key(what: String, remedy: &str) -> Invalid {
    function_key("chain", what, remedy)
}

/// What is wrong with the section at a place of the chain, by the path of its key.
pub fn at(place: usize, invalid: Invalid) -> Invalid {
    match invalid.section {
        "traffic" => invalid,
        _ => invalid.under(&format!("chain[{place}]")),
    }
}
