//! What clients were given, by subscriber. Workloads of several threads share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::memory::HugeArray;

/// Addresses and prefixes of all subscribers, 40 bytes each.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    words: Arc<HugeArray<AtomicU64>>,
}

/// What one subscriber was given; 0 for what it was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// Its session of PPPoE.
    pub pppoe: u16,
    /// Its IPv4 address.
    pub ipv4: u32,
    /// Its address by DHCPv6.
    pub na: u128,
    /// The prefix that is delegated to it.
    pub delegated: u128,
}

impl Given {
    /// Room for so many subscribers, of whose memory only what is used is taken; nothing can be
    /// noted where the machine has no such room.
    pub fn new(subscribers: u32) -> Given {
        let len = subscribers as usize * WORDS;
        Given { words: Arc::new(HugeArray::reserve(len).unwrap_or_default()) }
    }

    #[inline(always)]
    pub fn get(&self, subscriber: u32) -> Addresses {
        let at = subscriber as usize * WORDS;
        let word = |place: usize| {
            self.words.get(at + place).map_or(0, |word: &AtomicU64| word.load(Ordering::Relaxed))
        };
        let wide = |place| u128::from(word(place)) << 64 | u128::from(word(place + 1));
        let first = word(0);
        Addresses {
            pppoe: (first >> 32) as u16,
            ipv4: first as u32,
            na: wide(1),
            delegated: wide(3),
        }
    }

    /// Notes what a subscriber was given; each is written by the thread that plays its client.
    pub fn note(&self, subscriber: u32, given: Addresses) {
        let wide = |value: u128| [(value >> 64) as u64, value as u64];
        let ([a, b], [c, d]) = (wide(given.na), wide(given.delegated));
        let at = subscriber as usize * WORDS;
        let first = u64::from(given.pppoe) << 32 | u64::from(given.ipv4);
        for (place, value) in [first, a, b, c, d].into_iter().enumerate() {
            if let Some(word) = self.words.get(at + place) {
                word.store(value, Ordering::Relaxed);
            }
        }
    }
}

const WORDS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_notes_all_know_of_this_subscriber_alone() {
        let one = Given::new(3);
        let other = one.clone();
        let given =
            Addresses { pppoe: 0xfffe, ipv4: u32::MAX, na: u128::MAX - 1, delegated: 1 << 100 | 3 };
        one.note(2, given);
        assert_eq!((other.get(2), other.get(1)), (given, Addresses::default()));
        one.note(3, given);
        assert_eq!(other.get(3), Addresses::default(), "beyond the room");
    }
}
