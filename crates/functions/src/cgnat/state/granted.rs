//! Mappings that subscribers ask for by the Port Control Protocol (RFC 6887 section 11).
//!
//! Such a mapping is a session with an end that no packet has ([`Far::granted`]) and that is anybody's: it takes
//! part in the ring of its mapping, lets filtering take packets of all, and ends when its lifetime does, which
//! `used` says in it. Its nonce stands in a table, to which `shifts` leads.
//!
//! [`Far::granted`]: super::super::flow::Far::granted

use std::io;

use machine::memory::HugeArray;
use packet::Reason;

use super::super::allocation::Wanted;
use super::super::config::Config;
use super::super::flow::Inside;
use super::super::reasons::{self, Tally};
use super::super::session::Session;
use super::super::sessions::Number;
use super::super::times::Moment;
use super::State;

/// What of mappings that were asked for does not stand in their sessions.
pub struct GrantedTable {
    nonces: HugeArray<[u8; 12]>,
    free: Vec<u32>,
    /// How many each subscriber has, by its number.
    held: HugeArray<u32>,
    most_of_subscriber: u32,
    /// Since when they are known, which the epoch tells (section 8.5).
    pub begun: Moment,
}

/// What a subscriber asks for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What shows that requests are of the same client.
    pub nonce: [u8; 12],
    /// For how long, in units of time.
    pub lifetime: u32,
    /// The outside port that it suggests; 0 for none.
    pub port: u16,
    /// The same of the address.
    pub address: u32,
    /// Whether it wants that or nothing.
    pub or_nothing: bool,
}

/// Why it does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Somebody with another nonce has it, for so many units of time yet.
    Foreign(u32),
    /// It has as much as it may have.
    Quota,
    /// There is no room.
    Full,
    /// What it suggests cannot be had.
    Other,
}

impl GrantedTable {
    /// None yet, of a worker with its `share` of mappings and subscribers; none at all where nobody can ask.
    ///
    /// # Errors
    /// When there is no such memory.
    pub fn new(config: &Config, share: impl Fn(u32) -> u32) -> io::Result<Option<GrantedTable>> {
        let Some(pcp) = config.pcp else { return Ok(None) };
        let mappings = share(pcp.mappings);
        Ok(Some(GrantedTable {
            nonces: HugeArray::zeroed(mappings as usize)?,
            free: (0..mappings).rev().collect(),
            held: HugeArray::zeroed(share(config.subscribers) as usize)?,
            most_of_subscriber: pcp.mappings_per_subscriber,
            begun: 0,
        }))
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.nonces.len() * (size_of::<[u8; 12]>() + size_of::<u32>())
            + self.held.len() * size_of::<u32>()
    }

    /// Mappings at present, those included whose time is up and which the sweep has not met yet.
    pub fn count(&self) -> usize {
        self.nonces.len() - self.free.len()
    }

    /// Forgets the mapping of a session.
    pub fn forget(&mut self, session: &Session) {
        self.free.push(session.shifts - 1);
        self.held[session.subscriber as usize] -= 1;
    }

    /// The nonce of the request that made the mapping of a session.
    pub(super) fn nonce(&self, session: &Session) -> Option<[u8; 12]> {
        let place = session.shifts.checked_sub(1)?;
        self.nonces.get(place as usize).copied()
    }

    /// Whether there is room for one more.
    fn check(&self, subscriber: Option<u32>) -> Result<(), Denied> {
        let held = subscriber.map_or(0, |number| self.held[number as usize]);
        match (held >= self.most_of_subscriber, self.free.is_empty()) {
            (true, _) => Err(Denied::Quota),
            (false, true) => Err(Denied::Full),
            (false, false) => Ok(()),
        }
    }

    /// Notes the nonce of the mapping of a session, in a place that it takes where it has none; whether there was room.
    pub(super) fn enter(&mut self, session: &mut Session, nonce: [u8; 12]) -> bool {
        if session.shifts == 0 {
            let Some(place) = self.free.pop() else { return false };
            self.held[session.subscriber as usize] += 1;
            session.shifts = place + 1;
        }
        self.nonces[session.shifts as usize - 1] = nonce;
        true
    }
}

impl Ask {
    /// Whether an outside end is what it suggests, as far as it suggests something.
    fn fits(&self, (address, port): (u32, u16)) -> bool {
        let is_port = self.port == 0 || self.port == port;
        is_port && (self.address == 0 || self.address == address)
    }
}

impl State {
    /// Maps an inside end for a time, whatever packets come, or goes on to; tells the session of that. The key is one
    /// of [`super::super::flow::Far::granted`].
    ///
    /// # Errors
    /// Why there is no mapping; nothing has changed then.
    pub fn grant(&mut self, key: &Inside, ask: &Ask, now: Moment) -> Result<Number, Denied> {
        let number = match self.known_grant(key, ask.nonce, now)? {
            Some(number) => {
                let session = &self.sessions.records[number as usize];
                let is_it = ask.fits((session.outside, session.outside_port));
                (is_it || !ask.or_nothing).then_some(number).ok_or(Denied::Other)?
            }
            None => self.open_grant(key, ask, now)?,
        };
        let session = &mut self.sessions.records[number as usize];
        session.used = now.wrapping_add(ask.lifetime);
        self.sessions.hasten(number, (now, &self.times));
        self.note(number);
        Ok(number)
    }

    /// Ends such a mapping, if it is there; sessions of it stay, and with them its outside end.
    ///
    /// # Errors
    /// When it is somebody's with another nonce.
    pub fn revoke(&mut self, key: &Inside, nonce: [u8; 12], now: Moment) -> Result<(), Denied> {
        if let Some(number) = self.known_grant(key, nonce, now)? {
            self.tallies[Tally::PcpDeleted as usize] += 1;
            self.close(number, now);
        }
        Ok(())
    }

    /// The mapping of an inside end that was asked for, if it lives.
    fn known_grant(
        &mut self,
        key: &Inside,
        nonce: [u8; 12],
        now: Moment,
    ) -> Result<Option<Number>, Denied> {
        let Some(number) = self.sessions.find_inside(key.hash(self.sessions.keyed()), key) else {
            return Ok(None);
        };
        let session = &self.sessions.records[number as usize];
        let Some(left) = self.times.left(session, now) else {
            self.expire(number, now);
            return Ok(None);
        };
        let known = self.granted.as_ref().and_then(|granted| granted.nonce(session));
        if known == Some(nonce) { Ok(Some(number)) } else { Err(Denied::Foreign(left)) }
    }

    fn open_grant(&mut self, key: &Inside, ask: &Ask, now: Moment) -> Result<Number, Denied> {
        let mapping = self.live_mapping(key, now);
        if ask.or_nothing {
            let address = match mapping {
                Some(number) => {
                    let known = &self.sessions.records[number as usize];
                    let is_it = ask.fits((known.outside, known.outside_port));
                    is_it.then_some(known.outside).ok_or(Denied::Other)?
                }
                None => self.address_of(key).unwrap_or(0),
            };
            (ask.address == 0 || ask.address == address).then_some(()).ok_or(Denied::Other)?;
        }
        let subscriber = self.subscribers.find(key, self.sessions.keyed());
        self.granted.as_ref().map_or(Err(Denied::Full), |granted| granted.check(subscriber))?;
        let wanted = match (ask.port, ask.or_nothing) {
            (0, _) => Wanted::Any,
            (port, true) => Wanted::Only(port),
            (port, false) => Wanted::Rather(port),
        };
        let opened = self.open(key, wanted, now, Tally::PcpGranted);
        let number = opened.map_err(|reason| denied(reason, wanted))?;
        if let Some(granted) = &mut self.granted {
            // There was room before.
            granted.enter(&mut self.sessions.records[number as usize], ask.nonce);
        }
        Ok(number)
    }

    /// The outside address that a subscriber has or is to have; none where it is drawn when it is needed.
    fn address_of(&self, key: &Inside) -> Option<u32> {
        if let Some(rule) = self.allocation.ruled(key) {
            return Some(rule.outside);
        }
        let number = self.subscribers.find(key, self.sessions.keyed())?;
        let subscriber = &self.subscribers.records[number as usize];
        subscriber.is_paired.then(|| self.allocation.addresses.address(subscriber.outside))
    }
}

/// Why a mapping was not made.
fn denied(reason: Reason, wanted: Wanted) -> Denied {
    match reason {
        reasons::BLOCK_LIMIT | reasons::PORTS_EXHAUSTED | reasons::POOL_EXHAUSTED
            if matches!(wanted, Wanted::Only(_)) =>
        {
            Denied::Other
        }
        reasons::SESSION_LIMIT | reasons::BLOCK_LIMIT => Denied::Quota,
        _ => Denied::Full,
    }
}
