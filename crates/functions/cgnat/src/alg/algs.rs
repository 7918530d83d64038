//! What application-level gateways keep beside sessions: which sessions have one, the sequence
//! numbers of those whose payloads changed their length, and calls.

use std::io;

use crate::alg::calls::Calls;
use crate::alg::{Alg, EXPECTATIONS_MAX, Gateway, List, Protocol, Shifts};
use crate::config::{Config, share_of};
use crate::sessions::fields::{Marks, Place};
use crate::sessions::session::Session;
use crate::sessions::table::Number;

/// The gateways of a worker.
pub struct Algs {
    alg: Alg,
    /// By number; as many as there can be were made at the start.
    shifts: Vec<Shifts>,
    free: Vec<u32>,
    /// Numbers from here on were never used.
    fresh: u32,
    /// Calls of PPTP.
    pub calls: Calls,
    /// What was mapped new for the payload in hand: where the message begins that asked, and the
    /// session.
    pub(crate) made: List<(usize, Number), MADE_MAX>,
}

impl Algs {
    /// Those of a configuration; without any, they take no memory.
    ///
    /// # Errors
    /// When the kernel has no memory for calls.
    pub fn new(config: &Config, workers: u32) -> io::Result<Algs> {
        let alg = config.alg;
        let room = if alg.is_off() { 0 } else { share_of(alg.connections, workers) as usize };
        Ok(Algs {
            alg,
            shifts: vec![Shifts::default(); room],
            free: Vec::with_capacity(room),
            fresh: 0,
            calls: Calls::new(if alg.pptp { room } else { 0 })?,
            made: List::new(),
        })
    }

    /// Room for a payload that a gateway writes, where there are gateways.
    pub fn payload_room(&self) -> Box<[u8]> {
        let len = if self.is_off() { 0 } else { usize::from(u16::MAX) };
        vec![0; len].into_boxed_slice()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.shifts.is_empty()
    }

    /// The gateway of a session and what its ports are of: by the other end's port, or else by the
    /// subscriber's own. IPv6 has none.
    pub fn of(&self, session: &Session) -> Option<(Gateway, Protocol)> {
        let protocol = match session.far.protocol() {
            wire::protocol::TCP => Protocol::Tcp,
            wire::protocol::UDP => Protocol::Udp,
            _ => return None,
        };
        let by = |port| self.alg.gateway(protocol, port);
        let found = by(session.far.port()).or_else(|| by(session.inside_port()));
        let is_ipv4 = !session.marks.has(Marks::IPV6);
        Some((found.filter(|_| is_ipv4)?, protocol))
    }

    /// The sequence numbers of a session, whose record has their number in `place`; none without
    /// room.
    pub fn shifts(&mut self, place: &mut Place) -> Option<&mut Shifts> {
        if !place.is_some() {
            let fresh = || Some(self.fresh).filter(|&fresh| (fresh as usize) < self.shifts.len());
            let number = match self.free.pop() {
                Some(number) => number,
                None => fresh().inspect(|_| self.fresh += 1)?,
            };
            self.shifts[number as usize] = Shifts::default();
            *place = Place::at(number);
        }
        self.shifts.get_mut(place.get()? as usize)
    }

    /// The same of a session that has some.
    pub fn known(&self, place: Place) -> Option<&Shifts> {
        self.shifts.get(place.get()? as usize)
    }

    /// Forgets the sequence numbers of a session.
    pub fn forget(&mut self, place: &mut Place) {
        if let Some(number) = place.take() {
            self.free.push(number);
        }
    }

    /// Sessions whose sequence numbers are kept.
    pub fn connections(&self) -> usize {
        self.fresh as usize - self.free.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.shifts.len() * (size_of::<Shifts>() + size_of::<u32>()) + self.calls.bytes()
    }
}

/// What one payload can have mapped: a pair for each expectation, and a pair that is refused.
const MADE_MAX: usize = 2 * EXPECTATIONS_MAX + 2;
