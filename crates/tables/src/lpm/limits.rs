//! The tables of a pool: their numbers, how much they hold, and why they refuse a route.

use super::address::Address;
use super::entry::INHERIT;

/// One of the tables of a `Pool`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table(pub(super) u16);

impl Table {
    /// The first one, which every pool has.
    pub const MAIN: Table = Table(0);

    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// What a `Pool` may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tables.
    pub tables: u16,
    /// Routes of all tables, at most.
    pub routes: usize,
    /// Nodes of all tables, at most, without a root for each table; their memory is reserved but
    /// used only as they are.
    pub nodes: usize,
}

impl Limits {
    /// Room for `routes` routes of any lengths that share nothing in one table: up to 3 nodes each
    /// for IPv4, 15 for IPv6.
    pub fn for_any<A: Address>(routes: usize) -> Limits {
        let depths = 1..u32::from(A::BITS / 8);
        let most = |depth| 1usize.checked_shl(8 * depth).unwrap_or(usize::MAX);
        let nodes = depths.map(|depth| routes.min(most(depth))).sum();
        Limits { tables: 1, routes, nodes }
    }
}

/// Why a route was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LpmError {
    /// The prefix is longer than an address.
    #[error("prefix length {len} is more than the {bits} bits of an address")]
    Length {
        /// Length asked for, in bits.
        len: u8,
        /// Bits of an address.
        bits: u8,
    },
    /// Bits behind the prefix are set; clear them, or is the length wrong?
    #[error("the prefix has bits set behind its length of {len}")]
    HostBits {
        /// Length asked for, in bits.
        len: u8,
    },
    /// The value does not fit in an entry.
    #[error("value {value} is more than {MAX_VALUE}")]
    Value {
        /// Value asked for.
        value: u32,
    },
    /// As many routes as the tables were made for.
    #[error("the table is full: it was made for {limit} routes")]
    Routes {
        /// The limit given at creation.
        limit: usize,
    },
    /// The route would need more nodes than the tables were made for.
    #[error("the table is full: it was made for {limit} nodes of 256 entries")]
    Nodes {
        /// The limit given at creation.
        limit: usize,
    },
}

/// The largest value of a route.
pub const MAX_VALUE: u32 = INHERIT - 1;
