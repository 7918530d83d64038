//! The keys of a section as the type that uses them.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Invalid, Place, remedy_for_unknown};

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
    read.map_err(|invalid| {
        let schema = schemars::schema_for!(T);
        let invalid = expected_by_schema(in_schema(invalid, &schema), &schema);
        near_words(counted_elsewhere(invalid, &schema))
    })
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

/// Reads a value as its type, for a type that joins others and is itself read by [`read`]: what a
/// part of it expects is told by the schema there.
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

/// Replaces what a parser expected by what the schema says there, where the parser knows no more
/// than the name of a type: `struct Ports`, `a tuple of size 2`.
fn expected_by_schema(invalid: Invalid, schema: &Schema) -> Invalid {
    let Some((got, rest)) = parts(&invalid.what) else { return invalid };
    let here = Place::root(schema).below(&invalid.key);
    let words = here.and_then(Place::expected).unwrap_or_else(|| of_kind(rest).to_owned());
    let got = if got.is_empty() { String::new() } else { format!("{got}, ") };
    Invalid { what: format!("{got}expected {words}"), ..invalid }
}

/// Names the word that a typing mistake in a list of words or keys most probably meant.
fn near_words(invalid: Invalid) -> Invalid {
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let [is_key, is_value] =
        ["unknown key ", "unknown value "].map(|of| invalid.what.starts_with(of));
    let Some((head, choices)) = invalid.what.split_once(", expected ") else { return invalid };
    let (head, words) = (head.to_owned(), quoted(head));
    let (Some(word), true) = (words.first(), invalid.remedy.is_empty() && (is_key || is_value))
    else {
        return invalid;
    };
    let known = quoted(choices);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let remedy = remedy_for_unknown(word, &known);
    match (is_key, remedy.starts_with("did you mean")) {
        // All that it could be stands in the remedy.
        (true, _) => Invalid { what: head, remedy, ..invalid },
        (false, true) => Invalid { remedy, ..invalid },
        (false, false) => invalid,
    }
}

/// Where a number stands in place of a list, names the keys that count what the list would hold.
fn counted_elsewhere(invalid: Invalid, schema: &Schema) -> Invalid {
    let is_number = invalid.what.strip_prefix("got `").and_then(|rest| rest.split_once('`'));
    let is_number = is_number
        .is_some_and(|(number, rest)| number.parse::<u64>().is_ok() && rest == ", expected a list");
    if !is_number || !invalid.remedy.is_empty() {
        return invalid;
    }
    let list = invalid.key.rsplit('.').next().unwrap_or_default();
    match Place::root(schema).remedy_for_count(list, "") {
        None => invalid,
        Some(remedy) => Invalid { remedy, ..invalid },
    }
}

/// What a parser got, and the name of the type that it expected; none if it expected something in
/// words.
fn parts(what: &str) -> Option<(&str, &str)> {
    const UNTAGGED: &str = "data did not match any variant of untagged enum ";
    if let Some(name) = what.strip_prefix(UNTAGGED) {
        return Some(("", name));
    }
    let (got, rest) = what.split_once(", expected ")?;
    let is_type = TYPES.iter().any(|(of, _)| rest.starts_with(of));
    is_type.then_some((got, rest))
}

/// The form of a type of which nothing but a name is known.
fn of_kind(name: &str) -> &'static str {
    let of = TYPES.iter().find(|(of, _)| name.starts_with(of));
    of.map_or("another kind of value", |(_, words)| words)
}

/// How parsers begin to name a type, and what such a value is in a file.
const TYPES: [(&str, &str); 18] = [
    ("string or map", "a word or a mapping of one key"),
    ("struct variant ", "a mapping of keys to values"),
    ("struct ", "a mapping of keys to values"),
    ("newtype ", "a value"),
    ("unit struct ", "nothing"),
    ("unit variant ", "a word"),
    ("unit", "nothing"),
    ("tuple ", "a list"),
    ("a tuple of size ", "a list"),
    ("an array of length ", "a list"),
    ("enum ", "a word or a mapping of one key"),
    ("internally tagged enum ", "a mapping of keys to values"),
    ("adjacently tagged enum ", "a mapping of keys to values"),
    ("variant identifier", "a word"),
    ("field identifier", "a key"),
    ("a boolean", "true or false"),
    ("a sequence", "a list"),
    ("map with a single key", "a word or a mapping of one key"),
];

/// Rewrites a parser's message without type names, because `expected u32` is not clear to a user.
fn in_plain_words(what: &str) -> String {
    const WORDS: [(&str, &str); 26] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected i8", "expected a whole number from -128 to 127"),
        ("expected i16", "expected a whole number from -32768 to 32767"),
        ("expected i32", "expected a whole number"),
        ("expected i64", "expected a whole number"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected a string", "expected a text"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a mapping of keys to values"),
        ("invalid type: ", "got "),
        ("invalid value: ", "got "),
        ("expected path string", "expected a path"),
        ("invalid IPv4 address syntax", "not an IPv4 address"),
        ("invalid IPv6 address syntax", "not an IPv6 address"),
        ("invalid IP address syntax", "not an IP address"),
        ("invalid length ", "got a list of "),
        ("unknown variant ", "unknown value "),
        ("unknown field ", "unknown key "),
        ("missing field ", "missing key "),
        ("duplicate field ", "twice the key "),
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
    let plain = plain.replace("got unit value", "got nothing").replace("got null", "got nothing");
    let plain = plain.replace("got sequence", "got a list").replace("got map", "got a mapping");
    plain.replace("integer `", "`").replace("string \"", "\"").replace("boolean `", "`")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    struct Keys {
        /// Ports.
        ports: Option<Ports>,
        /// A pair.
        pair: Option<(u8, String)>,
        /// A choice.
        choice: Option<Choice>,
        /// One of two forms.
        either: Option<Either>,
        /// Switches.
        switches: Option<Vec<bool>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Ports {
        /// The first.
        first: String,
        /// The last.
        last: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Choice {
        /// A word.
        AllOfThem,
        /// A number.
        Only(u8),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Either {
        /// A number.
        Number(u8),
        /// A mapping.
        Ports(Ports),
    }

    #[test]
    fn what_is_expected_is_told_by_the_schema_and_not_by_a_type() {
        for (keys, expected) in [
            (json!({"ports": 5}), "got `5`, expected a mapping with the keys `first`, `last`"),
            (json!({"ports": "x"}), "got \"x\", expected a mapping with the keys `first`, `last`"),
            (json!({"pair": 5}), "got `5`, expected a list"),
            (json!({"choice": 5}), "expected `all-of-them` or a mapping with the key `only`"),
            (json!({"choice": [5]}), "expected `all-of-them` or a mapping with the key `only`"),
            (
                json!({"either": true}),
                "expected a whole number from 0 to 255 or a mapping with the keys",
            ),
            (json!({"switches": 5}), "got `5`, expected a list"),
            (json!({"switches": [5]}), "got `5`, expected true or false"),
            (json!({"ports": {"first": "a"}}), "missing key `last`"),
            (json!({"other": 1}), "unknown key `other`"),
        ] {
            let error = read::<Keys>("function", keys.clone()).expect_err("of another type");
            assert!(error.what.contains(expected), "{keys}: {error}");
        }
    }

    #[test]
    fn a_mistake_in_a_list_of_words_names_the_one_that_was_meant() {
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        #[derive(Default)]
        struct Router {
            /// Static routes.
            routes: Vec<Ports>,
            /// Generated routes behind a port; each leads to a next hop.
            table_size: u32,
            /// Next hops of generated routes.
            hops: u32,
            /// Rules.
            rules: Vec<Rule>,
        }
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        struct Rule {
            /// A choice.
            choice: Option<Choice>,
            /// Ports.
            destination_ports: Option<u16>,
        }
        for (keys, what, remedy) in [
            (
                json!({"rules": [{"destination-port": 80}]}),
                "unknown key `destination-port`",
                "did you mean `destination-ports`?",
            ),
            (
                json!({"rules": [{"choice": "all-of-thm"}]}),
                "unknown value `all-of-thm`, expected `all-of-them` or `only`",
                "did you mean `all-of-them`?",
            ),
            (
                json!({"routes": 10_000}),
                "got `10000`, expected a list",
                "`routes` lists each; so many are made by `table-size`",
            ),
            (json!({"rules": 5}), "got `5`, expected a list", ""),
        ] {
            let error = typed::<Router>("function", keys.clone()).expect_err("a mistake");
            assert_eq!((&*error.what, &*error.remedy), (what, remedy), "{keys}");
        }
    }

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
