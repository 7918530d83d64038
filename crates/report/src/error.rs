//! What can go wrong between a record and a file, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

/// A report that could not be rendered, written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The disk or the quota is full.
    #[error("{path}: no space left; free some or choose another folder; nothing was overwritten", path = .path.display())]
    DiskFull {
        /// Path of the file.
        path: PathBuf,
    },
    /// The folder or file must not be written.
    #[error("{path}: no permission to write; choose another folder or change its permissions", path = .path.display())]
    Forbidden {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another error of the system.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A record that cannot be rendered in a format.
    #[error("the record cannot be written as {format}: {problem}")]
    Format {
        /// Name of the format.
        format: &'static str,
        /// Description of the error.
        problem: String,
    },
    /// A file that is not a record.
    #[error("{path}: not a run record: {problem}", path = .path.display())]
    NoRecord {
        /// Path of the file.
        path: PathBuf,
        /// Description of the error, with the line.
        problem: String,
    },
    /// A file that is larger than any record.
    #[error("{path}: not a run record: no record has more than {limit} bytes", path = .path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Largest size that is read, in bytes.
        limit: u64,
    },
    /// A file that does not contain tags.
    #[error("{path}: not a valid tags file: {problem}; delete it, or correct it by hand", path = .path.display())]
    NoTags {
        /// Path of the file.
        path: PathBuf,
        /// Description of the error.
        problem: String,
    },
    /// A record of a newer version of this program.
    #[error("{path}: written by a newer version (record version {found}, this tool reads up to {known}); update the tool", path = .path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Version of the record.
        found: u64,
        /// Newest supported version.
        known: u32,
    },
}

impl ReportError {
    /// The error for a system error on a file.
    pub(crate) fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Forbidden { path }
            }
            _ => Self::Io { path, source },
        }
    }
}
