//! The list of protocols.

/// A protocol.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its name, that of its folder.
    pub name: &'static str,
    /// The body of its fuzz target: panics when a promise is broken by these bytes.
    pub fuzz: fn(&[u8]),
}

/// All protocols, by name.
#[rustfmt::skip] // A line each, also where there is but one.
pub const PROTOCOLS: &[Protocol] = &[
    Protocol { name: "bfd", fuzz: protocol_bfd::fuzz::fuzz },
];
