//! The driver's side of a ring: what a virtual machine would do, done here in order to talk to a
//! device in another process.
//!
//! Guarantees: a descriptor belongs to one buffer for ever and is never read back; what the device
//! says it used is judged against a private record before any byte is touched. The memory belongs
//! to one connection: a device that has gone sees nothing of the next one's frames.

mod receive;
mod ring;
#[cfg(test)]
mod tests;
mod transmit;

use std::sync::Arc;

pub use self::receive::Receiving;
use self::ring::Ring;
pub use self::ring::Terms;
pub use self::transmit::Transmitting;
use crate::header::HEADER_BYTES_MAX;
use crate::layout::{Addresses, Layout, LayoutError, NO_NOTIFICATION, parts};
use crate::memory::{Memory, MemoryError, Region};

/// Memory for all rings of a connection and their buffers, shared with a device.
pub struct Arena {
    /// The memory as mapped in this process.
    pub memory: Arc<Memory>,
    /// The file that is passed to the device.
    pub file: std::fs::File,
    plan: Plan,
}

/// Layout of an arena: rings first, then the buffers of each ring.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of pairs of rings; even rings receive, odd rings transmit.
    pub pairs: usize,
    /// Number of descriptors, and of buffers, of each ring.
    pub size: u16,
    /// Size of a receive buffer in bytes, including the header.
    pub receive_bytes: usize,
    /// Size of a transmit buffer in bytes, including the header.
    pub transmit_bytes: usize,
}

impl Plan {
    fn receives(ring: usize) -> bool {
        ring.is_multiple_of(2)
    }

    /// Returns the distance between buffers of a ring in bytes: an odd number of cache lines, so
    /// that headers are spread over the sets of the cache.
    fn stride(&self, ring: usize) -> usize {
        let room = if Plan::receives(ring) { self.receive_bytes } else { self.transmit_bytes };
        (room.max(HEADER_BYTES_MAX).div_ceil(LINE) | 1) * LINE
    }

    /// Returns the offsets of the three parts of a ring, and the size of the ring in bytes.
    fn ring(&self) -> ([usize; 3], usize) {
        let mut end = 0;
        let starts = parts(self.size).map(|(bytes, _)| {
            let start = end;
            end = (end + bytes).next_multiple_of(2 * LINE);
            start
        });
        (starts, end.next_multiple_of(PAGE))
    }

    /// Returns the offset of a ring's buffers; for the ring after the last one, the end of the
    /// arena.
    fn buffers(&self, ring: usize) -> usize {
        let before = (0..ring).map(|ring| self.stride(ring) * usize::from(self.size));
        2 * self.pairs * self.ring().1 + before.sum::<usize>()
    }

    fn bytes(&self) -> usize {
        self.buffers(2 * self.pairs).next_multiple_of(PAGE)
    }
}

impl Arena {
    /// Creates zeroed memory, sealed against truncation.
    ///
    /// # Errors
    /// When the kernel has no memory.
    pub fn new(plan: Plan) -> Result<Arena, MemoryError> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        let failed = |error: std::io::Error| MemoryError::Map(error.to_string());
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("plumbline-vhost-user", flags).map_err(|e| failed(e.into()))?;
        let bytes = plan.bytes() as u64;
        ftruncate(&file, bytes).map_err(|error| failed(error.into()))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(|error| failed(error.into()))?;
        let file = std::fs::File::from(file);
        let mapped = file.try_clone().map_err(failed)?;
        let region = Region::map(mapped, 0, bytes, GUEST_START, USER_START)?;
        Ok(Arena { memory: Memory::new(vec![region])?, file, plan })
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.plan.bytes() as u64
    }

    /// Returns the addresses of a ring's parts, as addresses of this process for the device.
    pub fn addresses(&self, ring: usize) -> Addresses {
        let (starts, bytes) = self.plan.ring();
        let [descriptors, available, used] =
            starts.map(|start| USER_START + (ring * bytes + start) as u64);
        Addresses { descriptors, available, used }
    }

    fn ring(&self, ring: usize, terms: Terms) -> Result<Ring, LayoutError> {
        let size = self.plan.size;
        let layout = Layout::new(&self.memory, size.into(), self.addresses(ring))?;
        let stride = self.plan.stride(ring);
        let start = self.plan.buffers(ring);
        let guest = GUEST_START + start as u64;
        let len = (stride * usize::from(size)) as u32;
        let buffers = self.memory.find(&mut 0, guest, len).ok_or(LayoutError::Place("buffers"))?;
        layout.set_available_flags(NO_NOTIFICATION);
        if terms.event_index {
            // As far away as can be: the device wakes nobody but once in 65,536 buffers.
            layout.set_used_event(u16::MAX);
        }
        Ok(Ring {
            layout,
            buffers,
            guest,
            stride,
            given: vec![false; usize::from(size)],
            used: 0,
            available: 0,
            terms,
            broken: None,
        })
    }

    /// Returns the receive ring of a pair, with all its buffers available to the device.
    ///
    /// # Errors
    /// When the layout has no such ring.
    pub fn receiving(&self, pair: usize, terms: Terms) -> Result<Receiving, LayoutError> {
        Ok(Receiving::new(self.ring(2 * pair, terms)?, self.plan.receive_bytes))
    }

    /// Returns the transmit ring of a pair.
    ///
    /// # Errors
    /// When the layout has no such ring.
    pub fn transmitting(&self, pair: usize, terms: Terms) -> Result<Transmitting, LayoutError> {
        Ok(Transmitting::new(self.ring(2 * pair + 1, terms)?, self.plan.transmit_bytes))
    }
}

/// Guest address of the arena.
pub const GUEST_START: u64 = 1 << 32;

/// Address of the arena in this process as told to the device; a name only, not a real address.
pub const USER_START: u64 = 1 << 40;

const LINE: usize = 64;
const PAGE: usize = 4096;
