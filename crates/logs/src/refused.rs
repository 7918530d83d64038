//! Why a question has no answer, for whom it is told to.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub what: String,
    /// With which file, if it is one.
    pub file: Option<PathBuf>,
    /// What helps.
    pub remedy: &'static str,
}

impl Refused {
    /// Something that is wrong, and what helps.
    pub(crate) fn new(what: impl Into<String>, remedy: &'static str) -> Refused {
        Refused { what: what.into(), file: None, remedy }
    }

    /// The same of a file.
    pub(crate) fn of(self, file: &Path) -> Refused {
        Refused { file: Some(file.to_owned()), ..self }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Refused {
        let what = format!("cannot read: {error}");
        Refused::new(what, "name a file of the collector of logs").of(file)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Refused {}
