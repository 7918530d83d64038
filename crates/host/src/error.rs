//! Why a socket is not there.

use std::fmt;
use std::io;

/// Why a socket could not be opened, or was closed by an error.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct SocketError {
    /// What was tried, with the address.
    pub what: String,
    /// What the kernel says.
    pub source: io::Error,
}

impl SocketError {
    /// A socket that cannot be opened.
    pub(crate) fn opening(what: impl fmt::Display, source: io::Error) -> SocketError {
        SocketError { what: format!("cannot open {what}"), source }
    }
}
