//! What ends the program early, told to a person: first what, then where, then what to do.

use std::fmt;
use std::io;
use std::path::Path;

use lab::folder::FolderError;
use lab::scenario::ScenarioError;
use report::ReportError;

use crate::exit::Exit;

/// An error for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How the program ends because of it.
    pub exit: Exit,
    what: String,
    places: Vec<(&'static str, String)>,
    remedy: String,
}

impl Problem {
    /// A problem of the command line, beyond what the parser of arguments finds.
    pub fn of_usage(what: impl fmt::Display, remedy: impl fmt::Display) -> Problem {
        Problem {
            exit: Exit::BadInput,
            what: what.to_string(),
            places: Vec::new(),
            remedy: remedy.to_string(),
        }
    }

    /// A problem of the machine.
    pub fn of_environment(what: impl fmt::Display, remedy: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Environment, ..Problem::of_usage(what, remedy) }
    }

    /// A file or folder that could not be written.
    pub fn of_writing(path: &Path, error: &io::Error) -> Problem {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, or choose another place"
            }
            io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f)",
            io::ErrorKind::BrokenPipe => "let the reader take everything, or write to a file",
            io::ErrorKind::NotFound => "make its folder first, or choose another place",
            io::ErrorKind::NotADirectory => "a part of the path is a file; choose another place",
            _ => "choose a place you may write to",
        };
        Problem::of_environment(format!("cannot write: {}", plain(error)), remedy)
            .at("file", path.display())
    }

    /// The same problem with another remedy.
    pub fn with_remedy(self, remedy: impl fmt::Display) -> Problem {
        Problem { remedy: remedy.to_string(), ..self }
    }

    /// The same problem with a place: `file`, `key`.
    pub fn at(mut self, label: &'static str, place: impl fmt::Display) -> Problem {
        self.places.push((label, place.to_string()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.what)?;
        for (label, place) in &self.places {
            writeln!(f, "  {label}: {place}")?;
        }
        if !self.remedy.is_empty() {
            writeln!(f, "  help: {}", self.remedy)?;
        }
        Ok(())
    }
}

impl From<ScenarioError> for Problem {
    fn from(error: ScenarioError) -> Problem {
        let line = error.line.map_or(String::new(), |line| format!(", line {line}"));
        let problem =
            Problem::of_usage(error.what, error.remedy).at("file", format!("{}{line}", error.file));
        if error.key.is_empty() { problem } else { problem.at("key", error.key) }
    }
}

impl From<FolderError> for Problem {
    fn from(error: FolderError) -> Problem {
        let problem = Problem::of_writing(&error.path, &error.source);
        let remedy = format!("{} (--output-dir)", problem.remedy);
        problem.with_remedy(remedy)
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Problem {
        Problem::of_environment(error, "what was written before is intact")
    }
}

/// What the system says, without the number that means nothing to a person.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
