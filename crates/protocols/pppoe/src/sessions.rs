//! Sessions and their indexes, and how many there are of each MAC address, VLAN and circuit.

use std::collections::{BTreeMap, BTreeSet};

use protocol_kit::Time;
use wire::ethernet::MacAddr;

use crate::config::Limits;
use crate::control::Line;

/// A session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub line: Line,
    pub host: MacAddr,
    pub session_id: u16,
    pub max_payload: u16,
    /// A hash of the circuit.
    pub circuit: u64,
    /// A hash of what the host has asked for it with.
    pub request: u64,
    /// When the host was offered it.
    pub offered: Time,
    /// The count of sessions when it began.
    pub born: u64,
}

/// Where another session would be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub line: Line,
    pub host: MacAddr,
    /// A hash of the circuit.
    pub circuit: u64,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    Total,
    Mac,
    Vlan,
    Circuit,
}

/// All sessions, and how many there are of what.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    places: Vec<Option<Session>>,
    /// Numbers that are free below the length of `places`.
    free: BTreeSet<u32>,
    by_host: BTreeMap<(Line, MacAddr, u16), u32>,
    by_id: BTreeMap<(Line, u16, MacAddr), u32>,
    of_mac: BTreeMap<MacAddr, u32>,
    of_vlan: BTreeMap<(u32, u16), u32>,
    of_circuit: BTreeMap<u64, u32>,
    begun: u64,
}

impl Sessions {
    pub fn len(&self) -> usize {
        self.by_host.len()
    }

    /// How many have begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    pub fn get(&self, number: u32) -> Option<&Session> {
        self.places.get(number as usize)?.as_ref()
    }

    /// The session of a host that bears an identifier.
    pub fn find(&self, line: Line, host: MacAddr, session_id: u16) -> Option<u32> {
        self.by_host.get(&(line, host, session_id)).copied()
    }

    /// Whether any host on a line has a session with an identifier.
    pub fn is_somebodys(&self, line: Line, session_id: u16) -> bool {
        let range = (line, session_id, MacAddr::ZERO)..=(line, session_id, MacAddr::BROADCAST);
        self.by_id.range(range).next().is_some()
    }

    /// The sessions of a host on a line.
    pub fn of_host(&self, line: Line, host: MacAddr) -> impl Iterator<Item = (u32, &Session)> {
        let all = self.by_host.range((line, host, 0)..=(line, host, u16::MAX));
        all.filter_map(|(_, number)| Some((*number, self.get(*number)?)))
    }

    /// Whether there may be another session of a host.
    ///
    /// # Errors
    /// Which limit is reached.
    pub fn admit(&self, limits: Limits, place: Place) -> Result<(), Full> {
        self.admit_less(limits, place, [0; 4])
    }

    /// Whether there may be another session of a host if this one of the same host and line were
    /// over.
    pub fn would_admit(&self, limits: Limits, place: Place, without: &Session) -> bool {
        let of_circuit = u32::from(without.circuit == place.circuit);
        self.admit_less(limits, place, [1, of_circuit, 1, 1]).is_ok()
    }

    /// The same, with these numbers taken off the counts of the MAC address, the circuit, the VLAN,
    /// and in all.
    fn admit_less(&self, limits: Limits, place: Place, less: [u32; 4]) -> Result<(), Full> {
        let Limits { total, by_mac, by_vlan, by_circuit } = limits;
        let Place { line, host, circuit } = place;
        let of_vlan = self.of_vlan.get(&(line.port, line.outer));
        let all = self.len() as u32;
        let counts = [
            (self.of_mac.get(&host), by_mac, Full::Mac),
            (self.of_circuit.get(&circuit), by_circuit, Full::Circuit),
            (of_vlan, by_vlan, Full::Vlan),
            (Some(&all), total, Full::Total),
        ];
        for ((count, limit, full), less) in counts.into_iter().zip(less) {
            if count.is_some_and(|count| count.saturating_sub(less) >= limit) {
                return Err(full);
            }
        }
        Ok(())
    }

    /// The first identifier from this one on that no session of a line has; neither 0 nor 65,535,
    /// which RFC 2516 reserves. `None` if there is none.
    pub fn free_id(&self, line: Line, from: u16) -> Option<u16> {
        let ids = (from..=ID_MAX).chain(1..from);
        ids.filter(|id| (1..=ID_MAX).contains(id)).find(|id| !self.is_somebodys(line, *id))
    }

    /// Adds a session; returns its number, the least that is free: it is below the number of
    /// sessions that there are then.
    pub fn add(&mut self, session: Session) -> u32 {
        let Session { line, host, session_id, circuit, .. } = session;
        let number = self.free.pop_first().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.begun += 1;
        self.places[number as usize] = Some(session);
        self.by_host.insert((line, host, session_id), number);
        self.by_id.insert((line, session_id, host), number);
        *self.of_mac.entry(host).or_default() += 1;
        *self.of_vlan.entry((line.port, line.outer)).or_default() += 1;
        *self.of_circuit.entry(circuit).or_default() += 1;
        number
    }

    /// Removes a session; `None` if there is none with this number.
    pub fn remove(&mut self, number: u32) -> Option<Session> {
        let session = self.places.get_mut(number as usize)?.take()?;
        let Session { line, host, session_id, circuit, .. } = session;
        self.free.insert(number);
        self.by_host.remove(&(line, host, session_id));
        self.by_id.remove(&(line, session_id, host));
        lower(&mut self.of_mac, host);
        lower(&mut self.of_vlan, (line.port, line.outer));
        lower(&mut self.of_circuit, circuit);
        Some(session)
    }

    /// Whether nothing at all is kept.
    pub fn is_empty(&self) -> bool {
        let counts = [self.of_mac.len(), self.of_vlan.len(), self.of_circuit.len()];
        self.by_host.is_empty() && self.by_id.is_empty() && counts == [0; 3]
    }
}

/// Lowers a count by one, and removes it when it is zero.
fn lower<K: Ord>(counts: &mut BTreeMap<K, u32>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

const ID_MAX: u16 = 0xfffe;
