//! Longest-prefix match for IPv4 (`u32`) and IPv6 (`u128`) addresses in host byte order.
//!
//! A trie of 8 bits a level. Its first levels (IPv4: 2, IPv6: 3) are nodes of 256 plain entries,
//! which stay in the caches near the core; below, a node is a cache line that says where runs of
//! equal entries start, and one word for each run. For the main table a row says at once what the
//! first two octets come to (`front`). So the routing table of the whole Internet fits into a few
//! megabytes, and a look-up reads one line for a level above, two for a level below.
//!
//! | | |
//! |---|---|
//! | memory | 256 KiB for the main table's row; 1.1 KiB a table and for each /8 (IPv6: also /16) with longer routes; below, 128 bytes a node, 4 to 12 a route for look-ups and 4.7 for updates |
//! | nodes | one for each 8 bits begun on the way to a route, shared by all routes that share those bits |
//! | cache lines per look-up | IPv4: /16 1, /24 3, /32 5; IPv6: /32 4, /48 8; one more in other tables |
//! | cost of an update | one node of 256 entries is written anew; one word for each node that the prefix covers, and one of the row for each /16 |
//!
//! [`Lpm`] is one table, [`Pool`] several that share memory: a customer's each, for instance.
//!
//! Guarantees: after any sequence of updates the answers are those of the routes held, removal
//! restores the covering route exactly, nodes without a route are given back, and an update that
//! fails changes nothing. Who looks up sees an update whole or not at all, for it needs the table
//! for itself. Memory is reserved at creation and touched as it is used.
//!
//! It deliberately does not: share between threads (a worker owns its copy); skip levels in which
//! nothing forks, so an IPv6 host route costs 15; store more than a number per route; know next
//! hops.

mod address;

mod blocks;

mod entry;

mod front;

mod iter;

mod limits;

mod lookup;

mod node;

mod pool;

mod store;

use std::io;

pub use address::Address;
pub use entry::NONE;
pub use iter::Routes;
pub use limits::{Limits, LpmError, MAX_VALUE, Table};
pub use pool::Pool;

/// One longest-prefix-match table; see the module's text.
#[derive(Debug)]
pub struct Lpm<A: Address>(Pool<A>);

impl<A: Address> Lpm<A> {
    /// An empty table; of [`Limits::tables`] only the first is used.
    ///
    /// # Errors
    /// Those of [`Pool::new`].
    pub fn new(limits: Limits) -> io::Result<Lpm<A>> {
        Pool::new(limits).map(Lpm)
    }

    /// The value of the longest prefix that covers `address`.
    #[inline]
    pub fn lookup(&self, address: A) -> Option<u32> {
        self.0.lookup(Table::MAIN, address)
    }

    /// The values of the longest prefixes that cover each address, [`NONE`] where there is no
    /// route; see [`Pool::lookup_batch`].
    #[inline]
    pub fn lookup_batch(&self, addresses: &[A], found: &mut [u32]) {
        self.0.lookup_batch(Table::MAIN, addresses, found);
    }

    /// Asks the processor to fetch what the first levels need for `address`.
    #[inline]
    pub fn prefetch_root(&self, address: A) {
        self.0.prefetch_root(Table::MAIN, address);
    }

    /// Sets the value of `prefix`/`len` and returns the one it had; length 0 is the default route.
    ///
    /// # Errors
    /// [`LpmError`]; the table is as before.
    pub fn insert(&mut self, prefix: A, len: u8, value: u32) -> Result<Option<u32>, LpmError> {
        self.0.insert(Table::MAIN, prefix, len, value)
    }

    /// Removes the route `prefix`/`len` and returns its value; `None` where there is no such one.
    pub fn remove(&mut self, prefix: A, len: u8) -> Option<u32> {
        self.0.remove(Table::MAIN, prefix, len)
    }

    /// The value of exactly the route `prefix`/`len`.
    pub fn get(&self, prefix: A, len: u8) -> Option<u32> {
        self.0.get(Table::MAIN, prefix, len)
    }

    /// All routes as (prefix, length, value), in the order of prefix and length.
    pub fn iter(&self) -> Routes<'_, A> {
        self.0.iter(Table::MAIN)
    }

    /// Routes held.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no route is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What it may hold.
    pub fn limits(&self) -> Limits {
        self.0.limits()
    }

    /// Nodes in use, without the root.
    pub fn nodes(&self) -> usize {
        self.0.nodes()
    }

    /// Bytes touched so far, for look-ups and for updates.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Bytes touched so far that look-ups read.
    pub fn look_up_bytes(&self) -> usize {
        self.0.look_up_bytes()
    }
}
