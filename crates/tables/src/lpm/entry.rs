//! What a word of a node says: a value, no route, or the number of a node below.

/// What a batch of look-ups finds where there is no route.
pub const NONE: u32 = NO_ROUTE;

/// The answer for addresses that no route covers.
pub(super) const NO_ROUTE: u32 = CHILD - 1;

/// The entry that leaves the answer to the nodes above.
pub(super) const INHERIT: u32 = CHILD - 2;

/// Set in an entry that is the number of a node below.
pub(super) const CHILD: u32 = 1 << 31;

/// Where an entry of a direct node is.
#[inline(always)]
pub(super) fn entry_at(node: u32, slot: usize) -> usize {
    (node as usize) << 8 | slot
}

#[inline(always)]
pub(super) fn is_child(entry: u32) -> bool {
    entry & CHILD != 0
}
