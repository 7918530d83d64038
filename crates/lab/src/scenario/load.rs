//! From a file to a tree of values that remembers its lines.
//!
//! YAML, and JSON as the part of YAML that it is (so TIPSY's trailing commas are no error). Whatever
//! the file holds, the answer is a [`Document`] or a [`ScenarioError`] with file, line and remedy,
//! never a panic: size, nesting, aliases and the number of nodes are limited before they cost
//! anything. Duplicate keys are errors. It deliberately has no includes, no variables and no tags.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::ScenarioError;
use super::keys::nearest;

/// A parsed file: its values, and the line of each.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file as the user named it.
    pub file: String,
    /// The values; the root is an object.
    pub root: Map<String, Value>,
    lines: HashMap<String, u32>,
}

impl Document {
    /// Parses the text of a file named `file`.
    ///
    /// # Errors
    /// When the text is not well-formed, repeats a key, nests too deep or is no mapping.
    pub fn parse(file: &str, text: &str) -> Result<Document, ScenarioError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_blank =
            |line: &str| matches!(line.trim(), "" | "---" | "...") || line.trim().starts_with('#');
        if text.lines().all(is_blank) {
            return Err(ScenarioError::of_file(file, "the file is empty", STARTING_POINT));
        }
        let node: Spanned<Node> = serde_saphyr::from_str_with_options(text, options())
            .map_err(|error| syntax_error(file, &error))?;
        let mut lines = HashMap::new();
        let root = match node.value.into_value("", &mut lines) {
            Value::Object(root) => root,
            other => {
                let what =
                    format!("a scenario is a mapping of keys to values, not {}", kind(&other));
                return Err(ScenarioError::of_file(file, what, STARTING_POINT));
            }
        };
        Ok(Document { file: file.to_owned(), root, lines })
    }

    /// The line of a key (`function.user[1]`), or of the nearest key around it.
    pub fn line(&self, key: &str) -> Option<u32> {
        let mut key = key;
        loop {
            if let Some(&line) = self.lines.get(key) {
                return Some(line);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }

    /// An error of one key of this file.
    pub fn error(
        &self,
        key: &str,
        what: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> ScenarioError {
        ScenarioError {
            line: self.line(key),
            key: key.to_owned(),
            ..ScenarioError::of_file(&self.file, what, remedy)
        }
    }
}

/// A word for the kind of a value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is no text or is absurdly large.
pub(super) fn read_text(path: &Path) -> Result<String, ScenarioError> {
    let file = &path.display().to_string();
    let fail = |what: &str, remedy: String| Err(ScenarioError::of_file(file, what, remedy));
    if path.is_dir() {
        return fail("this is a directory", "name the scenario file in it".into());
    }
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|input| input.take(SIZE_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return fail("no such file", similar_file(path));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return fail("permission denied", format!("allow reading it: chmod u+r {file}"));
        }
        Err(error) => {
            let remedy = "copy its text to an ordinary file, and name that";
            return fail(&format!("cannot be read: {error}"), remedy.into());
        }
    }
    if bytes.len() as u64 > SIZE_BYTES_MAX {
        return fail(
            "larger than 16 MiB, which no scenario is",
            "check that this is the file you meant".into(),
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
        let what = format!("byte {good} is not UTF-8 text");
        let remedy = "save the file as UTF-8, and check that it is a scenario";
        ScenarioError {
            line: u32::try_from(line).ok(),
            ..ScenarioError::of_file(file, what, remedy)
        }
    })
}

/// What to say of a file that is not there: one beside it with nearly the same name.
fn similar_file(path: &Path) -> String {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    for folder in folder.into_iter().chain([Path::new("."), Path::new("scenarios")]) {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)))
            .collect();
        names.sort();
        if let Some(name) = nearest(&wanted.clone().unwrap_or_default(), names.iter()) {
            return format!("did you mean {}?", folder.join(name).display());
        }
    }
    "check the path; the scenarios that come with the source are in scenarios/".into()
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: NESTING_MAX,
            flow_nesting_limit: NESTING_MAX,
            max_aliases: 1_000,
            max_documents: 1,
        },
        emit_comments: false,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::Reject,
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn syntax_error(file: &str, error: &serde_saphyr::Error) -> ScenarioError {
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
            "write one scenario a file: remove the line with `---`",
        ),
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            (format!("nested more than {NESTING_MAX} levels deep"), "flatten the file")
        }
        Error::NonFiniteFloat { value, .. } => {
            (format!("`{value}` is no number to work with"), "write a finite number")
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => return too_much(file, error),
        other => {
            let text = other.to_string();
            let first = text.lines().next().unwrap_or_default();
            if first.starts_with("budget breached") {
                // The same limits, met while an alias is followed.
                return too_much(file, error);
            }
            // The place is told apart from the text.
            let what = first.rfind(" at line ").map_or(first, |at| &first[..at]).to_owned();
            (what, "check indentation, quotes and brackets there; is the file complete?")
        }
    };
    at_line(error, ScenarioError::of_file(file, what, remedy))
}

fn too_much(file: &str, error: &serde_saphyr::Error) -> ScenarioError {
    let what = "more values or aliases than a scenario can need";
    let remedy = "write the values out; long lists belong in several scenarios";
    at_line(error, ScenarioError::of_file(file, what, remedy))
}

fn at_line(error: &serde_saphyr::Error, told: ScenarioError) -> ScenarioError {
    let line = error.location().map(|at| at.line() as u32).filter(|&line| line > 0);
    ScenarioError { line, ..told }
}

/// A value as the parser sees it, each child with its place.
enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Node)>),
}

impl Node {
    fn into_value(self, path: &str, lines: &mut HashMap<String, u32>) -> Value {
        match self {
            Node::Scalar(value) => value,
            Node::List(items) => {
                let item = |(index, item): (usize, Spanned<Node>)| {
                    let path = format!("{path}[{index}]");
                    lines.insert(path.clone(), item.referenced.line() as u32);
                    item.value.into_value(&path, lines)
                };
                Value::Array(items.into_iter().enumerate().map(item).collect())
            }
            Node::Map(entries) => {
                let entry = |(key, node): (Spanned<String>, Node)| {
                    let path = if path.is_empty() {
                        key.value.clone()
                    } else {
                        format!("{path}.{}", key.value)
                    };
                    lines.insert(path.clone(), key.referenced.line() as u32);
                    (key.value, node.into_value(&path, lines))
                };
                Value::Object(entries.into_iter().map(entry).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    /// Whole numbers written as 1e6 are whole numbers: a key that counts takes them.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        let number = if value.fract() == 0.0 && value.abs() <= EXACT_IN_F64_MAX {
            Number::from(value as i64)
        } else {
            Number::from_f64(value).ok_or_else(|| E::custom("a number must be finite"))?
        };
        Ok(Node::Scalar(Value::Number(number)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key()? {
            map.push((key, entries.next_value()?));
        }
        Ok(Node::Map(map))
    }
}

const STARTING_POINT: &str =
    "start from scenarios/mobile-gateway.yaml; `plumbline schema` lists every key";
const SIZE_BYTES_MAX: u64 = 16 << 20;
const NESTING_MAX: usize = 32;
const EXACT_IN_F64_MAX: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, ScenarioError> {
        Document::parse("test.yaml", text)
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
            ("a: .inf\n", Some(1), "no number"),
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
    fn no_truncation_of_a_good_file_panics() {
        let text = "name: a\nfunction: {name: x, user: [1, 2], m: \"q\\n\"}\ntraffic:\n  - &a {b: 1}\n  - *a\n";
        for end in 0..text.len() {
            let _ = parse(&text[..end]);
        }
    }
}
