//! The keys of routes: bytes that tell an NLRI of a family from others. Those of IPv4 lie in a
//! word, others beside each other in one place.

use std::collections::BTreeMap;

use tables::hash::Keyed;

use crate::table::interned::hash;

/// A key: its length in the low 16 bits; above, its bytes, or where they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(u64);

/// The bytes of long keys.
#[derive(Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Places of keys that are gone, by their room.
    free: BTreeMap<usize, Vec<u64>>,
    /// Bytes of those.
    free_bytes: usize,
}

impl Key {
    /// Returns the length in bytes.
    fn len(self) -> usize {
        usize::from(self.0 as u16)
    }

    /// Returns the hash of a key that lies in its word.
    #[inline]
    pub fn hash(self, keyed: &Keyed) -> u64 {
        keyed.of2(self.0, 0)
    }
}

impl Keys {
    /// Returns a key that lies in its word; `None` for a longer one.
    #[inline]
    pub fn short(bytes: &[u8]) -> Option<Key> {
        if bytes.len() > SHORT_MAX {
            return None;
        }
        let mut word = [0; 8];
        word[2..2 + bytes.len()].copy_from_slice(bytes);
        Some(Key(u64::from_le_bytes(word) | bytes.len() as u64))
    }

    /// Returns the hash of a key.
    #[inline]
    pub fn hash(&self, key: Key, keyed: &Keyed) -> u64 {
        match key.len() > SHORT_MAX {
            false => key.hash(keyed),
            true => self.with(key, |bytes| hash(keyed, bytes)),
        }
    }

    /// Keeps a key, of at most 65,535 bytes.
    pub fn keep(&mut self, bytes: &[u8]) -> Key {
        debug_assert!(u16::try_from(bytes.len()).is_ok());
        if let Some(key) = Keys::short(bytes) {
            return key;
        }
        let room = room(bytes.len());
        let at = match self.free.get_mut(&room).and_then(Vec::pop) {
            Some(at) => {
                self.free_bytes -= room;
                at
            }
            None => {
                let at = self.bytes.len();
                self.bytes.resize(at + room, 0);
                at as u64
            }
        };
        self.bytes[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Key(at << LEN_BITS | bytes.len() as u64)
    }

    /// Gives a key's place to another one.
    pub fn forget(&mut self, key: Key) {
        if key.len() > SHORT_MAX {
            self.free_bytes += room(key.len());
            self.free.entry(room(key.len())).or_default().push(key.0 >> LEN_BITS);
            // Where there is no key, no place is one's.
            if self.free_bytes == self.bytes.len() {
                *self = Keys::default();
            }
        }
    }

    /// Calls `with` on the bytes of a key.
    #[inline]
    pub fn with<R>(&self, key: Key, with: impl FnOnce(&[u8]) -> R) -> R {
        let len = key.len();
        if len <= SHORT_MAX {
            return with(&key.0.to_le_bytes()[2..2 + len]);
        }
        with(&self.bytes[(key.0 >> LEN_BITS) as usize..][..len])
    }

    /// Returns how many bytes of them are used.
    pub fn used(&self) -> usize {
        self.bytes.len() - self.free_bytes
    }

    /// Returns how many bytes of memory they have.
    pub fn memory(&self) -> usize {
        let free: usize = self.free.values().map(|places| places.capacity() * 8).sum();
        self.bytes.capacity() + free
    }
}

/// Room for a key: few different ones, so that places are used again.
fn room(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// Bytes of a key that lies in its word.
const SHORT_MAX: usize = 6;
const LEN_BITS: u32 = 16;
