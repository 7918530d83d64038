//! The pace at which sessions whose time is up are ended: all are looked at every two seconds, a
//! few in each round, so that no round takes long however many end at once.

use machine::clock::{Clock, Ticks};

use crate::config::Timeouts;
use crate::sessions::session::Session;
use crate::sessions::table::{NONE, Number};
use crate::state::State;

/// The sweep of one worker.
pub struct Sweep {
    /// Entries for each tick, times 2^32.
    per_tick: u64,
    last: Ticks,
    /// Entries that are due, times 2^32.
    owed: u64,
    over: [Number; OVER_MAX],
}

impl Sweep {
    /// A sweep that begins at `now`.
    pub fn new(state: &State, clock: &Clock, now: Ticks) -> Sweep {
        let entries = state.sessions.capacity() as f64;
        let per_tick = entries / (PERIOD_S * clock.ticks_per_second());
        let per_tick = (per_tick * (1u64 << 32) as f64) as u64 + 1;
        Sweep { per_tick, last: now, owed: 0, over: [NONE; OVER_MAX] }
    }

    /// Ends sessions whose time is up, as many as are due by the pace and as a round may.
    pub fn round(&mut self, state: &mut State, now: Ticks) {
        let passed = now.wrapping_sub(self.last).min(PASSED_MAX);
        self.last = now;
        let owed = self.owed.saturating_add(passed.saturating_mul(self.per_tick));
        self.owed = owed.min(ENTRIES_MAX << 32);
        let count = (self.owed >> 32) as usize;
        if count == 0 {
            return;
        }
        self.owed &= (1 << 32) - 1;
        let moment = state.times.moment(now);
        let found = state.sessions.sweep(count, &mut self.over, (moment, &state.times));
        state.prepare_to_close(&self.over[..found]);
        for &number in &self.over[..found] {
            state.expire(number, moment);
        }
    }
}

impl State {
    /// Lets sessions live by other timeouts from now on, those included that are there.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.times.set_timeouts(timeouts);
        // The sweep is to look at each earlier, where that is sooner.
        self.hastened = Some(0);
    }

    /// Tells the sweep of timeouts that were changed, some sessions in each round.
    #[cold]
    pub(crate) fn hasten_some(&mut self, now: Ticks) {
        let Some(first) = self.hastened else { return };
        let end = first.saturating_add(HASTENED_MAX).min(self.sessions.used());
        let moment = self.times.moment(now);
        for number in first..end {
            let is_live = |session: &Session| session.far.protocol() != 0;
            if self.sessions.records.get(number as usize).is_some_and(is_live) {
                self.sessions.hasten(number, (moment, &self.times));
            }
        }
        self.hastened = (end < self.sessions.used()).then_some(end);
    }
}

/// Sessions that a round tells the sweep of.
const HASTENED_MAX: u32 = 4096;

/// In how many seconds the sweep comes around.
const PERIOD_S: f64 = 2.0;

/// Entries that a round sweeps over at most.
const ENTRIES_MAX: u64 = 16_384;

/// Sessions that a round ends at most.
const OVER_MAX: usize = 256;

/// A longer time between two rounds is not made good for.
const PASSED_MAX: Ticks = 1 << 32;
