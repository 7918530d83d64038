//! What is wrong with a file, in the words of the person who wrote it.

use std::fmt;

/// Error of a file with its place and a remedy.
///
/// The text is one line; the command line shows the parts on separate lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Description of the error, without a full stop.
    pub what: String,
    /// Name of the file as the user wrote it.
    pub file: String,
    /// Line in the file, counted from 1, if known.
    pub line: Option<u32>,
    /// Key from the file's root: `function.rate-limit`; empty for the file as a whole.
    pub key: String,
    /// Remedy: an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

impl DocumentError {
    /// Creates an error of the file as a whole.
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
