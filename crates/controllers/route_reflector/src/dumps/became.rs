//! What becomes of a file.

/// What has become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// It is there.
    There,
    /// So many bytes are in it.
    Taken(usize),
    /// It is whole.
    Whole,
    /// It cannot be written.
    Lost,
}
