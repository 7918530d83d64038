//! The two roles on a ring: which position is whose, and where the bytes of a descriptor are.
//!
//! The slave made the memory and knows its buffers by heart, so it never asks a descriptor where they
//! are. The master is told by descriptors, and checks each.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::breach::Breach;
use crate::region;
use crate::ring::{Descriptor, Ring};

/// A role.
pub trait Side {
    /// Frames that the peer has filled in from `next` on.
    ///
    /// # Errors
    /// When the peer's position cannot be.
    fn filled(ring: &Ring, next: u16) -> Result<u16, Breach>;

    /// Gives the places `from..to` of a ring that was read back to the peer.
    fn give_back(&self, ring: &Ring, from: u16, to: u16);

    /// Places that can be filled from `next` on.
    ///
    /// # Errors
    /// When the peer's position cannot be.
    fn free(ring: &Ring, next: u16) -> Result<u16, Breach>;

    /// Shows the peer everything before `next`.
    fn publish(ring: &Ring, next: u16);

    /// The buffer at a position of a ring to be filled: its region and its length.
    fn buffer(&self, ring: &Ring, position: u16) -> Descriptor;

    /// The address of the first `length` bytes of a descriptor that was read at a position.
    fn bytes(&self, ring: &Ring, position: u16, descriptor: &Descriptor) -> Option<NonNull<u8>>;

    /// An address for a prefetch, which may be any.
    fn guess(&self, ring: &Ring, position: u16) -> *const u8;
}

/// The slave's side of a ring: its own buffers, one for each place.
#[derive(Debug)]
pub struct Slave {
    first: NonNull<u8>,
    layout: Buffers,
}

/// How the slave's buffers of a ring lie in its region.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Where the first one starts.
    pub offset: u32,
    /// From one to the next.
    pub stride: u32,
    /// Bytes of a frame that one holds.
    pub length: u32,
}

/// The master's side of a ring: buffers wherever the slave says.
#[derive(Debug)]
pub struct Master;

// SAFETY: an address in regions that the ring beside it keeps; see Region.
unsafe impl Send for Slave {}

impl Slave {
    /// The buffers of a ring in region 0; writes them into its descriptors. None where they do not fit.
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

/// A distance between positions, if the ring is that large.
#[inline(always)]
fn within(distance: u16, ring: &Ring) -> Result<u16, Breach> {
    if distance <= ring.size() { Ok(distance) } else { Err(Breach::RingPosition) }
}
