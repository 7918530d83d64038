//! Where stations are: the MAC table of a switch with several bridges. It learns from sources,
//! ages, tells moves, and holds limits: of all stations, of each bridge's, and of how often one may
//! move.
//!
//! A station is an address in a bridge ([`station`]), and what is known of it a word beside it in
//! an [`Index`], so that a frame touches a cache line for each of its two addresses, and writes one
//! only when a station is new, has moved, or is heard of for the first time in a 256th of the
//! ageing time:
//!
//! ```text
//!  31       30 .. 15                14 .. 0
//! +--------+-----------------------+-------------------------------------------+
//! | fixed  |  what it is behind    | when last heard of, in 256ths of ageing   |
//! +--------+-----------------------+-------------------------------------------+
//! ```
//! A learned station is forgotten when it was not heard of for the ageing time, or up to a 256th of
//! it later; its room is free again when the sweep comes by, [`SWEEP`] places at each
//! [`MacTable::advance`]. A fixed one stays where it was set.
//!
//! A data path asks in two steps, as it does an index: [`MacTable::bucket`] and
//! [`MacTable::prefetch`] for every address of a batch, then [`MacTable::hear`] and
//! [`MacTable::find`].
//!
//! | | |
//! |---|---|
//! | memory | 25.6 bytes a station for which there is room, and 8 more for a learned one; 192 KiB where moves are limited |
//! | stations | as many as both limits say, fixed at creation; one more is refused |
//! | what a station is behind | a number below 2^16 |
//! | bridges | up to 2^16 |
//!
//! It deliberately knows no frames, no ports and no flooding, reads no clock, and is not shared
//! between threads. To set or remove a station that was learned searches the list of those: among a
//! million the median of random ones took 0.13 ms, and a tenth above 0.23 ms, on a busy machine.

mod moves;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use machine::clock::Ticks;

use crate::index::Index;
pub use crate::index::{Full, Place};
use moves::Moves;
pub use moves::{Flapping, MoveLimit, RECORDS};

/// The table; see the module's text.
pub struct MacTable {
    entries: Index<u64>,
    fixed: BTreeSet<u64>,
    /// Learned stations, in no order.
    learned: Vec<u64>,
    limits: Limits,
    /// Learned stations by bridge, and the most there may be.
    bridges: Vec<Share>,
    age: Age,
    sweep_at: Option<usize>,
    aged: u64,
    moves: Option<Moves>,
    /// The present as of the last [`MacTable::advance`].
    now: Ticks,
}

/// How many stations there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Known without being learned.
    pub fixed: usize,
    /// Learned.
    pub learned: usize,
}

/// What became of a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It was known to be there, or is fixed elsewhere.
    Again,
    /// It is learned now.
    New,
    /// It was elsewhere until now.
    Moved,
    /// There is no room for it.
    NoRoom,
    /// It is elsewhere, and stays there: it has moved too often.
    Refused,
}

/// What a bridge has of the learned stations.
#[derive(Clone, Copy, Debug)]
struct Share {
    used: usize,
    limit: usize,
}

/// What is known of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u32);

/// Time in 256ths of the ageing time since the set-up.
#[derive(Clone, Copy, Debug)]
struct Age {
    start: Ticks,
    unit: Ticks,
    /// The present as of the last [`MacTable::advance`].
    now: u64,
}

impl MacTable {
    /// An empty table: for so many stations, of which each bridge may learn so many, and which are
    /// forgotten after `ageing`.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory.
    ///
    /// # Panics
    /// When there are more than 2^16 bridges.
    pub fn new(
        limits: Limits,
        of_bridges: impl IntoIterator<Item = usize>,
        ageing: Ticks,
        now: Ticks,
    ) -> io::Result<MacTable> {
        let bridges: Vec<Share> =
            of_bridges.into_iter().map(|limit| Share { used: 0, limit }).collect();
        assert!(bridges.len() <= 1 << 16, "{} bridges", bridges.len());
        Ok(MacTable {
            entries: Index::with_capacity(limits.fixed + limits.learned)?,
            fixed: BTreeSet::new(),
            learned: Vec::with_capacity(limits.learned),
            limits,
            bridges,
            age: Age { start: now, unit: (ageing / UNITS).max(1), now: 0 },
            sweep_at: None,
            aged: 0,
            moves: None,
            now,
        })
    }

    /// Limits how often a station may move, from now on.
    pub fn limit_moves(&mut self, limit: MoveLimit) {
        self.moves = Some(Moves::new(limit));
    }

    /// Notes the present, and frees some places of stations that were forgotten. To be called
    /// before each batch.
    #[inline(always)]
    pub fn advance(&mut self, now: Ticks) {
        self.now = now;
        let present = self.age.of(now);
        if present > self.age.now {
            self.begin_sweep(present);
        }
        if self.sweep_at.is_some() {
            self.sweep();
        }
    }

    /// First step of a batch: where a station belongs.
    #[inline(always)]
    pub fn bucket(&self, station: u64) -> Place {
        self.entries.bucket(station)
    }

    /// Asks the processor to fetch what is known of a station.
    #[inline(always)]
    pub fn prefetch(&self, place: Place) {
        self.entries.prefetch(place);
    }

    /// Second step: what a station is behind, if it is known at present.
    #[inline(always)]
    pub fn find(&self, place: Place, station: u64) -> Option<u16> {
        let entry = Entry(self.entries.get_at(place, station)?);
        entry.is_known(self.age.now).then_some(entry.behind())
    }

    /// Notes that a station was heard of behind something.
    ///
    /// # Panics
    /// When its bridge is none.
    #[inline(always)]
    pub fn hear(&mut self, place: Place, station: u64, behind: u16) -> Heard {
        let wanted = Entry::learned(behind, self.age.now);
        match self.entries.get_at(place, station).map(Entry) {
            Some(entry) if entry == wanted || entry.is_fixed() => Heard::Again,
            found => self.learn(station, wanted, found),
        }
    }

    #[inline(never)]
    fn learn(&mut self, station: u64, wanted: Entry, found: Option<Entry>) -> Heard {
        if found.is_none() {
            let share = &mut self.bridges[bridge_of(station)];
            if self.learned.len() >= self.limits.learned || share.used >= share.limit {
                return Heard::NoRoom;
            }
            share.used += 1;
            self.learned.push(station);
        }
        let heard = match found.filter(|entry| entry.is_known(self.age.now)) {
            None => Heard::New,
            Some(entry) if entry.behind() != wanted.behind() => Heard::Moved,
            Some(_) => Heard::Again,
        };
        if heard == Heard::Moved
            && let Some(moves) = &mut self.moves
            && !moves.allow(station, self.now)
        {
            return Heard::Refused;
        }
        // There is room: the index was made for as many as both limits together.
        let _ = self.entries.insert(station, wanted.0);
        heard
    }

    /// Makes a station known without learning it, and forgets its moves.
    ///
    /// # Errors
    /// When there are as many as there may be; nothing has changed then.
    pub fn set(&mut self, station: u64, behind: u16) -> Result<(), Full> {
        if !self.fixed.contains(&station) {
            if self.fixed.len() >= self.limits.fixed {
                return Err(Full { capacity: self.limits.fixed });
            }
            self.unlearn(station);
            self.fixed.insert(station);
        }
        self.forget_moves(station);
        self.entries.insert(station, Entry::fixed(behind).0).map(drop)
    }

    /// Makes a station unknown, and forgets its moves; whether it was known, as of the last
    /// [`MacTable::advance`].
    pub fn remove(&mut self, station: u64) -> bool {
        self.forget_moves(station);
        if self.fixed.remove(&station) {
            self.entries.remove(station);
            return true;
        }
        let was_known = self.find(self.bucket(station), station).is_some();
        if was_known {
            self.unlearn(station);
        }
        was_known
    }

    /// Takes a station out if it was learned.
    fn unlearn(&mut self, station: u64) {
        if self.entries.get(station).is_some()
            && let Some(at) = self.learned.iter().position(|&other| other == station)
        {
            self.unlearn_at(at);
        }
    }

    fn unlearn_at(&mut self, at: usize) {
        let station = self.learned.swap_remove(at);
        self.bridges[bridge_of(station)].used -= 1;
        self.entries.remove(station);
    }

    fn forget_moves(&mut self, station: u64) {
        if let Some(moves) = &mut self.moves {
            moves.forget(station);
        }
    }

    fn begin_sweep(&mut self, present: u64) {
        if present - self.age.now > u64::from(TIME_MASK / 2) {
            // Nothing was heard of for so long that the times of entries have lost their meaning.
            self.bridges.iter_mut().for_each(|share| share.used = 0);
            for station in self.learned.drain(..) {
                self.entries.remove(station);
                self.aged += 1;
            }
        }
        self.age.now = present;
        self.sweep_at = Some(self.sweep_at.unwrap_or(0));
    }

    #[inline(never)]
    fn sweep(&mut self) {
        let mut at = self.sweep_at.unwrap_or(0);
        for _ in 0..SWEEP {
            let Some(&station) = self.learned.get(at) else {
                self.sweep_at = None;
                return;
            };
            let entry = self.entries.get(station).map(Entry);
            if entry.is_some_and(|entry| entry.is_known(self.age.now)) {
                at += 1;
            } else {
                self.unlearn_at(at);
                self.aged += 1;
            }
        }
        self.sweep_at = Some(at);
    }
}

/// Looking at it.
impl MacTable {
    /// What a station was last known to be behind; none where there is no such station.
    pub fn behind(&self, station: u64) -> Option<u16> {
        self.entries.get(station).map(|entry| Entry(entry).behind())
    }

    /// Stations that are known without being learned, in their order.
    pub fn fixed(&self) -> &BTreeSet<u64> {
        &self.fixed
    }

    /// Learned stations, those among them that were forgotten and not swept yet; in no order.
    pub fn learned(&self) -> &[u64] {
        &self.learned
    }

    /// Those of some learned stations that are known at `now`.
    pub fn learned_at(&self, places: Range<usize>, now: Ticks) -> impl Iterator<Item = u64> + '_ {
        let present = self.age.of(now);
        let is_known = move |station: &u64| {
            self.entries.get(*station).is_some_and(|entry| Entry(entry).is_known(present))
        };
        self.learned.get(places).unwrap_or(&[]).iter().copied().filter(is_known)
    }

    /// How long before `now` a learned station was heard of, in 256ths of the ageing time.
    pub fn age_units(&self, station: u64, now: Ticks) -> Option<u32> {
        let entry = self.entries.get(station)?;
        Some((self.age.of(now) as u32).wrapping_sub(entry) & TIME_MASK)
    }

    /// The most of either kind.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Learned stations that were forgotten because of their age, so far.
    pub fn aged(&self) -> u64 {
        self.aged
    }

    /// How often a station began to move too often, so far.
    pub fn flapped(&self) -> u64 {
        self.moves.as_ref().map_or(0, Moves::flapped)
    }

    /// Moves that there was no room to count against their stations, so far.
    pub fn uncounted_moves(&self) -> u64 {
        self.moves.as_ref().map_or(0, Moves::uncounted)
    }

    /// Stations that move too often at `now`, in the places from `from` on; each with its place, of
    /// which there are [`RECORDS`].
    pub fn flapping(
        &self,
        from: usize,
        now: Ticks,
    ) -> impl Iterator<Item = (usize, Flapping)> + '_ {
        self.moves.iter().flat_map(move |moves| moves.flapping(from, now))
    }

    /// How many stations move too often, as of the last [`MacTable::advance`], and how many could
    /// be counted.
    pub fn flapping_of(&self) -> (usize, usize) {
        let room = if self.moves.is_some() { RECORDS } else { 0 };
        (self.flapping(0, self.now).count(), room)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let stations = self.learned.capacity() + self.fixed.len();
        let moves = self.moves.as_ref().map_or(0, Moves::bytes);
        self.entries.bytes() + stations * size_of::<u64>() + moves
    }
}

impl Entry {
    fn fixed(behind: u16) -> Entry {
        Entry(FIXED | u32::from(behind) << BEHIND_SHIFT)
    }

    #[inline(always)]
    fn learned(behind: u16, time: u64) -> Entry {
        Entry(u32::from(behind) << BEHIND_SHIFT | time as u32 & TIME_MASK)
    }

    #[inline(always)]
    fn behind(self) -> u16 {
        (self.0 >> BEHIND_SHIFT) as u16
    }

    #[inline(always)]
    fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }

    #[inline(always)]
    fn is_known(self, now: u64) -> bool {
        let age = (now as u32).wrapping_sub(self.0) & TIME_MASK;
        self.is_fixed() | (u64::from(age) <= UNITS)
    }
}

impl Age {
    #[inline(always)]
    fn of(&self, now: Ticks) -> u64 {
        now.saturating_sub(self.start) / self.unit
    }
}

/// An address in a bridge as a number: the bridge above [`BRIDGE_SHIFT`].
#[inline(always)]
pub fn station(mac: [u8; 6], bridge: u16) -> u64 {
    let [a, b, c, d, e, f] = mac;
    let [high, low] = bridge.to_be_bytes();
    u64::from_be_bytes([high, low, a, b, c, d, e, f])
}

/// The address of a station.
pub fn mac_of(station: u64) -> [u8; 6] {
    let [_, _, mac @ ..] = station.to_be_bytes();
    mac
}

/// The bridge of a station.
pub fn bridge_of(station: u64) -> usize {
    (station >> BRIDGE_SHIFT) as usize
}

/// Where the bridge stands in a station.
pub const BRIDGE_SHIFT: u32 = 48;

/// Parts of the ageing time that are told apart.
pub const UNITS: u64 = 256;

/// Learned stations that are looked at each time while a sweep is under way.
pub const SWEEP: usize = 64;

const FIXED: u32 = 1 << 31;
const BEHIND_SHIFT: u32 = 15;
const TIME_MASK: u32 = (1 << BEHIND_SHIFT) - 1;
