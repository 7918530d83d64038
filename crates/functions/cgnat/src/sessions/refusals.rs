//! Who was refused most, and why: counts of subscribers in a fixed room.
//!
//! A subscriber's address leads to a row of eight places. One that is not there takes the place of
//! the one with the fewest refusals, and its count goes on from that one's (Metwally, Agrawal and
//! El Abbadi, "Efficient computation of frequent and top-k elements", 2005): a count is never too
//! low, and too high by as much as is told beside it. So whoever is refused more often than an
//! eighth of its row's refusals is there, however many others are refused once.

use packet::Reason;
use tables::hash::Keyed;

use crate::sessions::times::Moment;
use crate::types::flow::Inside;

/// The counts of a worker.
pub struct Refusals {
    entries: Box<[Entry]>,
}

/// What a subscriber was refused for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its address, as [`Inside::subscriber`] has it.
    pub address: [u64; 2],
    /// Its realm.
    pub realm: u16,
    /// Why.
    pub reason: Reason,
    /// How often, at most; 0 of a place that nobody has.
    pub count: u64,
    /// By how much that may be too high.
    pub over: u64,
    /// The last time.
    pub last: Moment,
}

impl Default for Refusals {
    /// None yet.
    fn default() -> Refusals {
        let none =
            Entry { address: [0; 2], realm: 0, reason: Reason(0), count: 0, over: 0, last: 0 };
        Refusals { entries: vec![none; ROWS * PLACES].into() }
    }
}

impl Refusals {
    /// The sender of a packet was refused something.
    pub fn note(&mut self, key: &Inside, keyed: &Keyed, reason: Reason, now: Moment) {
        let row = key.subscriber_hash(keyed) as usize % ROWS;
        let Some(row) = self.entries.chunks_exact_mut(PLACES).nth(row) else { return };
        let (address, realm) = (key.subscriber(), key.realm());
        let is_it = |one: &&mut Entry| {
            one.count > 0 && (one.address, one.realm, one.reason) == (address, realm, reason)
        };
        if let Some(known) = row.iter_mut().find(is_it) {
            (known.count, known.last) = (known.count + 1, now);
            return;
        }
        if let Some(least) = row.iter_mut().min_by_key(|one| one.count) {
            let over = least.count;
            *least = Entry { address, realm, reason, count: over + 1, over, last: now };
        }
    }

    /// All that there are, the most frequent first.
    pub fn most(&self) -> Vec<Entry> {
        let mut all: Vec<Entry> =
            self.entries.iter().copied().filter(|one| one.count > 0).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.count));
        all
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.entries.iter().filter(|one| one.count > 0).count()
    }

    /// How many there can be.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }
}

/// Rows, and places of each.
const ROWS: usize = 64;
const PLACES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasons::{BLOCK_LIMIT, SESSION_LIMIT};
    use crate::types::flow::Far;

    #[test]
    fn whoever_is_refused_often_is_found_among_very_many() {
        let keyed = Keyed::new([1, 2]);
        let of = |number: u32| Inside::ipv4(number, 5000, 0, Far::new(17, 1, 53));
        let mut refusals = Refusals::default();
        let bytes = refusals.bytes();
        // Three among a hundred thousand that are refused once each.
        for number in 0..100_000 {
            refusals.note(&of(1000 + number), &keyed, SESSION_LIMIT, number);
            if number % 10 == 0 {
                refusals.note(&of(7), &keyed, SESSION_LIMIT, number);
            }
            if number % 20 == 0 {
                refusals.note(&of(7), &keyed, BLOCK_LIMIT, number);
            }
        }
        assert_eq!((refusals.bytes(), refusals.count()), (bytes, refusals.capacity()));
        let most = refusals.most();
        let found: Vec<_> = most
            .iter()
            .filter(|one| one.address == of(7).subscriber())
            .map(|one| (one.reason, one.count - one.over..=one.count))
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        for (reason, range) in found {
            let right = if reason == SESSION_LIMIT { 10_000 } else { 5000 };
            assert!(range.contains(&right), "{reason:?}: {range:?}");
        }
        assert_eq!(most[0].address, of(7).subscriber(), "the most frequent comes first");
    }
}
