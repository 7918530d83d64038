//! Look-ups: one address, or a batch whose addresses go down the levels together.
//!
//! In a batch, each level is a few short loops over the addresses that are not answered yet: read
//! what was asked for, note the answer, ask the processor for what the next level needs. So a
//! batch waits for memory about once a level, however many addresses it has.

use machine::memory::prefetch_address;

use super::address::Address;
use super::entry::{CHILD, INHERIT, NO_ROUTE, entry_at, is_child};
use super::limits::Table;
use super::pool::Pool;

impl<A: Address> Pool<A> {
    /// The value of the longest prefix of a table that covers `address`.
    #[inline]
    pub fn lookup(&self, table: Table, address: A) -> Option<u32> {
        let (first, mut entry) = match table {
            Table::MAIN => (FRONT, self.front.entry(address)),
            _ => (0, CHILD | u32::from(table.0)),
        };
        for depth in first..A::DIRECT {
            if !is_child(entry) {
                break;
            }
            entry = self.entries[entry_at(entry & !CHILD, address.octet(depth))];
        }
        for depth in A::DIRECT..usize::from(A::BITS / 8) {
            if !is_child(entry) {
                break;
            }
            let node = self.packed.node(entry & !CHILD);
            let run = self.runs.word(node.place(address.octet(depth)));
            entry = if run == INHERIT { node.inherited } else { run };
        }
        (entry != NO_ROUTE).then_some(entry)
    }

    /// Asks the processor to fetch what the first levels need for `address`.
    #[inline]
    pub fn prefetch_root(&self, table: Table, address: A) {
        if table == Table::MAIN {
            return self.front.prefetch(address);
        }
        let entry = self.entries[entry_at(table.0.into(), address.octet(0))];
        self.fetch(1, entry, address);
    }

    /// The values of the longest prefixes of one table that cover each address, `NONE` where
    /// there is no route. What is behind the shorter of the slices is left as it is.
    pub fn lookup_batch(&self, table: Table, addresses: &[A], found: &mut [u32]) {
        for (addresses, found) in addresses.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            match table {
                Table::MAIN => self.look_up_in_main(addresses, found),
                _ => self.look_up(|_| table, addresses, found),
            }
        }
    }

    /// The same, each address in a table of its own.
    pub fn lookup_batch_in(&self, tables: &[Table], addresses: &[A], found: &mut [u32]) {
        let batches = tables.chunks(BATCH).zip(addresses.chunks(BATCH));
        for ((tables, addresses), found) in batches.zip(found.chunks_mut(BATCH)) {
            let count = tables.len().min(addresses.len());
            self.look_up(|at| tables[at], &addresses[..count], found);
        }
    }

    /// A batch from the main table's row on.
    #[inline(always)]
    fn look_up_in_main(&self, addresses: &[A], found: &mut [u32]) {
        self.begin(FRONT, addresses, found, |_, address| self.front.entry(address));
    }

    /// A batch from the roots on.
    #[inline(always)]
    fn look_up(&self, table: impl Fn(usize) -> Table, addresses: &[A], found: &mut [u32]) {
        let root = |at, address: A| entry_at(table(at).0.into(), address.octet(0));
        self.begin(1, addresses, found, |at, address| self.entries[root(at, address)]);
    }

    /// A batch whose entries before level `depth` are known.
    #[inline(always)]
    fn begin(
        &self,
        depth: usize,
        addresses: &[A],
        found: &mut [u32],
        entry: impl Fn(usize, A) -> u32,
    ) {
        let count = addresses.len().min(found.len()).min(BATCH);
        let (addresses, found) = (&addresses[..count], &mut found[..count]);
        let mut open = Open { count: 0, at: [0; BATCH], node: [0; BATCH] };
        for (at, (&address, found)) in addresses.iter().zip(found.iter_mut()).enumerate() {
            let entry = entry(at, address);
            *found = entry;
            self.fetch(depth, entry, address);
            open.push(at, entry);
        }
        for depth in depth..A::DIRECT {
            open.descend(|at, node| {
                let entry = self.entries[entry_at(node, addresses[at].octet(depth))];
                found[at] = entry;
                self.fetch(depth + 1, entry, addresses[at]);
                entry
            });
        }
        for depth in A::DIRECT..usize::from(A::BITS / 8) {
            if open.count == 0 {
                return;
            }
            self.level(depth, &mut open, addresses, found);
        }
    }

    /// One level of compressed nodes.
    #[inline(always)]
    fn level(&self, depth: usize, open: &mut Open, addresses: &[A], found: &mut [u32]) {
        open.descend(|at, node| {
            let node = self.packed.node(node);
            let place = node.place(addresses[at].octet(depth));
            self.runs.prefetch(place);
            found[at] = node.inherited;
            CHILD | place
        });
        open.descend(|at, place| {
            let run = self.runs.word(place);
            found[at] = if run == INHERIT { found[at] } else { run };
            self.fetch(depth + 1, run, addresses[at]);
            run
        });
    }

    /// Asks the processor to fetch what level `depth` needs of the child that an entry may have;
    /// where it has none, something that is there.
    #[inline(always)]
    fn fetch(&self, depth: usize, entry: u32, address: A) {
        let node = if is_child(entry) { entry & !CHILD } else { 0 };
        if depth < A::DIRECT {
            let at = entry_at(node, address.octet(depth));
            prefetch_address(self.entries.as_ptr().wrapping_add(at).cast());
        } else {
            prefetch_address(self.packed.address(node));
        }
    }
}

/// The addresses of a batch that are not answered yet, and where each goes on.
struct Open {
    count: usize,
    at: [u8; BATCH],
    node: [u32; BATCH],
}

impl Open {
    /// Adds an address if its entry has a child; without a branch, for nobody can predict it.
    #[inline(always)]
    fn push(&mut self, at: usize, entry: u32) {
        self.at[self.count & (BATCH - 1)] = at as u8;
        self.node[self.count & (BATCH - 1)] = entry & !CHILD;
        self.count += usize::from(is_child(entry));
    }

    /// Replaces each address's node by the child that `entry` finds; who has none is answered.
    #[inline(always)]
    fn descend(&mut self, mut entry: impl FnMut(usize, u32) -> u32) {
        let count = self.count.min(BATCH);
        self.count = 0;
        for number in 0..count {
            let at = usize::from(self.at[number]);
            let entry = entry(at, self.node[number]);
            self.push(at, entry);
        }
    }
}

/// The octets that the main table's row answers.
const FRONT: usize = 2;

/// Addresses that go down together: as many as a batch of frames has.
const BATCH: usize = 256;
