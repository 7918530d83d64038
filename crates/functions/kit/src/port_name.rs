//! The name of a port, as files, control and records have it.
//!
//! A name is a value of 24 bytes without memory of its own, so that next hops, rules and other
//! small records of a configuration can hold one. Names are compared and looked up where a change
//! is applied, never for a packet.

use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The name of a port: letters, digits, `-`, `_` and `.`, and first a letter or a digit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PortName {
    bytes: [u8; PortName::LEN_MAX],
    len: u8,
}

impl PortName {
    /// The longest name in bytes.
    pub const LEN_MAX: usize = 23;

    /// A name that the program itself gives.
    ///
    /// # Panics
    /// When the text is no name of a port; for a constant, when the program is compiled.
    pub const fn new(text: &str) -> PortName {
        match PortName::read(text.as_bytes()) {
            Some(name) => name,
            None => panic!("no name of a port"),
        }
    }

    /// A name that ends with a number.
    ///
    /// # Panics
    /// When the text before the number is no name, or leaves no room for one.
    pub fn numbered(text: &str, number: u16) -> PortName {
        PortName::new(&format!("{text}{number}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len.into()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    const fn read(text: &[u8]) -> Option<PortName> {
        if text.is_empty() || text.len() > PortName::LEN_MAX || !text[0].is_ascii_alphanumeric() {
            return None;
        }
        let mut bytes = [0; PortName::LEN_MAX];
        let mut at = 0;
        while at < text.len() {
            if !(text[at].is_ascii_alphanumeric() || matches!(text[at], b'-' | b'_' | b'.')) {
                return None;
            }
            bytes[at] = text[at];
            at += 1;
        }
        Some(PortName { bytes, len: text.len() as u8 })
    }
}

impl Deref for PortName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for PortName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl Display for PortName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl Debug for PortName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

impl TryFrom<String> for PortName {
    type Error = NotAName;

    fn try_from(text: String) -> Result<PortName, NotAName> {
        PortName::read(text.as_bytes()).ok_or(NotAName(text))
    }
}

impl From<PortName> for String {
    fn from(name: PortName) -> String {
        name.as_str().to_owned()
    }
}

/// A text that cannot be the name of a port.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a port name; use 1 to {max} letters, digits, `-`, `_` and `.`, and begin with a \
     letter or a digit",
    max = PortName::LEN_MAX
)]
pub struct NotAName(String);

impl JsonSchema for PortName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PortName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,22}$",
            "description": "The name of a port.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["downlink", "port-3", "ge.0_1", "7", "abcdefghijklmnopqrstuvw"] {
            let name = PortName::try_from(text.to_owned()).expect("a name");
            assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
            let json = serde_json::to_value(name).expect("text");
            assert_eq!(serde_json::from_value::<PortName>(json).expect("a name"), name);
        }
        for text in ["", "-a", ".", "a b", "a/b", "ä", "abcdefghijklmnopqrstuvwx"] {
            assert!(PortName::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
