//! What operators tell a controller to do at once, beside its configuration.

use keys::{Place, read};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::table::{Unanswered, quoted};

/// A command that a controller knows.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name, kebab-case, which no update of a function has.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// JSON Schema of its keys.
    pub keys: fn() -> Schema,
}

/// The keys of a command that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoKeys {}

impl Command {
    /// A command whose keys are a type's, which [`keys_of`] reads.
    pub const fn of<K: JsonSchema>(name: &'static str, summary: &'static str) -> Command {
        Command { name, summary, keys: || schema_for!(K) }
    }

    /// Checks that a command has these keys.
    ///
    /// # Errors
    /// With the nearest key that it has.
    pub fn check(&self, keys: &Map<String, Value>) -> Result<(), Unanswered> {
        let schema = (self.keys)();
        let place = Place::root(&schema);
        let what = |key: &str| format!("`{}` has no key {}", self.name, quoted(key));
        match (place.keys().is_empty(), keys.keys().next()) {
            (true, Some(key)) => Err(Unanswered::new(what(key), "leave it out")),
            _ => match place.unknown_key(keys) {
                Some(unknown) => Err(Unanswered::new(what(&unknown.path), unknown.remedy)),
                None => Ok(()),
            },
        }
    }

    /// Returns its keys as they are written: `peer=… [text=…]`.
    pub fn usage(&self) -> String {
        let schema = (self.keys)();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let one = |key: &str| match required.contains(&key) {
            true => format!("{key}=…"),
            false => format!("[{key}=…]"),
        };
        Place::root(&schema).keys().into_iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// Reads the keys of a command as the type that it has them by.
///
/// # Errors
/// The first key that is missing or cannot be used.
pub fn keys_of<K: DeserializeOwned + Serialize + JsonSchema>(
    keys: &Map<String, Value>,
) -> Result<K, Unanswered> {
    read("", keys.clone()).map_err(|bad| {
        let remedy = match &*bad.remedy {
            "" => "`plumbline schema --updates` with the controller's name tells its keys",
            remedy => remedy,
        };
        Unanswered::new(bad.to_string(), remedy)
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// The keys of a reset.
    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Reset {
        /// Whose.
        peer: String,
        /// How often.
        #[serde(default)]
        #[schemars(range(max = 3))]
        count: u8,
    }

    #[test]
    fn keys_are_those_of_the_command() {
        let reset = Command::of::<Reset>("reset", "it begins anew");
        let map = |value: Value| value.as_object().cloned().expect("keys");
        assert_eq!(reset.usage(), "peer=… [count=…]");
        assert_eq!(reset.check(&map(json!({"peer": "a", "count": 1}))), Ok(()));
        let unknown = reset.check(&map(json!({"pear": "a"}))).expect_err("there is none");
        assert_eq!(unknown.what, "`reset` has no key `pear`");
        assert_eq!(unknown.remedy, "did you mean `peer`?");
        let read = |value| keys_of::<Reset>(&map(value));
        assert_eq!(read(json!({"peer": "a"})), Ok(Reset { peer: "a".to_owned(), count: 0 }));
        let missing = read(json!({})).expect_err("whose?");
        assert!(missing.what.contains("peer") && !missing.remedy.is_empty(), "{missing:?}");
        assert!(read(json!({"peer": "a", "count": 4})).expect_err("few").what.contains("0 to 3"));
        let bare = Command::of::<NoKeys>("dump", "it dumps");
        assert_eq!((bare.usage().as_str(), bare.check(&Map::new())), ("", Ok(())));
        assert_eq!(bare.check(&map(json!({"x": 1}))).expect_err("none").remedy, "leave it out");
    }
}
