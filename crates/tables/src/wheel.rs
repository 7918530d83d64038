//! Timers of numbered things: which of them are due, and when is the next one?
//!
//! ```text
//!  level 0   64 slots of one step          now ──► |  |  |##|  |##| ... due one by one
//!  level 1   64 slots of 64 steps                  |  |####|    | ...   moves to level 0 in time
//!  level 2   64 slots of 4,096 steps               |        |####| ...  moves to level 1 in time
//! ```
//! A hierarchical wheel (Varghese and Lauck, SOSP 1987, scheme 7). A step is a power of two of the
//! caller's unit of time. Each slot is a list through the timers themselves, and a word of bits for
//! each level says which of its slots have one.
//!
//! Guarantees: a timer is never early, and late by less than a step; setting and cancelling cost a
//! constant time, and so does a timer over its life, with one move for each level, eleven at most;
//! memory is fixed at creation, 24 bytes a timer; no step of the caller's time is walked through
//! singly. A single call of [`Wheel::due`] may move all timers, where they are in one slot;
//! [`Wheel::due_within`] moves as many as its caller allows, and the next call goes on.
//!
//! It deliberately does not: read a clock; order timers that are due in one step; share between
//! threads.

/// Timers, at most one for each number; see the module's text.
#[derive(Clone, Debug)]
pub struct Wheel {
    timers: Vec<Timer>,
    /// First timer of each slot, level by level.
    heads: [[u32; SLOTS]; LEVELS],
    /// Slots that have a timer, a bit each.
    occupied: [u64; LEVELS],
    /// Steps that have passed.
    step: u64,
    /// The level whose slot of the present step may still have timers to be moved; 0 for none.
    lowering: usize,
    step_bits: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Step at which it is due.
    due: u64,
    next: u32,
    previous: u32,
    /// Level and slot; `UNSET` while it is not set.
    place: u16,
}

impl Wheel {
    /// Creates timers for the numbers below `count`, none of them set, with steps of 2^`step_bits`
    /// units of time. The time is 0.
    ///
    /// # Panics
    /// With a count of 2^32 - 1 or more, or 64 bits or more.
    pub fn new(count: usize, step_bits: u32) -> Wheel {
        assert!(count < NONE as usize && step_bits < u64::BITS);
        Wheel {
            timers: vec![Timer { due: 0, next: NONE, previous: NONE, place: UNSET }; count],
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            step: 0,
            lowering: 0,
            step_bits,
            len: 0,
        }
    }

    /// Sets a timer to a time, or moves it there; a time in the past is due at once.
    ///
    /// # Panics
    /// With a number that the wheel was not made for.
    #[inline]
    pub fn set(&mut self, number: u32, time: u64) {
        self.cancel(number);
        let whole = time >> self.step_bits;
        let is_between = whole << self.step_bits != time;
        self.timers[number as usize].due = whole.saturating_add(u64::from(is_between));
        self.len += 1;
        self.link(number);
    }

    /// Cancels a timer; true if it was set.
    ///
    /// # Panics
    /// With a number that the wheel was not made for.
    #[inline]
    pub fn cancel(&mut self, number: u32) -> bool {
        let is_set = self.timers[number as usize].place != UNSET;
        if is_set {
            self.unlink(number);
            self.len -= 1;
        }
        is_set
    }

    /// Returns a timer that is due at `now` and cancels it; `None` if no timer is. A `now` that
    /// lies before that of an earlier call counts as that one.
    #[inline]
    pub fn due(&mut self, now: u64) -> Option<u32> {
        let mut moves = usize::MAX;
        self.due_within(now, &mut moves)
    }

    /// As [`Wheel::due`], with a bound on its work: up to `moves` timers move to a finer level, and
    /// `moves` is what is left of that. With none left, `None` may also mean that others are
    /// still to be moved, which the next call does before all else; until then timers may be late.
    #[inline]
    pub fn due_within(&mut self, now: u64, moves: &mut usize) -> Option<u32> {
        let now = now >> self.step_bits;
        while let Some((level, slot, start)) = self.first()
            && start <= now.max(self.step)
        {
            self.step = self.step.max(start);
            let number = self.heads[level][slot];
            if level == 0 {
                self.cancel(number);
                return Some(number);
            }
            if !self.lower(level, slot, moves) {
                return None;
            }
        }
        self.step = self.step.max(now);
        None
    }

    /// Returns the time at which [`Wheel::due`] is to be called next: that at which a timer is due,
    /// or an earlier one at which timers move to a finer level, which lies in the past where some
    /// are still to be moved. `None` if no timer is set.
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        let (_, _, start) = self.first()?;
        Some(start.saturating_mul(1 << self.step_bits))
    }

    /// Returns the number of timers that are set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no timer is set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Wheel>() + self.timers.capacity() * size_of::<Timer>()
    }

    /// The first slot with a timer and the step at which it begins. Timers of a level are all due
    /// before those of the levels above it, but for a slot that has begun and was not emptied: it
    /// comes first.
    fn first(&self) -> Option<(usize, usize, u64)> {
        let begun = (self.step >> (self.lowering as u32 * SLOT_BITS)) % SLOTS as u64;
        let (level, slot) = match self.lowering {
            level if level > 0 && self.occupied[level] & 1 << begun != 0 => (level, begun as u32),
            _ => {
                let level = self.occupied.iter().position(|&slots| slots != 0)?;
                (level, self.occupied[level].trailing_zeros())
            }
        };
        let bits = level as u32 * SLOT_BITS;
        // Above the highest level there are no bits left.
        let above = self.step.checked_shr(bits + SLOT_BITS).unwrap_or(0);
        let start = (above.checked_shl(SLOT_BITS).unwrap_or(0) | u64::from(slot)) << bits;
        Some((level, slot as usize, start))
    }

    /// Links a timer where its time is, seen from the present step.
    fn link(&mut self, number: u32) {
        let due = self.timers[number as usize].due.max(self.step);
        // The highest group of bits in which the two differ.
        let level = (u64::BITS - 1 - ((due ^ self.step) | 1).leading_zeros()) / SLOT_BITS;
        let slot = (due >> (level * SLOT_BITS)) % SLOTS as u64;
        let head = &mut self.heads[level as usize][slot as usize];
        let next = std::mem::replace(head, number);
        self.occupied[level as usize] |= 1 << slot;
        let timer = &mut self.timers[number as usize];
        (timer.next, timer.previous) = (next, NONE);
        timer.place = ((level as u16) << SLOT_BITS) | slot as u16;
        if next != NONE {
            self.timers[next as usize].previous = number;
        }
    }

    fn unlink(&mut self, number: u32) {
        let Timer { next, previous, place, .. } = self.timers[number as usize];
        self.timers[number as usize].place = UNSET;
        if next != NONE {
            self.timers[next as usize].previous = previous;
        }
        if previous != NONE {
            self.timers[previous as usize].next = next;
            return;
        }
        let (level, slot) = (usize::from(place >> SLOT_BITS), usize::from(place) % SLOTS);
        self.heads[level][slot] = next;
        if next == NONE {
            self.occupied[level] &= !(1 << slot);
        }
    }

    /// Moves timers of a slot that has begun to lower levels; whether that was all of them.
    fn lower(&mut self, level: usize, slot: usize, moves: &mut usize) -> bool {
        let mut number = self.heads[level][slot];
        while number != NONE && *moves > 0 {
            *moves -= 1;
            let next = self.timers[number as usize].next;
            self.link(number);
            number = next;
        }
        self.heads[level][slot] = number;
        let is_empty = number == NONE;
        if is_empty {
            self.occupied[level] &= !(1 << slot);
            self.lowering = 0;
        } else {
            self.timers[number as usize].previous = NONE;
            self.lowering = level;
        }
        is_empty
    }
}

/// Bits of a time that choose a slot of a level.
const SLOT_BITS: u32 = 6;

/// Slots of a level: a bit each of a word.
const SLOTS: usize = 1 << SLOT_BITS;

/// Levels that cover every time of 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(SLOT_BITS) as usize;

/// No timer.
const NONE: u32 = u32::MAX;

/// Place of a timer that is not set.
const UNSET: u16 = u16::MAX;
