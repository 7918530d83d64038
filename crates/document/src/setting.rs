//! Keys that are set on the command line, over what a file holds.
//!
//! `traffic.routes=10000` names a key by its path from the root, with indices of lists
//! (`methods[0].duration`, or `methods.0.duration`), and gives it a YAML value, which replaces what
//! is there. Mappings and lists on the way are made where there are none. The value knows the
//! option by which it was given, so that an error of it names that option in place of a file.

use std::sync::Arc;

use serde_json::Value;

use crate::DocumentError;
use crate::document::{Origin, kind};
use crate::load;
use crate::tree::{Node, Tree, child};

/// A key and its value from the command line.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The option as the user wrote it: `--set traffic.routes=10000`.
    pub option: String,
    /// The steps from the root to the key, at least one.
    steps: Vec<Step>,
    given: Given,
}

/// The value of a setting.
#[derive(Clone, Debug)]
enum Given {
    /// YAML text.
    Text(String),
    /// A value as it is.
    Value(Value),
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A name: a key, or the index of an entry where the file has a list.
    Name(String),
    /// An index in brackets.
    Index(usize),
}

impl Setting {
    /// Reads `KEY=VALUE`, the value of the flag `flag`.
    ///
    /// # Errors
    /// When there is no `=`, or what is before it is no path.
    pub fn parse(flag: &str, text: &str) -> Result<Setting, DocumentError> {
        let option = one_line(&format!("{flag} {text}"));
        let wrong = |what: &str| DocumentError::of_file(&option, what, FORM);
        let (steps, rest) = steps(text).map_err(|what| wrong(&what))?;
        let value =
            rest.strip_prefix('=').ok_or_else(|| wrong("the `=` and a value are missing"))?;
        Ok(Setting { steps, given: Given::Text(value.to_owned()), option })
    }

    /// Creates a setting of the key at `path`, a list of names, for an option of its own.
    pub fn of(option: &str, path: &[&str], value: Value) -> Setting {
        let steps = path.iter().map(|name| Step::Name((*name).to_owned())).collect();
        Setting { option: one_line(option), steps, given: Given::Value(value) }
    }

    /// The value as a tree below the key `key`, with paths of files relative to the working
    /// folder.
    fn tree(&self, key: &str) -> Result<Tree, DocumentError> {
        let nowhere: Arc<str> = Arc::from("");
        let value = match &self.given {
            Given::Text(text) => load::value(&self.option, text, key)?,
            Given::Value(value) => Tree::of_value(value, &nowhere, key),
        };
        // Which keys name files is known by their names, so they are put around the value.
        let mut around = value;
        for step in self.steps.iter().rev() {
            let node = match step {
                Step::Name(name) => Node::Map(vec![(name.clone(), around)]),
                Step::Index(_) => Node::List(vec![around]),
            };
            around = Tree { origin: Arc::new(Origin::at(&nowhere, key)), node };
        }
        let mut inner = around.with_files_beside();
        for _ in &self.steps {
            inner = match inner.node {
                Node::Map(mut entries) => entries.remove(0).1,
                Node::List(mut items) => items.remove(0),
                Node::Scalar(_) => break,
            };
        }
        inner.said_by(&Arc::from(self.option.as_str()));
        Ok(inner)
    }
}

impl Tree {
    /// An empty mapping that stands for what an option of the command line names.
    pub fn empty(option: &str) -> Tree {
        Tree { origin: Arc::new(Origin::at(&Arc::from(option), "")), node: Node::Map(Vec::new()) }
    }

    /// Sets a key. A text at a key of `named` stands for the mapping that has it as its `name`.
    ///
    /// # Errors
    /// When a part of the path is no mapping and no list, an index is beyond the end, or the value
    /// is not well-formed.
    pub fn set(&mut self, setting: &Setting, named: &[&str]) -> Result<(), DocumentError> {
        let (mut here, mut path, mut last) = (self, String::new(), String::new());
        for step in &setting.steps {
            let around = (path.as_str(), last.as_str());
            let index = here.make_room(step, around, named.contains(&last.as_str()), setting)?;
            match index {
                Some(index) => path = format!("{path}[{index}]"),
                None => {
                    last = step.name();
                    path = child(&path, &last);
                }
            }
            let origin = || Arc::new(Origin::at(&Arc::from(setting.option.as_str()), &path));
            let empty = || Tree { origin: origin(), node: Node::Scalar(Value::Null) };
            here = match (&mut here.node, index) {
                (Node::List(items), Some(index)) => {
                    if index == items.len() {
                        items.push(empty());
                    }
                    &mut items[index]
                }
                (Node::Map(entries), _) => {
                    let found = entries.iter().position(|(key, _)| *key == last);
                    let at = found.unwrap_or(entries.len());
                    if found.is_none() {
                        entries.push((last.clone(), empty()));
                    }
                    &mut entries[at].1
                }
                _ => return Err(DocumentError::of_file(&setting.option, "no such place", FORM)),
            };
        }
        *here = setting.tree(&path)?;
        Ok(())
    }

    /// Makes this a mapping or a list that the step leads into, and tells the index in a list.
    fn make_room(
        &mut self,
        step: &Step,
        (path, last): (&str, &str),
        is_named: bool,
        setting: &Setting,
    ) -> Result<Option<usize>, DocumentError> {
        let wrong = |what: String, remedy: String| {
            Err(DocumentError {
                key: path.to_owned(),
                ..DocumentError::of_file(&setting.option, what, remedy)
            })
        };
        match &mut self.node {
            node @ Node::Scalar(Value::Null) => {
                *node = match step {
                    Step::Name(_) => Node::Map(Vec::new()),
                    Step::Index(_) => Node::List(Vec::new()),
                };
            }
            Node::Scalar(Value::String(_)) if is_named && matches!(step, Step::Name(_)) => {
                let name = self.clone();
                self.node = Node::Map(vec![("name".to_owned(), name)]);
            }
            Node::Scalar(value) => {
                let what = format!("`{path}` is {}, which has no keys", kind(value));
                return wrong(what, format!("set `{path}` itself"));
            }
            Node::Map(_) | Node::List(_) => {}
        }
        let Node::List(items) = &self.node else {
            return match step {
                Step::Name(_) => Ok(None),
                Step::Index(_) => {
                    let what = format!("`{path}` is a mapping, not a list");
                    wrong(what, format!("name a key of it: `{path}.{}`", "KEY"))
                }
            };
        };
        let index = match step {
            Step::Index(index) => Some(*index),
            Step::Name(name) => name.parse().ok(),
        };
        match index {
            Some(index) if index <= items.len() => Ok(Some(index)),
            Some(index) => {
                let what = format!("`{path}` has {} entries, and none at {index}", items.len());
                wrong(what, format!("count from 0; `{path}[{}]` adds one", items.len()))
            }
            None => {
                let what = format!("`{path}` is a list, so its entries are named by index");
                wrong(what, format!("write `{path}[0].{}`{}", step.name(), also(last, path)))
            }
        }
    }

    /// The tree of a value, below a key.
    fn of_value(value: &Value, file: &Arc<str>, key: &str) -> Tree {
        let node = match value {
            Value::Array(items) => {
                let item = |(at, item)| Tree::of_value(item, file, &format!("{key}[{at}]"));
                Node::List(items.iter().enumerate().map(item).collect())
            }
            Value::Object(entries) => {
                let entry = |(name, value): (&String, &Value)| {
                    (name.clone(), Tree::of_value(value, file, &child(key, name)))
                };
                Node::Map(entries.iter().map(entry).collect())
            }
            single => Node::Scalar(single.clone()),
        };
        Tree { origin: Arc::new(Origin::at(file, key)), node }
    }

    /// Names the option by which all of this was given.
    fn said_by(&mut self, option: &Arc<str>) {
        self.origin = Arc::new(Origin::at(option, &self.origin.key));
        match &mut self.node {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter_mut().for_each(|item| item.said_by(option)),
            Node::Map(entries) => entries.iter_mut().for_each(|(_, value)| value.said_by(option)),
        }
    }
}

impl Step {
    fn name(&self) -> String {
        match self {
            Step::Name(name) => name.clone(),
            Step::Index(index) => index.to_string(),
        }
    }
}

impl Origin {
    fn at(file: &Arc<str>, key: &str) -> Origin {
        Origin { file: Arc::clone(file), key: key.to_owned(), line: None }
    }
}

/// The steps of the path at the begin of a text, and what follows it: the `=`, or nothing.
fn steps(text: &str) -> Result<(Vec<Step>, &str), String> {
    let (mut steps, mut rest) = (Vec::new(), text);
    loop {
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, behind) = inner.split_once(']').ok_or("a `]` is missing")?;
            let index =
                index.parse().map_err(|_| format!("`{index}` is not the index of an entry"))?;
            steps.push(Step::Index(index));
            rest = behind;
        } else {
            let (name, behind) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or("a closing quote is missing")?,
                None => rest.split_at(rest.find(['.', '[', '=']).unwrap_or(rest.len())),
            };
            if name.is_empty() {
                return Err("a part of the key is empty".to_owned());
            }
            steps.push(Step::Name(name.to_owned()));
            rest = behind;
        }
        match rest.chars().next() {
            Some('.') => rest = &rest[1..],
            Some('[') => {}
            Some('=') | None => return Ok((steps, rest)),
            Some(other) => return Err(format!("`{other}` follows a part of the key")),
        }
    }
}

/// A hint for a section that takes a single entry, too.
fn also(last: &str, path: &str) -> String {
    match last == path {
        true => format!(", or replace the list: `{path}={{…}}`"),
        false => String::new(),
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

const FORM: &str = "write KEY=VALUE, as in traffic.pkt-size=64 or methods[0].name=capacity";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Document;
    use crate::load::tests::TEST;

    const NAMED: [&str; 2] = ["function", "methods"];

    fn tree(text: &str) -> Tree {
        Document::tree(&TEST, "a.yaml", text).expect("well-formed")
    }

    fn after(text: &str, settings: &[&str]) -> Result<Document, DocumentError> {
        let mut tree = tree(text);
        for setting in settings {
            tree.set(&Setting::parse("--set", setting)?, &NAMED)?;
        }
        Ok(tree.into_document("a.yaml"))
    }

    #[test]
    fn a_key_is_set_wherever_it_is() {
        let text = "function: {name: router, user: 5}\nmethods: [throughput, {name: latency}]\n";
        for (settings, at, expected) in [
            (vec!["function.user=7"], "/function/user", json!(7)),
            (vec!["function.user=[1, 1e3]"], "/function/user", json!([1, 1000])),
            (vec!["function.user="], "/function/user", json!(null)),
            (vec!["function.rate=10 Mbit/s"], "/function/rate", json!("10 Mbit/s")),
            (vec!["function.rate=a: b=c"], "/function/rate", json!({"a": "b=c"})),
            (vec!["traffic.routes=10000"], "/traffic", json!({"routes": 10000})),
            (vec!["traffic.mix.64=7"], "/traffic/mix", json!({"64": 7})),
            (vec!["methods[1].duration=1 s"], "/methods/1/duration", json!("1 s")),
            (vec!["methods.1.duration=1 s"], "/methods/1/duration", json!("1 s")),
            (vec!["methods[0].from=2"], "/methods/0", json!({"name": "throughput", "from": 2})),
            (vec!["methods[2]=capacity"], "/methods/2", json!("capacity")),
            (vec!["acl[0].action=deny"], "/acl", json!([{"action": "deny"}])),
            (vec!["cells.\"function.user\"=5"], "/cells", json!({"function.user": 5})),
            (
                vec!["function=cgnat", "function.user=1"],
                "/function",
                json!({"name": "cgnat", "user": 1}),
            ),
        ] {
            let root =
                after(text, &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            let root = Value::Object(root.root);
            assert_eq!(root.pointer(at), Some(&expected), "{settings:?}");
        }
    }

    #[test]
    fn what_cannot_be_set_is_told_with_the_option() {
        let text = "a: 5\nlist: [1, 2]\nmap: {b: 1}\n";
        for (setting, what, remedy) in [
            ("a", "`=`", "KEY=VALUE"),
            ("=5", "is empty", "KEY=VALUE"),
            ("a..b=5", "is empty", "KEY=VALUE"),
            ("list[x]=5", "not the index", "KEY=VALUE"),
            ("list[0=5", "`]` is missing", "KEY=VALUE"),
            ("list[0]x=5", "follows", "KEY=VALUE"),
            ("a.b=5", "`a` is a number, which has no keys", "set `a` itself"),
            ("list.b=5", "`list` is a list", "`list[0].b`"),
            ("list[3]=5", "has 2 entries", "`list[2]` adds one"),
            ("map[0]=5", "`map` is a mapping", "`map.KEY`"),
            ("a=[1", "", ""),
            ("a=1\n---\n2", "", ""),
        ] {
            let error = after(text, &[setting]).expect_err(setting);
            let option = one_line(&format!("--set {setting}"));
            assert_eq!((error.file.as_str(), error.line), (option.as_str(), None), "{setting}");
            assert!(error.what.contains(what), "{setting}: {error}");
            assert!(error.remedy.contains(remedy), "{setting}: {error}");
        }
    }

    #[test]
    fn an_error_of_a_value_names_its_option() {
        let document = after("map: {b: 1}\n", &["map.list=[1, {c: 2}]"]).expect("well-formed");
        let error = document.error("map.list[1].c", "bad", "mend it");
        assert_eq!(error.to_string(), "--set map.list=[1, {c: 2}]: map.list[1].c: bad; mend it");
        let error = document.error("map.b", "bad", "mend it");
        assert_eq!((error.file.as_str(), error.line), ("a.yaml", Some(1)));
    }

    #[test]
    fn paths_of_files_are_those_of_the_working_folder() {
        let here = std::env::current_dir().expect("there is one");
        for (setting, at) in [
            ("function.route-files=sub/routes", "/function/route-files"),
            ("function.route-files[0].path=sub/routes", "/function/route-files/0/path"),
            ("function={route-files: {path: sub/routes}}", "/function/route-files/path"),
        ] {
            let root = Value::Object(after("a: 1\n", &[setting]).expect("well-formed").root);
            assert_eq!(root.pointer(at), Some(&json!(here.join("sub/routes"))), "{setting}");
        }
    }
}
