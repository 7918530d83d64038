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
//! Guarantees: a timer is never early, and by [`Wheel::due`] late by less than a step; setting and
//! cancelling cost a constant time, and so does a timer over its life, with one move for each
//! level, eleven at most; memory is fixed at creation, 24 bytes a timer; no step of the caller's
//! time is walked through singly. A single call of [`Wheel::due`] may move all timers, where they
//! are in one slot; [`Wheel::due_within`] moves as many as its caller allows, and the next call
//! goes on: all that is due is late until the calls have moved that slot.
//!
//! It deliberately does not: read a clock; order timers that are due in one step; share between
//! threads.

pub(crate) mod slots;

use slots::{Slots, Timer, Timers};
use zerocopy::FromZeros;

/// Timers, at most one for each number; see the module's text.
#[derive(Clone, Debug)]
pub struct Wheel {
    timers: Vec<Timer>,
    slots: Slots,
}

impl Timers for Vec<Timer> {
    #[inline(always)]
    fn timer(&self, number: u32) -> &Timer {
        &self[number as usize]
    }
    #[inline(always)]
    fn timer_mut(&mut self, number: u32) -> &mut Timer {
        &mut self[number as usize]
    }
    #[inline(always)]
    fn find(&self, number: u32) -> Option<&Timer> {
        self.get(number as usize)
    }
}

impl Wheel {
    /// Creates timers for the numbers below `count`, none of them set, with steps of 2^`step_bits`
    /// units of time. The time is 0.
    ///
    /// # Panics
    /// With a count of 2^32 - 1 or more, or 64 bits or more.
    pub fn new(count: usize, step_bits: u32) -> Wheel {
        assert!(count < slots::NONE as usize, "{count} timers");
        Wheel { timers: vec![Timer::new_zeroed(); count], slots: Slots::new(step_bits) }
    }

    /// Sets a timer to a time, or moves it there; a time in the past is due at once.
    ///
    /// # Panics
    /// With a number that the wheel was not made for.
    #[inline]
    pub fn set(&mut self, number: u32, time: u64) {
        self.slots.set(&mut self.timers, number, time);
    }

    /// Cancels a timer; true if it was set.
    ///
    /// # Panics
    /// With a number that the wheel was not made for.
    #[inline]
    pub fn cancel(&mut self, number: u32) -> bool {
        self.slots.cancel(&mut self.timers, number)
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
    /// still to be moved, which the next call does before all else. Until a call has some left,
    /// none that is due comes: each is later by as many calls as the moves take.
    #[inline]
    pub fn due_within(&mut self, now: u64, moves: &mut usize) -> Option<u32> {
        self.slots.due_within(&mut self.timers, now, moves)
    }

    /// Returns the time at which [`Wheel::due`] is to be called next: that at which a timer is due,
    /// or an earlier one at which timers move to a finer level, which lies in the past where some
    /// are still to be moved. `None` if no timer is set.
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        self.slots.deadline()
    }

    /// Returns the number of timers that are set.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if no timer is set.
    pub fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> usize {
        self.slots.bytes() + self.timers.capacity() * size_of::<Timer>()
    }
}
