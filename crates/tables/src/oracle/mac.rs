//! The twin of [`crate::mac::MacTable`]: every station in a map, with the time it was heard of and
//! the times of its moves.

use std::collections::BTreeMap;

use crate::mac::{Heard, Limits, MoveLimit, UNITS, bridge_of};

/// Where stations are.
#[derive(Clone, Debug)]
pub struct Stations {
    limits: Limits,
    of_bridges: Vec<usize>,
    unit: u64,
    start: u64,
    now: u64,
    known: BTreeMap<u64, Known>,
    limit: Option<MoveLimit>,
    moves: BTreeMap<u64, Moves>,
    aged: u64,
    flapped: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    behind: u16,
    /// In units; none for one that was set.
    heard: Option<u64>,
}

/// What a station moved in its interval, or since it is on hold.
#[derive(Clone, Copy, Debug)]
struct Moves {
    count: u32,
    ends: u64,
    is_held: bool,
}

impl Stations {
    /// As [`crate::mac::MacTable::new`], with a limit on moves.
    pub fn new(
        limits: Limits,
        of_bridges: Vec<usize>,
        ageing: u64,
        limit: Option<MoveLimit>,
        now: u64,
    ) -> Stations {
        Stations {
            limits,
            of_bridges,
            unit: (ageing / UNITS).max(1),
            start: now,
            now,
            known: BTreeMap::new(),
            limit,
            moves: BTreeMap::new(),
            aged: 0,
            flapped: 0,
        }
    }

    /// It is `now`; who was not heard of for the ageing time is forgotten.
    pub fn advance(&mut self, now: u64) {
        self.now = now;
        let (present, before) = (self.units(), self.known.len());
        self.known.retain(|_, known| known.heard.is_none_or(|heard| present - heard <= UNITS));
        self.aged += (before - self.known.len()) as u64;
        self.moves.retain(|_, moves| now < moves.ends);
    }

    /// What a station is behind.
    pub fn find(&self, station: u64) -> Option<u16> {
        self.known.get(&station).map(|known| known.behind)
    }

    /// A station was heard of.
    pub fn hear(&mut self, station: u64, behind: u16) -> Heard {
        let heard = match self.known.get(&station).copied() {
            Some(Known { heard: None, .. }) => return Heard::Again,
            Some(known) if known.behind == behind => Heard::Again,
            Some(_) if !self.may_move(station) => return Heard::Refused,
            Some(_) => Heard::Moved,
            None => {
                let bridge = bridge_of(station);
                let of_bridge = self.count(|one| bridge_of(one) == bridge);
                let all = self.count(|_| true);
                if of_bridge >= self.of_bridges[bridge] || all >= self.limits.learned {
                    return Heard::NoRoom;
                }
                Heard::New
            }
        };
        self.known.insert(station, Known { behind, heard: Some(self.units()) });
        heard
    }

    fn may_move(&mut self, station: u64) -> bool {
        let Some(limit) = self.limit else { return true };
        let first = Moves { count: 0, ends: self.now + limit.interval, is_held: false };
        let moves = self.moves.entry(station).or_insert(first);
        moves.count += 1;
        if !moves.is_held && moves.count > limit.moves {
            (moves.is_held, moves.ends) = (true, self.now + limit.hold);
            self.flapped += 1;
        }
        !(moves.is_held && limit.refuses)
    }

    /// Sets a station; whether there is room.
    pub fn set(&mut self, station: u64, behind: u16) -> bool {
        let is_set = self.known.get(&station).is_some_and(|known| known.heard.is_none());
        let set = self.known.values().filter(|known| known.heard.is_none()).count();
        let has_room = is_set || set < self.limits.fixed;
        if has_room {
            self.known.insert(station, Known { behind, heard: None });
            self.moves.remove(&station);
        }
        has_room
    }

    /// Removes a station; whether it was known.
    pub fn remove(&mut self, station: u64) -> bool {
        self.moves.remove(&station);
        self.known.remove(&station).is_some()
    }

    /// Learned stations.
    pub fn learned(&self) -> Vec<u64> {
        let learned = self.known.iter().filter(|(_, known)| known.heard.is_some());
        learned.map(|(station, _)| *station).collect()
    }

    /// Stations on hold, each with its moves and for how long it still is.
    pub fn flapping(&self) -> Vec<(u64, u32, u64)> {
        let held = self.moves.iter().filter(|(_, moves)| moves.is_held);
        held.map(|(station, moves)| (*station, moves.count, moves.ends - self.now)).collect()
    }

    /// As [`crate::mac::MacTable::aged`] and [`crate::mac::MacTable::flapped`].
    pub fn counters(&self) -> (u64, u64) {
        (self.aged, self.flapped)
    }

    fn units(&self) -> u64 {
        (self.now - self.start) / self.unit
    }

    fn count(&self, wanted: impl Fn(u64) -> bool) -> usize {
        self.learned().into_iter().filter(|station| wanted(*station)).count()
    }
}
