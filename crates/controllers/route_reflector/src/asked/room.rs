//! What a page may have: entries, what is looked at for them, and bytes.

use controller_kit::{Asked, Page};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use serde_json::Value;

/// A page that is being made, and what it may still have.
#[derive(Debug)]
pub(super) struct Room {
    entries: Vec<Value>,
    limit: usize,
    looks: usize,
    bytes: usize,
}

impl Room {
    /// The room of a page.
    pub fn new(asked: &Asked<'_>) -> Room {
        let limit = asked.limit.clamp(1, ENTRIES_MAX);
        Room { entries: Vec::new(), limit, looks: LOOKS_MAX, bytes: BYTES_MAX }
    }

    /// Looks at something. False if there is no room for it, but for the first look: each page gets
    /// on.
    pub fn look(&mut self) -> bool {
        let is_first = self.looks == LOOKS_MAX;
        let has_room = self.entries.len() < self.limit && self.bytes > 0 && self.looks > 0;
        self.spend(1);
        has_room || is_first
    }

    /// Notes that a look costs more than others.
    pub fn spend(&mut self, cost: usize) {
        self.looks = self.looks.saturating_sub(cost);
    }

    /// Adds an entry, for which so many bytes were written in words.
    pub fn push(&mut self, entry: Value, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.entries.push(entry);
    }

    /// The page, with the keys that have room in a line.
    pub fn page(self, next: Option<u64>, columns: &'static [&'static str]) -> Page {
        Page { entries: self.entries, next, columns }
    }
}

/// A place among numbers of all families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The family, by its place in [`FAMILIES`].
    pub family: usize,
    /// A number of the family.
    pub number: u32,
}

impl Cursor {
    /// The cursor of a page.
    pub fn of(from: u64) -> Cursor {
        Cursor { family: (from >> 32) as usize, number: from as u32 }
    }

    /// Where the next page begins.
    pub fn place(self) -> u64 {
        (self.family as u64) << 32 | u64::from(self.number)
    }
}

/// Goes over numbers of some families from a place on, as far as there is room. `numbers` tells
/// which numbers of a family there are below an end, or all; `look` what one costs, and `tell` adds
/// its entries.
pub(super) fn walk(
    room: &mut Room,
    from: u64,
    families: FamilySet,
    mut numbers: impl FnMut(Family) -> Numbers,
    mut tell: impl FnMut(&mut Room, Family, u32),
) -> Option<u64> {
    let from = Cursor::of(from);
    for (place, row) in FAMILIES.iter().enumerate().skip(from.family) {
        if !families.contains(row.family) {
            continue;
        }
        let first = if place == from.family { from.number } else { 0 };
        let wanted = numbers(row.family);
        let all: Box<dyn Iterator<Item = u32>> = match wanted {
            Numbers::Below(end) => Box::new(first..end),
            Numbers::These(mut these) => {
                these.sort_unstable();
                Box::new(these.into_iter().filter(move |number| *number >= first))
            }
        };
        for number in all {
            if !room.look() {
                return Some(Cursor { family: place, number }.place());
            }
            tell(room, row.family, number);
        }
    }
    None
}

/// Which numbers of a family are looked at.
pub(super) enum Numbers {
    /// All below an end.
    Below(u32),
    /// These.
    These(Vec<u32>),
}

/// Most entries of a page.
pub(super) const ENTRIES_MAX: usize = 1000;

/// What a page looks at: routes, paths or peers, each some tens of nanoseconds.
pub(super) const LOOKS_MAX: usize = 1 << 15;

/// Bytes of attributes that a page tells in words, beyond which it ends.
const BYTES_MAX: usize = 1 << 18;
