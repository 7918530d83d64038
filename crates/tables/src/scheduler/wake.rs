//! Who waits for credit: timers that bring shapers and queues back.
//!
//! A shaper has its timer in its first cache line, which whoever sets it has touched anyway. Those
//! that are due are brought back in lots, so that the memory that one of them needs is fetched
//! while others are looked at.

use machine::memory::{prefetch, prefetch_at};

use super::tree::{BLOCKED, Shaper, Tree};
use super::turn::Linked;
use crate::wheel::slots::{Timer, Timers};

impl Tree {
    /// Brings back whoever's time has come: [`WAKES`] times [`WAKE_ROUNDS`] of them at most, and
    /// [`MOVES`] timers are moved at most. The rest is for the next call.
    pub fn wake(&mut self, now: u64) {
        let (mut due, mut moves) = ([0; WAKES], MOVES);
        for _ in 0..WAKE_ROUNDS {
            let mut count = 0;
            while count < WAKES
                && let Some(timer) = self.due_timer(now, &mut moves)
            {
                self.prefetch_timer(timer);
                due[count] = timer;
                count += 1;
            }
            for &timer in &due[..count] {
                self.prefetch_parent_of_timer(timer);
            }
            for &timer in &due[..count] {
                self.wake_one(timer, now);
            }
            if count < WAKES {
                return;
            }
        }
    }

    pub fn set_timer(&mut self, number: u32, time: u64) {
        let mut timed = Timed { shapers: &mut self.shapers, queues: &mut self.timers };
        self.slots.set(&mut timed, number, time);
    }

    pub fn cancel_timer(&mut self, number: u32) {
        let mut timed = Timed { shapers: &mut self.shapers, queues: &mut self.timers };
        self.slots.cancel(&mut timed, number);
    }

    #[inline(always)]
    fn due_timer(&mut self, now: u64, moves: &mut usize) -> Option<u32> {
        let mut timed = Timed { shapers: &mut self.shapers, queues: &mut self.timers };
        self.slots.due_within(&mut timed, now, moves)
    }

    fn prefetch_timer(&self, timer: u32) {
        match (timer as usize).checked_sub(self.shapers.len()) {
            None => prefetch_at(&self.shapers, timer as usize),
            Some(queue) => prefetch_at(&self.queues, queue),
        }
    }

    fn prefetch_parent_of_timer(&self, timer: u32) {
        match (timer as usize).checked_sub(self.shapers.len()) {
            None => {
                let shaper = &self.shapers[timer as usize];
                let level = shaper.active.trailing_zeros() as usize;
                prefetch(shaper.turn(level));
                self.prefetch_shaper(shaper.parent, level);
            }
            Some(queue) => {
                let queue = &self.queues[queue];
                self.prefetch_shaper(queue.parent, usize::from(queue.level));
            }
        }
    }

    fn wake_one(&mut self, timer: u32, now: u64) {
        match (timer as usize).checked_sub(self.shapers.len()) {
            None => {
                self.shapers[timer as usize].is_blocked = 0;
                self.enter(timer, now);
            }
            Some(queue) => {
                self.queues[queue].state &= !BLOCKED;
                self.raise_queue(queue as u32, now);
            }
        }
    }
}

/// Where the timers of a tree are.
struct Timed<'a> {
    shapers: &'a mut [Shaper],
    queues: &'a mut [Timer],
}

impl Timers for Timed<'_> {
    #[inline(always)]
    fn timer(&self, number: u32) -> &Timer {
        match (number as usize).checked_sub(self.shapers.len()) {
            None => &self.shapers[number as usize].timer,
            Some(queue) => &self.queues[queue],
        }
    }
    #[inline(always)]
    fn timer_mut(&mut self, number: u32) -> &mut Timer {
        match (number as usize).checked_sub(self.shapers.len()) {
            None => &mut self.shapers[number as usize].timer,
            Some(queue) => &mut self.queues[queue],
        }
    }
    #[inline(always)]
    fn find(&self, number: u32) -> Option<&Timer> {
        match (number as usize).checked_sub(self.shapers.len()) {
            None => self.shapers.get(number as usize).map(|shaper| &shaper.timer),
            Some(queue) => self.queues.get(queue),
        }
    }
}

/// Those that are woken together, and how often: 1,024 at a call, which is more than frames of a
/// batch and all their parents can be blocked by.
const WAKES: usize = 32;
const WAKE_ROUNDS: usize = 32;

/// Timers that a call moves to a finer level of the wheel.
const MOVES: usize = 4096;
