//! The keys of a section as the type that uses them.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Invalid, Place};

/// Reads a section as its type, and holds its values to the limits that the type's schema states.
///
/// # Errors
/// The first key that cannot be used.
pub fn read<T: DeserializeOwned + Serialize + JsonSchema>(
    section: &'static str,
    keys: impl Into<Value>,
) -> Result<T, Invalid> {
    let read = typed(section, keys)?;
    check(section, &read)?;
    Ok(read)
}

/// Reads a section as its type, whose values are not [checked](check) yet.
///
/// # Errors
/// The key that does not fit.
pub fn typed<T: DeserializeOwned + JsonSchema>(
    section: &'static str,
    keys: impl Into<Value>,
) -> Result<T, Invalid> {
    let read = parsed(section, keys.into());
    read.map_err(|invalid| in_schema(invalid, &schemars::schema_for!(T)))
}

/// Holds a section to the limits that its type's schema states, by what it would be written as: a
/// quantity is a number then, whatever its unit was.
///
/// # Errors
/// The first key whose value is outside of its limits.
pub fn check<T: Serialize + JsonSchema>(section: &'static str, read: &T) -> Result<(), Invalid> {
    let written = serde_json::to_value(read)
        .map_err(|error| Invalid { section, ..Invalid::new("", error.to_string(), "") })?;
    let outside = Place::root(&schemars::schema_for!(T)).out_of_limits(&written);
    outside.map_or(Ok(()), |invalid| Err(Invalid { section, ..invalid }))
}

/// Reads a value as its type.
///
/// # Errors
/// The path of the key that does not fit.
pub fn parsed<T: DeserializeOwned>(section: &'static str, keys: Value) -> Result<T, Invalid> {
    serde_path_to_error::deserialize(keys).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        // A type that joins others reads them by itself, and has the path in its text alone.
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.[]".contains(c);
        let (path, what) =
            match inner.split_once(": ").filter(|(path, _)| path.chars().all(is_part)) {
                Some((below, what)) if path == "." => (below, what),
                _ => (path.trim_start_matches('.'), &*inner),
            };
        Invalid { section, ..Invalid::new(path, in_plain_words(what), "") }
    })
}

/// Replaces the parser's range of an integer by the range in the schema.
fn in_schema(invalid: Invalid, schema: &Schema) -> Invalid {
    let range = Place::root(schema).below(&invalid.key).and_then(Place::range);
    match (range, invalid.what.rsplit_once("a whole number")) {
        (Some((least, most)), Some((before, _))) => {
            let what = format!("{before}a whole number from {least} to {most}");
            Invalid { what, ..invalid }
        }
        _ => invalid,
    }
}

/// Rewrites a parser's message without type names, because `expected u32` is not clear to a user.
fn in_plain_words(what: &str) -> String {
    const WORDS: [(&str, &str); 14] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a string", "expected a text"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a mapping of keys to values"),
        ("invalid type: ", "got "),
        ("invalid value: ", "got "),
        ("unknown variant ", "unknown value "),
        ("floating point ", ""),
    ];
    let plain = WORDS.iter().fold(what.to_owned(), |text, (from, to)| match text.find(from) {
        // Only whole words: `u8` must not be found in `u80`.
        Some(at) if !text[at + from.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()) => {
            text.replacen(from, to, 1)
        }
        Some(_) if from.ends_with(' ') => text.replacen(from, to, 1),
        _ => text,
    });
    plain.replace("integer `", "`").replace("string \"", "\"").replace("boolean `", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parsers_words_become_a_persons() {
        for (from, to) in [
            (
                "invalid value: integer `-1`, expected u32",
                "got `-1`, expected a whole number from 0 to 4294967295",
            ),
            (
                "invalid type: string \"x\", expected u64",
                "got \"x\", expected a whole number, 0 or more",
            ),
            (
                "invalid type: floating point `1.5`, expected usize",
                "got `1.5`, expected a whole number, 0 or more",
            ),
            (
                "unknown variant `gre`, expected `gtp-u` or `vxlan`",
                "unknown value `gre`, expected `gtp-u` or `vxlan`",
            ),
            ("must be at least 1, not 0", "must be at least 1, not 0"),
        ] {
            assert_eq!(in_plain_words(from), to);
        }
    }
}
