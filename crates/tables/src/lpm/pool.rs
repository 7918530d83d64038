//! Several tables over one pool of nodes: how routes come and go.
//!
//! A route is kept in the node where its prefix ends. An entry holds the answer of the longest
//! route of its node that has it, or a child; what no route of a node has is answered by the
//! nodes above, and each node is told that answer once (`inherited`). So an update touches the
//! entries of one node, and below it one word for each node that the prefix covers.

use std::io;
use std::marker::PhantomData;
use std::ops::Range;

use machine::memory::HugeArray;

use super::address::Address;
use super::blocks::{Blocks, words_for};
use super::entry::{CHILD, INHERIT, NO_ROUTE, entry_at, is_child};
use super::front::Front;
use super::limits::{Limits, LpmError, MAX_VALUE, Table};
use super::node::{Node, SLOTS, part};
use super::store::Store;

/// Several longest-prefix-match tables that share memory; see [`super`].
#[derive(Debug)]
pub struct Pool<A: Address> {
    /// The entries of the direct nodes, 256 each: first the roots of all tables.
    pub(super) entries: HugeArray<u32>,
    /// What the first direct nodes of the main table come to.
    pub(super) front: Front,
    /// The headers of the direct nodes.
    pub(super) direct: Store,
    /// The nodes below.
    pub(super) packed: Store,
    pub(super) runs: Blocks,
    pub(super) values: Blocks,
    /// Routes held, by table.
    routes: Vec<usize>,
    limits: Limits,
    address: PhantomData<A>,
}

impl<A: Address> Pool<A> {
    /// Empty tables.
    ///
    /// # Errors
    /// What the kernel says when it has no such address space; `InvalidInput` where the limits ask
    /// for more nodes than can be numbered, or for no table at all.
    pub fn new(limits: Limits) -> io::Result<Pool<A>> {
        let Limits { tables, routes, nodes } = limits;
        let tables = usize::from(tables);
        if tables == 0 || nodes >= CHILD as usize {
            let text = format!("{tables} tables with {nodes} nodes; at least 1 and at most 2^31");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let roots = (1..A::DIRECT).map(|depth| nodes.min(tables << (8 * depth)));
        let direct = tables + roots.sum::<usize>();
        // A node with two routes or children is a fork of the tree whose leaves are the routes: all
        // forks have at most twice as many branches, and a branch makes two more runs at most.
        let runs = words_for(nodes + 1, 5, 5 * routes);
        let values = words_for(direct + nodes + 1, 0, routes + 1);
        let mut pool = Pool {
            entries: HugeArray::reserve(direct * SLOTS)?,
            front: Front::new()?,
            direct: Store::reserve(direct)?,
            packed: Store::reserve(nodes)?,
            runs: Blocks::reserve(runs)?,
            values: Blocks::reserve(values)?,
            routes: vec![0; tables],
            limits,
            address: PhantomData,
        };
        for _ in 0..tables {
            pool.new_node(0, NO_ROUTE);
        }
        Ok(pool)
    }

    /// The table of a number below the limit.
    pub fn table(&self, number: u16) -> Option<Table> {
        (number < self.limits.tables).then_some(Table(number))
    }

    /// Sets the value of `prefix`/`len` and returns the one it had; length 0 is the default route.
    ///
    /// # Errors
    /// [`LpmError`]; the tables are as before.
    pub fn insert(
        &mut self,
        table: Table,
        prefix: A,
        len: u8,
        value: u32,
    ) -> Result<Option<u32>, LpmError> {
        check_prefix(prefix, len)?;
        if value > MAX_VALUE {
            return Err(LpmError::Value { value });
        }
        let end = depth_of(len);
        let (depth, mut node) = self.descend(table, prefix, end);
        let part = part_of(prefix, len);
        if depth == end && self.store(end).marks(node).has(part) {
            let old = std::mem::replace(self.value_mut(end, node, part), value);
            self.refresh(end, node, entries_of(prefix, len));
            self.follow(table, prefix, len);
            return Ok(Some(old));
        }
        if self.len() >= self.limits.routes {
            return Err(LpmError::Routes { limit: self.limits.routes });
        }
        if self.nodes() + (end - depth) > self.limits.nodes {
            return Err(LpmError::Nodes { limit: self.limits.nodes });
        }
        for depth in depth..end {
            node = self.add_child(depth, node, prefix.octet(depth));
        }
        let rank = self.store(end).marks(node).rank(part);
        let Node { values, routes, .. } = *self.store(end).node(node);
        let values = self.values.insert(values, routes.into(), rank, value);
        self.store_mut(end).marks_mut(node).set(part);
        let header = self.store_mut(end).node_mut(node);
        (header.values, header.routes) = (values, routes + 1);
        self.routes[usize::from(table.0)] += 1;
        self.refresh(end, node, entries_of(prefix, len));
        self.follow(table, prefix, len);
        Ok(None)
    }

    /// Removes the route `prefix`/`len` and returns its value; `None` where there is no such one.
    pub fn remove(&mut self, table: Table, prefix: A, len: u8) -> Option<u32> {
        let (end, node) = self.node_of(table, prefix, len)?;
        let part = part_of(prefix, len);
        let value = *self.value_mut(end, node, part);
        let rank = self.store(end).marks(node).rank(part);
        let Node { values, routes, .. } = *self.store(end).node(node);
        let values = self.values.remove(values, routes.into(), rank);
        self.store_mut(end).marks_mut(node).clear(part);
        let header = self.store_mut(end).node_mut(node);
        (header.values, header.routes) = (values, routes - 1);
        self.routes[usize::from(table.0)] -= 1;
        self.refresh(end, node, entries_of(prefix, len));
        self.prune(table, prefix, end);
        self.follow(table, prefix, len);
        Some(value)
    }

    /// The value of exactly the route `prefix`/`len`.
    pub fn get(&self, table: Table, prefix: A, len: u8) -> Option<u32> {
        let (end, node) = self.node_of(table, prefix, len)?;
        Some(self.value(end, node, part_of(prefix, len)))
    }

    /// Routes held by all tables.
    pub fn len(&self) -> usize {
        self.routes.iter().sum()
    }

    /// Routes held by one table.
    pub fn len_of(&self, table: Table) -> usize {
        self.routes[usize::from(table.0)]
    }

    /// Whether no route is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Nodes in use, without the roots.
    pub fn nodes(&self) -> usize {
        self.direct.in_use() + self.packed.in_use() - usize::from(self.limits.tables)
    }

    /// Bytes touched so far, for look-ups and for updates.
    pub fn bytes(&self) -> usize {
        self.look_up_bytes() + self.values.bytes() + self.direct.bytes() + self.packed.marks_bytes()
    }

    /// Bytes touched so far that look-ups read.
    pub fn look_up_bytes(&self) -> usize {
        let direct = self.direct.ever_used() * SLOTS * size_of::<u32>();
        let packed = self.packed.bytes() - self.packed.marks_bytes() + self.runs.bytes();
        direct + self.front.bytes() + packed
    }

    #[inline(always)]
    pub(super) fn store(&self, depth: usize) -> &Store {
        if depth < A::DIRECT { &self.direct } else { &self.packed }
    }

    fn store_mut(&mut self, depth: usize) -> &mut Store {
        if depth < A::DIRECT { &mut self.direct } else { &mut self.packed }
    }

    /// The value of the route that ends in this part of a node.
    pub(super) fn value(&self, depth: usize, node: u32, part: usize) -> u32 {
        let rank = self.store(depth).marks(node).rank(part);
        self.values.word(self.store(depth).node(node).values + rank as u32)
    }

    fn value_mut(&mut self, depth: usize, node: u32, part: usize) -> &mut u32 {
        let rank = self.store(depth).marks(node).rank(part);
        let start = self.store(depth).node(node).values + rank as u32;
        &mut self.values.words_mut(start, 1)[0]
    }

    /// An entry as it stands in a node.
    pub(super) fn entry(&self, depth: usize, node: u32, slot: usize) -> u32 {
        match depth < A::DIRECT {
            true => self.entries[entry_at(node, slot)],
            false => self.runs.word(self.packed.node(node).place(slot)),
        }
    }

    /// Tells the row before the main table what changed within a prefix.
    fn follow(&mut self, table: Table, prefix: A, len: u8) {
        if table == Table::MAIN {
            self.front.follow(&self.entries, prefix, len);
        }
    }

    /// The deepest node on the way to `prefix`, not below `end`, and its depth.
    fn descend(&self, table: Table, prefix: A, end: usize) -> (usize, u32) {
        let mut node = u32::from(table.0);
        for depth in 0..end {
            let entry = self.entry(depth, node, prefix.octet(depth));
            if !is_child(entry) {
                return (depth, node);
            }
            node = entry & !CHILD;
        }
        (end, node)
    }

    /// The node of a route that there is, and its depth.
    fn node_of(&self, table: Table, prefix: A, len: u8) -> Option<(usize, u32)> {
        check_prefix(prefix, len).ok()?;
        let end = depth_of(len);
        let (depth, node) = self.descend(table, prefix, end);
        let is_held = depth == end && self.store(end).marks(node).has(part_of(prefix, len));
        is_held.then_some((end, node))
    }

    /// A node without routes whose every entry gives the inherited answer.
    fn new_node(&mut self, depth: usize, inherited: u32) -> u32 {
        let node = self.store_mut(depth).take();
        self.store_mut(depth).node_mut(node).inherited = inherited;
        let entry = if depth < A::DIRECT { inherited } else { INHERIT };
        self.write(depth, node, 0, &[entry; SLOTS]);
        node
    }

    /// A new node below an entry that is none yet.
    fn add_child(&mut self, depth: usize, node: u32, slot: usize) -> u32 {
        let own = self.own(depth, node, slot);
        let inherited = own.unwrap_or(self.store(depth).node(node).inherited);
        let child = self.new_node(depth + 1, inherited);
        self.store_mut(depth).node_mut(node).children += 1;
        self.write(depth, node, slot, &[CHILD | child]);
        child
    }

    /// Gives back the nodes on the way to `prefix` that hold nothing any more, from the depth `end`
    /// upwards.
    fn prune(&mut self, table: Table, prefix: A, end: usize) {
        for depth in (1..=end).rev() {
            let (_, node) = self.descend(table, prefix, depth);
            let Node { runs, run_count, routes, children, .. } = *self.store(depth).node(node);
            if routes > 0 || children > 0 {
                return;
            }
            if depth >= A::DIRECT {
                self.runs.release(runs, run_count.into());
            }
            self.store_mut(depth).give_back(node);
            let (above, slot) = (depth - 1, prefix.octet(depth - 1));
            let (_, parent) = self.descend(table, prefix, above);
            self.store_mut(above).node_mut(parent).children -= 1;
            let leaf = self.leaf(above, parent, slot);
            self.write(above, parent, slot, &[leaf]);
        }
    }

    /// The value of the longest route of this node that has the entry.
    fn own(&self, depth: usize, node: u32, slot: usize) -> Option<u32> {
        let part = self.store(depth).marks(node).longest(slot)?;
        Some(self.value(depth, node, part))
    }

    /// What an entry without a child says.
    fn leaf(&self, depth: usize, node: u32, slot: usize) -> u32 {
        let inherits = || match depth < A::DIRECT {
            true => self.direct.node(node).inherited,
            false => INHERIT,
        };
        self.own(depth, node, slot).unwrap_or_else(inherits)
    }

    /// Makes entries say what the node's routes say now.
    fn refresh(&mut self, depth: usize, node: u32, slots: Range<usize>) {
        let mut entries = [0; SLOTS];
        let (first, count) = (slots.start, slots.len());
        for (slot, at) in slots.zip(0..) {
            let entry = self.entry(depth, node, slot);
            entries[at] = if is_child(entry) {
                let own = self.own(depth, node, slot);
                let inherited = own.unwrap_or(self.store(depth).node(node).inherited);
                self.inherit(depth + 1, entry & !CHILD, inherited);
                entry
            } else {
                self.leaf(depth, node, slot)
            };
        }
        self.write(depth, node, first, &entries[..count]);
    }

    /// Tells a node, and those below it, what the nodes above answer.
    fn inherit(&mut self, depth: usize, node: u32, inherited: u32) {
        let header = self.store_mut(depth).node_mut(node);
        header.inherited = inherited;
        let header = *header;
        if depth < A::DIRECT {
            for slot in 0..SLOTS {
                self.inherit_in(depth, node, slot, inherited);
            }
        } else if header.children > 0 {
            for (slot, run) in header.starts().zip(header.runs..) {
                if is_child(self.runs.word(run)) {
                    self.inherit_in(depth, node, slot, inherited);
                }
            }
        }
    }

    fn inherit_in(&mut self, depth: usize, node: u32, slot: usize, inherited: u32) {
        if self.store(depth).marks(node).longest(slot).is_some() {
            return;
        }
        let entry = self.entry(depth, node, slot);
        if is_child(entry) {
            self.inherit(depth + 1, entry & !CHILD, inherited);
        } else if depth < A::DIRECT {
            self.entries[entry_at(node, slot)] = inherited;
        }
    }

    /// Writes the entries of a node from `first` on.
    fn write(&mut self, depth: usize, node: u32, first: usize, entries: &[u32]) {
        if depth < A::DIRECT {
            let at = entry_at(node, first);
            self.entries[at..at + entries.len()].copy_from_slice(entries);
            return;
        }
        let header = self.packed.node_mut(node);
        let before = usize::from(header.run_count);
        let (count, runs) = header.splice(self.runs.words(header.runs, before), first, entries);
        header.runs = self.runs.replace(header.runs, before, &runs[..count]);
    }
}

/// The depth of the node in which a prefix of this length ends.
fn depth_of(len: u8) -> usize {
    usize::from(len.saturating_sub(1) / 8)
}

/// The part of its node that a prefix is.
fn part_of<A: Address>(prefix: A, len: u8) -> usize {
    let depth = depth_of(len);
    part(prefix.octet(depth), usize::from(len) - 8 * depth)
}

/// The entries of its node that a prefix covers.
fn entries_of<A: Address>(prefix: A, len: u8) -> Range<usize> {
    let depth = depth_of(len);
    let first = prefix.octet(depth);
    first..first + (SLOTS >> (usize::from(len) - 8 * depth))
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
