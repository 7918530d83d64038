//! What the main table answers to the first 16 bits of an address, in one row.
//!
//! ```text
//!  first two octets   0.0 | 0.1 | ... | 255.255
//!  entry              what the direct nodes come to there: a value, or a node of the third octet
//! ```
//! A look-up in the main table begins here and saves a level, and the batch a pass. The row follows
//! from the direct nodes, and an update writes those of its entries anew that its prefix covers.

use std::io;

use machine::memory::{HugeArray, prefetch};

use super::address::Address;
use super::entry::{CHILD, NO_ROUTE, entry_at, is_child};
use super::node::SLOTS;

/// The entries by the first two octets.
#[derive(Debug)]
pub(super) struct Front {
    entries: HugeArray<u32>,
}

impl Front {
    /// That of a table without routes.
    pub fn new() -> io::Result<Front> {
        let mut entries = HugeArray::reserve(SLOTS * SLOTS)?;
        entries.fill(NO_ROUTE);
        Ok(Front { entries })
    }

    /// What is known of an address after its first two octets.
    #[inline(always)]
    pub fn entry<A: Address>(&self, address: A) -> u32 {
        self.entries[place_of(address)]
    }

    /// Asks the processor to fetch the entry of an address.
    #[inline(always)]
    pub fn prefetch<A: Address>(&self, address: A) {
        prefetch(&self.entries[place_of(address)]);
    }

    /// Follows the direct nodes within a prefix.
    pub fn follow<A: Address>(&mut self, direct: &[u32], prefix: A, len: u8) {
        let first = place_of(prefix);
        let end = first + (1 << 16_u8.saturating_sub(len));
        let mut at = first;
        while at < end {
            let (root, slot) = (at / SLOTS, at % SLOTS);
            let count = (SLOTS - slot).min(end - at);
            let to = &mut self.entries[at..at + count];
            let entry = direct[entry_at(0, root)];
            if is_child(entry) {
                let from = entry_at(entry & !CHILD, slot);
                to.copy_from_slice(&direct[from..from + count]);
            } else {
                to.fill(entry);
            }
            at += count;
        }
    }

    /// Bytes it holds, all of them touched.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }
}

/// The place of an address by its first two octets.
#[inline(always)]
fn place_of<A: Address>(address: A) -> usize {
    address.octet(0) * SLOTS + address.octet(1)
}
