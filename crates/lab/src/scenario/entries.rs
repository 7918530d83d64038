//! A file's benchmarks: the one it is itself, or each of its list with `default` merged below.
//!
//! What merging may cost is limited before it is done: `default` is copied under every benchmark.

use super::tree::{Node, Tree};
use super::{Document, ScenarioError, sections, sweep, tipsy};
use keys::remedy_for_unknown;

/// A benchmark as in the file.
pub(super) struct Entry {
    /// The keys of the benchmark; errors name the place in the file.
    pub document: Document,
    /// Whether the benchmark is in a list: its pipeline then has TIPSY's default.
    pub listed: bool,
    /// Index of the benchmark in the list.
    pub index: usize,
}

/// A file, split into benchmarks.
pub(super) struct Parts {
    /// The keys of the scenario as a whole.
    pub document: Document,
    /// The benchmarks, at least one.
    pub entries: Vec<Entry>,
}

/// Splits a file (or the merged files of a directory) into benchmarks.
///
/// # Errors
/// Unknown keys, invalid benchmarks, or too much to merge.
pub(super) fn take_apart(mut root: Tree, file: &str) -> Result<Parts, ScenarioError> {
    let benchmark = root.take("benchmark");
    let default = root.take("default");
    let Some(benchmark) = benchmark else {
        if let Some(default) = default {
            let remedy = "add `benchmark: [{}]`, or write its keys at the top";
            return Err(default.origin.error("a `default` without a `benchmark`", remedy));
        }
        let document = root.into_document(file);
        sections::check_top_level(&document)?;
        let entry = Entry { document: document.clone(), listed: false, index: 0 };
        return Ok(Parts { document, entries: vec![entry] });
    };
    let document = root.into_document(file);
    check_whole(&document)?;
    let entries = merged(benchmark, default, file)?;
    Ok(Parts { document, entries })
}

/// Checks the keys of a file that contains a list of benchmarks.
fn check_whole(document: &Document) -> Result<(), ScenarioError> {
    for key in document.root.keys() {
        if sections::WHOLE_KEYS.contains(&key.as_str()) {
            continue;
        }
        if sections::ENTRY_KEYS.contains(&key.as_str()) {
            let what = format!("`{key}` belongs to a benchmark, and `benchmark` lists several");
            return Err(document.error(key, what, "move it to `default`, or into the benchmarks"));
        }
        return Err(sections::unknown_top_level(document, key));
    }
    Ok(())
}

fn merged(benchmark: Tree, default: Option<Tree>, file: &str) -> Result<Vec<Entry>, ScenarioError> {
    let items = match benchmark.node {
        Node::List(items) if !items.is_empty() => items,
        Node::List(_) => {
            let remedy = "write at least one benchmark: `benchmark: [{function: {name: …}}]`";
            return Err(benchmark.origin.error("an empty list measures nothing", remedy));
        }
        _ => {
            let remedy = "begin each benchmark with `- `, or write its keys at the top of the file";
            return Err(benchmark.origin.error("expected a list of benchmarks", remedy));
        }
    };
    let copied = default.as_ref().map_or(0, Tree::count).saturating_mul(items.len());
    if items.len() > sweep::CELLS_MAX || copied > COPIED_MAX {
        let what = format!(
            "{} benchmarks with {copied} values copied from `default` are too many",
            items.len()
        );
        let remedy = "split them over several files";
        return Err(benchmark.origin.error(what, remedy));
    }
    let mut entries = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        if !matches!(item.node, Node::Map(_) | Node::Scalar(serde_json::Value::Null)) {
            let remedy = "indent the benchmark's keys below it";
            return Err(item.origin.error("expected a mapping of keys to values", remedy));
        }
        let origin = item.origin.clone();
        let tree = match default.clone() {
            Some(default) => Tree { origin, ..default.merge(item)? },
            None => item,
        };
        let document = tree.into_document(file);
        check_entry(&document)?;
        entries.push(Entry { document, listed: true, index });
    }
    Ok(entries)
}

fn check_entry(document: &Document) -> Result<(), ScenarioError> {
    for key in document.root.keys() {
        if sections::WHOLE_KEYS.contains(&key.as_str()) && key != "name" && key != "description" {
            let what = format!("`{key}` belongs to the whole scenario, not to one benchmark");
            return Err(document.error(key, what, "move it to the top of the file"));
        }
        if !sections::ENTRY_KEYS.contains(&key.as_str()) {
            let remedy = tipsy::remedy_for_old(key)
                .map_or_else(|| remedy_for_unknown(key, &sections::ENTRY_KEYS), str::to_owned);
            return Err(document.error(key, format!("unknown key `{key}`"), remedy));
        }
    }
    sections::two_words(document)
}

/// Largest number of values copied from `default`, in all benchmarks together.
const COPIED_MAX: usize = 1_000_000;
