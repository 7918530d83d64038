//! Sessions end with rules that come and go: those of their subscribers, and those whose other end
//! becomes an outside address or is none any more.

use machine::clock::Ticks;

use crate::reasons::Tally;
use crate::sessions::fields::Marks;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::state::State;
use crate::types::flow::{Far, Inside};

impl State {
    /// Ends all sessions of some subscribers of the main realm.
    pub(crate) fn end_subscribers(&mut self, inside: impl IntoIterator<Item = u32>, now: Ticks) {
        let keyed = self.sessions.keyed();
        let find =
            |address| self.subscribers.find(&Inside::ipv4(address, 0, 0, Far::default()), keyed);
        let mut subscribers: Vec<u32> = inside.into_iter().filter_map(find).collect();
        let moment = self.times.moment(now);
        // Whichever reads less: the words of their addresses' ports, or all records.
        if subscribers.len().saturating_mul(RECORDS_OF_A_WALK) < self.sessions.used() as usize {
            for subscriber in subscribers {
                self.sessions_of(subscriber).into_iter().for_each(|one| self.end(one, moment));
            }
            return;
        }
        subscribers.sort_unstable();
        for number in 0..self.sessions.used() {
            let session = &self.sessions.records[number as usize];
            let is_theirs = || subscribers.binary_search(&session.subscriber).is_ok();
            if is_live(session) && is_theirs() {
                self.end(number, moment);
            }
        }
    }

    /// Lets ports that steer, and a standby, know of rules that came or went.
    pub(crate) fn note_rules(&mut self) {
        self.allocation.publish();
        if let Some(journal) = &mut self.journal {
            journal.rules_changed = true;
        }
    }

    /// Begins to look for sessions whose other end has become an outside address here, or is none
    /// any more, and ends the first of them: their packets have another way.
    pub(crate) fn begin_to_turn(&mut self, now: Ticks) {
        self.turning = Some(0);
        self.turn_some(now);
    }

    /// Goes on with that, as much as a round may.
    #[cold]
    pub(crate) fn turn_some(&mut self, now: Ticks) {
        let Some(first) = self.turning else { return };
        let end = first.saturating_add(TURNED_MAX).min(self.sessions.used());
        let moment = self.times.moment(now);
        for number in first..end {
            let session = &self.sessions.records[number as usize];
            if !is_live(session) || session.far.is_expected() {
                continue;
            }
            let is_outside = self.allocation.addresses.number(session.far.address()).is_some();
            if session.marks.has(Marks::HAIRPIN) != is_outside {
                self.end(number, moment);
            }
        }
        self.turning = (end < self.sessions.used()).then_some(end);
    }

    /// Ends a session because control has it so, if it is not over anyway.
    fn end(&mut self, number: Number, now: Moment) {
        match self.times.left(&self.sessions.records[number as usize], now) {
            None => self.expire(number, now),
            Some(_) => {
                self.tallies[Tally::SessionsCleared as usize] += 1;
                self.close(number, now)
            }
        };
    }
}

/// Whether a record is a session.
fn is_live(session: &Session) -> bool {
    session.far.protocol() != 0
}

/// As many records as the words of an address's ports have bytes.
const RECORDS_OF_A_WALK: usize = 4 * 4 * 65_536 / size_of::<Session>();

/// Records that a round looks at: 4 MiB.
const TURNED_MAX: u32 = 65_536;
