//! What can go wrong between a record and a file, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

/// A report that could not be rendered, written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The disk or the quota is full.
    #[error("{path}: no space left; free some or choose another folder; nothing was overwritten", path = .path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The folder or file may not be written.
    #[error("{path}: may not be written; choose another folder or change its permissions", path = .path.display())]
    Forbidden {
        /// The file.
        path: PathBuf,
    },
    /// Anything else that the system says.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A record that cannot be turned into its format.
    #[error("the record cannot be written as {format}: {problem}")]
    Format {
        /// The format.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A file that is no record.
    #[error("{path}: not a run record: {problem}", path = .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        problem: String,
    },
    /// A file that is larger than any record.
    #[error("{path}: not a run record: it has {bytes} bytes, and no record has more than {limit}", path = .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// A file of tags that is none.
    #[error("{path}: not a file of tags: {problem}; delete it, or mend it by hand", path = .path.display())]
    NoTags {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A record of a later version of this tool.
    #[error("{path}: written by a newer version (record version {found}, this tool reads up to {known}); update the tool", path = .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that is understood.
        known: u32,
    },
}

impl ReportError {
    /// The error for what the system said of a file.
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
