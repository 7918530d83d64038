//! What must hold of a format whatever bytes it is given.

/// A law: tests and fuzzers hold a module to it, the data path never calls it.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Name of the module.
    pub name: &'static str,
    /// Panics where the law is broken by these bytes: a getter panics, or a header that was
    /// accepted is not written back as it was read.
    pub holds: fn(&[u8]),
    /// Bytes to begin with, beside the packets that tests put together of all formats.
    pub examples: &'static [&'static [u8]],
}
