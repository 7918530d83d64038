//! Mappings that subscribers ask for by the Port Control Protocol (RFC 6887 section 11).
//!
//! Such a mapping is a session with an end that no packet has ([`Far::granted`]) and that is
//! anybody's: it takes part in the ring of its mapping, lets filtering take packets of all, and
//! ends when its lifetime does, which `used` says in it. Its nonce stands in a table, to which
//! `beside` leads.
//!
//! [`Far::granted`]: crate::types::flow::Far::granted

use std::io;

use machine::memory::HugeArray;

use crate::config::Config;
use crate::sessions::fields::Place;
use crate::sessions::session::Session;
use crate::sessions::times::Moment;

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
    /// None yet, of a worker with its `share` of mappings and subscribers; none at all where nobody
    /// can ask.
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
        self.free.extend(session.as_granted());
        self.held[session.subscriber as usize] -= 1;
    }

    /// The nonce of the request that made the mapping of a session.
    pub(crate) fn nonce(&self, session: &Session) -> Option<[u8; 12]> {
        self.nonces.get(session.as_granted()? as usize).copied()
    }

    /// Whether there is room for one more.
    pub(crate) fn check(&self, subscriber: Option<u32>) -> Result<(), Denied> {
        let held = subscriber.map_or(0, |number| self.held[number as usize]);
        match (held >= self.most_of_subscriber, self.free.is_empty()) {
            (true, _) => Err(Denied::Quota),
            (false, true) => Err(Denied::Full),
            (false, false) => Ok(()),
        }
    }

    /// Notes the nonce of the mapping of a session, in a place that it takes where it has none;
    /// whether there was room.
    pub(crate) fn enter(&mut self, session: &mut Session, nonce: [u8; 12]) -> bool {
        let place = match session.beside.get() {
            Some(place) => place,
            None => {
                let Some(place) = self.free.pop() else { return false };
                self.held[session.subscriber as usize] += 1;
                session.beside = Place::at(place);
                place
            }
        };
        self.nonces[place as usize] = nonce;
        true
    }
}

impl Ask {
    /// Whether an outside end is what it suggests, as far as it suggests something.
    pub(crate) fn fits(&self, (address, port): (u32, u16)) -> bool {
        let is_port = self.port == 0 || self.port == port;
        is_port && (self.address == 0 || self.address == address)
    }
}
