//! All routes of a table in the order of prefix and length: to be read, or removed.

use super::address::Address;
use super::entry::{CHILD, is_child};
use super::limits::Table;
use super::node::SLOTS;
use super::pool::Pool;

impl<A: Address> Pool<A> {
    /// All routes of a table as (prefix, length, value), in the order of prefix and length.
    pub fn iter(&self, table: Table) -> Routes<'_, A> {
        let root = Part { depth: 0, node: table.0.into(), above: A::ZERO, part: 1 };
        Routes { pool: self, parts: vec![root], behind: None }
    }

    /// Those of them that follow a prefix of a length, which need not be there.
    pub fn iter_behind(&self, table: Table, prefix: A, len: u8) -> Routes<'_, A> {
        Routes { behind: Some((prefix, len)), ..self.iter(table) }
    }

    /// Removes all routes of a table.
    pub fn clear(&mut self, table: Table) {
        let routes: Vec<(A, u8, u32)> = self.iter(table).collect();
        for (prefix, len, _) in routes {
            self.remove(table, prefix, len);
        }
    }
}

/// An iterator over (prefix, length, value).
#[derive(Debug)]
pub struct Routes<'a, A: Address> {
    pool: &'a Pool<A>,
    /// What is still to be visited, the next one last.
    parts: Vec<Part<A>>,
    /// What is visited follows this one.
    behind: Option<(A, u8)>,
}

/// A part of a node: it, its halves and the node below follow each other in this order.
#[derive(Clone, Copy, Debug)]
struct Part<A> {
    depth: usize,
    node: u32,
    /// The octets before the node's own.
    above: A,
    part: usize,
}

impl<A: Address> Routes<'_, A> {
    fn push_parts_of(&mut self, at: Part<A>) {
        let Part { depth, node, above, part } = at;
        if part < SLOTS {
            self.parts.push(Part { part: 2 * part + 1, ..at });
            self.parts.push(Part { part: 2 * part, ..at });
            return;
        }
        let slot = part - SLOTS;
        let entry = self.pool.entry(depth, node, slot);
        if is_child(entry) {
            let above = above.with_octet(depth, slot);
            self.parts.push(Part { depth: depth + 1, node: entry & !CHILD, above, part: 1 });
        }
    }
}

impl<A: Address> Iterator for Routes<'_, A> {
    type Item = (A, u8, u32);

    fn next(&mut self) -> Option<(A, u8, u32)> {
        while let Some(at) = self.parts.pop() {
            let Part { depth, node, above, part } = at;
            let bits = part.ilog2() as usize;
            let octet = (part << (8 - bits)) & 0xff;
            let (prefix, len) = (above.with_octet(depth, octet), (8 * depth + bits) as u8);
            if self.behind.is_some_and(|(first, _)| prefix < first.truncated(len)) {
                // Nothing below it follows.
                continue;
            }
            self.push_parts_of(at);
            let is_asked_for = self.behind.is_none_or(|behind| (prefix, len) > behind);
            if is_asked_for && self.pool.store(depth).marks(node).has(part) {
                return Some((prefix, len, self.pool.value(depth, node, part)));
            }
        }
        None
    }
}
