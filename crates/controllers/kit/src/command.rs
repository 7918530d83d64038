//! What operators tell a controller to do at once, beside its configuration.

/// A command that a controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name, kebab-case, which no update of a function has.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
}
