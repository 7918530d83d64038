//! Numbered nodes: taken, given back, and taken again.

use std::io;

use machine::memory::HugeArray;
use zerocopy::FromZeros;

use super::node::{Marks, Node};

/// The headers and marks of nodes of one kind.
#[derive(Debug)]
pub(super) struct Store {
    nodes: HugeArray<Node>,
    marks: HugeArray<Marks>,
    /// Nodes that were ever taken.
    used: u32,
    /// Nodes given back; each has the number of the next one in place of its runs.
    free: Option<u32>,
    free_count: u32,
}

impl Store {
    /// Room for `nodes` nodes.
    pub fn reserve(nodes: usize) -> io::Result<Store> {
        let (nodes, marks) = (HugeArray::reserve(nodes)?, HugeArray::reserve(nodes)?);
        Ok(Store { nodes, marks, used: 0, free: None, free_count: 0 })
    }

    #[inline(always)]
    pub fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    pub fn node_mut(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[number as usize]
    }

    pub fn marks(&self, number: u32) -> &Marks {
        &self.marks[number as usize]
    }

    pub fn marks_mut(&mut self, number: u32) -> &mut Marks {
        &mut self.marks[number as usize]
    }

    /// Where the header of a node is, to fetch it ahead.
    #[inline(always)]
    pub fn address(&self, number: u32) -> *const u8 {
        self.nodes.as_ptr().wrapping_add(number as usize).cast()
    }

    /// A node that holds nothing; there must be room.
    pub fn take(&mut self) -> u32 {
        let Some(number) = self.free else {
            self.used += 1;
            return self.used - 1;
        };
        let next = self.node(number).runs;
        self.free = (self.free_count > 1).then_some(next);
        self.free_count -= 1;
        *self.node_mut(number) = Node::new_zeroed();
        *self.marks_mut(number) = Marks::new_zeroed();
        number
    }

    pub fn give_back(&mut self, number: u32) {
        self.node_mut(number).runs = self.free.unwrap_or(0);
        self.free = Some(number);
        self.free_count += 1;
    }

    /// Nodes taken and not given back.
    pub fn in_use(&self) -> usize {
        (self.used - self.free_count) as usize
    }

    /// Nodes that were ever taken.
    pub fn ever_used(&self) -> usize {
        self.used as usize
    }

    /// Bytes of all nodes that were ever taken.
    pub fn bytes(&self) -> usize {
        self.ever_used() * size_of::<Node>() + self.marks_bytes()
    }

    /// Of these, the marks, which look-ups do not read.
    pub fn marks_bytes(&self) -> usize {
        self.ever_used() * size_of::<Marks>()
    }
}
