//! A ring in shared memory: positions and descriptors, each read or written as a whole.
//!
//! ```text
//! byte   0  cookie   4  flags   6  head  |  64  tail  |  128  descriptor 0, 1, 2 …
//! a descriptor:  flags(2) region(2) length(4)  offset(4) metadata(4)
//! ```
//! The slave owns the memory and moves `head`, the master moves `tail`. In the ring from slave to
//! master a descriptor between tail and head holds a frame; in the ring from master to slave it is
//! an empty buffer. All access is atomic, so a peer that writes at the wrong moment yields other
//! numbers, and numbers are checked where they are used.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::breach::Breach;
use crate::region::Regions;

/// First word of every ring.
pub const COOKIE: u32 = 0x3E3_1F20;

/// Flag: the frame continues in the next descriptor.
pub const FLAG_NEXT: u16 = 1;

/// Binary logarithm of the largest ring size: positions have 16 bits.
pub const RING_SIZE_LOG2_MAX: u8 = 14;

/// Returns the bytes of a ring with `size` descriptors.
pub const fn ring_bytes(size: u16) -> usize {
    DESCRIPTORS + size as usize * DESCRIPTOR_BYTES
}

/// A ring; keeps its memory mapped.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    size: u16,
    regions: Regions,
}

// SAFETY: a Ring is an address in regions that it keeps; all access is atomic.
unsafe impl Send for Ring {}

/// Contents of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// [`FLAG_NEXT`] or 0.
    pub flags: u16,
    /// Number of the region with the bytes.
    pub region: u16,
    /// Number of bytes.
    pub length: u32,
    /// Offset in the region, in bytes.
    pub offset: u32,
}

impl Ring {
    /// Returns the ring of `2^size_log2` descriptors at a place in the regions.
    ///
    /// # Errors
    /// When it is not within the region, not aligned, or of an unsupported size.
    pub fn at(regions: &Regions, region: u16, offset: u32, size_log2: u8) -> Result<Ring, Breach> {
        if size_log2 > RING_SIZE_LOG2_MAX {
            return Err(Breach::RingSize);
        }
        let size = 1u16 << size_log2;
        let bytes = ring_bytes(size) as u32;
        let start = crate::region::span(regions, region, offset, bytes);
        let start = start.ok_or(Breach::RingPlace)?;
        if !start.as_ptr().addr().is_multiple_of(align_of::<AtomicU64>()) {
            return Err(Breach::RingPlace);
        }
        Ok(Ring { start, size, regions: regions.clone() })
    }

    /// Returns the number of descriptors.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Returns the regions that the ring keeps mapped.
    #[inline(always)]
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Writes cookie and positions, as the slave does before it announces the ring.
    pub fn initialise(&self) {
        self.cookie().store(COOKIE, Ordering::Relaxed);
        self.flags().store(0, Ordering::Relaxed);
        self.head().store(0, Ordering::Relaxed);
        self.tail().store(0, Ordering::Release);
    }

    /// Returns true if the ring starts with the cookie.
    pub fn has_cookie(&self) -> bool {
        self.cookie().load(Ordering::Relaxed) == COOKIE
    }

    /// Tells the writer that the reader needs no interrupts.
    pub fn mask_interrupts(&self) {
        self.flags().store(FLAG_MASK_INTERRUPTS, Ordering::Relaxed);
    }

    /// Returns the slave's position.
    #[inline(always)]
    pub fn head(&self) -> &AtomicU16 {
        // SAFETY: the ring's first 128 bytes lie in memory that self keeps mapped, aligned to eight
        // bytes (checked in `at`); other processes access it atomically or get what they deserve.
        unsafe { AtomicU16::from_ptr(self.start.add(6).as_ptr().cast()) }
    }

    /// Returns the master's position.
    #[inline(always)]
    pub fn tail(&self) -> &AtomicU16 {
        // SAFETY: as for head.
        unsafe { AtomicU16::from_ptr(self.start.add(64).as_ptr().cast()) }
    }

    fn flags(&self) -> &AtomicU16 {
        // SAFETY: as for head.
        unsafe { AtomicU16::from_ptr(self.start.add(4).as_ptr().cast()) }
    }

    fn cookie(&self) -> &AtomicU32 {
        // SAFETY: as for head.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().cast()) }
    }

    /// Returns the two words of the descriptor at a position, which may be any number.
    #[inline(always)]
    fn words(&self, position: u16) -> &[AtomicU64; 2] {
        let place = usize::from(position & (self.size - 1));
        // SAFETY: the place is below the ring's size, so its descriptor lies within the mapped
        // ring; alignment as for head.
        unsafe { self.start.add(DESCRIPTORS + place * DESCRIPTOR_BYTES).cast().as_ref() }
    }

    /// Reads the descriptor at a position, once.
    #[inline(always)]
    pub fn descriptor(&self, position: u16) -> Descriptor {
        let [first, second] = self.words(position).each_ref().map(|w| w.load(Ordering::Relaxed));
        let (first, second) = (u64::from_le(first), u64::from_le(second));
        Descriptor {
            flags: first as u16,
            region: (first >> 16) as u16,
            length: (first >> 32) as u32,
            offset: second as u32,
        }
    }

    /// Writes flags, region and length of the descriptor at a position.
    #[inline(always)]
    pub fn describe(&self, position: u16, flags: u16, region: u16, length: u32) {
        let word = u64::from(flags) | u64::from(region) << 16 | u64::from(length) << 32;
        self.words(position)[0].store(word.to_le(), Ordering::Relaxed);
    }

    /// Writes the offset of the descriptor at a position.
    pub fn locate(&self, position: u16, offset: u32) {
        self.words(position)[1].store(u64::from(offset).to_le(), Ordering::Relaxed);
    }
}

const DESCRIPTORS: usize = 128;
const DESCRIPTOR_BYTES: usize = 16;

/// Flag of a ring: its reader polls.
const FLAG_MASK_INTERRUPTS: u16 = 1;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::region::Region;

    #[test]
    fn rings_lie_whole_and_aligned_in_their_region() {
        let len = ring_bytes(16) + 8;
        let regions: Regions = Arc::new([Region::create(len).expect("memory").0]);
        for (region, offset, size_log2, expected) in [
            (0, 0, 4, None),
            (0, 8, 4, None),
            (0, 16, 4, Some(Breach::RingPlace)),
            (0, 4, 4, Some(Breach::RingPlace)),
            (0, 3, 2, Some(Breach::RingPlace)),
            (0, u32::MAX - 7, 4, Some(Breach::RingPlace)),
            (1, 0, 4, Some(Breach::RingPlace)),
            (0, 0, 5, Some(Breach::RingPlace)),
            (0, 0, 15, Some(Breach::RingSize)),
            (0, 0, 255, Some(Breach::RingSize)),
        ] {
            let ring = Ring::at(&regions, region, offset, size_log2);
            assert_eq!(ring.err(), expected, "region {region} offset {offset} size {size_log2}");
        }
    }

    #[test]
    fn descriptors_are_read_as_written_at_any_position() {
        let regions: Regions = Arc::new([Region::create(ring_bytes(8)).expect("memory").0]);
        let ring = Ring::at(&regions, 0, 0, 3).expect("it fits");
        assert!(!ring.has_cookie());
        ring.initialise();
        assert!(ring.has_cookie());
        ring.locate(65_535, 77);
        ring.describe(65_535, FLAG_NEXT, 3, 1500);
        let expected = Descriptor { flags: FLAG_NEXT, region: 3, length: 1500, offset: 77 };
        assert_eq!(ring.descriptor(7), expected);
    }
}
