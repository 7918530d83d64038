//! The routes that were told, by their keys alone: 28 bytes each, and 10 of the index.

use std::io;
use std::net::IpAddr;

use protocol_kit::Random;
use protocol_netlink::Key;
use tables::hash::Keyed;
use tables::tagged::Tagged;

/// Keys, and in which connection each was told last.
#[derive(Debug)]
pub(crate) struct Keys {
    index: Tagged,
    hash: Keyed,
    places: Vec<Place>,
    /// Places without a key.
    free: Vec<u32>,
    generation: u32,
    stale: usize,
    /// No place before it has a stale key.
    swept: usize,
}

/// Room for a key.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: Key,
    /// That of the connection; [`FREE`] without a key.
    generation: u32,
}

/// What telling a key has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It is new, or was told before in this connection.
    Noted,
    /// It was stale.
    Renewed,
    /// It is new, and there is no room for it.
    Refused,
}

impl Keys {
    /// Makes room for this many keys.
    ///
    /// # Errors
    /// What the kernel says when it has no memory for the index.
    pub fn new(limit: u32, random: &mut Random) -> io::Result<Keys> {
        Ok(Keys {
            index: Tagged::with_capacity(limit as usize)?,
            hash: Keyed::new([random.bits(), random.bits()]),
            places: Vec::new(),
            free: Vec::new(),
            generation: FREE + 1,
            stale: 0,
            swept: 0,
        })
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Keys that were not told since [`Keys::age`].
    pub fn stale(&self) -> usize {
        self.stale
    }

    /// Notes that a key was told.
    pub fn tell(&mut self, key: Key) -> Told {
        let hash = self.hash_of(&key);
        if let Some(number) = self.find(hash, &key) {
            let place = &mut self.places[number as usize];
            if place.generation == self.generation {
                return Told::Noted;
            }
            place.generation = self.generation;
            self.stale -= 1;
            return Told::Renewed;
        }
        let number = self.free.last().map_or(self.places.len() as u32, |number| *number);
        if self.index.insert(hash, number).is_err() {
            return Told::Refused;
        }
        let place = Place { key, generation: self.generation };
        match self.free.pop() {
            Some(number) => self.places[number as usize] = place,
            None => self.places.push(place),
        }
        Told::Noted
    }

    /// Forgets a key; false if it is not held.
    pub fn forget(&mut self, key: &Key) -> bool {
        let hash = self.hash_of(key);
        let Some(number) = self.find(hash, key) else { return false };
        self.index.remove(hash, number);
        let place = &mut self.places[number as usize];
        self.stale -= usize::from(place.generation != self.generation);
        place.generation = FREE;
        self.free.push(number);
        true
    }

    /// Makes all keys stale.
    pub fn age(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or(FREE + 1);
        self.stale = self.len();
        self.swept = 0;
    }

    /// Forgets a stale key and returns it; `None` when none is stale.
    pub fn sweep(&mut self) -> Option<Key> {
        if self.stale == 0 {
            return None;
        }
        let is_stale = |place: &Place| ![FREE, self.generation].contains(&place.generation);
        let further = self.places[self.swept..].iter().position(is_stale)?;
        self.swept += further;
        let key = self.places[self.swept].key;
        self.forget(&key);
        Some(key)
    }

    fn find(&self, hash: u64, key: &Key) -> Option<u32> {
        self.index.find(hash, |number| self.places[number as usize].key == *key)
    }

    fn hash_of(&self, Key { table, prefix }: &Key) -> u64 {
        let table = u64::from(*table) << 8 | u64::from(prefix.bits());
        match prefix.address() {
            IpAddr::V4(address) => self.hash.of2(table, u64::from(address.to_bits())),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                self.hash.of4(table, (bits >> 64) as u64, bits as u64, 1)
            }
        }
    }
}

/// The generation of a place without a key.
const FREE: u32 = 0;
