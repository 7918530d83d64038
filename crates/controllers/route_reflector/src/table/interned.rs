//! Bytes that many routes have in common, each kept once: attribute blocks, and what an NLRI has
//! beside its key.

use hashbrown::HashTable;
use tables::hash::Keyed;

use crate::table::free::{Free, cut, has_much_room};

/// Byte strings by number, each with what is known of it. Who keeps a number counts as its user;
/// without users a string is forgotten and its number given to another one.
#[derive(Debug)]
pub struct Interned<T> {
    entries: Vec<Entry<T>>,
    index: HashTable<u32>,
    free: Free,
    keyed: Keyed,
    /// Bytes of all strings.
    bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    bytes: Box<[u8]>,
    users: u32,
    /// Nothing in one that is free.
    known: Option<T>,
}

impl<T> Interned<T> {
    /// Creates an empty set, whose hashes nobody can foresee who does not know the secret.
    pub fn new(secret: [u64; 2]) -> Interned<T> {
        Interned {
            entries: Vec::new(),
            index: HashTable::new(),
            free: Free::default(),
            keyed: Keyed::new(secret),
            bytes: 0,
        }
    }

    /// Returns the number of a string and makes the caller a user of it; `know` is asked for a new
    /// one only. `None` where there are no more numbers.
    pub fn intern(&mut self, bytes: &[u8], know: impl FnOnce() -> T) -> Option<u32> {
        let hash = hash(&self.keyed, bytes);
        let entries = &mut self.entries;
        if let Some(&number) = self.index.find(hash, |at| *entries[*at as usize].bytes == *bytes) {
            let users = &mut entries[number as usize].users;
            *users = users.checked_add(1)?;
            return Some(number);
        }
        let entry = Entry { bytes: bytes.into(), users: 1, known: Some(know()) };
        let number = match self.free.take(entries.len()) {
            Some(number) => {
                entries[number as usize] = entry;
                number
            }
            None => {
                let number = u32::try_from(entries.len()).ok().filter(|new| *new < NUMBERS)?;
                entries.push(entry);
                number
            }
        };
        self.bytes += bytes.len();
        let keyed = &self.keyed;
        let hash_of = |at: &u32| self::hash(keyed, &entries[*at as usize].bytes);
        self.index.insert_unique(hash, number, hash_of);
        Some(number)
    }

    /// Returns the number of a string that somebody uses.
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        let is_it = |at: &u32| *self.entries[*at as usize].bytes == *bytes;
        self.index.find(hash(&self.keyed, bytes), is_it).copied()
    }

    /// Makes the caller a user of a string once more.
    pub fn share(&mut self, number: u32) {
        // One that so many use stays for ever.
        let users = &mut self.entries[number as usize].users;
        *users = users.saturating_add(1);
    }

    /// Ends a use. After the last one it returns what was known.
    pub fn release(&mut self, number: u32) -> Option<T> {
        let entry = &mut self.entries[number as usize];
        if entry.users == u32::MAX {
            return None;
        }
        entry.users -= 1;
        if entry.users > 0 {
            return None;
        }
        let hash = hash(&self.keyed, &entry.bytes);
        if let Ok(found) = self.index.find_entry(hash, |at| *at == number) {
            found.remove();
        }
        self.bytes -= entry.bytes.len();
        entry.bytes = Box::default();
        let known = entry.known.take();
        cut(&mut self.entries, |entry| entry.known.is_none());
        self.free.add(number, self.entries.len());
        let Interned { entries, index, keyed, .. } = self;
        if has_much_room(index.len(), index.capacity()) {
            let hash_of = |at: &u32| self::hash(keyed, &entries[*at as usize].bytes);
            index.shrink_to(index.len() * 2, hash_of);
        }
        known
    }

    /// Returns the bytes of a string.
    pub fn bytes_of(&self, number: u32) -> &[u8] {
        &self.entries[number as usize].bytes
    }

    /// Returns what is known of a string that somebody uses.
    pub fn known(&self, number: u32) -> Option<&T> {
        self.entries[number as usize].known.as_ref()
    }

    /// Returns how often a string is used.
    pub fn users(&self, number: u32) -> u32 {
        self.entries[number as usize].users
    }

    /// Returns how many strings there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns a number above that of every string.
    pub fn end(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Returns the numbers of all strings.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.index.iter().copied()
    }

    /// Returns about how many bytes of memory are used; others of [`Interned::memory`] are free.
    pub fn used(&self) -> usize {
        // An index may have twice as many places as it has strings.
        self.bytes + self.len() * (size_of::<Entry<T>>() + 2 * (size_of::<u32>() + 1) * 8 / 7)
    }

    /// Returns about how many bytes of memory they have.
    pub fn memory(&self) -> usize {
        let index = self.index.capacity() * (size_of::<u32>() + 1) * 8 / 7;
        self.bytes + self.entries.capacity() * size_of::<Entry<T>>() + index
    }
}

/// Returns the hash of a string.
pub(crate) fn hash(keyed: &Keyed, bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let (pairs, odd) = words.as_chunks::<2>();
    for [one, other] in pairs {
        hash = keyed.of2(hash ^ u64::from_le_bytes(*one), u64::from_le_bytes(*other));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let odd = odd.first().map_or(0, |word| u64::from_le_bytes(*word));
    keyed.of2(hash ^ odd, u64::from_le_bytes(last))
}

/// How many numbers there are; the bits above are their users' own.
const NUMBERS: u32 = 1 << 31;
