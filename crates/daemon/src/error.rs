//! Why a daemon does not start or goes on no longer.

use std::path::PathBuf;

use document::DocumentError;
use engine::PortError;

/// Error of a daemon that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration file is invalid.
    #[error(transparent)]
    File(#[from] DocumentError),
    /// A port could not be opened.
    #[error("port `{name}`: {error}")]
    Port {
        /// Name of the port at the function.
        name: String,
        /// Error of the port, with its remedy.
        error: PortError,
    },
    /// The machine does not meet the requirements of the function.
    #[error("{what}")]
    Setup {
        /// Description of the error.
        what: String,
        /// Remedy.
        remedy: String,
    },
    /// A file or socket of the daemon cannot be used.
    #[error("{what}: {}", path.display())]
    Path {
        /// Path of the file or socket.
        path: PathBuf,
        /// Description of the error.
        what: String,
        /// Remedy.
        remedy: String,
    },
    /// The daemon was stopped before it was ready.
    #[error("stopped before the daemon was ready")]
    Stopped,
    /// A worker ended by itself, which is a bug of this program.
    #[error("worker {0} ended unexpectedly; see the log for the place")]
    WorkerLost(usize),
}

impl RunError {
    /// Creates an error of the machine.
    pub fn setup(what: impl ToString, remedy: impl ToString) -> RunError {
        RunError::Setup { what: what.to_string(), remedy: remedy.to_string() }
    }

    /// Creates an error of a path.
    pub fn path(path: impl Into<PathBuf>, what: impl ToString, remedy: impl ToString) -> RunError {
        RunError::Path { path: path.into(), what: what.to_string(), remedy: remedy.to_string() }
    }

    /// Returns the remedy; empty if there is none.
    pub fn remedy(&self) -> &str {
        match self {
            RunError::File(error) => &error.remedy,
            RunError::Port { error, .. } => &error.remedy,
            RunError::Setup { remedy, .. } | RunError::Path { remedy, .. } => remedy,
            RunError::Stopped => "",
            RunError::WorkerLost(_) => "please report this with the log",
        }
    }
}
