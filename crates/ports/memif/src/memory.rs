//! The slave's memory: rings first, then a buffer for each place of each ring.
//!
//! ```text
//! region 0: | ring s2m 0 | ring s2m 1 … | ring m2s 0 … | buffers of s2m 0 | … | buffers of m2s 0 …
//! ```
//! Buffers stand an odd number of cache lines apart, so that their headers spread over all sets of
//! a cache. Each ring starts on a cache line of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::message::AddRing;
use crate::region::{Region, Regions};
use crate::ring::{Ring, ring_bytes};
use crate::side::{Buffers, Slave};

/// Rings and buffers of a connection, created by the slave.
#[derive(Debug)]
pub struct Memory {
    regions: Regions,
    bytes: u64,
    size_log2: u8,
    s2m: Vec<(AddRing, Buffers)>,
    m2s: Vec<(AddRing, Buffers)>,
}

/// A ring with the slave's buffers.
pub type Furnished = (Ring, Slave);

impl Memory {
    /// Creates and initialises this number of rings in each direction; also returns the descriptor
    /// for the master.
    ///
    /// # Errors
    /// When the kernel has no memory, or the size exceeds what descriptors can address.
    pub fn create(
        s2m: u16,
        m2s: u16,
        size_log2: u8,
        buffer_bytes: u32,
    ) -> io::Result<(Memory, OwnedFd)> {
        let rings = u64::from(s2m) + u64::from(m2s);
        let ring_stride = ring_bytes(1 << size_log2).next_multiple_of(CACHE_LINE) as u64;
        let stride = (u64::from(buffer_bytes).div_ceil(CACHE_LINE as u64) | 1) * CACHE_LINE as u64;
        let of_ring = stride << size_log2;
        let first_buffer = (rings * ring_stride).next_multiple_of(PAGE);
        let bytes = first_buffer + rings * of_ring;
        if bytes > u64::from(u32::MAX) {
            return Err(io::Error::other("rings and buffers exceed 4 GiB"));
        }
        let place = |number: u64, index: u16, is_s2m| {
            let ring = AddRing {
                is_s2m,
                index,
                region: 0,
                offset: (number * ring_stride) as u32,
                size_log2,
                private_header_bytes: 0,
            };
            let offset = (first_buffer + number * of_ring) as u32;
            (ring, Buffers { offset, stride: stride as u32, length: buffer_bytes })
        };
        let (region, shared) = Region::create(bytes as usize)?;
        let memory = Memory {
            regions: Arc::new([region]),
            bytes,
            size_log2,
            s2m: (0..s2m).map(|index| place(u64::from(index), index, true)).collect(),
            m2s: (0..m2s).map(|index| place(u64::from(s2m + index), index, false)).collect(),
        };
        for place in memory.s2m.iter().chain(&memory.m2s) {
            let furnished = memory.furnish(place);
            let (ring, _) = furnished.ok_or_else(|| io::Error::other("a ring does not fit"))?;
            ring.initialise();
        }
        Ok((memory, shared))
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the places of the rings, in the order of the messages.
    pub fn places(&self) -> Vec<AddRing> {
        self.s2m.iter().chain(&self.m2s).map(|(ring, _)| *ring).collect()
    }

    /// Returns the rings of each queue: to the master and from the master.
    pub fn into_pairs(self) -> impl Iterator<Item = (Option<Furnished>, Option<Furnished>)> {
        let queues = self.s2m.len().max(self.m2s.len());
        (0..queues).map(move |queue| {
            let furnish =
                |rings: &[(AddRing, Buffers)]| rings.get(queue).and_then(|ring| self.furnish(ring));
            (furnish(&self.s2m), furnish(&self.m2s))
        })
    }

    /// Writes the buffers of a ring into its descriptors.
    fn furnish(&self, (place, buffers): &(AddRing, Buffers)) -> Option<Furnished> {
        let ring = Ring::at(&self.regions, place.region, place.offset, self.size_log2).ok()?;
        let side = Slave::new(&ring, *buffers)?;
        Some((ring, side))
    }
}

const CACHE_LINE: usize = 64;
const PAGE: u64 = 4096;
