//! Why a daemon does not start or goes on no longer.

use std::path::PathBuf;

use document::DocumentError;
use engine::PortError;

/// A daemon that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] DocumentError),
    /// A port could not be opened.
    #[error("port `{name}`: {error}")]
    Port {
        /// Its name at the function.
        name: String,
        /// What is wrong, and what to do.
        error: PortError,
    },
    /// The machine has not what the function needs.
    #[error("{what}")]
    Setup {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A file or socket of the daemon cannot be used.
    #[error("{what}: {}", path.display())]
    Path {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// It was told to stop before it was ready.
    #[error("stopped before it was ready")]
    Stopped,
    /// A worker ended by itself, which is a mistake of this program.
    #[error("worker {0} ended by itself; the log has the place")]
    WorkerLost(usize),
}

impl RunError {
    /// An error of the machine.
    pub fn setup(what: impl ToString, remedy: impl ToString) -> RunError {
        RunError::Setup { what: what.to_string(), remedy: remedy.to_string() }
    }

    /// An error of a path.
    pub fn path(path: impl Into<PathBuf>, what: impl ToString, remedy: impl ToString) -> RunError {
        RunError::Path { path: path.into(), what: what.to_string(), remedy: remedy.to_string() }
    }

    /// What to do about it; empty where nothing helps.
    pub fn remedy(&self) -> &str {
        match self {
            RunError::File(error) => &error.remedy,
            RunError::Port { error, .. } => &error.remedy,
            RunError::Setup { remedy, .. } | RunError::Path { remedy, .. } => remedy,
            RunError::Stopped => "",
            RunError::WorkerLost(_) => "please report it with the log",
        }
    }
}
