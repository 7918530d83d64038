//! What the list of protocols knows of each.

/// A protocol as a unit.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its name, that of its folder.
    pub name: &'static str,
    /// The body of its fuzz target: panics when a promise is broken by these bytes.
    pub fuzz: fn(&[u8]),
    /// Makes valid inputs of the fuzz target, for runs without a fuzzer to damage.
    pub examples: fn() -> Vec<Vec<u8>>,
}
