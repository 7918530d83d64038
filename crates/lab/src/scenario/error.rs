//! What is wrong with a scenario file, in the words of the person who wrote it.

use std::fmt;

/// A scenario that cannot be used: what, where, and what to do.
///
/// Its text is one line; the command line shows the parts on lines of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// What is wrong, without a full stop.
    pub what: String,
    /// The file, as the user named it.
    pub file: String,
    /// The line in the file, counted from 1, where it is known.
    pub line: Option<u32>,
    /// The key, from the scenario's root: `function.rate-limit`; empty for the file as a whole.
    pub key: String,
    /// What to do, an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

impl ScenarioError {
    /// An error of the file as a whole.
    pub fn of_file(file: &str, what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        ScenarioError {
            what: what.to_string(),
            file: file.to_owned(),
            line: None,
            key: String::new(),
            remedy: remedy.to_string(),
        }
    }
}

impl fmt::Display for ScenarioError {
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

impl std::error::Error for ScenarioError {}
