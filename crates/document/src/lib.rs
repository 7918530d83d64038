//! Files that people write: YAML as values that know their lines, and errors that name file, line,
//! key and what to do.
//!
//! What such a file means is its reader's matter, but for one thing: keys that name other files
//! ([`names_files`]) mean those beside it. Deliberately has no includes, no variables and no tags;
//! nothing a file holds makes it panic or take more memory than its size allows.

mod beside;
mod document;
mod error;
pub mod load;
mod setting;
mod text;
pub mod tree;
mod written;

pub use beside::names_files;
pub use document::{Document, Origin, kind};
pub use error::DocumentError;
pub use setting::Setting;
pub use text::{ENDS, SIZE_BYTES_MAX, read_text};

/// Kind of file, for messages about it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Noun for the file: `scenario`.
    pub noun: &'static str,
    /// Folder of the source tree that contains examples.
    pub folder: &'static str,
    /// Advice for a start: an imperative sentence.
    pub starting_point: &'static str,
}
