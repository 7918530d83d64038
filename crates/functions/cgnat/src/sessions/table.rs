//! All sessions of a worker, the ways to find them, and the sweep that ends them.
//!
//! ```text
//!  packet from inside --hash--> by inside  --+
//!  packet from outside -hash--> by outside --+--> record (one cache line)
//!  new session -------- hash--> by mapping --+      ^
//!                                                   | where the time may be up
//!  sweep ----------------------> due: 2 bytes each -+
//! ```
//! A packet that belongs to a session touches one line of an index and one record. It notes the
//! time in the record and nothing else: `due` says when the record is to be looked at next, which
//! is never too late, because a session is only ever used later, or its time shortened by
//! [`Sessions::hasten`]. The sweep reads `due` from end to end, a piece in each round, and looks at
//! those records together. So nothing is ever sorted, linked by time or allocated, and a round has
//! a bound. A look-up judges by the record: a session whose time is up is over, whether or not the
//! sweep has been there.

use std::io;

use machine::memory::{HugeArray, prefetch_at};
use tables::hash::Keyed;
use tables::tagged::Tagged;
use zerocopy::FromZeros;

use crate::sessions::fields::Marks;
use crate::sessions::session::Session;
use crate::sessions::times::{Moment, Times};
use crate::types::flow::{Inside, Outside};

/// The number of a session, below 2^30.
pub type Number = u32;

/// The sessions of a worker.
pub struct Sessions {
    /// The records; those that no index names are free.
    pub records: HugeArray<Session>,
    /// When each record is to be looked at, in [`Due`]; 0 for a free one.
    due: HugeArray<u16>,
    /// Free numbers that were used before.
    free: HugeArray<u32>,
    free_len: usize,
    /// Numbers from here on were never used.
    fresh: u32,
    by_inside: Tagged,
    by_outside: Tagged,
    by_mapping: Tagged,
    len: u32,
    /// Where the sweep is.
    hand: usize,
    keyed: Keyed,
}

/// A session is not in the line of an index in which it was looked for first, and may be in another
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere;

/// Why there is no room for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// As many sessions as there can be.
    Sessions,
    /// As many mappings as there can be.
    Mappings,
}

impl Sessions {
    /// Room for so many sessions and mappings, their memory taken.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(sessions: u32, mappings: u32, secret: [u64; 2]) -> io::Result<Sessions> {
        let (sessions, mappings) = (sessions as usize, mappings as usize);
        Ok(Sessions {
            records: HugeArray::zeroed(sessions)?,
            due: HugeArray::zeroed(sessions)?,
            free: HugeArray::zeroed(sessions)?,
            free_len: 0,
            fresh: 0,
            by_inside: Tagged::with_capacity(sessions)?,
            by_outside: Tagged::with_capacity(sessions)?,
            by_mapping: Tagged::with_capacity(mappings)?,
            len: 0,
            hand: 0,
            keyed: Keyed::new(secret),
        })
    }

    /// The keyed hash of all names.
    #[inline(always)]
    pub fn keyed(&self) -> &Keyed {
        &self.keyed
    }

    /// Sessions, those included whose time is up and which the sweep has not met yet.
    pub fn count(&self) -> u32 {
        self.len
    }

    /// Mappings, likewise.
    pub fn mappings(&self) -> usize {
        self.by_mapping.len()
    }

    /// Room for sessions.
    pub fn capacity(&self) -> usize {
        self.records.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.records.len() * (size_of::<Session>() + size_of::<u16>() + size_of::<u32>())
            + self.by_inside.bytes()
            + self.by_outside.bytes()
            + self.by_mapping.bytes()
    }

    /// Asks for the line of the index in which a packet from inside is looked up.
    #[inline(always)]
    pub fn prefetch_inside(&self, hash: u64) {
        self.by_inside.prefetch(hash);
    }

    /// The same for a packet from outside.
    #[inline(always)]
    pub fn prefetch_outside(&self, hash: u64) {
        self.by_outside.prefetch(hash);
    }

    /// The same for a mapping.
    #[inline(always)]
    pub fn prefetch_mapping(&self, hash: u64) {
        self.by_mapping.prefetch(hash);
    }

    /// The number that is likely the session of a packet from inside; its record is asked for.
    /// Where the session may be in another line of the index, that one is asked for instead.
    ///
    /// # Errors
    /// That it may be elsewhere: [`Self::elsewhere_inside`] will know.
    #[inline(always)]
    pub fn candidate_inside(&self, hash: u64) -> Result<Number, Elsewhere> {
        self.candidate(&self.by_inside, hash)
    }

    /// The same for a packet from outside.
    ///
    /// # Errors
    /// As [`Self::candidate_inside`].
    #[inline(always)]
    pub fn candidate_outside(&self, hash: u64) -> Result<Number, Elsewhere> {
        self.candidate(&self.by_outside, hash)
    }

    /// The number that is likely the session of a packet from inside that may be elsewhere.
    pub fn elsewhere_inside(&self, hash: u64) -> Number {
        self.ask_for(self.by_inside.candidate_elsewhere(hash))
    }

    /// The same for a packet from outside.
    pub fn elsewhere_outside(&self, hash: u64) -> Number {
        self.ask_for(self.by_outside.candidate_elsewhere(hash))
    }

    #[inline(always)]
    fn candidate(&self, index: &Tagged, hash: u64) -> Result<Number, Elsewhere> {
        let candidate = index.candidate(hash);
        if candidate.is_none() && index.may_be_elsewhere(hash) {
            index.prefetch_elsewhere(hash);
            return Err(Elsewhere);
        }
        Ok(self.ask_for(candidate))
    }

    /// A number that is likely a session of a mapping; its record is asked for.
    #[inline(always)]
    pub fn candidate_mapping(&self, hash: u64) -> Number {
        self.ask_for(self.by_mapping.candidate(hash))
    }

    /// Asks for what a further session of the mapping of `mapping`, which is a candidate's record,
    /// has to change.
    #[inline]
    pub fn prefetch_neighbours(&self, mapping: &Session, key: &Inside) {
        prefetch_at(&self.records, mapping.previous as usize);
        let outside = Outside { far: key.far, ..mapping.outside_key() };
        self.by_outside.prefetch(outside.hash(&self.keyed));
    }

    #[inline(always)]
    fn ask_for(&self, candidate: Option<u32>) -> Number {
        let number = candidate.unwrap_or(NONE);
        prefetch_at(&self.records, number as usize);
        number
    }

    /// The record of a candidate, if it is that of a packet from inside and its time is not up.
    #[inline(always)]
    pub fn inside_at(
        &mut self,
        number: Number,
        key: &Inside,
        (now, times): (Moment, &Times),
    ) -> Option<&mut Session> {
        let session = self.records.get_mut(number as usize)?;
        (session.is_inside(key) && !times.is_over(session, now)).then_some(session)
    }

    /// The record of a candidate, if it is that of a packet from outside and its time is not up.
    #[inline(always)]
    pub fn outside_at(
        &mut self,
        number: Number,
        key: &Outside,
        (now, times): (Moment, &Times),
    ) -> Option<&mut Session> {
        let session = self.records.get_mut(number as usize)?;
        (session.is_outside(key) && !times.is_over(session, now)).then_some(session)
    }

    /// The session of a packet from inside, also one whose time is up.
    pub fn find_inside(&self, hash: u64, key: &Inside) -> Option<Number> {
        self.by_inside.find(hash, |number| self.records[number as usize].is_inside(key))
    }

    /// The session of a packet from outside, also one whose time is up.
    pub fn find_outside(&self, hash: u64, key: &Outside) -> Option<Number> {
        self.by_outside.find(hash, |number| self.records[number as usize].is_outside(key))
    }

    /// A session of the mapping that a packet from inside belongs to, also one whose time is up.
    pub fn find_mapping(&self, hash: u64, key: &Inside) -> Option<Number> {
        self.by_mapping.find(hash, |number| self.records[number as usize].is_of_mapping(key))
    }

    /// Asks for the records that the next `count` sessions will have.
    #[inline]
    pub fn prefetch_room(&self, count: usize) {
        for ahead in 0..count {
            prefetch_at(&self.records, self.number_ahead(ahead) as usize);
        }
    }

    /// The number that a session gets after so many others.
    #[inline(always)]
    fn number_ahead(&self, ahead: usize) -> Number {
        match self.free_len.checked_sub(ahead + 1) {
            Some(at) => self.free[at],
            None => self.fresh.saturating_add((ahead - self.free_len) as u32),
        }
    }

    /// Opens a session; `mapping` is one of the same mapping, if there is one.
    ///
    /// # Errors
    /// When there is no room; nothing has changed then.
    #[inline]
    pub fn open(
        &mut self,
        session: Session,
        mapping: Option<Number>,
        (now, times): (Moment, &Times),
    ) -> Result<Number, Full> {
        let number = self.number_ahead(0);
        if number as usize >= self.records.len() {
            return Err(Full::Sessions);
        }
        let (inside, outside) = (session.inside_key(), session.outside_key());
        let inside_hash = inside.hash(&self.keyed);
        let outside_hash = outside.hash(&self.keyed);
        self.by_inside.insert(inside_hash, number).map_err(|_| Full::Sessions)?;
        if self.by_outside.insert(outside_hash, number).is_err() {
            self.by_inside.remove(inside_hash, number);
            return Err(Full::Sessions);
        }
        let (next, previous) = match mapping {
            Some(before) => (before, self.records[before as usize].previous),
            None => {
                let hash = inside.mapping_hash(&self.keyed);
                if self.by_mapping.insert(hash, number).is_err() {
                    self.by_inside.remove(inside_hash, number);
                    self.by_outside.remove(outside_hash, number);
                    return Err(Full::Mappings);
                }
                (number, number)
            }
        };
        match self.free_len.checked_sub(1) {
            Some(len) => self.free_len = len,
            None => self.fresh += 1,
        }
        let record = &mut self.records[number as usize];
        *record = session;
        (record.next, record.previous) = (next, previous);
        record.marks.set(if mapping.is_none() { Marks::FIRST } else { Marks::NONE });
        self.records[next as usize].previous = number;
        self.records[previous as usize].next = number;
        self.due[number as usize] = due(session.used.wrapping_add(times.timeout(&session)), now);
        self.len += 1;
        Ok(number)
    }

    /// Ends a session; tells another one of its mapping, or none where it was the last. That one is
    /// the first of them from now on if this one was.
    pub fn close(&mut self, number: Number) -> Option<Number> {
        let session = self.records[number as usize];
        self.by_inside.remove(session.inside_key().hash(&self.keyed), number);
        self.by_outside.remove(session.outside_key().hash(&self.keyed), number);
        let mapping = || session.inside_key().mapping_hash(&self.keyed);
        let other = match session.next == number {
            true => {
                self.by_mapping.remove(mapping(), number);
                None
            }
            false => {
                if session.marks.has(Marks::FIRST) {
                    self.by_mapping.replace(mapping(), number, session.next);
                    self.records[session.next as usize].marks.set(Marks::FIRST);
                }
                self.records[session.next as usize].previous = session.previous;
                self.records[session.previous as usize].next = session.next;
                Some(session.next)
            }
        };
        self.records[number as usize] = Session::new_zeroed();
        self.due[number as usize] = FREE;
        self.free[self.free_len] = number;
        self.free_len += 1;
        self.len -= 1;
        other
    }

    /// Lets the sweep look at a session when its time, which became shorter or was set, is up.
    pub fn hasten(&mut self, number: Number, (now, times): (Moment, &Times)) {
        let session = &self.records[number as usize];
        self.due[number as usize] = due(times.look_at(session, now), now);
    }

    /// Sweeps over `count` sessions and fills `over` with those whose time is up, up to its length;
    /// tells how many those are. The records of a group are asked for before one is looked at.
    pub fn sweep(
        &mut self,
        count: usize,
        over: &mut [Number],
        (now, times): (Moment, &Times),
    ) -> usize {
        let used = self.fresh as usize;
        let present = (now >> DUE_SHIFT) as u16;
        let (mut left, mut found) = (count.min(used), 0);
        while left > 0 && found < over.len() {
            if self.hand >= used {
                self.hand = 0;
            }
            let end = (self.hand + left.min(GROUP)).min(used);
            let group = &self.due[self.hand..end];
            left -= group.len();
            if !any_due(group, present) {
                self.hand = end;
                continue;
            }
            let first = self.hand;
            let mut at = first;
            for &entry in group {
                if is_due(entry, present) {
                    if found == over.len() {
                        break;
                    }
                    over[found] = at as Number;
                    prefetch_at(&self.records, at);
                    found += 1;
                }
                at += 1;
            }
            self.hand = at;
        }
        self.keep_over(&mut over[..found], (now, times))
    }

    /// Keeps those whose time is really up, and puts the others off.
    fn keep_over(&mut self, over: &mut [Number], (now, times): (Moment, &Times)) -> usize {
        let mut kept = 0;
        for index in 0..over.len() {
            let number = over[index];
            let session = &self.records[number as usize];
            if times.left(session, now).is_none() {
                let key = session.inside_key();
                self.by_inside.prefetch(key.hash(&self.keyed));
                self.by_outside.prefetch(session.outside_key().hash(&self.keyed));
                prefetch_at(&self.records, session.next as usize);
                prefetch_at(&self.records, session.previous as usize);
                if session.marks.has(Marks::FIRST) {
                    self.by_mapping.prefetch(key.mapping_hash(&self.keyed));
                }
                over[kept] = number;
                kept += 1;
            } else {
                self.due[number as usize] = due(times.look_at(session, now), now);
            }
        }
        kept
    }

    /// The sessions of a mapping, from one of them on.
    pub fn mapping(&self, first: Number) -> impl Iterator<Item = &Session> {
        self.ring(first).map(|at| &self.records[at as usize])
    }

    /// The numbers of these.
    pub fn ring(&self, first: Number) -> impl Iterator<Item = Number> {
        let next = move |at: &Number| {
            let next = self.records[*at as usize].next;
            (next != first).then_some(next)
        };
        std::iter::successors(Some(first), next)
    }

    /// Room for mappings.
    pub fn mapping_capacity(&self) -> usize {
        self.by_mapping.capacity()
    }

    /// All sessions from a number on, those included whose time is up.
    pub fn from(&self, first: Number) -> impl Iterator<Item = (Number, &Session)> {
        let records = self.records.iter().enumerate();
        let used = records.take(self.fresh as usize).skip(first as usize);
        used.filter(|(index, _)| self.due[*index] != FREE).map(|(index, s)| (index as Number, s))
    }

    /// Numbers that were ever used; those behind were not.
    pub fn used(&self) -> u32 {
        self.fresh
    }
}

/// The sixteen bits that say when a session is to be looked at: the first 16-fold unit behind its
/// end; not 0, which means a free one.
fn due(end: Moment, now: Moment) -> u16 {
    // One more, because the unit that has begun is not over; and never in the past.
    let end = if (end.wrapping_sub(now) as i32) < 0 { now } else { end };
    match ((end >> DUE_SHIFT) as u16).wrapping_add(1) {
        FREE => 1,
        due => due,
    }
}

/// Whether it is time to look: of a clock that wraps around, the half behind the present is the
/// past.
#[inline(always)]
fn is_due(entry: u16, present: u16) -> bool {
    (entry != FREE) & ((present.wrapping_sub(entry) as i16) >= 0)
}

/// Whether any of a group is due, without a branch for each, so that it becomes vector compares.
#[inline(always)]
fn any_due(group: &[u16], present: u16) -> bool {
    group.iter().fold(false, |any, &entry| any | is_due(entry, present))
}

/// What no session has as its number.
pub const NONE: Number = u32::MAX;

/// A record that is free.
const FREE: u16 = 0;

/// Units of [`crate::sessions::times`] to units of `due`, as a power of two: one to two seconds.
const DUE_SHIFT: u32 = 4;

/// Entries that the sweep reads before it decides whether to look closer.
const GROUP: usize = 64;
