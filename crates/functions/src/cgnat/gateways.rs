//! What gateways of applications keep beside sessions: which sessions have one, the sequence numbers
//! of those whose payloads changed their length, and calls.

use std::io;

use super::alg::{Alg, EXPECTATIONS_MAX, Gateway, List, Protocol, Shifts};
use super::calls::Calls;
use super::config::{Config, share_of};
use super::session::{IPV6, Session};
use super::sessions::Number;

/// The gateways of a worker.
pub struct Gateways {
    alg: Alg,
    /// By number; as many as there can be were made at the start.
    shifts: Vec<Shifts>,
    free: Vec<u32>,
    /// Numbers from here on were never used.
    fresh: u32,
    /// Calls of PPTP.
    pub calls: Calls,
    /// What was mapped new for the payload in hand: where the message begins that asked, and the session.
    pub(super) made: List<(usize, Number), MADE_MAX>,
}

impl Gateways {
    /// Those of a configuration; without any, they take no memory.
    ///
    /// # Errors
    /// When the kernel has no memory for calls.
    pub fn new(config: &Config, workers: u32) -> io::Result<Gateways> {
        let alg = config.alg;
        let room = if alg.is_off() { 0 } else { share_of(alg.connections, workers) as usize };
        Ok(Gateways {
            alg,
            shifts: vec![Shifts::default(); room],
            free: Vec::with_capacity(room),
            fresh: 0,
            calls: Calls::new(if alg.pptp { room } else { 0 })?,
            made: List::new(),
        })
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
        let is_ipv4 = session.flags & IPV6 == 0;
        Some((found.filter(|_| is_ipv4)?, protocol))
    }

    /// The sequence numbers of a session, whose record has their number in `place`; none without room.
    pub fn shifts(&mut self, place: &mut u32) -> Option<&mut Shifts> {
        if *place == 0 {
            let fresh = || Some(self.fresh).filter(|&fresh| (fresh as usize) < self.shifts.len());
            let number = match self.free.pop() {
                Some(number) => number,
                None => fresh().inspect(|_| self.fresh += 1)?,
            };
            self.shifts[number as usize] = Shifts::default();
            *place = number + 1;
        }
        self.shifts.get_mut(*place as usize - 1)
    }

    /// The same of a session that has some.
    pub fn known(&self, place: u32) -> Option<&Shifts> {
        self.shifts.get(place.checked_sub(1)? as usize)
    }

    /// Forgets the sequence numbers of a session.
    pub fn forget(&mut self, place: &mut u32) {
        if let Some(number) = std::mem::take(place).checked_sub(1) {
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
