//! The end of a worker in good order: what its log has told to begin is told to be over, so that
//! whoever reads it knows that nobody has an outside port any more.
//!
//! Nothing is opened from then on. First a standby hears what it does not know yet, because
//! sessions live on there; then it hears nothing more, and all sessions end, as many in a round as
//! the log has places for. The last record is the end of the log. Without a log there is nothing to
//! do.

use machine::clock::Ticks;

use crate::reasons::Tally;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::state::State;
use crate::types::ending::Ending;

impl State {
    /// Whether packets open sessions.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.opens && self.ending.is_none()
    }

    /// Begins the end, and says how much of it is left: sessions, and events that have not left.
    pub fn wind_down(&mut self) -> u64 {
        let Some(log) = &self.log else { return 0 };
        self.ending.get_or_insert(Ending::Telling);
        log.left() + u64::from(self.sessions.count())
    }

    /// Goes on with the end, as much as a round may; `is_told` says that a standby knows all, or
    /// that there is none.
    #[cold]
    pub(crate) fn end_round(&mut self, is_told: bool, now: Ticks) {
        match self.ending {
            Some(Ending::Telling) if is_told => {
                self.journal = None;
                self.ending = Some(Ending::Closing(0));
            }
            Some(Ending::Closing(from)) => self.close_from(from, now),
            Some(Ending::Telling | Ending::Over) | None => {}
        }
    }

    /// Ends sessions from a number on.
    fn close_from(&mut self, from: Number, now: Ticks) {
        let moment = self.times.moment(now);
        let end = from.saturating_add(LOOKED_AT_MAX).min(self.sessions.used());
        let (mut next, mut closed) = (from, 0);
        while next < end && closed < CLOSED_MAX {
            if self.log.as_ref().is_some_and(|log| !log.takes_an_end()) {
                break;
            }
            let is_live = |session: &Session| session.far.protocol() != 0;
            if self.sessions.records.get(next as usize).is_some_and(is_live) {
                self.tallies[Tally::SessionsCleared as usize] += 1;
                self.close(next, moment);
                closed += 1;
            }
            next += 1;
        }
        let is_done = next >= self.sessions.used();
        self.ending = Some(if is_done { Ending::Over } else { Ending::Closing(next) });
        if let Some(log) = &mut self.log
            && is_done
        {
            log.end();
        }
    }
}

/// Records that a round looks at.
const LOOKED_AT_MAX: u32 = 16_384;

/// Sessions that a round ends.
const CLOSED_MAX: u32 = 256;
