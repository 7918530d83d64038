//! A parsed file as a tree in which every value knows where it was written, and TIPSY's way to
//! merge two of them.
//!
//! Merging goes by TIPSY's rules, so that its files mean what they mean there: mappings merge key
//! by key, lists are joined, and of two single values the later one holds. An error of a merged
//! value still names the file, line and key where it was written.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::DocumentError;
use crate::document::{Document, Origin};

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Place at which it was written.
    pub origin: Arc<Origin>,
    /// The value.
    pub node: Node,
}

/// A value of a tree.
#[derive(Clone, Debug)]
pub enum Node {
    /// A single value.
    Scalar(Value),
    /// A list.
    List(Vec<Tree>),
    /// Keys and values in the order of the file.
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// Returns the number of values in the tree, including itself, which determines the cost of a
    /// copy.
    pub fn count(&self) -> usize {
        1 + match &self.node {
            Node::Scalar(_) => 0,
            Node::List(items) => items.iter().map(Tree::count).sum(),
            Node::Map(entries) => entries.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }

    /// Removes a key from a mapping and returns its value.
    pub fn take(&mut self, key: &str) -> Option<Tree> {
        let Node::Map(entries) = &mut self.node else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// Merges `later` over this tree.
    ///
    /// # Errors
    /// When one is a mapping and the other a list.
    pub fn merge(self, later: Tree) -> Result<Tree, DocumentError> {
        match (self.node, later.node) {
            (Node::Map(mine), Node::Map(theirs)) => {
                let node = Node::Map(merge_entries(mine, theirs)?);
                Ok(Tree { origin: later.origin, node })
            }
            (Node::List(mut mine), Node::List(theirs)) => {
                mine.extend(theirs);
                Ok(Tree { origin: later.origin, node: Node::List(mine) })
            }
            // A key that is named and left empty changes nothing.
            (node @ (Node::Map(_) | Node::List(_)), Node::Scalar(Value::Null)) => {
                Ok(Tree { origin: self.origin, node })
            }
            (Node::List(mut mine), node) => {
                mine.push(Tree { origin: Arc::clone(&later.origin), node });
                Ok(Tree { origin: later.origin, node: Node::List(mine) })
            }
            (Node::Map(_), Node::List(_)) => {
                let what =
                    format!("a list cannot be merged with the mapping of {}", self.origin.place());
                Err(later.origin.error(what, "write a mapping in both places, or a list in both"))
            }
            (_, node) => Ok(Tree { origin: later.origin, node }),
        }
    }

    /// Returns the values with the place of each. Keys start at this tree; errors of the document
    /// name keys from the root of the file.
    pub fn into_document(self, file: &str) -> Document {
        let mut places = HashMap::new();
        if !self.origin.key.is_empty() {
            places.insert(String::new(), Arc::clone(&self.origin));
        }
        let root = match self.into_value("", &mut places) {
            Value::Object(root) => root,
            _ => Map::new(),
        };
        Document { file: file.to_owned(), root, places }
    }

    fn into_value(self, path: &str, places: &mut HashMap<String, Arc<Origin>>) -> Value {
        if !path.is_empty() {
            places.insert(path.to_owned(), self.origin);
        }
        match self.node {
            Node::Scalar(value) => value,
            Node::List(items) => {
                let item =
                    |(at, item): (usize, Tree)| item.into_value(&format!("{path}[{at}]"), places);
                Value::Array(items.into_iter().enumerate().map(item).collect())
            }
            Node::Map(entries) => {
                let entry = |(key, value): (String, Tree)| {
                    let inner = child(path, &key);
                    (key, value.into_value(&inner, places))
                };
                Value::Object(entries.into_iter().map(entry).collect())
            }
        }
    }
}

/// Returns the path of a key below another path.
pub fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

type Entries = Vec<(String, Tree)>;

fn merge_entries(mut mine: Entries, theirs: Entries) -> Result<Entries, DocumentError> {
    let mut index: HashMap<String, usize> =
        mine.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
    for (key, later) in theirs {
        match index.get(&key) {
            Some(&at) => {
                let empty =
                    Tree { origin: Arc::clone(&later.origin), node: Node::Scalar(Value::Null) };
                let earlier = std::mem::replace(&mut mine[at].1, empty);
                mine[at].1 = earlier.merge(later)?;
            }
            None => {
                index.insert(key.clone(), mine.len());
                mine.push((key, later));
            }
        }
    }
    Ok(mine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(first: &str, second: &str) -> Result<Document, DocumentError> {
        let tree = |file, text| {
            Document::tree(&crate::load::tests::TEST, file, text).expect("well-formed")
        };
        Ok(tree("a.json", first).merge(tree("b.json", second))?.into_document("folder"))
    }

    #[test]
    fn values_merge_as_tipsy_merges_them() {
        for (first, second, expected) in [
            ("a: 1\n", "b: 2\n", "{\"a\":1,\"b\":2}"),
            ("a: 1\n", "a: 2\n", "{\"a\":2}"),
            ("a: {b: 1, c: 2}\n", "a: {b: 3}\n", "{\"a\":{\"b\":3,\"c\":2}}"),
            ("a: [1, 2]\n", "a: [3]\n", "{\"a\":[1,2,3]}"),
            ("a: [1, 2]\n", "a: 3\n", "{\"a\":[1,2,3]}"),
            ("a: 1\n", "a: [2, 3]\n", "{\"a\":[2,3]}"),
            ("a: {b: 1}\n", "a: 2\n", "{\"a\":2}"),
            ("a: {b: 1}\n", "a:\n", "{\"a\":{\"b\":1}}"),
            ("a:\n", "a: {b: 1}\n", "{\"a\":{\"b\":1}}"),
        ] {
            let root = merged(first, second).expect("they merge").root;
            assert_eq!(Value::Object(root).to_string(), expected, "{first} {second}");
        }
    }

    #[test]
    fn what_cannot_be_merged_is_an_error_with_both_places() {
        let error = merged("a: {b: 1}\n", "\na: [1]\n").expect_err("no common form");
        assert_eq!((error.file.as_str(), error.line, error.key.as_str()), ("b.json", Some(2), "a"));
        assert!(error.what.contains("a.json line 1"), "{error}");
    }

    #[test]
    fn merged_values_know_where_they_were_written() {
        let document =
            merged("a: {b: 1,\n c: [1,\n 2]}\n", "x: 1\na: {b: 3, c: 4}\n").expect("they merge");
        for (key, file, line, written) in [
            ("a.b", "b.json", 2, "a.b"),
            ("a.c[1]", "a.json", 3, "a.c[1]"),
            ("a.c[2]", "b.json", 2, "a.c"),
            ("a.b.deeper", "b.json", 2, "a.b.deeper"),
        ] {
            let error = document.error(key, "bad", "mend it");
            assert_eq!(
                (error.file.as_str(), error.line, error.key.as_str()),
                (file, Some(line), written)
            );
        }
    }
}
