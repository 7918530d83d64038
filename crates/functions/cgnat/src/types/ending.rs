//! The end of a worker in good order, step by step.

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A standby is still to hear of changes.
    Telling,
    /// Sessions end, those before this number in their table have ended.
    Closing(u32),
    /// All have ended.
    Over,
}
