//! One cache line of a [`super::Tagged`]: ten slots, and how many entries of this home are away.
//!
//! ```text
//!  0           20      24                                       64
//! +-----------+-------+-----------------------------------------+
//! | 10 marks  | away  | 10 numbers, inverted                    |
//! +-----------+-------+-----------------------------------------+
//! ```
//! A mark is the tag of an entry, and a bit that says whether the entry is in its other bucket. So
//! a look-up at home meets no entry that is away from elsewhere, and an entry can be moved without
//! asking for its key. `away` is eight counts of four bits, one for each value of the lowest three
//! bits of a tag: a tag whose count is zero is not in its other bucket.
//!
//! A number is stored inverted: memory that was never written, all zeroes, is empty slots, and a
//! look-up is "or together the numbers whose mark is equal", without a branch or a position. Where
//! two marks are equal that is none of both, but no larger than either.

use zerocopy::FromZeros;

/// Slots of a bucket.
pub const SLOTS: usize = 10;

/// What a slot without an entry stores: the inverse of `u32::MAX`.
pub const VACANT: u32 = 0;

/// The bits of a mark, and of a hash, that are the tag.
pub const TAG: u16 = 0x7fff;

/// The bit of a mark that says that the entry is in its other bucket.
pub const AWAY: u16 = 0x8000;

/// The most entries of one home that are away under one count.
pub const AWAY_MAX: u32 = 15;

/// A cache line; see the module's text.
#[derive(Clone, Copy, FromZeros)]
#[repr(C, align(64))]
pub struct Bucket {
    marks: [u16; SLOTS],
    away: u32,
    stored: [u32; SLOTS],
}

impl Bucket {
    /// The inverted numbers under `mark`, or-ed; `VACANT` if there is none.
    #[inline(always)]
    pub fn find(&self, mark: u16) -> u32 {
        let mut matching = self.stored;
        for (matching, &held) in matching.iter_mut().zip(&self.marks) {
            *matching &= u32::from(held == mark).wrapping_neg();
        }
        matching.iter().fold(VACANT, |found, matching| found | matching)
    }

    /// The numbers under `mark`, one by one.
    pub fn numbers(&self, mark: u16) -> impl Iterator<Item = u32> + '_ {
        let mut left = self.slots(|held, stored| (held == mark) & (stored != VACANT));
        std::iter::from_fn(move || {
            let slot = lowest(left)?;
            left &= left - 1;
            self.stored.get(slot).map(|stored| !stored)
        })
    }

    /// Where `number` is under `mark`.
    #[inline(always)]
    pub fn position(&self, mark: u16, number: u32) -> Option<usize> {
        lowest(self.slots(|held, stored| (held == mark) & (stored == !number)))
    }

    /// A bit for each slot of which something is so. Which slot it is cannot be foretold, so that a
    /// search that stops there costs a wrong guess of the processor, more than looking at all.
    #[inline(always)]
    fn slots(&self, is: impl Fn(u16, u32) -> bool) -> u32 {
        let slots = self.marks.iter().zip(&self.stored).enumerate();
        slots.fold(0, |slots, (slot, (&mark, &stored))| slots | u32::from(is(mark, stored)) << slot)
    }

    /// The mark and the number of a slot, if there is an entry in it.
    pub fn entry(&self, slot: usize) -> Option<(u16, u32)> {
        (self.stored[slot] != VACANT).then(|| (self.marks[slot], !self.stored[slot]))
    }

    /// The first slot without an entry.
    #[inline(always)]
    pub fn vacant(&self) -> Option<usize> {
        lowest(self.slots(|_, stored| stored == VACANT))
    }

    /// Writes one slot.
    pub fn set(&mut self, slot: usize, mark: u16, number: u32) {
        self.marks[slot] = mark;
        self.stored[slot] = !number;
    }

    /// Empties a slot.
    pub fn vacate(&mut self, slot: usize) {
        self.stored[slot] = VACANT;
    }

    /// Entries of this home that are away under the count of `tag`.
    #[inline(always)]
    pub fn away(&self, tag: u16) -> u32 {
        self.away >> shift(tag) & AWAY_MAX
    }

    /// Notes that an entry of this home went away; the count is below [`AWAY_MAX`].
    pub fn note_leaving(&mut self, tag: u16) {
        debug_assert!(self.away(tag) < AWAY_MAX);
        self.away += 1 << shift(tag);
    }

    /// Notes that an entry of this home is away no more; the count is above zero.
    pub fn note_return(&mut self, tag: u16) {
        debug_assert!(self.away(tag) > 0);
        self.away -= 1 << shift(tag);
    }
}

/// The first of some slots.
#[inline(always)]
fn lowest(slots: u32) -> Option<usize> {
    (slots != 0).then_some(slots.trailing_zeros() as usize)
}

#[inline(always)]
fn shift(tag: u16) -> u32 {
    4 * u32::from(tag & 7)
}

const _: () = assert!(size_of::<Bucket>() == 64);
