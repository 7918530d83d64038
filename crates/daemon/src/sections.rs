//! How a section of a file is read: its keys are checked against its schema before its values.

use document::{Document, DocumentError, kind};
use keys::{Place, parsed, read};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads a section with known keys; `None` if the file has no such section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn section<T: DeserializeOwned + Serialize + JsonSchema + Default>(
    document: &Document,
    name: &str,
) -> Result<Option<T>, DocumentError> {
    match document.root.get(name) {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(T::default())),
        Some(Value::Object(keys)) => {
            check_keys(document, name, keys, &schemars::schema_for!(T))?;
            let read = read("", keys.clone());
            read.map(Some).map_err(|bad| document.invalid(name, bad, SEE_SCHEMA))
        }
        Some(other) => Err(no_mapping(document, name, other)),
    }
}

/// Reads a single value; `None` if the file does not have it.
///
/// # Errors
/// When it cannot be used.
pub(crate) fn value<T: DeserializeOwned>(
    document: &Document,
    name: &str,
) -> Result<Option<T>, DocumentError> {
    match document.root.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = parsed("", value.clone()).map(Some);
            read.map_err(|bad| document.invalid(name, bad, SEE_SCHEMA))
        }
    }
}

/// Checks that all keys of a section are known to its schema.
///
/// # Errors
/// The first one that is not, with the nearest known one.
pub(crate) fn check_keys(
    document: &Document,
    section: &str,
    keys: &Map<String, Value>,
    schema: &Schema,
) -> Result<(), DocumentError> {
    match Place::root(schema).unknown_key(keys) {
        None => Ok(()),
        Some(unknown) => {
            let key = unknown.path.rsplit('.').next().unwrap_or_default();
            let path = format!("{section}.{}", unknown.path);
            Err(document.error(&path, format!("unknown key `{key}`"), unknown.remedy))
        }
    }
}

/// The error of a section that is no mapping.
pub(crate) fn no_mapping(document: &Document, key: &str, found: &Value) -> DocumentError {
    let what = format!("expected a mapping of keys to values, not {}", kind(found));
    document.error(key, what, "write its keys below it, indented")
}

/// What an error of a value says beside.
pub(crate) const SEE_SCHEMA: &str = "`plumbline schema --run` lists the values of each key";
