//! A session that another NAT has opened and this one takes over, exactly as it is there.
//!
//! What the other one says wins: whoever has its port, its block or another outside address for its
//! inside one here loses the sessions that are in the way. That happens where a change is told
//! before the one that made room for it, and where both have opened sessions.

use machine::clock::Ticks;

use crate::reasons::Tally;
use crate::sessions::allocation::{Adopted, Allocation};
use crate::sessions::ports::Class;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::standby::Told;
use crate::state::State;
use crate::types::flow::Inside;

/// A session cannot be taken over, as long as things are as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAdopted;

impl State {
    /// Puts a session of another NAT into place, or brings the one that is there up to date.
    ///
    /// # Errors
    /// When there is no room for it, or no such outside address and port here. What was in its way
    /// is gone then all the same.
    pub fn adopt(&mut self, told: &Told, now: Moment) -> Result<Number, NotAdopted> {
        let (key, port) = (&told.key, told.outside_port);
        let address = self.allocation.allowed(key, told.outside, port).ok_or(NotAdopted)?;
        let hash = key.hash(self.sessions.keyed());
        if let Some(number) = self.sessions.find_inside(hash, key) {
            let known = &self.sessions.records[number as usize];
            if (known.outside, known.outside_port) == (told.outside, port) {
                self.renew(number, told, now);
                return Ok(number);
            }
        }
        self.make_way(key, (address, told.outside, port), now);
        let mapping_hash = key.mapping_hash(self.sessions.keyed());
        let mapping = self.sessions.find_mapping(mapping_hash, key);
        self.check_room(mapping.is_none()).map_err(|_| NotAdopted)?;
        let subscriber = match mapping {
            Some(first) => self.sessions.records[first as usize].subscriber,
            None => self.adopt_port(key, address, port)?,
        };
        let session = Session::new(key, (told.outside, port), subscriber, now);
        let tally = Tally::SessionsAdopted;
        let number = self.enter(session, mapping, now, tally).map_err(|_| NotAdopted)?;
        self.renew(number, told, now);
        Ok(number)
    }

    /// Gives a session that is there the state and the time that it has elsewhere.
    pub fn renew(&mut self, number: Number, told: &Told, now: Moment) {
        let mut session = self.sessions.records[number as usize];
        if !told.is_kept {
            self.forget_kept(number, &mut session);
        }
        session.tcp = told.tcp;
        session.used = match session.far.is_granted() {
            true => now.wrapping_add(self.times.units_of_left_ms(told.idle_ms)),
            false => now.wrapping_sub(self.times.units_of_ms(told.idle_ms)),
        };
        self.sessions.records[number as usize] = session;
        self.sessions.hasten(number, (now, &self.times));
    }

    /// Takes a few sessions, from a number on, for used now, where packets may have used them since
    /// this NAT was told: that one tells of a use when half of a session's time has passed, and
    /// five sixths at most. It returns the number with which to go on.
    pub fn take_for_used(&mut self, from: Number, now: Ticks) -> Option<Number> {
        let moment = self.times.moment(now);
        let end = from.saturating_add(YOUNG_MAX).min(self.sessions.used());
        for number in from..end {
            let session = &mut self.sessions.records[number as usize];
            if session.far.protocol() == 0 || session.far.is_granted() {
                continue;
            }
            let passed = moment.wrapping_sub(session.used);
            if passed <= self.times.timeout(session) / 6 * 5 {
                session.used = moment;
            }
        }
        (end < self.sessions.used()).then_some(end)
    }

    /// The port of a new mapping, for a subscriber that is made where it is not there.
    fn adopt_port(&mut self, key: &Inside, address: u32, port: u16) -> Result<u32, NotAdopted> {
        let keyed = self.sessions.keyed();
        let number = match self.subscribers.find(key, keyed) {
            Some(number) => number,
            None => self.subscribers.add(key, keyed).ok_or(NotAdopted)?,
        };
        let subscriber = &mut self.subscribers.records[number as usize];
        let class = Class::of(key.far.protocol());
        let adopted = self.allocation.adopt((number, subscriber), (address, class, port));
        let Some(adopted) = adopted else {
            self.forget_idle(number);
            return Err(NotAdopted);
        };
        let was_paired = std::mem::replace(&mut subscriber.is_paired, true);
        subscriber.outside = address;
        let block = match adopted {
            Adopted::Port => None,
            Adopted::Block(block) => {
                self.tallies[Tally::BlocksAllocated as usize] += 1;
                Some(block)
            }
        };
        let outside = self.allocation.addresses.address(address);
        self.tell_given(number, outside, (!was_paired, block));
        Ok(number)
    }

    /// Ends what is in the way of a mapping of `key` to an outside address and port.
    fn make_way(&mut self, key: &Inside, (address, outside, port): (u32, u32, u16), now: Moment) {
        let hash = key.mapping_hash(self.sessions.keyed());
        if let Some(first) = self.sessions.find_mapping(hash, key) {
            let known = &self.sessions.records[first as usize];
            if (known.outside, known.outside_port) != (outside, port) {
                self.end_mapping(first, now);
            }
        }
        let subscriber = self.subscribers.find(key, self.sessions.keyed());
        if let Some(number) = subscriber {
            let known = &self.subscribers.records[number as usize];
            if known.is_paired && known.outside != address {
                self.end_some(number, now, |_, _| true);
            }
        }
        let class = Class::of(key.far.protocol());
        if let Some(owner) = self.allocation.ports.owner(address, class, port)
            && !self.sessions.records[owner as usize].is_of_mapping(key)
        {
            self.end_mapping(owner, now);
        }
        // It may have been forgotten with its last session.
        let subscriber = self.subscribers.find(key, self.sessions.keyed());
        let owner = self.allocation.block_owner(address, port);
        if let Some(other) = owner.filter(|&owner| Some(owner) != subscriber) {
            let has = |ports: &Allocation, session: &Session| {
                ports.is_same_block(address, session.outside_port, port)
            };
            self.end_some(other, now, has);
        }
    }

    /// Ends those sessions of a subscriber of which `which` holds.
    fn end_some(
        &mut self,
        subscriber: u32,
        now: Moment,
        which: impl Fn(&Allocation, &Session) -> bool,
    ) {
        for number in self.sessions_of(subscriber) {
            if which(&self.allocation, &self.sessions.records[number as usize]) {
                self.close(number, now);
            }
        }
    }

    /// Ends all sessions of a mapping.
    fn end_mapping(&mut self, first: Number, now: Moment) {
        let mut next = Some(first);
        while let Some(number) = next {
            next = self.close(number, now);
        }
    }
}

/// Sessions that a round takes for used.
const YOUNG_MAX: u32 = 16_384;
