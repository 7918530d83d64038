//! The two roles on a ring: which position is whose, and where the bytes of a descriptor are.
//!
//! The slave made the memory and knows its buffers by heart, so it never asks a descriptor where
//! they are. The master is told by descriptors, and checks each.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::breach::Breach;
use crate::region;
use crate::ring::{Descriptor, Ring};

/// Operations that differ between master and slave.
pub trait Side {
    /// Returns the number of frames that the peer has written from `next`.
    ///
    /// # Errors
    /// When the peer's position is invalid.
    fn filled(ring: &Ring, next: u16) -> Result<u16, Breach>;

    /// Returns the places `from..to` of a ring that was read to the peer.
    fn give_back(&self, ring: &Ring, from: u16, to: u16);

    /// Returns the number of places that can be written from `next`.
    ///
    /// # Errors
    /// When the peer's position is invalid.
    fn free(ring: &Ring, next: u16) -> Result<u16, Breach>;

    /// Makes all places before `next` visible to the peer.
    fn publish(ring: &Ring, next: u16);

    /// Returns the buffer to write at a position: its region and its length.
    fn buffer(&self, ring: &Ring, position: u16) -> Descriptor;

    /// Returns the address of the first `length` bytes of a descriptor that was read at a position.
    fn bytes(&self, ring: &Ring, position: u16, descriptor: &Descriptor) -> Option<NonNull<u8>>;

    /// Returns an address to prefetch; it may be any.
    fn guess(&self, ring: &Ring, position: u16) -> *const u8;
}

/// The slave's side of a ring: its own buffers, one for each place.
#[derive(Debug)]
pub struct Slave {
    first: NonNull<u8>,
    layout: Buffers,
}

/// Layout of the slave's buffers of a ring in its region.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Offset of the first buffer in bytes.
    pub offset: u32,
    /// Distance between buffers in bytes.
    pub stride: u32,
    /// Bytes of a frame that fit into one buffer.
    pub length: u32,
}

/// The master's side of a ring: buffers at addresses that the slave determines.
#[derive(Debug)]
pub struct Master;

// SAFETY: an address in regions that the ring beside it keeps; see Region.
unsafe impl Send for Slave {}

impl Slave {
    /// Creates the buffers of a ring in region 0 and writes them into its descriptors; `None` if
    /// they do not fit.
    pub fn new(ring: &Ring, layout: Buffers) -> Option<Slave> {
        let bytes = u32::from(ring.size()).checked_mul(layout.stride)?;
        if layout.length > layout.stride {
            return None;
        }
        let first = region::span(ring.regions(), 0, layout.offset, bytes)?;
        for place in 0..ring.size() {
            ring.locate(place, layout.offset + u32::from(place) * layout.stride);
            ring.describe(place, 0, 0, layout.length);
        }
        Some(Slave { first, layout })
    }

    #[inline(always)]
    fn place(&self, ring: &Ring, position: u16) -> NonNull<u8> {
        let place = usize::from(position & (ring.size() - 1));
        // SAFETY: `new` saw that a stride for each place of the ring lies within the region.
        unsafe { self.first.add(place * self.layout.stride as usize) }
    }
}

impl Side for Slave {
    #[inline(always)]
    fn filled(ring: &Ring, next: u16) -> Result<u16, Breach> {
        within(ring.tail().load(Ordering::Acquire).wrapping_sub(next), ring)
    }

    #[inline(always)]
    fn give_back(&self, ring: &Ring, from: u16, to: u16) {
        let mut position = from;
        while position != to {
            ring.describe(position, 0, 0, self.layout.length);
            position = position.wrapping_add(1);
        }
        ring.head().store(to.wrapping_add(ring.size()), Ordering::Release);
    }

    #[inline(always)]
    fn free(ring: &Ring, next: u16) -> Result<u16, Breach> {
        let used = within(next.wrapping_sub(ring.tail().load(Ordering::Acquire)), ring)?;
        Ok(ring.size() - used)
    }

    #[inline(always)]
    fn publish(ring: &Ring, next: u16) {
        ring.head().store(next, Ordering::Release);
    }

    #[inline(always)]
    fn buffer(&self, _: &Ring, _: u16) -> Descriptor {
        Descriptor { flags: 0, region: 0, length: self.layout.length, offset: 0 }
    }

    #[inline(always)]
    fn bytes(&self, ring: &Ring, position: u16, descriptor: &Descriptor) -> Option<NonNull<u8>> {
        (descriptor.length <= self.layout.length).then(|| self.place(ring, position))
    }

    #[inline(always)]
    fn guess(&self, ring: &Ring, position: u16) -> *const u8 {
        self.place(ring, position).as_ptr()
    }
}

impl Side for Master {
    #[inline(always)]
    fn filled(ring: &Ring, next: u16) -> Result<u16, Breach> {
        within(ring.head().load(Ordering::Acquire).wrapping_sub(next), ring)
    }

    #[inline(always)]
    fn give_back(&self, ring: &Ring, _: u16, to: u16) {
        ring.tail().store(to, Ordering::Release);
    }

    #[inline(always)]
    fn free(ring: &Ring, next: u16) -> Result<u16, Breach> {
        within(ring.head().load(Ordering::Acquire).wrapping_sub(next), ring)
    }

    #[inline(always)]
    fn publish(ring: &Ring, next: u16) {
        ring.tail().store(next, Ordering::Release);
    }

    #[inline(always)]
    fn buffer(&self, ring: &Ring, position: u16) -> Descriptor {
        ring.descriptor(position)
    }

    #[inline(always)]
    fn bytes(&self, ring: &Ring, _: u16, descriptor: &Descriptor) -> Option<NonNull<u8>> {
        let Descriptor { region, offset, length, .. } = *descriptor;
        region::span(ring.regions(), region, offset, length)
    }

    #[inline(always)]
    fn guess(&self, ring: &Ring, position: u16) -> *const u8 {
        let Descriptor { region, offset, .. } = ring.descriptor(position);
        let start = region::span(ring.regions(), region, offset, 0);
        start.map_or(std::ptr::null(), |start| start.as_ptr())
    }
}

/// Returns a distance between positions, if it is at most the size of the ring.
#[inline(always)]
fn within(distance: u16, ring: &Ring) -> Result<u16, Breach> {
    if distance <= ring.size() { Ok(distance) } else { Err(Breach::RingPosition) }
}
