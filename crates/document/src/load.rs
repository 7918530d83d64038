//! From a text to a tree of values that remembers its lines.
//!
//! YAML, and JSON as the part of YAML that it is (so TIPSY's trailing commas are no error).
//! Whatever the file holds, the answer is a [`Document`] or a [`DocumentError`] with file, line and
//! remedy, never a panic: size, nesting, aliases and the number of nodes are limited before they
//! cost anything. Duplicate keys are errors. It deliberately has no includes, no variables and no
//! tags.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

use crate::document::{Document, Origin, kind};
use crate::tree::{Node, Tree, child};
use crate::{DocumentError, Kind};

impl Document {
    /// Parses the text of a file named `file`.
    ///
    /// # Errors
    /// When the text is not well-formed, repeats a key, nests too deep or is not a
    /// mapping.
    pub fn parse(kind: &Kind, file: &str, text: &str) -> Result<Document, DocumentError> {
        Ok(Document::tree(kind, file, text)?.into_document(file))
    }

    /// Parses the text of a file named `file` to a tree, which can be merged with others.
    ///
    /// # Errors
    /// Those of [`Document::parse`].
    pub fn tree(kind: &Kind, file: &str, text: &str) -> Result<Tree, DocumentError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_blank =
            |line: &str| matches!(line.trim(), "" | "---" | "...") || line.trim().starts_with('#');
        if text.lines().all(is_blank) {
            return Err(DocumentError::of_file(file, "the file is empty", kind.starting_point));
        }
        let parsed: Spanned<Parsed> =
            serde_saphyr::from_str_with_options(text, options(text.len()))
                .map_err(|error| syntax_error(kind, file, &error))?;
        let line = parsed.referenced.line() as u32;
        let tree = parsed.value.into_tree(&Arc::from(file), String::new(), line);
        let tree = tree.with_files_beside();
        match &tree.node {
            Node::Map(_) => Ok(tree),
            other => {
                let found = match other {
                    Node::List(_) => "a list",
                    Node::Scalar(value) => self::kind(value),
                    Node::Map(_) => "a mapping",
                };
                let what = format!("a {} is a mapping of keys to values, not {found}", kind.noun);
                Err(DocumentError::of_file(file, what, kind.starting_point))
            }
        }
    }
}

/// Parses a value that an option of the command line gives to a key; its parts have no place yet
/// but their keys.
pub(crate) fn value(option: &str, text: &str, key: &str) -> Result<Tree, DocumentError> {
    let whole = DocumentError::of_file(option, "", "");
    let file = Arc::from("");
    if text.trim().is_empty() {
        return Ok(Parsed::Scalar(Value::Null).into_tree(&file, key.to_owned(), 0));
    }
    let parsed: Result<Spanned<Parsed>, _> =
        serde_saphyr::from_str_with_options(text, options(text.len()));
    match parsed {
        Ok(parsed) => Ok(parsed.value.into_tree(&file, key.to_owned(), 0)),
        Err(error) => {
            let DocumentError { what, .. } = syntax_error(&VALUE, option, &error);
            let remedy = "write a YAML value, and put it into quotes for the shell";
            Err(DocumentError { what, key: key.to_owned(), remedy: remedy.to_owned(), ..whole })
        }
    }
}

/// What a value on the command line is called in messages.
const VALUE: Kind = Kind { noun: "value", folder: "", starting_point: "" };

/// A file has a limit of its own, and a value takes a byte of it: beside aliases, whose copies are
/// limited apart, the text alone says how many there may be.
fn options(bytes: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: NESTING_MAX,
            flow_nesting_limit: NESTING_MAX,
            max_aliases: 1_000,
            max_documents: 1,
            max_events: EVENTS_MIN.max(bytes.saturating_mul(2)),
            max_nodes: NODES_MIN.max(bytes),
            max_total_scalar_bytes: SCALAR_BYTES_MIN.max(bytes),
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::Reject,
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// What a short text may have in any case, with its aliases.
const EVENTS_MIN: usize = 1_000_000;
const NODES_MIN: usize = 250_000;
const SCALAR_BYTES_MIN: usize = 64 << 20;

fn syntax_error(kind: &Kind, file: &str, error: &serde_saphyr::Error) -> DocumentError {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    let (what, remedy) = match error.without_snippet() {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("a key");
            (format!("`{key}` appears twice"), "remove one of the two")
        }
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | Error::MultipleDocuments { .. } => (
            "a second document begins".to_owned(),
            "keep one document per file: remove the line with `---`",
        ),
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            (format!("nested more than {NESTING_MAX} levels deep"), "flatten the file")
        }
        Error::NonFiniteFloat { value, .. } => {
            (format!("`{value}` is not a finite number"), "write a finite number")
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => return too_much(kind, file, error),
        other => {
            let text = other.to_string();
            let first = text.lines().next().unwrap_or_default();
            if first.starts_with("budget breached") {
                // The same limits, met while an alias is followed.
                return too_much(kind, file, error);
            }
            // The place is told apart from the text.
            let what = first.rfind(" at line ").map_or(first, |at| &first[..at]).to_owned();
            (what, "check indentation, quotes and brackets there; is the file complete?")
        }
    };
    at_line(error, DocumentError::of_file(file, what, remedy))
}

fn too_much(kind: &Kind, file: &str, error: &serde_saphyr::Error) -> DocumentError {
    let what = format!("more values or aliases than a {} may have", kind.noun);
    let remedy = "write the values without aliases, or split long lists into several files";
    at_line(error, DocumentError::of_file(file, what, remedy))
}

fn at_line(error: &serde_saphyr::Error, told: DocumentError) -> DocumentError {
    let line = error.location().map(|at| at.line() as u32).filter(|&line| line > 0);
    DocumentError { line, ..told }
}

/// A value as parsed, with the place of each child.
enum Parsed {
    Scalar(Value),
    List(Vec<Spanned<Parsed>>),
    Map(Vec<(Spanned<String>, Parsed)>),
}

impl Parsed {
    fn into_tree(self, file: &Arc<str>, key: String, line: u32) -> Tree {
        let node = match self {
            Parsed::Scalar(value) => Node::Scalar(value),
            Parsed::List(items) => {
                let item = |(index, item): (usize, Spanned<Parsed>)| {
                    let line = item.referenced.line() as u32;
                    item.value.into_tree(file, format!("{key}[{index}]"), line)
                };
                Node::List(items.into_iter().enumerate().map(item).collect())
            }
            Parsed::Map(entries) => {
                let entry = |(name, value): (Spanned<String>, Parsed)| {
                    let line = name.referenced.line() as u32;
                    let tree = value.into_tree(file, child(&key, &name.value), line);
                    (name.value, tree)
                };
                Node::Map(entries.into_iter().map(entry).collect())
            }
        };
        Tree { origin: Arc::new(Origin { file: Arc::clone(file), key, line: Some(line) }), node }
    }
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parsed, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(value.into()))
    }

    /// Converts integers written as 1e6 to integers, so that keys that count accept them.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Parsed, E> {
        let number = if value.fract() == 0.0 && value.abs() <= EXACT_IN_F64_MAX {
            Number::from(value as i64)
        } else {
            Number::from_f64(value).ok_or_else(|| E::custom("a number must be finite"))?
        };
        Ok(Parsed::Scalar(Value::Number(number)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(value.into()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Value::Null))
    }

    fn visit_none<E: de::Error>(self) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        Parsed::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Parsed, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Parsed::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Parsed, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key()? {
            map.push((key, entries.next_value()?));
        }
        Ok(Parsed::Map(map))
    }
}

const NESTING_MAX: usize = 32;
const EXACT_IN_F64_MAX: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Kind of file in the tests.
    pub(crate) const TEST: Kind =
        Kind { noun: "test file", folder: "tests", starting_point: "write one" };

    fn parse(text: &str) -> Result<Document, DocumentError> {
        Document::parse(&TEST, "test.yaml", text)
    }

    fn message(text: &str) -> String {
        parse(text).expect_err("the text is bad").to_string()
    }

    #[test]
    fn tipsys_json_with_a_trailing_comma_is_read() {
        let document = parse("{\n\t\"pipeline\": {\n\t\t\"user\": [1, 2, 3],\n\t},\n}\n")
            .expect("TIPSY's own style loads");
        assert_eq!(document.root["pipeline"]["user"], serde_json::json!([1, 2, 3]));
        assert_eq!(document.line("pipeline.user[2]"), Some(3));
        assert_eq!(document.line("pipeline.nothing"), Some(2));
    }

    #[test]
    fn scalars_are_what_a_person_means() {
        let text = "a: 1e6\nb: 1_000\nc: aa:22:bb:44:cc:66\nd: 10:20:30:40:50:59\ne: no\nf: true\n\
                    g: 200.0.0.1\nh: 0.5\ni: 10 Mbit/s\nj:\nk: {64: 7, 570: 4}\nl: -3\nm: 010\n";
        let root = parse(text).expect("all of it is good").root;
        let expected = serde_json::json!({
            "a": 1_000_000, "b": 1_000, "c": "aa:22:bb:44:cc:66", "d": "10:20:30:40:50:59",
            "e": "no", "f": true, "g": "200.0.0.1", "h": 0.5, "i": "10 Mbit/s", "j": null,
            "k": {"64": 7, "570": 4}, "l": -3, "m": 10,
        });
        assert_eq!(Value::Object(root), expected);
    }

    #[test]
    fn a_file_without_content_is_called_empty() {
        for text in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
            assert!(message(text).contains("the file is empty"), "{text:?}: {}", message(text));
        }
    }

    #[test]
    fn broken_text_is_an_error_with_its_line() {
        let cases = [
            ("a: 1\nb: 2\na: 3\n", Some(3), "twice"),
            ("a: {b: 1,\n", None, ""),
            ("a: [1, 2\nb: 3\n", None, ""),
            ("a: \"unfinished\n", None, ""),
            ("a: 1\n---\nb: 2\n", None, "document"),
            ("a: .inf\n", Some(1), "finite number"),
            ("a: !secret x\n", Some(1), "tag"),
            ("a: *nowhere\n", Some(1), ""),
            ("- 1\n- 2\n", None, "not a list"),
            ("just words\n", None, "not a text"),
        ];
        for (text, line, part) in cases {
            let error = parse(text).expect_err(text);
            assert!(line.is_none() || error.line == line, "{text:?}: {error}");
            assert!(error.what.to_lowercase().contains(part), "{text:?}: {error}");
            assert!(!error.remedy.is_empty(), "{text:?}: {error}");
        }
    }

    #[test]
    fn absurd_nesting_and_aliases_are_refused() {
        message(&format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000)));
        message(&format!("a: {}1{}", "{b: ".repeat(5_000), "}".repeat(5_000)));
        let block: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        message(&block);
        let mut bomb = String::from("a0: &a0 [x, x]\n");
        for level in 1..40 {
            let below = level - 1;
            bomb += &format!("a{level}: &a{level} [*a{below}, *a{below}, *a{below}]\n");
        }
        message(&bomb);
    }

    #[test]
    fn a_long_list_is_read_as_long_as_the_file_may_be() {
        let entry = "  - {prefix: 10.0.0.0/24, next-hop: 0}\n";
        let text = format!("routes:\n{}", entry.repeat(60_000));
        let document = parse(&text).expect("300,000 values");
        assert_eq!(document.root["routes"].as_array().map(Vec::len), Some(60_000));
    }

    #[test]
    fn no_truncation_of_a_good_file_panics() {
        let text = "name: a\nfunction: {name: x, user: [1, 2], m: \"q\\n\"}\ntraffic:\n  - &a {b: 1}\n  - *a\n";
        for end in 0..text.len() {
            let _ = parse(&text[..end]);
        }
    }
}
