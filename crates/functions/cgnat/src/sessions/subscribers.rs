//! The subscribers of a worker: who has which address and blocks, and how many sessions.

use std::io;

use machine::memory::{HugeArray, prefetch_at};
use tables::hash::Keyed;
use tables::tagged::Tagged;
use zerocopy::FromZeros;

use crate::types::flow::Inside;

/// Most blocks of a subscriber.
pub const BLOCKS_MAX: usize = 8;

/// A subscriber, in one cache line.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Subscriber {
    /// Its address, as [`Inside::subscriber`] has it.
    pub address: [u64; 2],
    /// Its realm.
    pub realm: u16,
    /// How many of `blocks` it has.
    pub block_count: u8,
    /// Whether its outside address is chosen.
    pub is_paired: bool,
    /// The number of its outside address.
    pub outside: u32,
    /// Its sessions at present.
    pub sessions: u32,
    /// Its mappings at present.
    pub mappings: u32,
    /// Its blocks.
    pub blocks: [u32; BLOCKS_MAX],
}

const _: () = assert!(size_of::<Subscriber>() == 64);

/// All subscribers that have a session.
pub struct Subscribers {
    /// By number.
    pub records: HugeArray<Subscriber>,
    by_address: Tagged,
    free: Vec<u32>,
    fresh: u32,
}

impl Subscribers {
    /// Room for so many.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(capacity: u32) -> io::Result<Subscribers> {
        Ok(Subscribers {
            records: HugeArray::zeroed(capacity as usize)?,
            by_address: Tagged::with_capacity(capacity as usize)?,
            free: Vec::with_capacity(capacity as usize),
            fresh: 0,
        })
    }

    /// The number of the subscriber that sends a packet.
    #[inline]
    pub fn find(&self, key: &Inside, keyed: &Keyed) -> Option<u32> {
        self.by_address.find(key.subscriber_hash(keyed), |number| {
            let one = &self.records[number as usize];
            one.address == key.subscriber() && one.realm == key.realm()
        })
    }

    /// The number that the sender of a packet likely has; its record is asked for.
    #[inline]
    pub fn candidate(&self, key: &Inside, keyed: &Keyed) -> Option<u32> {
        let number = self.by_address.candidate(key.subscriber_hash(keyed))?;
        prefetch_at(&self.records, number as usize);
        Some(number)
    }

    /// Asks for what [`Self::find`] reads first.
    #[inline]
    pub fn prefetch(&self, key: &Inside, keyed: &Keyed) {
        self.by_address.prefetch(key.subscriber_hash(keyed));
    }

    /// Adds a subscriber that is not there; none where there is no room.
    pub fn add(&mut self, key: &Inside, keyed: &Keyed) -> Option<u32> {
        let number = match self.free.last() {
            Some(&number) => number,
            None => Some(self.fresh).filter(|&fresh| (fresh as usize) < self.records.len())?,
        };
        self.by_address.insert(key.subscriber_hash(keyed), number).ok()?;
        if self.free.pop().is_none() {
            self.fresh += 1;
        }
        self.records[number as usize] = Subscriber {
            address: key.subscriber(),
            realm: key.realm(),
            ..Subscriber::new_zeroed()
        };
        Some(number)
    }

    /// Forgets a subscriber without sessions.
    pub fn remove(&mut self, number: u32, keyed: &Keyed) {
        let one = &self.records[number as usize];
        let near = u32::from(one.realm);
        let key = Inside { address: one.address, near, ..Inside::default() };
        self.by_address.remove(key.subscriber_hash(keyed), number);
        self.records[number as usize] = Subscriber::new_zeroed();
        self.free.push(number);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.by_address.len()
    }

    /// Numbers that were ever used.
    pub fn used(&self) -> u32 {
        self.fresh
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.records.len() * (size_of::<Subscriber>() + size_of::<u32>()) + self.by_address.bytes()
    }
}
