//! All sessions by their numbers, and the index of their keys.

use std::collections::HashMap;
use std::io;

use machine::memory::{HugeArray, prefetch_at};
use tables::hash::Keyed;
use tables::tagged::Tagged;

use crate::keys::{self, KEYS_MAX, Key};
use crate::record::Record;
use crate::volumes::{Volumes, Way};

/// Sessions; see the text of the crate.
#[derive(Debug)]
pub struct Subscribers {
    records: HugeArray<Record>,
    volumes: HugeArray<Volumes>,
    index: Tagged,
    keyed: Keyed,
    /// How many sessions are on each line.
    lines: HashMap<u32, u32>,
    /// How many sessions have a prefix of each length.
    lens: [u32; LENS],
    /// The lengths that some session has, the longest first.
    in_use: Vec<u8>,
    len: usize,
}

/// Why a session cannot be added or changed; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such number.
    #[error("there is no such number")]
    Number,
    /// There is a session of this number.
    #[error("there is a session of this number")]
    Exists,
    /// There is no session of this number.
    #[error("there is no session of this number")]
    NotFound,
    /// Another session has one of its keys.
    #[error("session {0} has the same line and station, or one of the addresses")]
    Taken(u32),
    /// The index has no place for one of its keys.
    #[error("there is no room in the index")]
    Full,
}

impl Subscribers {
    /// Room for sessions of numbers below `capacity`, none of them there; the words key the index.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory.
    pub fn new(capacity: usize, secret: [u64; 2]) -> io::Result<Subscribers> {
        Ok(Subscribers {
            records: HugeArray::zeroed(capacity)?,
            volumes: HugeArray::zeroed(capacity)?,
            index: Tagged::with_capacity(capacity * KEYS_MAX)?,
            keyed: Keyed::new(secret),
            lines: HashMap::with_capacity(capacity),
            lens: [0; LENS],
            in_use: Vec::with_capacity(LENS),
            len: 0,
        })
    }

    /// A session begins, with nothing passed.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn add(&mut self, number: u32, record: &Record) -> Result<(), Refused> {
        let held = self.records.get(number as usize).ok_or(Refused::Number)?;
        if held.kind != 0 {
            return Err(Refused::Exists);
        }
        self.check_keys(number, record)?;
        self.put(number, record)?;
        self.volumes[number as usize] = Volumes::default();
        self.len += 1;
        Ok(())
    }

    /// A session is from now on what `record` says; what has passed stays. Returns what it was.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn change(&mut self, number: u32, record: &Record) -> Result<Record, Refused> {
        let before = *self.get(number).ok_or(Refused::NotFound)?;
        self.check_keys(number, record)?;
        self.take(number, &before);
        if let Err(refused) = self.put(number, record) {
            // Its keys have just given their places back.
            self.put(number, &before)?;
            return Err(refused);
        }
        Ok(before)
    }

    /// A session ends. Returns what it was, and what has passed.
    pub fn remove(&mut self, number: u32) -> Option<(Record, Volumes)> {
        let before = *self.get(number)?;
        self.take(number, &before);
        self.records[number as usize] = Record::default();
        self.len -= 1;
        Some((before, self.volumes[number as usize]))
    }

    /// A session by its number.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&Record> {
        self.records.get(number as usize).filter(|record| record.kind != 0)
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Above all numbers.
    pub fn capacity(&self) -> usize {
        self.records.len()
    }

    /// How many sessions are on a line.
    pub fn on_line(&self, line: u32) -> u32 {
        self.lines.get(&line).copied().unwrap_or(0)
    }

    /// Lengths of prefixes that some session has, the longest first.
    #[inline(always)]
    pub fn prefix_lens(&self) -> &[u8] {
        &self.in_use
    }

    /// The hash of a key.
    #[inline(always)]
    pub fn hash(&self, key: &Key) -> u64 {
        key.hash(&self.keyed)
    }

    /// Asks the processor to fetch where a hash leads.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// The session to which a hash leads at first sight, perhaps another one.
    #[inline(always)]
    pub fn candidate(&self, hash: u64) -> Option<u32> {
        self.index.candidate(hash)
    }

    /// Asks the processor to fetch a record.
    #[inline(always)]
    pub fn prefetch_record(&self, number: u32) {
        prefetch_at(&self.records, number as usize);
    }

    /// Asks the processor to fetch the volumes of a session.
    #[inline(always)]
    pub fn prefetch_volumes(&self, number: u32) {
        prefetch_at(&self.volumes, number as usize);
    }

    /// The session that has a key, by its hash and the candidate.
    #[inline(always)]
    pub fn confirm(&self, hash: u64, candidate: Option<u32>, key: &Key) -> Option<u32> {
        if let Some(number) = candidate
            && self.records.get(number as usize).is_some_and(|record| key.is_of(record))
        {
            return Some(number);
        }
        if candidate.is_none() && !self.index.may_be_elsewhere(hash) {
            return None;
        }
        self.find_at(hash, key)
    }

    /// The session that has a key.
    pub fn find(&self, key: &Key) -> Option<u32> {
        self.find_at(self.hash(key), key)
    }

    /// The session that has an IPv6 address, or a prefix that it is in.
    pub fn find_ipv6(&self, vrf: u8, address: u128) -> Option<u32> {
        self.find(&Key::Ipv6 { vrf, address }).or_else(|| {
            let of_len = |len: &u8| self.find(&Key::prefix(vrf, address, *len));
            self.in_use.iter().find_map(of_len)
        })
    }

    /// One more packet of a session that has passed, of so many bytes.
    #[inline(always)]
    pub fn count(&mut self, number: u32, way: Way, is_ipv6: bool, bytes: u32) {
        if let Some(volumes) = self.volumes.get_mut(number as usize) {
            volumes.note(way, is_ipv6, bytes);
        }
    }

    /// What has passed of a session, or of the last one of this number.
    pub fn volumes(&self, number: u32) -> Volumes {
        self.volumes.get(number as usize).copied().unwrap_or_default()
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let lines = self.lines.capacity() * size_of::<(u32, u32)>();
        self.records.mapped_bytes() + self.volumes.mapped_bytes() + self.index.bytes() + lines
    }

    #[inline(never)]
    fn find_at(&self, hash: u64, key: &Key) -> Option<u32> {
        let is_its =
            |number: u32| self.records.get(number as usize).is_some_and(|record| key.is_of(record));
        self.index.find(hash, is_its)
    }

    /// Whether nobody else has a key of a session.
    fn check_keys(&self, number: u32, record: &Record) -> Result<(), Refused> {
        let mut others = keys::of(record).filter_map(|key| self.find(&key));
        match others.find(|other| *other != number) {
            Some(other) => Err(Refused::Taken(other)),
            None => Ok(()),
        }
    }

    /// Enters a session under all its keys.
    fn put(&mut self, number: u32, record: &Record) -> Result<(), Refused> {
        for (done, key) in keys::of(record).enumerate() {
            let hash = self.hash(&key);
            if self.index.insert(hash, number).is_err() {
                for key in keys::of(record).take(done) {
                    let hash = self.hash(&key);
                    self.index.remove(hash, number);
                }
                return Err(Refused::Full);
            }
        }
        self.records[number as usize] = Record { kind: record.kind.max(1), ..*record };
        *self.lines.entry(record.line).or_insert(0) += 1;
        for len in lens(record) {
            self.lens[usize::from(len)] += 1;
        }
        self.note_lens();
        Ok(())
    }

    /// Takes a session from all its keys.
    fn take(&mut self, number: u32, record: &Record) {
        for key in keys::of(record) {
            let hash = self.hash(&key);
            self.index.remove(hash, number);
        }
        if let Some(count) = self.lines.get_mut(&record.line) {
            *count -= 1;
            if *count == 0 {
                self.lines.remove(&record.line);
            }
        }
        for len in lens(record) {
            self.lens[usize::from(len)] -= 1;
        }
        self.note_lens();
    }

    fn note_lens(&mut self) {
        let lens = &self.lens;
        if self.in_use.iter().all(|len| lens[usize::from(*len)] > 0)
            && self.in_use.len() == lens.iter().filter(|count| **count > 0).count()
        {
            return;
        }
        self.in_use.clear();
        let used = (0..LENS as u8).rev().filter(|len| lens[usize::from(*len)] > 0);
        self.in_use.extend(used);
    }
}

/// The lengths of the prefixes of a session.
fn lens(record: &Record) -> impl Iterator<Item = u8> + use<> {
    let slaac = (record.slaac != 0).then_some(64);
    let delegated = (record.delegated != 0).then_some(record.delegated_len.min(64));
    slaac.into_iter().chain(delegated)
}

/// Lengths from 0 to 64.
const LENS: usize = 65;
