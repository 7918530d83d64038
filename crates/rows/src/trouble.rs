//! What is wrong with rows, and what of them is of no use: some in words, all by number.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A row that the table does not take.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is wrong, and this is what to write.
    Wrong(String),
    /// The table has no use for it, for this reason.
    Left(String),
}

/// Rows that cannot be read or used: the first of them in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// The first of them, each with its file and line.
    pub listed: Vec<String>,
    /// How many there are in all.
    pub count: u64,
}

impl Troubles {
    /// One more, at a place such as `routes.txt:7`.
    pub fn add(&mut self, place: impl fmt::Display, what: impl fmt::Display) {
        self.count += 1;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(format!("{place}: {what}"));
        }
    }

    /// Whether so many are there that reading on helps nobody.
    pub(crate) fn are_enough(&self) -> bool {
        self.count >= COUNTED_MAX
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.listed.join("; "))?;
        let more = self.count - self.listed.len() as u64;
        match self.are_enough() {
            _ if more == 0 => Ok(()),
            false => write!(f, "; and {more} more"),
            true => write!(f, "; and {more} more before reading ended"),
        }
    }
}

/// Rows that were left out because the table has no use for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Rows by file and reason, with the line of the first.
    by_reason: BTreeMap<(Arc<str>, String), (u64, u64)>,
    /// Those of further reasons.
    others: u64,
}

impl Remarks {
    /// One more row of a file, at a line.
    pub(crate) fn add(&mut self, file: &Arc<str>, line: u64, reason: String) {
        let key = (Arc::clone(file), reason);
        if let Some((count, _)) = self.by_reason.get_mut(&key) {
            *count += 1;
        } else if self.by_reason.len() < REASONS_MAX {
            self.by_reason.insert(key, (1, line));
        } else {
            self.others += 1;
        }
    }

    /// Sentences for a log, one for each file and reason.
    pub fn sentences(&self) -> Vec<String> {
        let told = self.by_reason.iter().map(|((file, reason), (count, line))| match count {
            1 => format!("{file}:{line}: left out: {reason}"),
            _ => format!("{file}: {count} left out, the first at line {line}: {reason}"),
        });
        let others = (self.others > 0).then(|| format!("{} left out for others", self.others));
        told.chain(others).collect()
    }
}

/// Troubles that are told in words.
pub const LISTED_MAX: usize = 5;

/// Troubles after which reading ends.
const COUNTED_MAX: u64 = 10_000;

/// Reasons of remarks that are told apart, over all files.
const REASONS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_told_and_all_are_counted() {
        let mut troubles = Troubles::default();
        (1..=7).for_each(|line| troubles.add(format!("a.txt:{line}"), "is wrong"));
        assert!(troubles.to_string().starts_with("a.txt:1: is wrong; a.txt:2: is wrong; "));
        assert!(troubles.to_string().ends_with("; and 2 more"), "{troubles}");
        let mut remarks = Remarks::default();
        let (file, other) = (Arc::from("a"), Arc::from("b"));
        remarks.add(&file, 3, "is local".to_owned());
        remarks.add(&file, 5, "is local".to_owned());
        remarks.add(&other, 1, "is local".to_owned());
        let told = remarks.sentences();
        assert_eq!(told[0], "a: 2 left out, the first at line 3: is local");
        assert_eq!(told[1], "b:1: left out: is local");
        (0..1000).for_each(|line| remarks.add(&file, line, format!("reason {line}")));
        assert_eq!(remarks.sentences().len(), REASONS_MAX + 1);
    }
}
