//! Paths as the plain reflector has them.

/// The attributes of a path, as far as tests use some.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are those of the standard")]
pub struct Attributes {
    pub next_hop: [u8; 4],
    pub path: Vec<u32>,
    pub med: Option<u32>,
    pub preference: Option<u32>,
    pub originator: Option<u32>,
    pub clusters: Vec<u32>,
    pub communities: Vec<u32>,
    pub targets: Vec<u64>,
    pub otc: Option<u32>,
}

/// The length and the address of a prefix.
pub type Prefix = (u8, [u8; 4]);

/// The prefix of a number.
pub fn prefix(number: u8) -> Prefix {
    (24, [198, 51, number, 0])
}
