//! Sessions end: each by itself, by their time, or all of a subscriber.

use engine::Refusal;
use machine::clock::Ticks;
use machine::memory::prefetch_at;

use crate::reasons::Tally;
use crate::sessions::fields::Marks;
use crate::sessions::ports::Class;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::state::State;
use crate::types::flow::Inside;

impl State {
    /// Asks for what ending some sessions changes beside their records: subscribers, then ports.
    pub fn prepare_to_close(&self, numbers: &[Number]) {
        let sessions = numbers.iter().map(|&number| &self.sessions.records[number as usize]);
        for session in sessions.clone() {
            prefetch_at(&self.subscribers.records, session.subscriber as usize);
        }
        for session in sessions.filter(|session| session.marks.has(Marks::FIRST)) {
            let subscriber = &self.subscribers.records[session.subscriber as usize];
            let class = Class::of(session.far.protocol());
            self.allocation.ports.prefetch(subscriber.outside, class, session.outside_port);
        }
    }

    /// Ends a session whose time is up; tells another one of its mapping.
    pub fn expire(&mut self, number: Number, now: Moment) -> Option<Number> {
        self.tallies[Tally::SessionsExpired as usize] += 1;
        self.close(number, now)
    }

    /// Takes back a session that was just opened and of which nobody outside has seen a packet, so
    /// that its port need not rest.
    pub fn undo(&mut self, number: Number, now: Moment) {
        self.tallies[Tally::SessionsExpired as usize] += 1;
        self.close_resting(number, (now, 0));
    }

    /// Ends a session; with the last one its mapping goes, whose port then rests. Tells another
    /// session of the mapping.
    pub fn close(&mut self, number: Number, now: Moment) -> Option<Number> {
        self.close_resting(number, (now, self.times.quarantine))
    }

    fn close_resting(
        &mut self,
        number: Number,
        (now, quarantine): (Moment, u32),
    ) -> Option<Number> {
        let mut session = self.sessions.records[number as usize];
        self.forget_kept(number, &mut session);
        let other = self.sessions.close(number);
        if let Some(journal) = &mut self.journal {
            journal.note_end(number);
        }
        let subscriber = &mut self.subscribers.records[session.subscriber as usize];
        subscriber.sessions -= 1;
        let address = subscriber.outside;
        let class = Class::of(session.far.protocol());
        self.tell_closed(&session, other.is_none());
        match other {
            Some(other) if session.marks.has(Marks::FIRST) => {
                self.allocation.give(address, class, session.outside_port, other);
            }
            Some(_) => {}
            None => {
                self.subscribers.records[session.subscriber as usize].mappings -= 1;
                self.tallies[Tally::MappingsClosed as usize] += 1;
                // RFC 6888 REQ-8 B: a port that nobody else can have need not rest.
                let rests = self.allocation.addresses.is_shared(address);
                let rest = if rests { quarantine } else { 0 };
                self.put_back(&session, now.wrapping_add(rest));
                self.forget_idle(session.subscriber);
            }
        }
        other
    }

    /// Takes back the port of a mapping that is gone or never came to be.
    pub(crate) fn put_back(&mut self, session: &Session, until: Moment) {
        let subscriber = &mut self.subscribers.records[session.subscriber as usize];
        let class = Class::of(session.far.protocol());
        let port = (subscriber.outside, class, session.outside_port);
        if let Some(block) = self.allocation.put_back(subscriber, port, until) {
            self.tallies[Tally::BlocksReleased as usize] += 1;
            self.tell_released(session.subscriber, session.outside, block);
        }
    }

    /// Forgets a subscriber without sessions.
    pub(crate) fn forget_idle(&mut self, number: u32) {
        if self.subscribers.records[number as usize].sessions == 0 {
            self.tell_forgotten(number);
            self.subscribers.remove(number, self.sessions.keyed());
        }
    }

    /// Ends all sessions of a subscriber; tells how many those were.
    ///
    /// # Errors
    /// When there is none.
    pub fn clear(&mut self, key: &Inside, now: Ticks) -> Result<u32, Refusal> {
        let keyed = self.sessions.keyed();
        let subscriber = self.subscribers.find(key, keyed).ok_or(Refusal::NotFound)?;
        let moment = self.times.moment(now);
        let mut cleared = 0;
        for number in self.sessions_of(subscriber) {
            if self.times.left(&self.sessions.records[number as usize], moment).is_none() {
                self.expire(number, moment);
                continue;
            }
            self.tallies[Tally::SessionsCleared as usize] += 1;
            self.close(number, moment);
            cleared += 1;
        }
        if cleared > 0 { Ok(cleared) } else { Err(Refusal::NotFound) }
    }

    /// The sessions of a subscriber: all its mappings have ports of its one outside address, which
    /// are far fewer than there may be sessions.
    pub(crate) fn sessions_of(&self, subscriber: u32) -> Vec<Number> {
        let address = self.subscribers.records[subscriber as usize].outside;
        let ports = Class::all().flat_map(|class| (0..=u16::MAX).map(move |port| (class, port)));
        let owners = ports.filter_map(|(class, port)| {
            let owner = self.allocation.ports.owner(address, class, port)?;
            (self.sessions.records[owner as usize].subscriber == subscriber).then_some(owner)
        });
        owners.flat_map(|owner| self.sessions.ring(owner)).collect()
    }
}
