//! The slots of a wheel, whose timers are where its user has them.
//!
//! [`super::Wheel`] has them in an array. Who has a record for each number keeps the timer in it,
//! so that both are fetched together. A list through memory costs one cache miss after the other;
//! so each timer names one that comes a few places behind it in its slot, which is fetched while
//! those between them are looked at.
//!
//! It deliberately does not own a timer, or check a number.

use machine::memory::prefetch;
use zerocopy::FromZeros;

/// A timer; zeroed, it is not set.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub(crate) struct Timer {
    /// Step at which it is due.
    due: u64,
    next: u32,
    previous: u32,
    /// One that is or was some places behind it: for fetching only.
    ahead: u32,
    /// One more than level and slot; 0 while it is not set.
    place: u16,
    unused: u16,
}

/// Where timers are, by number.
pub(crate) trait Timers {
    fn timer(&self, number: u32) -> &Timer;
    fn timer_mut(&mut self, number: u32) -> &mut Timer;
    /// The same of a number that may be none.
    fn find(&self, number: u32) -> Option<&Timer>;
}

/// The lists of timers by the time at which they are due.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// First timer of each slot, level by level.
    heads: [[u32; SLOTS]; LEVELS],
    /// Those that came to a slot last, and how many there have been.
    recent: Box<[[Recent; SLOTS]; LEVELS]>,
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
struct Recent {
    numbers: [u32; AHEAD],
    at: u32,
}

impl Slots {
    /// Slots of steps of 2^`step_bits` units of time, without a timer. The time is 0.
    ///
    /// # Panics
    /// With 64 bits or more.
    pub fn new(step_bits: u32) -> Slots {
        assert!(step_bits < u64::BITS);
        let recent = Recent { numbers: [NONE; AHEAD], at: 0 };
        Slots {
            heads: [[NONE; SLOTS]; LEVELS],
            recent: Box::new([[recent; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
            step: 0,
            lowering: 0,
            step_bits,
            len: 0,
        }
    }

    /// Sets a timer to a time, or moves it there; a time in the past is due at once.
    #[inline]
    pub fn set(&mut self, timers: &mut impl Timers, number: u32, time: u64) {
        self.cancel(timers, number);
        let whole = time >> self.step_bits;
        let is_between = whole << self.step_bits != time;
        timers.timer_mut(number).due = whole.saturating_add(u64::from(is_between));
        self.len += 1;
        self.link(timers, number);
    }

    /// Cancels a timer; true if it was set.
    #[inline]
    pub fn cancel(&mut self, timers: &mut impl Timers, number: u32) -> bool {
        let is_set = timers.timer(number).place != UNSET;
        if is_set {
            self.unlink(timers, number);
            self.len -= 1;
        }
        is_set
    }

    /// See [`super::Wheel::due_within`].
    #[inline]
    pub fn due_within(
        &mut self,
        timers: &mut impl Timers,
        now: u64,
        moves: &mut usize,
    ) -> Option<u32> {
        let now = now >> self.step_bits;
        while let Some((level, slot, start)) = self.first()
            && start <= now.max(self.step)
        {
            self.step = self.step.max(start);
            let number = self.heads[level][slot];
            if level == 0 {
                self.cancel(timers, number);
                return Some(number);
            }
            if !self.lower(timers, (level, slot), moves) {
                return None;
            }
        }
        self.step = self.step.max(now);
        None
    }

    /// See [`super::Wheel::deadline`].
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        let (_, _, start) = self.first()?;
        Some(start.saturating_mul(1 << self.step_bits))
    }

    /// How many timers are set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Memory beside the timers.
    pub fn bytes(&self) -> usize {
        size_of::<Slots>() + size_of_val(&*self.recent)
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
    fn link(&mut self, timers: &mut impl Timers, number: u32) {
        let due = timers.timer(number).due.max(self.step);
        // The highest group of bits in which the two differ.
        let level =
            ((u64::BITS - 1 - ((due ^ self.step) | 1).leading_zeros()) / SLOT_BITS) as usize;
        let slot = ((due >> (level as u32 * SLOT_BITS)) % SLOTS as u64) as usize;
        let next = std::mem::replace(&mut self.heads[level][slot], number);
        self.occupied[level] |= 1 << slot;
        let recent = &mut self.recent[level][slot];
        let at = recent.at as usize % AHEAD;
        let ahead = std::mem::replace(&mut recent.numbers[at], number);
        recent.at = recent.at.wrapping_add(1);
        let timer = timers.timer_mut(number);
        (timer.next, timer.previous, timer.ahead) = (next, NONE, ahead);
        timer.place = 1 + ((level as u16) << SLOT_BITS | slot as u16);
        if next != NONE {
            timers.timer_mut(next).previous = number;
        }
    }

    fn unlink(&mut self, timers: &mut impl Timers, number: u32) {
        let timer = timers.timer_mut(number);
        let Timer { next, previous, ahead, place, .. } = *timer;
        timer.place = UNSET;
        if let Some(ahead) = timers.find(ahead) {
            prefetch(ahead);
        }
        if next != NONE {
            timers.timer_mut(next).previous = previous;
        }
        if previous != NONE {
            timers.timer_mut(previous).next = next;
            return;
        }
        let place = usize::from(place - 1);
        let (level, slot) = (place >> SLOT_BITS, place % SLOTS);
        self.heads[level][slot] = next;
        if next == NONE {
            self.occupied[level] &= !(1 << slot);
        }
    }

    /// Moves timers of a slot that has begun to lower levels; whether that was all of them.
    fn lower(
        &mut self,
        timers: &mut impl Timers,
        (level, slot): (usize, usize),
        moves: &mut usize,
    ) -> bool {
        let mut number = self.heads[level][slot];
        while number != NONE && *moves > 0 {
            *moves -= 1;
            let Timer { next, ahead, .. } = *timers.timer(number);
            if let Some(ahead) = timers.find(ahead) {
                prefetch(ahead);
            }
            self.link(timers, number);
            number = next;
        }
        self.heads[level][slot] = number;
        let is_empty = number == NONE;
        if is_empty {
            self.occupied[level] &= !(1 << slot);
            self.lowering = 0;
        } else {
            timers.timer_mut(number).previous = NONE;
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

/// How many places a timer is behind the one that names it, at most.
const AHEAD: usize = 8;

/// No timer.
pub(super) const NONE: u32 = u32::MAX;

/// Place of a timer that is not set.
const UNSET: u16 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_24_bytes() {
        assert_eq!(size_of::<Timer>(), 24);
    }
}
