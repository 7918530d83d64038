//! Fragmented datagrams on their way through a function: which are known, and which of their bytes
//! have been seen.
//!
//! ```text
//!  fragment --> find its datagram by its key --> place it: fits | completes | repeats |
//!                 |                                        contradicts | too scattered
//!                 +-- none: begin one, with what its user keeps of it
//! ```
//! Fragments come in any order (RFC 791 section 3.2, RFC 8200 section 4.5). Once one lies over
//! others, all of its datagram contradict (RFC 5722). A datagram is known for a fixed time from its
//! first fragment on, so that the oldest is always the next to end. Memory is taken at creation and
//! never grows; keys, which others choose, are hashed under a secret.
//!
//! Its user decides: which fragments are refused and with what reason, what is kept of a datagram,
//! whether fragments wait ([`fragments`]), and whether a new datagram is refused when the table is
//! full or the oldest gives way.

pub mod fragments;
mod parts;
mod senders;

use std::io;
use std::ops::{Index, IndexMut};

use machine::clock::{Clock, Ticks};
use machine::hash::Keyed;
use tables::tagged::Tagged;

pub use self::parts::{Parts, Place};

/// What the fragments of a datagram have in common (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The sender; an IPv4 address is the lowest 32 bits.
    pub source: [u64; 2],
    /// The receiver, the same way.
    pub destination: [u64; 2],
    /// The VRF or another number that keeps senders with equal addresses apart.
    pub realm: u16,
    /// IPv4's protocol; whatever tells the versions apart in IPv6.
    pub protocol: u8,
    /// The identification, of which IPv4 has 16 bits.
    pub identification: u32,
}

/// One fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its datagram.
    pub key: Key,
    /// Where it begins, in bytes behind the header.
    pub offset: u16,
    /// Its length in bytes.
    pub len: u16,
    /// Whether others follow.
    pub more: bool,
}

impl Part {
    /// Whether no datagram has such a fragment: it is empty, ends beyond the longest packet, or
    /// ends at no unit of eight bytes although others follow (RFC 8200 section 4.5).
    pub fn is_malformed(&self) -> bool {
        let end = u32::from(self.offset) + u32::from(self.len);
        let is_cut = self.more && !self.len.is_multiple_of(8);
        self.len == 0 || is_cut || end > u32::from(u16::MAX)
    }
}

/// The datagrams of which fragments have come, each with a `T` of the user's.
pub struct Datagrams<T> {
    /// Places, those in use linked by age.
    places: Vec<Datagram<T>>,
    by_key: Tagged,
    keyed: Keyed,
    timeout: Ticks,
    capacity: usize,
    free: u32,
    oldest: u32,
    newest: u32,
}

struct Datagram<T> {
    key: Key,
    parts: Parts,
    /// From when on it is forgotten.
    ends: Ticks,
    /// The next one of the age list, or of free places.
    newer: u32,
    older: u32,
    kept: T,
}

impl<T> Datagrams<T> {
    /// An empty table of at most `capacity` datagrams, each known for `timeout_s` seconds.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(capacity: usize, timeout_s: f64, clock: &Clock, keyed: Keyed) -> io::Result<Self> {
        Ok(Datagrams {
            places: Vec::with_capacity(capacity),
            by_key: Tagged::with_capacity(capacity)?,
            keyed,
            timeout: (timeout_s * clock.ticks_per_second()) as Ticks,
            capacity,
            free: NONE,
            oldest: NONE,
            newest: NONE,
        })
    }

    /// The number of a datagram that is known, even if its time is over.
    pub fn find(&self, key: &Key) -> Option<u32> {
        self.by_key.find(self.hash(key), |number| self.places[number as usize].key == *key)
    }

    /// Whether the time of a datagram is over.
    pub fn is_over(&self, number: u32, now: Ticks) -> bool {
        self.places[number as usize].ends <= now
    }

    /// The datagram that began first.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Datagrams that are known, those whose time is over included until they are removed.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most datagrams.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.places.capacity() * (size_of::<Datagram<T>>() + INDEX_LEN)
    }

    /// The key of a datagram.
    pub fn key(&self, number: u32) -> &Key {
        &self.places[number as usize].key
    }

    /// What of a datagram has been seen.
    pub fn parts(&self, number: u32) -> &Parts {
        &self.places[number as usize].parts
    }

    /// Takes note of a fragment of a datagram.
    pub fn place(&mut self, number: u32, part: &Part) -> Place {
        self.places[number as usize].parts.place(part.offset, part.len, part.more)
    }

    /// The number of a datagram that was not known; none where there is no room, and nothing has
    /// changed.
    pub fn begin(&mut self, key: Key, kept: T, now: Ticks) -> Option<u32> {
        let number = if self.free == NONE { self.places.len() as u32 } else { self.free };
        self.by_key.insert(self.hash(&key), number).ok()?;
        let ends = now.saturating_add(self.timeout);
        let parts = Parts::default();
        let fresh = Datagram { key, parts, ends, newer: NONE, older: self.newest, kept };
        match self.places.get_mut(number as usize) {
            Some(place) => {
                self.free = place.newer;
                *place = fresh;
            }
            None => self.places.push(fresh),
        }
        match self.places.get_mut(self.newest as usize) {
            Some(newest) => newest.newer = number,
            None => self.oldest = number,
        }
        self.newest = number;
        Some(number)
    }

    /// Forgets a datagram.
    pub fn remove(&mut self, number: u32) {
        let Datagram { key, newer, older, .. } = self.places[number as usize];
        match self.places.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
        match self.places.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        self.places[number as usize].newer = self.free;
        self.free = number;
        self.by_key.remove(self.hash(&key), number);
    }

    fn hash(&self, key: &Key) -> u64 {
        let Key { source, destination, realm, protocol, identification } = key;
        let rest = u64::from(*identification) << 24 | u64::from(*realm) << 8 | u64::from(*protocol);
        let ends = self.keyed.of4(source[0], source[1], destination[0], destination[1]);
        self.keyed.of2(ends, rest)
    }
}

impl<T> Index<u32> for Datagrams<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.places[number as usize].kept
    }
}

impl<T> IndexMut<u32> for Datagrams<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.places[number as usize].kept
    }
}

/// Bytes of the index for an entry, about.
const INDEX_LEN: usize = 10;

/// No place.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use machine::hash::{MULTIPLIERS, fold};
    use model_kit::slow::Pieces;

    /// A datagram of the slow twin, a list in the order in which they began.
    struct Slow {
        key: Key,
        pieces: Pieces,
        ends: Ticks,
    }

    #[test]
    fn the_table_agrees_with_a_list_of_all_bytes() {
        let clock = Clock::with_rate(1e3);
        let keyed = Keyed::new(MULTIPLIERS);
        let mut table = Datagrams::new(ROOM, 0.4, &clock, keyed).expect("memory");
        let mut list: Vec<Slow> = Vec::new();
        let (mut state, mut now, mut met) = (1, 0, [0; 6]);
        let mut below = |bound: u64| {
            state = fold(state ^ MULTIPLIERS[0], MULTIPLIERS[1]).wrapping_add(state);
            (state >> 20) % bound
        };
        for _ in 0..100_000 {
            now += below(4);
            let identification = below(ROOM as u64 + 1) as u32;
            let key = Key { identification, ..Key::default() };
            // Some datagrams are short enough to become whole.
            let units = if identification.is_multiple_of(2) { 4 } else { 64 };
            let (offset, len) = (8 * below(units) as u16, 8 * (1 + below(9) / 8) as u16);
            let part = Part { key, offset, len, more: below(24) > 0 };
            let known = list.iter().position(|one| one.key == key);
            assert_eq!(table.find(&key).is_some(), known.is_some());
            let at = known.unwrap_or_else(|| {
                if list.len() == ROOM {
                    assert_eq!(table.begin(key, (), now), None, "full");
                    table.remove(table.oldest().expect("one"));
                    list.remove(0);
                }
                assert!(table.begin(key, (), now).is_some());
                list.push(Slow { key, pieces: Pieces::default(), ends: now + 400 });
                list.len() - 1
            });
            let number = table.find(&key).expect("known");
            assert_eq!(table.is_over(number, now), list[at].ends <= now);
            let place = table.place(number, &part);
            let taken = list[at].pieces.take(offset.into(), len.into(), part.more);
            let expected = match taken {
                Ok(()) if list[at].pieces.is_whole() => Place::Completes,
                Ok(()) => Place::Fits,
                Err("fragment-scattered") => Place::Scattered,
                Err(_) if list[at].pieces.is_broken => Place::Contradicts,
                Err(_) => Place::Repeats,
            };
            assert_eq!(place, expected, "{part:?}");
            met[expected as usize] += 1;
            let is_over = list[at].ends <= now;
            met[5] += u32::from(is_over);
            if is_over || expected == Place::Completes {
                table.remove(number);
                list.remove(at);
            }
            assert_eq!(table.len(), list.len());
            let first = list.first().map(|one| &one.key);
            assert_eq!(table.oldest().map(|number| table.key(number)), first);
        }
        assert!(met.iter().all(|&count| count > 20), "each case was met: {met:?}");
    }

    const ROOM: usize = 16;
}
