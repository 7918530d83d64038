//! What a table says of its rows.

/// The form of a table's rows.
#[derive(Debug)]
pub struct Form {
    /// Keys of a row. The first are those that a text may leave out before their values.
    pub keys: &'static [&'static str],
    /// How many those are.
    pub unnamed: usize,
    /// Whether the table is one of routes, which files of `ip route` and of MRT have.
    pub takes_routes: bool,
}
