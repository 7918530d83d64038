//! Longest-prefix match for IPv4 (`u32`) and IPv6 (`u128`) addresses in host byte order.
//!
//! A multibit trie with leaf pushing: a root of 65,536 entries for the first 16 bits, then chunks
//! of 256 entries for 8 bits each. An entry is either the answer or the number of the chunk to
//! ask next, so a look-up reads one entry a level and never goes back.
//!
//! | | |
//! |---|---|
//! | memory | 320 KiB for the root, 1.25 KiB a chunk, of which look-ups read 256 KiB and 1 KiB; 16 (IPv4) or 32 (IPv6) bytes and the tree's overhead a route on the control side |
//! | chunks | none for a route of up to 16 bits, at most one for each further 8 bits begun, shared by routes that share those bits |
//! | cache lines per look-up | one a level: IPv4 1 to 3, IPv6 1 to 15 (/48: 5) |
//! | cost of an update | the entries the prefix covers and, on removal, one search per shorter length; nothing is rebuilt |
//!
//! Guarantees: after any sequence of updates the answers are those of the routes held, removal
//! restores the covering route exactly, chunks without a route of their own are given back, and an
//! update that fails changes nothing. Memory is reserved at creation and touched as it is used.
//!
//! It deliberately does not: share between threads (a worker owns its copy); compress paths, so
//! IPv6 costs a level for each 8 bits; store more than a number per route; know next hops.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use machine::memory::{HugeArray, prefetch_at};

/// A longest-prefix-match table; see the module's text.
#[derive(Debug)]
pub struct Lpm<A: Address> {
    /// The root, then the chunks: values, `NO_ROUTE`, or `CHUNK` and the number of a chunk.
    entries: HugeArray<u32>,
    /// For each entry used, whose it is: the length of its route plus one, or 0 for no route.
    owners: Vec<u8>,
    /// For each chunk, the routes that end in it or below it; one without is given back.
    routes_within: Vec<u32>,
    free_chunks: Vec<u32>,
    routes: BTreeMap<(A, u8), u32>,
    limits: Limits,
}

/// What an [`Lpm`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Routes, at most.
    pub routes: usize,
    /// Chunks of 256 entries, at most; their memory is reserved but used only as they are.
    pub chunks: usize,
}

impl Limits {
    /// Room for `routes` routes of any lengths that share nothing: 2 chunks each for IPv4, 14
    /// for IPv6. For many IPv6 routes of known lengths, a limit of their own is wiser.
    pub fn for_any<A: Address>(routes: usize) -> Limits {
        Limits { routes, chunks: routes.saturating_mul(levels(A::BITS)) }
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
    /// As many routes as the table was made for.
    #[error("the table is full: it was made for {limit} routes")]
    Routes {
        /// The limit given at creation.
        limit: usize,
    },
    /// The route would need more chunks than the table was made for.
    #[error("the table is full: it was made for {limit} chunks of 256 entries")]
    Chunks {
        /// The limit given at creation.
        limit: usize,
    },
}

impl<A: Address> Lpm<A> {
    /// An empty table.
    ///
    /// # Errors
    /// What the kernel says when it has no such address space; `InvalidInput` above 2^31 - 1
    /// chunks.
    pub fn new(limits: Limits) -> io::Result<Lpm<A>> {
        if limits.chunks > NO_ROUTE as usize {
            let text = format!("a limit of {} chunks; the most is {NO_ROUTE}", limits.chunks);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut entries = HugeArray::reserve(chunk_start(limits.chunks as u32))?;
        let mut owners = Vec::new();
        let mut routes_within = Vec::new();
        owners.try_reserve_exact(entries.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        routes_within.try_reserve_exact(limits.chunks).map_err(|_| io::ErrorKind::OutOfMemory)?;
        entries[..ROOT_ENTRIES].fill(NO_ROUTE);
        owners.resize(ROOT_ENTRIES, 0);
        let (free_chunks, routes) = (Vec::new(), BTreeMap::new());
        Ok(Lpm { entries, owners, routes_within, free_chunks, routes, limits })
    }

    /// The value of the longest prefix that covers `address`.
    #[inline]
    pub fn lookup(&self, address: A) -> Option<u32> {
        let entries: &[u32] = &self.entries;
        let mut entry = entries[slot(address, 0)];
        for level in 1..=levels(A::BITS) {
            if !is_chunk(entry) {
                break;
            }
            entry = entries[chunk_start(entry & !CHUNK) + slot(address, level)];
        }
        (entry != NO_ROUTE).then_some(entry)
    }

    /// Asks the processor to fetch the root's entry for `address`: the first step of a batch.
    #[inline]
    pub fn prefetch_root(&self, address: A) {
        prefetch_at(&self.entries, slot(address, 0));
    }

    /// Sets the value of `prefix`/`len` and returns the one it had; length 0 is the default route.
    ///
    /// # Errors
    /// [`LpmError`]; the table is as before.
    pub fn insert(&mut self, prefix: A, len: u8, value: u32) -> Result<Option<u32>, LpmError> {
        check_prefix(prefix, len)?;
        if value > MAX_VALUE {
            return Err(LpmError::Value { value });
        }
        let is_new = !self.routes.contains_key(&(prefix, len));
        if is_new {
            self.check_room(prefix, len)?;
        }
        let mut node = 0;
        for level in 0..levels(len) {
            let chunk = self.chunk_below(node + slot(prefix, level));
            self.routes_within[chunk as usize] += u32::from(is_new);
            node = chunk_start(chunk);
        }
        let leaf = Leaf { entry: value, owner: len + 1 };
        self.paint(covered(node, prefix, len), len + 1, leaf);
        Ok(self.routes.insert((prefix, len), value))
    }

    /// Removes the route `prefix`/`len` and returns its value; `None` where there is no such one.
    pub fn remove(&mut self, prefix: A, len: u8) -> Option<u32> {
        let value = self.routes.remove(&(prefix, len))?;
        let leaf = self.covering(prefix, len);
        let mut node = 0;
        for level in 0..levels(len) {
            let at = node + slot(prefix, level);
            let chunk = self.entries[at] & !CHUNK;
            self.routes_within[chunk as usize] -= 1;
            if self.routes_within[chunk as usize] == 0 {
                // All the chunk holds now is the covering route, which fits in the entry above.
                self.free_branch(at, prefix, level, len);
                self.set(at, leaf);
                return Some(value);
            }
            node = chunk_start(chunk);
        }
        self.paint(covered(node, prefix, len), len + 1, leaf);
        Some(value)
    }

    /// The value of exactly the route `prefix`/`len`.
    pub fn get(&self, prefix: A, len: u8) -> Option<u32> {
        self.routes.get(&(prefix, len)).copied()
    }

    /// Routes held.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether no route is held.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// What it may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Chunks in use.
    pub fn chunks(&self) -> usize {
        self.routes_within.len() - self.free_chunks.len()
    }

    /// Bytes touched so far for look-ups and for updates; of the routes' own tree, the keys and
    /// values without its overhead.
    pub fn bytes(&self) -> usize {
        self.owners.len() * (size_of::<u32>() + size_of::<u8>())
            + self.routes_within.len() * size_of::<u32>()
            + self.routes.len() * (size_of::<(A, u8)>() + size_of::<u32>())
    }

    /// All routes as (prefix, length, value), in the order of prefix and length.
    pub fn iter(&self) -> impl Iterator<Item = (A, u8, u32)> + '_ {
        self.routes.iter().map(|(&(prefix, len), &value)| (prefix, len, value))
    }

    /// Whether a new route `prefix`/`len` stays within the limits.
    fn check_room(&self, prefix: A, len: u8) -> Result<(), LpmError> {
        if self.routes.len() >= self.limits.routes {
            return Err(LpmError::Routes { limit: self.limits.routes });
        }
        let mut node = 0;
        for level in 0..levels(len) {
            let entry = self.entries[node + slot(prefix, level)];
            if !is_chunk(entry) {
                if self.chunks() + levels(len) - level > self.limits.chunks {
                    return Err(LpmError::Chunks { limit: self.limits.chunks });
                }
                return Ok(());
            }
            node = chunk_start(entry & !CHUNK);
        }
        Ok(())
    }

    /// The chunk below the entry at `at`; where there is none, one that says the same as the entry.
    fn chunk_below(&mut self, at: usize) -> u32 {
        if is_chunk(self.entries[at]) {
            return self.entries[at] & !CHUNK;
        }
        let leaf = Leaf { entry: self.entries[at], owner: self.owners[at] };
        let chunk = self.free_chunks.pop().unwrap_or_else(|| {
            self.routes_within.push(0);
            self.owners.resize(chunk_start(self.routes_within.len() as u32), 0);
            self.routes_within.len() as u32 - 1
        });
        let start = chunk_start(chunk);
        self.entries[start..start + CHUNK_ENTRIES].fill(leaf.entry);
        self.owners[start..start + CHUNK_ENTRIES].fill(leaf.owner);
        self.entries[at] = CHUNK | chunk;
        chunk
    }

    /// Gives back the chunk below the entry at `at` and those below it on the way to the route
    /// `prefix`/`len`, which was the only one in them.
    fn free_branch(&mut self, mut at: usize, prefix: A, level: usize, len: u8) {
        for below in level + 1..=levels(len) {
            let chunk = self.entries[at] & !CHUNK;
            self.routes_within[chunk as usize] = 0;
            self.free_chunks.push(chunk);
            at = chunk_start(chunk) + slot(prefix, below);
        }
    }

    /// Writes `leaf` wherever in these entries or below them no route of at least `owner` is.
    fn paint(&mut self, entries: Range<usize>, owner: u8, leaf: Leaf) {
        for at in entries {
            let entry = self.entries[at];
            if is_chunk(entry) {
                let start = chunk_start(entry & !CHUNK);
                self.paint(start..start + CHUNK_ENTRIES, owner, leaf);
            } else if self.owners[at] <= owner {
                self.set(at, leaf);
            }
        }
    }

    fn set(&mut self, at: usize, leaf: Leaf) {
        self.entries[at] = leaf.entry;
        self.owners[at] = leaf.owner;
    }

    /// What the route `prefix`/`len` hides: the next shorter one that covers it.
    fn covering(&self, prefix: A, len: u8) -> Leaf {
        let shorter = (0..len).rev();
        let mut found =
            shorter.filter_map(|len| Some((len, *self.routes.get(&(prefix.truncated(len), len))?)));
        found.next().map_or(Leaf { entry: NO_ROUTE, owner: 0 }, |(len, entry)| Leaf {
            entry,
            owner: len + 1,
        })
    }
}

/// An entry that is an answer, and whose it is.
#[derive(Clone, Copy)]
struct Leaf {
    entry: u32,
    owner: u8,
}

/// What can be an address: `u32` and `u128`.
pub trait Address: Copy + Ord + std::fmt::Debug + Into<u128> + sealed::Address {
    /// Bits of an address.
    const BITS: u8;
}

impl Address for u32 {
    const BITS: u8 = 32;
}

impl Address for u128 {
    const BITS: u8 = 128;
}

mod sealed {
    pub trait Address {
        /// This address shifted right by `shift` bits, of which the lowest 16 are left.
        fn window(self, shift: usize) -> u16;

        /// This address with all but its first `len` bits cleared.
        fn truncated(self, len: u8) -> Self;
    }

    macro_rules! address {
        ($($t:ty),*) => { $(
            impl Address for $t {
                #[inline(always)]
                fn window(self, shift: usize) -> u16 {
                    (self >> shift) as u16
                }

                fn truncated(self, len: u8) -> $t {
                    // A shift by all bits, which length 0 asks for, leaves nothing.
                    self & !<$t>::MAX.checked_shr(u32::from(len)).unwrap_or(0)
                }
            }
        )* };
    }
    address!(u32, u128);
}

/// The entry of `address` within its node of this level: 0 is the root, then chunks.
#[inline(always)]
fn slot<A: Address>(address: A, level: usize) -> usize {
    let window = address.window(A::BITS as usize - ROOT_BITS - CHUNK_BITS * level);
    if level == 0 { window.into() } else { (window as u8).into() }
}

/// Levels of chunks below the root that a prefix of this length needs.
#[inline(always)]
const fn levels(len: u8) -> usize {
    (len as usize).saturating_sub(ROOT_BITS).div_ceil(CHUNK_BITS)
}

/// The entries that `prefix`/`len` covers in its last node, which starts at `node`.
fn covered<A: Address>(node: usize, prefix: A, len: u8) -> Range<usize> {
    let first = node + slot(prefix, levels(len));
    first..first + (1 << (ROOT_BITS + CHUNK_BITS * levels(len) - len as usize))
}

/// Where the entries of a chunk start; they follow the root.
#[inline(always)]
const fn chunk_start(chunk: u32) -> usize {
    ROOT_ENTRIES + chunk as usize * CHUNK_ENTRIES
}

#[inline(always)]
fn is_chunk(entry: u32) -> bool {
    entry & CHUNK != 0
}

fn check_prefix<A: Address>(prefix: A, len: u8) -> Result<(), LpmError> {
    if len > A::BITS {
        return Err(LpmError::Length { len, bits: A::BITS });
    }
    if prefix.truncated(len) != prefix {
        return Err(LpmError::HostBits { len });
    }
    Ok(())
}

/// The largest value of a route.
pub const MAX_VALUE: u32 = NO_ROUTE - 1;

/// The entry of addresses that no route covers.
const NO_ROUTE: u32 = CHUNK - 1;

/// Set in an entry that is the number of a chunk.
const CHUNK: u32 = 1 << 31;

const ROOT_BITS: usize = 16;
const ROOT_ENTRIES: usize = 1 << ROOT_BITS;
const CHUNK_BITS: usize = 8;
const CHUNK_ENTRIES: usize = 1 << CHUNK_BITS;
