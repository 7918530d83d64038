//! Files that people write: YAML as values that know their lines, keys against a schema, and errors
//! that name file, line, key and the nearest valid key.
//!
//! What such a file means is its reader's matter. Deliberately has no includes, no variables and no
//! tags; nothing a file holds makes it panic or take more memory than its size allows.

mod error;
pub mod keys;
pub mod load;
mod text;
pub mod tree;

pub use error::{DocumentError, in_plain_words};
pub use load::{Document, kind};
pub use text::{ENDS, SIZE_BYTES_MAX, read_text};

/// What a file is, for messages about it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word for it: `scenario`.
    pub noun: &'static str,
    /// The folder of the source tree in which examples lie.
    pub folder: &'static str,
    /// What to begin with, an imperative sentence.
    pub starting_point: &'static str,
}
