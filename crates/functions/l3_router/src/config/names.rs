//! Names of next hops, beside their numbers.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use function_kit::PortName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a next hop: letters, digits, `-`, `_` and `.`, and not digits alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "PortName")]
pub struct HopName(PortName);

impl TryFrom<String> for HopName {
    type Error = String;

    fn try_from(text: String) -> Result<HopName, String> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match PortName::try_from(text.clone()) {
            Ok(name) if !is_number => Ok(HopName(name)),
            _ => Err(format!(
                "`{text}` is no name of a next hop; use 1 to {} letters, digits, `-`, `_` and `.`, \
                 begin with a letter or a digit, and not digits alone",
                PortName::LEN_MAX
            )),
        }
    }
}

impl From<HopName> for PortName {
    fn from(name: HopName) -> PortName {
        name.0
    }
}

impl Deref for HopName {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for HopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for HopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl JsonSchema for HopName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HopName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,22}$",
            "description": "The name of a next hop; not digits alone.",
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A next hop, by its number or by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToHop {
    /// The number; that of none until a name is looked up.
    pub number: u32,
    /// The name by which it was said.
    pub name: Option<HopName>,
}

impl From<u32> for ToHop {
    fn from(number: u32) -> ToHop {
        ToHop { number, name: None }
    }
}

impl fmt::Display for ToHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "`{name}`"),
            None => self.number.fmt(f),
        }
    }
}

impl Serialize for ToHop {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.name {
            Some(name) => to.serialize_str(&name),
            None => to.serialize_u32(self.number),
        }
    }
}

impl<'de> Deserialize<'de> for ToHop {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ToHop, D::Error> {
        from.deserialize_any(Either)
    }
}

struct Either;

impl Visitor<'_> for Either {
    type Value = ToHop;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number or the name of a next hop")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<ToHop, E> {
        let unexpected = de::Unexpected::Unsigned(number);
        let number = u32::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))?;
        Ok(number.into())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ToHop, E> {
        let unexpected = de::Unexpected::Signed(number);
        let number = u32::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))?;
        Ok(number.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ToHop, E> {
        if let Ok(number) = text.parse::<u32>() {
            return Ok(number.into());
        }
        let name = HopName::try_from(text.to_owned()).map_err(E::custom)?;
        Ok(ToHop { number: u32::MAX, name: Some(name) })
    }
}

impl JsonSchema for ToHop {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NextHopNumberOrName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The number of a next hop, or its name.",
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": u32::MAX},
                {"type": "string"},
            ],
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The numbers of the next hops of a configuration by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HopNames(Arc<HashMap<HopName, u32>>);

impl HopNames {
    /// Those of next hops in their order; the first of several that have the same.
    pub(crate) fn of(hops: impl Iterator<Item = Option<HopName>>) -> HopNames {
        let mut numbers = HashMap::new();
        for (number, name) in (0..).zip(hops) {
            if let Some(name) = name {
                numbers.entry(name).or_insert(number);
            }
        }
        HopNames(Arc::new(numbers))
    }

    /// The number of a next hop by its name.
    pub fn number(&self, name: HopName) -> Option<u32> {
        self.0.get(&name).copied()
    }

    /// Some names, for a remedy.
    pub(super) fn some(&self) -> String {
        let mut names: Vec<&str> = self.0.keys().map(|name| &**name).collect();
        names.sort_unstable();
        let more = if names.len() > NAMES_TOLD { ", …" } else { "" };
        names.truncate(NAMES_TOLD);
        names.join(", ") + more
    }
}

/// Names that a remedy tells.
const NAMES_TOLD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_hop_is_said_by_number_or_name() {
        let read = |text: &str| serde_json::from_str::<ToHop>(text);
        assert_eq!(read("7").expect("a number"), ToHop::from(7));
        assert_eq!(read("\"7\"").expect("a number"), ToHop::from(7));
        let named = read("\"isp-a\"").expect("a name");
        assert_eq!(serde_json::to_string(&named).expect("text"), "\"isp-a\"");
        for text in ["-1", "5000000000", "\"\"", "\"a b\"", "\"99999999999\"", "[1]", "null"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
