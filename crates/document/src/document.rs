//! The values of a file, and where each was written.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use keys::Invalid;
use serde_json::{Map, Value};

use crate::DocumentError;

/// A parsed file or a part of it: its values, and where each was written.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name of the file as the user wrote it.
    pub file: String,
    /// Values of the document; the root is an object.
    pub root: Map<String, Value>,
    /// Origin of each key; that of the document as a whole under the empty key.
    pub(crate) places: HashMap<String, Arc<Origin>>,
}

impl Document {
    /// Returns the line of a key (`function.user[1]`), or of the nearest key that contains it.
    pub fn line(&self, key: &str) -> Option<u32> {
        self.origin(key).and_then(|(origin, _)| origin.line)
    }

    /// Creates an error of a key, with the file, line and key where it was written.
    pub fn error(
        &self,
        key: &str,
        what: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> DocumentError {
        let Some((origin, rest)) = self.origin(key) else {
            let whole = DocumentError::of_file(&self.file, what, remedy);
            return DocumentError { key: key.to_owned(), ..whole };
        };
        let join = !origin.key.is_empty() && !rest.is_empty() && !rest.starts_with(['.', '[']);
        let key = format!("{}{}{rest}", origin.key, if join { "." } else { "" });
        DocumentError { key, ..origin.error(what, remedy) }
    }

    /// Creates an error of the file from that of a key in the section at `section`; `otherwise` is
    /// the remedy of one that has none.
    pub fn invalid(&self, section: &str, invalid: Invalid, otherwise: &str) -> DocumentError {
        let Invalid { key, what, remedy, .. } = invalid.under(section);
        self.error(&key, what, if remedy.is_empty() { otherwise } else { &remedy })
    }

    /// Returns the origin of a key or of the nearest key that contains it, and the rest of the key
    /// below that.
    fn origin<'a>(&self, key: &'a str) -> Option<(&Origin, &'a str)> {
        let mut end = key.len();
        loop {
            if let Some(origin) = self.places.get(&key[..end]) {
                return Some((origin, &key[end..]));
            }
            end = match key[..end].rfind(['.', '[']) {
                Some(at) => at,
                None if end > 0 => 0,
                None => return None,
            };
        }
    }
}

/// Returns a word for the type of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Place at which a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file as the user wrote it, or the option of the command line that gave the
    /// value, as in [`crate::Setting::option`].
    pub file: Arc<str>,
    /// Key in the file, from its root; empty for the root.
    pub key: String,
    /// Line, counted from 1; none on the command line.
    pub line: Option<u32>,
}

impl Origin {
    /// The file and the line, for messages about another place: `a.yaml line 3`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{} line {line}", self.file),
            None => self.file.to_string(),
        }
    }

    /// Creates an error of the value that was written here.
    pub fn error(&self, what: impl fmt::Display, remedy: impl fmt::Display) -> DocumentError {
        DocumentError {
            line: self.line,
            key: self.key.clone(),
            ..DocumentError::of_file(&self.file, what, remedy)
        }
    }
}
