//! All sessions: by number, by line and station, by line and Session-ID, by station alone.

use std::collections::{BTreeMap, BTreeSet};

use function_bng::config::Line;
use protocol_dhcp::LeaseId;
use wire::MacAddr;

use crate::session::{Session, State, Version};

/// The table.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// By their numbers, of which the first one is 1.
    slots: Vec<Slot>,
    free: BTreeSet<u32>,
    reserved: BTreeSet<u32>,
    capacity: u32,
    /// Those of IPoE.
    stations: BTreeMap<(Line, MacAddr), u32>,
    /// Those of PPPoE.
    links: BTreeMap<(Line, u16), u32>,
    /// By the number of PPPoE.
    pppoe: BTreeMap<u32, u32>,
    /// How many are on each line, and may be.
    lines: BTreeMap<Line, u32>,
    line_max: u32,
    /// Whether it is PPPoE, the station, and its numbers.
    macs: BTreeSet<(bool, MacAddr, u32)>,
    leases: BTreeMap<(Version, LeaseId), u32>,
    /// How many are in each state.
    pub states: [u32; 4],
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    session: Option<Box<Session>>,
}

impl Sessions {
    /// None, and room for so many in all and on a line, but for numbers that are others'.
    pub fn new([capacity, line_max]: [u32; 2], reserved: BTreeSet<u32>) -> Sessions {
        Sessions {
            reserved,
            slots: Vec::new(),
            free: BTreeSet::new(),
            capacity,
            stations: BTreeMap::new(),
            links: BTreeMap::new(),
            pppoe: BTreeMap::new(),
            lines: BTreeMap::new(),
            line_max,
            macs: BTreeSet::new(),
            leases: BTreeMap::new(),
            states: [0; 4],
        }
    }

    /// Adds one; none if there is no room.
    pub fn add(&mut self, session: Session) -> Option<u32> {
        if self.lines.get(&session.line).is_some_and(|count| *count >= self.line_max) {
            return None;
        }
        let number = self.free.pop_first().or_else(|| self.next())?;
        self.put(number, session);
        Some(number)
    }

    /// Adds one that has a number already; false if there is no such number, or it is in use.
    pub fn insert(&mut self, number: u32, session: Session) -> bool {
        let is_known = match session.pppoe {
            None => self.stations.contains_key(&(session.line, session.mac)),
            Some(link) => self.links.contains_key(&(session.line, link.id)),
        };
        if is_known {
            return false;
        }
        while number as usize > self.slots.len() {
            let Some(next) = self.next() else { return false };
            self.free.insert(next);
        }
        let is_free = self.free.remove(&number);
        if is_free {
            self.put(number, session);
        }
        is_free
    }

    fn put(&mut self, number: u32, mut session: Session) {
        let slot = &mut self.slots[number as usize - 1];
        slot.generation = slot.generation.wrapping_add(1);
        session.generation = slot.generation;
        match session.pppoe {
            None => _ = self.stations.insert((session.line, session.mac), number),
            Some(link) => {
                self.links.insert((session.line, link.id), number);
                self.pppoe.insert(link.number, number);
            }
        }
        self.macs.insert((session.pppoe.is_some(), session.mac, number));
        self.states[session.state as usize] += 1;
        *self.lines.entry(session.line).or_default() += 1;
        slot.session = Some(Box::new(session));
    }

    /// A number that was never given.
    fn next(&mut self) -> Option<u32> {
        while (self.slots.len() as u32) < self.capacity {
            self.slots.push(Slot::default());
            let number = self.slots.len() as u32;
            if !self.reserved.contains(&number) {
                return Some(number);
            }
        }
        None
    }

    /// Forgets one.
    pub fn remove(&mut self, number: u32) -> Option<Box<Session>> {
        let slot = self.slots.get_mut((number as usize).checked_sub(1)?)?;
        let session = slot.session.take()?;
        self.free.insert(number);
        self.release(number, &session);
        self.macs.remove(&(session.pppoe.is_some(), session.mac, number));
        self.states[session.state as usize] -= 1;
        if let Some(count) = self.lines.get_mut(&session.line) {
            *count -= 1;
            if *count == 0 {
                self.lines.remove(&session.line);
            }
        }
        for (version, lease) in [Version::V4, Version::V6].into_iter().zip(session.leases) {
            if let Some(lease) = lease {
                self.leases.remove(&(version, lease));
            }
        }
        Some(session)
    }

    /// Lets another session have its places, as far as this one has them.
    fn release(&mut self, number: u32, session: &Session) {
        let is_its = |at: &mut u32| *at == number;
        match session.pppoe {
            None => take_if(&mut self.stations, (session.line, session.mac), is_its),
            Some(link) => {
                take_if(&mut self.links, (session.line, link.id), is_its);
                take_if(&mut self.pppoe, link.number, is_its);
            }
        }
    }

    /// A session that ends is found by its line no more: what comes there begins another one. By
    /// its number of PPPoE it is, for its last packets.
    pub fn detach(&mut self, number: u32) {
        let Some((line, mac, pppoe)) = self.get(number).map(|it| (it.line, it.mac, it.pppoe))
        else {
            return;
        };
        let is_its = |at: &mut u32| *at == number;
        match pppoe {
            None => take_if(&mut self.stations, (line, mac), is_its),
            Some(link) => take_if(&mut self.links, (line, link.id), is_its),
        }
    }

    /// The session of a number.
    pub fn get(&self, number: u32) -> Option<&Session> {
        self.slots.get((number as usize).checked_sub(1)?)?.session.as_deref()
    }

    /// The session of a number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Session> {
        self.slots.get_mut((number as usize).checked_sub(1)?)?.session.as_deref_mut()
    }

    /// Has a session enter a state.
    pub fn enter(&mut self, number: u32, state: State, now: protocol_kit::Time) {
        let slot = (number as usize).checked_sub(1).and_then(|at| self.slots.get_mut(at));
        if let Some(session) = slot.and_then(|slot| slot.session.as_deref_mut()) {
            self.states[session.state as usize] -= 1;
            self.states[state as usize] += 1;
            session.enter(state, now);
        }
    }

    /// A number that says which session of a number it is.
    pub fn key(&self, number: u32) -> Option<u64> {
        Some(u64::from(self.get(number)?.generation) << 32 | u64::from(number))
    }

    /// The number of a session that is still there.
    pub fn of_key(&self, key: u64) -> Option<u32> {
        let number = key as u32;
        (self.key(number)? == key).then_some(number)
    }

    /// The session of IPoE of a station on a line.
    pub fn of_station(&self, line: Line, mac: MacAddr) -> Option<u32> {
        self.stations.get(&(line, mac)).copied()
    }

    /// The session of PPPoE of a Session-ID on a line.
    pub fn of_link(&self, line: Line, id: u16) -> Option<u32> {
        self.links.get(&(line, id)).copied()
    }

    /// The session of a number of PPPoE.
    pub fn of_pppoe(&self, number: u32) -> Option<u32> {
        self.pppoe.get(&number).copied()
    }

    /// The session of a lease.
    pub fn of_lease(&self, version: Version, lease: LeaseId) -> Option<u32> {
        self.leases.get(&(version, lease)).copied()
    }

    /// A session has a lease, in place of another one, which is returned.
    pub fn set_lease(
        &mut self,
        number: u32,
        version: Version,
        lease: Option<LeaseId>,
    ) -> Option<LeaseId> {
        let session = self.get_mut(number)?;
        let before = std::mem::replace(&mut session.leases[version as usize], lease);
        if let Some(before) = before {
            self.leases.remove(&(version, before));
        }
        if let Some(lease) = lease {
            self.leases.insert((version, lease), number);
        }
        before
    }

    /// Other sessions of the same station and kind.
    pub fn of_same_station(&self, number: u32) -> Vec<u32> {
        let Some(session) = self.get(number) else { return Vec::new() };
        let (kind, mac) = (session.pppoe.is_some(), session.mac);
        let all = self.macs.range((kind, mac, 0)..=(kind, mac, u32::MAX));
        all.map(|(.., other)| *other).filter(|other| *other != number).collect()
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.states.iter().map(|count| *count as usize).sum()
    }

    /// Those of numbers from this one on.
    pub fn from(&self, number: u32) -> impl Iterator<Item = (u32, &Session)> {
        let at = number.max(1);
        let slots = self.slots.iter().skip(at as usize - 1);
        (at..).zip(slots).filter_map(|(number, slot)| Some((number, slot.session.as_deref()?)))
    }
}

fn take_if<K: Ord>(map: &mut BTreeMap<K, u32>, key: K, is_its: impl Fn(&mut u32) -> bool) {
    if let std::collections::btree_map::Entry::Occupied(mut entry) = map.entry(key)
        && is_its(entry.get_mut())
    {
        entry.remove();
    }
}
