//! When the sessions of a trial were begun: the latest of them, in the order of their numbers.
//!
//! A ring of so many times as are remembered. Where sessions are begun as fast as they succeed, it
//! also tells which of them have waited too long, from the oldest on; there none is begun that
//! would push the oldest one without an answer out of the ring.

use machine::clock::Ticks;

/// Window of the sessions that were started last.
#[derive(Debug)]
pub(super) struct Window {
    entries: Vec<Entry>,
    /// Number of started sessions, which is the number of the next one.
    next: u64,
    /// All sessions before this one are settled.
    oldest: u64,
    /// Position at which the search for overdue sessions continues.
    cursor: u64,
    /// Time before which no session is overdue.
    look_at: Ticks,
    abandoned: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    begun: Ticks,
    /// Time at which the session's latest first step was sent.
    asked: Ticks,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Settled,
    UnderWay,
    Abandoned,
}

impl Window {
    /// Creates a window that remembers this many sessions.
    pub fn new(remembered: u64) -> Window {
        let len = remembered.clamp(64, REMEMBERED_MAX).next_power_of_two();
        let entries = vec![Entry::default(); len as usize];
        Window { entries, next: 0, oldest: 0, cursor: 0, look_at: 0, abandoned: 0 }
    }

    /// Returns how many sessions may be started before the oldest one without an answer is settled.
    #[inline]
    pub fn room(&mut self) -> u64 {
        while self.oldest < self.next && self.entry(self.oldest).state != State::UnderWay {
            self.oldest += 1;
        }
        self.entries.len() as u64 - (self.next - self.oldest)
    }

    /// Records the start of the next session.
    #[inline(always)]
    pub fn begin(&mut self, now: Ticks) {
        let next = self.next;
        *self.entry_mut(next) = Entry { begun: now, asked: now, state: State::UnderWay };
        self.next += 1;
    }

    /// Records the success of a session; returns the time of its start if it is remembered.
    #[inline(always)]
    pub fn settle(&mut self, number: u64) -> Option<Ticks> {
        if self.next - number > self.entries.len() as u64 {
            return None;
        }
        let entry = self.entry_mut(number);
        let (begun, state) = (entry.begun, entry.state);
        entry.state = State::Settled;
        self.abandoned -= u64::from(state == State::Abandoned);
        Some(begun)
    }

    /// Returns the number of sessions given up.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Returns true if it is time to search for overdue sessions.
    #[inline(always)]
    pub fn is_overdue(&self, now: Ticks) -> bool {
        now >= self.look_at
    }

    /// Returns the next session without an answer that must be retried; sessions without an answer
    /// for all of `wait` are given up. `None` at the end of the search.
    pub fn next_overdue(&mut self, now: Ticks, wait: Ticks) -> Option<u64> {
        self.room();
        self.cursor = self.cursor.max(self.oldest);
        while self.cursor < self.next {
            let number = self.cursor;
            self.cursor += 1;
            let entry = self.entry_mut(number);
            if entry.state != State::UnderWay {
                continue;
            }
            if now.saturating_sub(entry.begun) > wait {
                entry.state = State::Abandoned;
                self.abandoned += 1;
            } else if now.saturating_sub(entry.asked) > wait / TRIES {
                entry.asked = now;
                return Some(number);
            }
        }
        self.cursor = 0;
        self.look_at = now.saturating_add(wait / (4 * TRIES));
        None
    }

    #[inline(always)]
    fn entry(&self, number: u64) -> &Entry {
        &self.entries[number as usize & (self.entries.len() - 1)]
    }

    #[inline(always)]
    fn entry_mut(&mut self, number: u64) -> &mut Entry {
        let mask = self.entries.len() - 1;
        &mut self.entries[number as usize & mask]
    }
}

/// Number of tries until a session is given up.
const TRIES: u64 = 4;

/// Largest number of remembered sessions, 24 bytes each.
const REMEMBERED_MAX: u64 = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_without_an_answer_bounds_how_many_are_begun() {
        let mut window = Window::new(64);
        (0..64).for_each(|now| window.begin(now));
        assert_eq!(window.room(), 0);
        assert_eq!(window.settle(1), Some(1));
        assert_eq!(window.room(), 0, "number 0 is still there");
        assert_eq!(window.settle(0), Some(0));
        assert_eq!(window.room(), 2);
    }

    #[test]
    fn one_without_an_answer_is_begun_again_and_then_given_up() {
        let mut window = Window::new(64);
        (0..3).for_each(|_| window.begin(1000));
        window.settle(1);
        assert_eq!(window.next_overdue(1050, 400), None, "not yet");
        assert_eq!(window.next_overdue(1101, 400), Some(0));
        assert_eq!(window.next_overdue(1101, 400), Some(2));
        assert_eq!(window.next_overdue(1101, 400), None);
        assert!(!window.is_overdue(1102) && window.is_overdue(1126));
        assert_eq!(window.next_overdue(1150, 400), None, "asked again a moment ago");
        assert_eq!(window.next_overdue(1401, 400), None);
        assert_eq!((window.abandoned(), window.room()), (2, 64));
        assert_eq!(window.settle(2), Some(1000), "late");
        assert_eq!(window.abandoned(), 1);
    }

    #[test]
    fn a_time_that_is_forgotten_is_not_told() {
        let mut window = Window::new(64);
        (0..100).for_each(|now| window.begin(now));
        assert_eq!(window.settle(30), None);
        assert_eq!(window.settle(36), Some(36));
    }
}
