//! Errors that end the program, in the form that users read: what failed, where, and the remedy.

use std::fmt;
use std::io;
use std::path::Path;

use lab::folder::FolderError;
use lab::scenario::ScenarioError;
use report::ReportError;
use serde_json::{Map, Value, json};

use crate::exit::Exit;

/// An error for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The exit code that the problem leads to.
    pub exit: Exit,
    what: String,
    places: Vec<(&'static str, String)>,
    remedy: String,
}

impl Problem {
    /// A problem with the command line that the argument parser does not detect.
    pub fn of_usage(what: impl fmt::Display, remedy: impl fmt::Display) -> Problem {
        Problem {
            exit: Exit::BadInput,
            what: what.to_string(),
            places: Vec::new(),
            remedy: remedy.to_string(),
        }
    }

    /// A problem with the machine or its environment.
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
            io::ErrorKind::BrokenPipe => "let the reader read everything, or write to a file",
            io::ErrorKind::NotFound => "create its folder first, or choose another place",
            io::ErrorKind::NotADirectory => "a part of the path is a file; choose another path",
            _ => "choose a place that you may write to",
        };
        Problem::of_environment(format!("cannot write: {}", plain(error)), remedy)
            .at("file", path.display())
    }

    /// Replaces the remedy of a problem.
    pub fn with_remedy(self, remedy: impl fmt::Display) -> Problem {
        Problem { remedy: remedy.to_string(), ..self }
    }

    /// Adds a place to a problem: `file` or `key`, for example.
    pub fn at(mut self, label: &'static str, place: impl fmt::Display) -> Problem {
        self.places.push((label, place.to_string()));
        self
    }

    /// The problem as one JSON object on a line, for programs.
    pub fn to_json(&self) -> String {
        let place: Map<String, Value> =
            self.places.iter().map(|(label, place)| ((*label).to_owned(), json!(place))).collect();
        let (message, help, exit_code) = (&self.what, &self.remedy, self.exit.code());
        json!({"message": message, "help": help, "exit_code": exit_code, "place": place})
            .to_string()
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
        // What the command line sets has no file and no line, but an option.
        let place = if error.file.starts_with("--") { "option" } else { "file" };
        let problem = Problem::of_usage(error.what, error.remedy);
        let problem = match error.file.as_str() {
            "" => problem,
            file => problem.at(place, format!("{file}{line}")),
        };
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

impl From<logs::Refused> for Problem {
    fn from(error: logs::Refused) -> Problem {
        let problem = Problem::of_usage(error.what, error.remedy);
        match error.file {
            Some(file) => problem.at("file", file.display()),
            None => problem,
        }
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Problem {
        Problem::of_environment(error, "files written before are intact")
    }
}

/// The operating system's error message without the error number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
