//! An index of numbers whose keys lie elsewhere: in records of the caller, which the numbers name.
//!
//! Of a key the index holds only a tag, 15 bits of a 64-bit hash that the caller computed. So it
//! takes 9.6 bytes an entry whatever a key is, and tells a number that is right or, seldom,
//! another's: the caller looks at the record, which it needs anyway.
//!
//! ```text
//!  hash ── upper 32 bits, multiply-shift ──► home bucket (one cache line: 10 tags, 10 numbers)
//!      └── lowest 15 bits ──► tag                 │ full when the entry came?
//!                                                 ▼
//!                                    other bucket = f(tag) - home, which leads back in the same way
//! ```
//! An entry is in its home or, when that was full, in its other bucket; when both were full, others
//! are moved to theirs (cuckoo hashing with partial keys: Fan and others, "Cuckoo Filter:
//! Practically Better Than Bloom", CoNEXT 2014). A home counts its entries that are away, by three
//! bits of the tag, so a new key is nearly always known to be new from its home alone.
//!
//! At capacity two thirds of the slots are used. In thousandths, when a table was filled and,
//! behind the comma, after all entries have come and gone twice (`tagged/tests.rs` measures it):
//!
//! | slots used | bytes an entry | entries not in their home | new keys that cost a second cache line |
//! |---|---|---|---|
//! | 50 % | 12.8 | 4, 18 | 2, 10 |
//! | 60 % | 10.7 | 12, 41 | 8, 28 |
//! | 67 % | 9.6 | 24, 62 | 18, 47 |
//! | 75 % | 8.5 | 43, 91 | 36, 76 |
//! | 80 % | 8.0 | 60, 111 | 53, 98 |
//!
//! Who has memory makes it for more entries than there will be. Of the upper 32 bits of a hash and
//! of its lowest 15 all are used; those between them are not.
//!
//! A data path asks in three steps, so that the memory accesses of a batch overlap:
//! [`Tagged::prefetch`] for every hash; [`Tagged::candidate`] for every hash, and a prefetch of the
//! caller's record; then, where the record is not of this key or there was no candidate,
//! [`Tagged::find`].
//!
//! Guarantees: memory is taken at creation and never grows; a look-up never writes and meets at
//! most two cache lines; an insertion looks at no more than 332; whatever hashes come, nothing
//! loops. An entry that is refused changes nothing.
//!
//! It deliberately does not: know keys, so it takes one twice if asked to; resize; hold `u32::MAX`
//! (it means "no number"); share between threads. More than 20 entries of the same hash are
//! refused, and keys that others choose need a hash that they do not know ([`crate::hash::Keyed`]).

mod bucket;
mod room;

use std::io;

use machine::memory::{HugeArray, prefetch_at};

use bucket::{AWAY, AWAY_MAX, Bucket, SLOTS, TAG, VACANT};

/// A fixed-capacity index by hashes; see the module's text.
#[derive(Debug)]
pub struct Tagged {
    /// An even number of them, which [`Tagged::other`] needs.
    buckets: HugeArray<Bucket>,
    len: usize,
    capacity: usize,
}

/// There is no place for one more entry; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no place for one more entry: {len} are held, the index was made for {capacity}, and at most 20 \
     of one hash"
)]
pub struct Full {
    /// Entries held.
    pub len: usize,
    /// Entries the index was made for.
    pub capacity: usize,
}

impl Tagged {
    /// An index for `entries` entries, every page of it touched.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory; `InvalidInput` above `u32::MAX` entries.
    pub fn with_capacity(entries: usize) -> io::Result<Tagged> {
        if u32::try_from(entries).is_err() {
            let text = format!("an index of {entries} entries; the most is {}", u32::MAX);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let buckets = (3 * entries).div_ceil(2 * SLOTS).next_multiple_of(2).max(2);
        Ok(Tagged { buckets: HugeArray::zeroed(buckets)?, len: 0, capacity: entries })
    }

    /// First step of a batch: asks the processor to fetch the home of `hash`.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch_at(&self.buckets, self.home(hash));
    }

    /// Second step: the number that the tag points to at home, from this one cache line.
    ///
    /// It may be another key's, and where two tags are equal it is the bitwise "and" of both
    /// numbers; so it is never larger than all numbers held. None, or a number that proves wrong,
    /// does not mean that the key is not held: [`Tagged::find`] knows.
    #[inline(always)]
    pub fn candidate(&self, hash: u64) -> Option<u32> {
        let found = self.buckets[self.home(hash)].find(tag(hash));
        (found != VACANT).then_some(!found)
    }

    /// Whether an entry of `hash` may be in another bucket than its home. If not, and there is no
    /// candidate, the key is not held.
    #[inline(always)]
    pub fn may_be_elsewhere(&self, hash: u64) -> bool {
        self.buckets[self.home(hash)].away(tag(hash)) > 0
    }

    /// Asks the processor to fetch the other bucket of `hash`.
    #[inline(always)]
    pub fn prefetch_elsewhere(&self, hash: u64) {
        prefetch_at(&self.buckets, self.other(self.home(hash), tag(hash)));
    }

    /// As [`Tagged::candidate`], of the other bucket: for keys that have none at home but
    /// [`Tagged::may_be_elsewhere`].
    #[inline(always)]
    pub fn candidate_elsewhere(&self, hash: u64) -> Option<u32> {
        let tag = tag(hash);
        let found = self.buckets[self.other(self.home(hash), tag)].find(tag | AWAY);
        (found != VACANT).then_some(!found)
    }

    /// The number under `hash` that `is` says is the right one, of all that the tag points to.
    ///
    /// It looks at the home alone unless [`Tagged::may_be_elsewhere`].
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (home, tag) = (self.home(hash), tag(hash));
        let bucket = &self.buckets[home];
        bucket.numbers(tag).find(|&number| is(number)).or_else(|| {
            if bucket.away(tag) == 0 {
                return None;
            }
            let other = &self.buckets[self.other(home, tag)];
            other.numbers(tag | AWAY).find(|&number| is(number))
        })
    }

    /// Adds an entry, whether or not the same is held.
    ///
    /// # Errors
    /// [`Full`] at capacity, and when no place was found. That is always so with more than 20
    /// entries of one hash, and does not happen with hashes that are spread evenly.
    ///
    /// # Panics
    /// When `number` is `u32::MAX`, which means "no number".
    pub fn insert(&mut self, hash: u64, number: u32) -> Result<(), Full> {
        assert_ne!(number, u32::MAX, "u32::MAX means no number");
        let full = Full { len: self.len, capacity: self.capacity };
        if self.len == self.capacity {
            return Err(full);
        }
        let (home, tag) = (self.home(hash), tag(hash));
        let (at, slot) = match self.buckets[home].vacant() {
            Some(slot) => (home, slot),
            None => self.choose(home, tag).ok_or(full)?,
        };
        if at == home {
            self.buckets[at].set(slot, tag, number);
        } else {
            self.buckets[at].set(slot, tag | AWAY, number);
            self.buckets[home].note_leaving(tag);
        }
        self.len += 1;
        Ok(())
    }

    /// The bucket and the slot for an entry whose home is full: its home after all, its other
    /// bucket, or that of both in which room could be made.
    #[cold]
    fn choose(&mut self, home: usize, tag: u16) -> Option<(usize, usize)> {
        let other = self.other(home, tag);
        let bucket = if self.send_home(home) {
            home
        } else if self.buckets[home].away(tag) == AWAY_MAX {
            self.make_room(&[home])?
        } else if self.buckets[other].vacant().is_some() {
            other
        } else {
            self.make_room(&[home, other])?
        };
        Some((bucket, self.buckets[bucket].vacant()?))
    }

    /// Removes an entry; whether it was held.
    ///
    /// A number of one hash must not be removed or replaced under another: where home and tag of
    /// the two are equal, that succeeds.
    pub fn remove(&mut self, hash: u64, number: u32) -> bool {
        let Some((at, slot)) = self.position(hash, number) else {
            return false;
        };
        let home = self.home(hash);
        if at != home {
            self.buckets[home].note_return(tag(hash));
        }
        self.buckets[at].vacate(slot);
        self.len -= 1;
        true
    }

    /// Gives an entry another number; whether the entry was held.
    ///
    /// # Panics
    /// When `new` is `u32::MAX`, which means "no number".
    pub fn replace(&mut self, hash: u64, old: u32, new: u32) -> bool {
        assert_ne!(new, u32::MAX, "u32::MAX means no number");
        let Some((at, slot)) = self.position(hash, old) else {
            return false;
        };
        let mark = if at == self.home(hash) { tag(hash) } else { tag(hash) | AWAY };
        self.buckets[at].set(slot, mark, new);
        true
    }

    /// The bucket and the slot of an entry.
    fn position(&self, hash: u64, number: u32) -> Option<(usize, usize)> {
        if number == u32::MAX {
            return None;
        }
        let (home, tag) = (self.home(hash), tag(hash));
        let bucket = &self.buckets[home];
        if let Some(slot) = bucket.position(tag, number) {
            return Some((home, slot));
        }
        if bucket.away(tag) == 0 {
            return None;
        }
        let other = self.other(home, tag);
        Some((other, self.buckets[other].position(tag | AWAY, number)?))
    }

    /// Entries held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries this index was made for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of the buckets; the mapping is rounded up to 2 MiB.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// The first bucket of a hash.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        // Maps 0..2^32 evenly to 0..buckets; the product is below 2^64 as there are fewer than
        // 2^32.
        (((hash >> 32) * self.buckets.len() as u64) >> 32) as usize
    }

    /// The second bucket of an entry that could be in `bucket`: from each of the two it leads to
    /// the other. It is never `bucket` itself, because of an even number of buckets one is odd and
    /// one even.
    fn other(&self, bucket: usize, tag: u16) -> usize {
        let buckets = self.buckets.len();
        let spread = u64::from(u32::from(tag).wrapping_mul(0x9e37_79b1));
        let sum = 2 * ((spread * (buckets as u64 / 2)) >> 32) as usize + 1;
        if sum >= bucket { sum - bucket } else { sum + buckets - bucket }
    }
}

/// What an entry keeps of its hash.
#[inline(always)]
fn tag(hash: u64) -> u16 {
    hash as u16 & TAG
}

#[cfg(test)]
mod tests;
