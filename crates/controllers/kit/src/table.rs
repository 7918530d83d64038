//! What operators ask a controller for: entries of its tables, page by page, and its metrics.

use std::collections::BTreeMap;

use keys::nearest;
use serde_json::Value;

/// A table whose entries can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What an entry is, as a phrase of help.
    pub summary: &'static str,
    /// By what entries may be chosen beside [`FOR`]: the keys of [`Asked::filters`].
    pub filters: &'static [&'static str],
}

/// A request for entries of a table.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The name of the table, one of the controller's.
    pub table: &'a str,
    /// From where on: 0 at first, then [`Page::next`] of the page before.
    pub from: u64,
    /// Most entries. A page may have a few more where several belong together.
    pub limit: usize,
    /// By what entries are chosen, as an operator writes it: keys of the table, or [`FOR`].
    pub filters: &'a BTreeMap<String, String>,
}

/// Entries of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The entries, an object each.
    pub entries: Vec<Value>,
    /// Where the next page begins; `None` if there are no more. A page may be empty and have a next
    /// one: a bounded part of the table is looked at. What is there all the time is told once,
    /// whatever changes between two pages.
    pub next: Option<u64>,
    /// The keys that have room in lines of text, in their order; none for all.
    pub columns: &'static [&'static str],
}

/// Why there is no page, or why a command is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What cannot be answered or done, without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

/// A metric with its values. There is a bounded number of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name behind that of the controller: lower case and underscores, the unit last.
    pub name: &'static str,
    /// Whether it only grows.
    pub is_counter: bool,
    /// What it tells, as a sentence.
    pub help: &'static str,
    /// Its values, each by labels.
    pub samples: Vec<(Vec<(&'static str, String)>, f64)>,
}

impl Asked<'_> {
    /// Returns what an entry has to be by a key of the table, or by [`FOR`].
    pub fn filter(&self, key: &str) -> Option<&str> {
        self.filters.get(key).map(String::as_str)
    }
}

impl Table {
    /// Checks that entries can be chosen by these keys.
    ///
    /// # Errors
    /// With the nearest key that there is.
    pub fn check(&self, filters: &BTreeMap<String, String>) -> Result<(), Unanswered> {
        let known = |key: &&String| *key == FOR || self.filters.contains(&key.as_str());
        let Some(unknown) = filters.keys().find(|key| !known(key)) else { return Ok(()) };
        let what = format!("the table `{}` cannot be filtered by {}", self.name, quoted(unknown));
        let remedy = match near(unknown, self.filters) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.filters.is_empty() => "leave it out".to_owned(),
            None => format!("filters: {}", self.filters.join(", ")),
        };
        Err(Unanswered { what, remedy })
    }
}

impl Unanswered {
    /// Creates the answer to what cannot be answered.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Unanswered {
        Unanswered { what: what.into(), remedy: remedy.into() }
    }

    /// A word that is none of those that it may be, which are named, and the nearest one.
    pub fn unknown(kind: &str, word: &str, valid: &[&str]) -> Unanswered {
        let what = format!("there is no {kind} {}", quoted(word));
        let remedy = match near(word, valid) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("choose one of {}", valid.join(", ")),
        };
        Unanswered { what, remedy }
    }
}

/// A word of somebody else's as it may stand in a line of text: cut, and without lines of its own.
pub fn quoted(word: &str) -> String {
    let shown: String = word.chars().take(QUOTED_MAX).collect();
    let more = if shown.len() < word.len() { "…" } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

/// The nearest of some words; of a word that is longer than any of them nothing is near, and none
/// is looked for.
fn near<'a>(word: &str, valid: &[&'a str]) -> Option<&'a str> {
    if word.len() > QUOTED_MAX {
        return None;
    }
    nearest(word, valid.iter().copied())
}

/// The filter that every table may have: an entry by its address, its name, or what leads to it.
pub const FOR: &str = "for";

/// Characters of a word that are told.
const QUOTED_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: Table = Table { name: "routes", summary: "routes", filters: &["family", "peer"] };

    fn filters(keys: &[&str]) -> BTreeMap<String, String> {
        keys.iter().map(|key| ((*key).to_owned(), String::new())).collect()
    }

    #[test]
    fn filters_are_those_of_the_table() {
        assert_eq!(ROUTES.check(&filters(&["for", "family", "peer"])), Ok(()));
        let refused = |key: &str| ROUTES.check(&filters(&[key])).expect_err("there is none");
        assert_eq!(refused("famly").remedy, "did you mean `family`?");
        assert_eq!(refused("colour").remedy, "filters: family, peer");
        let long = refused(&"x\n\u{1b}".repeat(1000));
        assert!(long.what.len() < 400 && long.what.contains("\\n\\u{1b}"), "{}", long.what);
        let bare = Table { filters: &[], ..ROUTES };
        assert_eq!(bare.check(&filters(&["peer"])).expect_err("none").remedy, "leave it out");
    }

    #[test]
    fn unknown_words_name_the_nearest_one() {
        let unknown = Unanswered::unknown("family", "vpn4", &["ipv4-unicast", "vpnv4"]);
        assert_eq!(unknown.remedy, "did you mean `vpnv4`?");
        let unknown = Unanswered::unknown("family", "x", &["ipv4-unicast", "vpnv4"]);
        assert_eq!(unknown.remedy, "choose one of ipv4-unicast, vpnv4");
    }
}
