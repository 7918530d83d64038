//! Names and texts of the configuration, as values without memory of their own.

use std::fmt::{self, Debug, Formatter};

use function_kit::PortName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a profile, list, node, class or VRF: at most 23 letters, digits, `-`, `_` and `.`,
/// and first a letter or a digit.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Name(#[schemars(with = "String")] PortName);

impl Name {
    /// A name that the program itself gives.
    ///
    /// # Panics
    /// When the text is no name; for a constant, when the program is compiled.
    pub const fn new(text: &str) -> Name {
        Name(PortName::new(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that somebody else gave, of at most 63 bytes: the name of a user, the identifier of a
/// circuit. It is shown, and nothing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct Label {
    bytes: [u8; Label::LEN_MAX],
    len: u8,
}

impl Label {
    /// The longest text in bytes.
    pub const LEN_MAX: usize = 63;

    /// The text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len.into()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl TryFrom<String> for Label {
    type Error = String;

    fn try_from(text: String) -> Result<Label, String> {
        let mut bytes = [0; Label::LEN_MAX];
        let Some(place) = bytes.get_mut(..text.len()) else {
            return Err(format!("`{text}` is longer than {} bytes", Label::LEN_MAX));
        };
        place.copy_from_slice(text.as_bytes());
        Ok(Label { bytes, len: text.len() as u8 })
    }
}

impl From<Label> for String {
    fn from(label: Label) -> String {
        label.as_str().to_owned()
    }
}

impl Debug for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_text_that_it_was() {
        for text in ["", "ppp@example", &"ü".repeat(31)] {
            let label = Label::try_from(text.to_owned()).expect("short enough");
            assert_eq!(String::from(label), text);
        }
        assert!(Label::try_from("x".repeat(64)).is_err());
    }
}
