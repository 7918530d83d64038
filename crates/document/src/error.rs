//! What is wrong with a file, in the words of the person who wrote it.

use std::fmt;

/// A file that cannot be used: what, where, and what to do.
///
/// Its text is one line; the command line shows the parts on lines of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// What is wrong, without a full stop.
    pub what: String,
    /// The file, as the user named it.
    pub file: String,
    /// The line in the file, counted from 1, where it is known.
    pub line: Option<u32>,
    /// The key, from the file's root: `function.rate-limit`; empty for the file as a whole.
    pub key: String,
    /// What to do, an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

impl DocumentError {
    /// An error of the file as a whole.
    pub fn of_file(file: &str, what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        DocumentError {
            what: what.to_string(),
            file: file.to_owned(),
            line: None,
            key: String::new(),
            remedy: remedy.to_string(),
        }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for DocumentError {}

/// The complaint of a parser without its type names: `expected u32` says little to a person who
/// writes a file.
pub fn in_plain_words(what: &str) -> String {
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
