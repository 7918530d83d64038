//! What the tester has learned of translations: from which outside address and port each session's
//! packets came out. Workloads of several threads share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::memory::{HugeArray, prefetch};

/// Outside addresses and ports by session, 8 bytes each.
#[derive(Clone, Debug)]
pub struct Learned {
    /// 0 where nothing is known.
    entries: Arc<HugeArray<AtomicU64>>,
}

/// Where the packets of a session come from, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The outside address.
    pub address: u32,
    /// The outside port, or the identifier of an echo.
    pub port: u16,
}

impl Learned {
    /// Room for so many sessions, of whose memory only what is used is taken; nothing can be
    /// learned where the machine has no such room.
    pub fn new(sessions: u64) -> Learned {
        let len = usize::try_from(sessions).unwrap_or(usize::MAX);
        Learned { entries: Arc::new(HugeArray::reserve(len).unwrap_or_default()) }
    }

    /// What is known of a session, one of those that have the place in turn.
    #[inline(always)]
    pub fn get(&self, place: u64, turn: u16) -> Option<Translation> {
        let word = self.entries.get(place as usize)?.load(Ordering::Relaxed);
        (word >> TURN_AT == known(turn))
            .then_some(Translation { address: (word >> 16) as u32, port: word as u16 })
    }

    /// Notes what has been seen of a session.
    #[inline(always)]
    pub fn note(&self, place: u64, turn: u16, seen: Translation) {
        if let Some(entry) = self.entries.get(place as usize) {
            let whose = known(turn) << TURN_AT;
            let word = whose | u64::from(seen.address) << 16 | u64::from(seen.port);
            // Written by many threads of which each writes what it has seen; most know it already.
            if entry.load(Ordering::Relaxed) != word {
                entry.store(word, Ordering::Relaxed);
            }
        }
    }

    /// Asks the processor for a session's entry.
    #[inline(always)]
    pub fn prefetch(&self, session: u64) {
        if let Some(entry) = self.entries.get(session as usize) {
            prefetch(entry);
        }
    }
}

/// What an entry begins with that is a session's.
#[inline(always)]
fn known(turn: u16) -> u64 {
    KNOWN | u64::from(turn) & (KNOWN - 1)
}

/// Behind the address and the port.
const TURN_AT: u32 = 48;

/// Set where something is known; 15 bits of a turn are behind it.
const KNOWN: u64 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_has_learned_all_know_and_nothing_else() {
        let one = Learned::new(1000);
        let other = one.clone();
        assert_eq!(other.get(7, 0), None);
        let seen = Translation { address: 0, port: 0 };
        one.note(7, 0, seen);
        assert_eq!(other.get(7, 0), Some(seen), "zeroes are a translation like others");
        let seen = Translation { address: u32::MAX, port: u16::MAX };
        other.note(7, 3, seen);
        assert_eq!(one.get(7, 3), Some(seen));
        assert_eq!((one.get(7, 0), one.get(7, 4)), (None, None), "that of another session");
        assert_eq!((one.get(6, 0), one.get(8, 0)), (None, None));
        one.note(1000, 0, seen);
        assert_eq!(one.get(1000, 0), None, "beyond the room");
    }
}
