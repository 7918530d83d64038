//! The split virtqueue as both sides see it (Virtio 1.2, section 2.7).
//!
//! ```text
//! descriptors   size x { addr u64, len u32, flags u16, next u16 }       written by the driver
//! available     flags u16, idx u16, size x head u16, used_event u16     written by the driver
//! used          flags u16, idx u16, size x { id u32, len u32 }, avail_event u16   by the device
//! ```
//! Guarantees: every access lies within the three areas, whatever the other side writes there;
//! each value is read once, and only that copy is judged and used. Slots are taken modulo the size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};

use crate::memory::Memory;

/// A descriptor, as the driver writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// Guest address of the buffer.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
    /// Flags [`NEXT`], [`WRITE`], [`INDIRECT`].
    pub flags: u16,
    /// Descriptor that continues the buffer.
    pub next: u16,
}

/// Flag: the buffer continues in another descriptor.
pub const NEXT: u16 = 1;
/// Flag: the device writes the buffer; otherwise it reads it.
pub const WRITE: u16 = 2;
/// Flag: the buffer contains a table of descriptors.
pub const INDIRECT: u16 = 4;

/// Flag of the available or used ring: no notifications are needed.
pub const NO_NOTIFICATION: u16 = 1;

/// Addresses of the parts of a ring, in the address space of the driver's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Address of the descriptor table.
    pub descriptors: u64,
    /// Address of the available ring.
    pub available: u64,
    /// Address of the used ring.
    pub used: u64,
}

/// A ring in mapped memory.
#[derive(Debug)]
pub struct Layout {
    descriptors: *mut Descriptor,
    available: *mut u16,
    used: *mut u16,
    size: u16,
    /// Memory, kept mapped.
    memory: Arc<Memory>,
}

// SAFETY: the areas are shared with another process anyway, and are accessed by volatile and atomic
// operations only; the pointers stay valid wherever the layout goes, because it owns a share of the
// memory.
unsafe impl Send for Layout {}

/// Error of a ring that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The size is not a power of two up to [`SIZE_MAX`].
    #[error("a ring of {0} descriptors: it must be a power of two up to {SIZE_MAX}")]
    Size(u32),
    /// A part is outside of the shared memory.
    #[error("the {0} of a ring is not in shared memory, or not aligned")]
    Place(&'static str),
}

impl Layout {
    /// Returns the ring of `size` descriptors at these places.
    ///
    /// # Errors
    /// When a part is not completely in one region of the memory, or not aligned.
    pub fn new(memory: &Arc<Memory>, size: u32, at: Addresses) -> Result<Layout, LayoutError> {
        let valid = u16::try_from(size).ok().filter(|size| size.is_power_of_two());
        let size = valid.filter(|size| *size <= SIZE_MAX).ok_or(LayoutError::Size(size))?;
        let [descriptors, available, used] = parts(size);
        let find = |at, (bytes, align), what| {
            memory.find_user(at, bytes, align).ok_or(LayoutError::Place(what))
        };
        Ok(Layout {
            descriptors: find(at.descriptors, descriptors, "table of descriptors")?.cast(),
            available: find(at.available, available, "available ring")?.cast(),
            used: find(at.used, used, "used ring")?.cast(),
            size,
            memory: memory.clone(),
        })
    }

    /// Returns the number of descriptors.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Returns the memory of the ring.
    #[inline(always)]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline(always)]
    fn slot(&self, index: u16) -> usize {
        usize::from(index & (self.size - 1))
    }

    /// Reads descriptor `index`, modulo the size.
    #[inline(always)]
    pub fn descriptor(&self, index: u16) -> Descriptor {
        // SAFETY: the slot is below the size, and `new` found so many descriptors, aligned.
        unsafe { self.descriptors.add(self.slot(index)).read_volatile() }
    }

    /// Writes descriptor `index`; for the driver.
    #[inline(always)]
    pub fn set_descriptor(&self, index: u16, descriptor: Descriptor) {
        // SAFETY: as in `descriptor`.
        unsafe { self.descriptors.add(self.slot(index)).write_volatile(descriptor) }
    }

    /// Prefetches descriptor `index`.
    #[inline(always)]
    pub fn prefetch_descriptor(&self, index: u16) {
        prefetch(self.descriptors.wrapping_add(self.slot(index)).cast());
    }

    /// Returns the head of the buffer that was made available as number `index`.
    #[inline(always)]
    pub fn available(&self, index: u16) -> u16 {
        // SAFETY: two words and `size` heads were found.
        unsafe { self.available.add(2 + self.slot(index)).read_volatile() }
    }

    /// Makes the buffer with this head available as number `index`; for the driver.
    #[inline(always)]
    pub fn set_available(&self, index: u16, head: u16) {
        // SAFETY: as in `available`.
        unsafe { self.available.add(2 + self.slot(index)).write_volatile(head) }
    }

    /// Returns the number of buffers that the driver made available; their contents are visible
    /// afterwards.
    #[inline(always)]
    pub fn available_index(&self) -> u16 {
        self.word(self.available, 1).load(Ordering::Acquire)
    }

    /// Makes all buffers before this number visible to the device; for the driver.
    #[inline(always)]
    pub fn publish_available(&self, index: u16) {
        self.word(self.available, 1).store(index, Ordering::Release);
    }

    /// Returns the buffer that was used as number `index`, and the number of bytes that the device
    /// wrote.
    #[inline(always)]
    pub fn used(&self, index: u16) -> (u32, u32) {
        // SAFETY: two words and `size` pairs of 32-bit words were found, aligned to four bytes.
        unsafe {
            let pair = self.used.add(2 + 4 * self.slot(index)).cast::<[u32; 2]>();
            pair.read_volatile().into()
        }
    }

    /// Records a buffer as used under number `index`; for the device.
    #[inline(always)]
    pub fn set_used(&self, index: u16, head: u16, written: u32) {
        // SAFETY: as in `used`.
        unsafe {
            let pair = self.used.add(2 + 4 * self.slot(index)).cast::<[u32; 2]>();
            pair.write_volatile([u32::from(head), written]);
        }
    }

    /// Returns the number of buffers that the device used; the data it wrote is visible afterwards.
    #[inline(always)]
    pub fn used_index(&self) -> u16 {
        self.word(self.used, 1).load(Ordering::Acquire)
    }

    /// Makes all used buffers before this number visible to the driver; for the device.
    #[inline(always)]
    pub fn publish_used(&self, index: u16) {
        self.word(self.used, 1).store(index, Ordering::Release);
    }

    /// Tells the driver whether to notify the device; for the device.
    pub fn set_used_flags(&self, flags: u16) {
        self.word(self.used, 0).store(flags, Ordering::Release);
    }

    /// Tells the device whether to notify the driver; for the driver.
    pub fn set_available_flags(&self, flags: u16) {
        self.word(self.available, 0).store(flags, Ordering::Release);
    }

    /// Sets the used number after which the driver requests a notification; for the driver.
    pub fn set_used_event(&self, index: u16) {
        self.word(self.available, 2 + usize::from(self.size)).store(index, Ordering::Release);
    }

    /// Sets the available number after which the device requests a notification; for the device.
    pub fn set_available_event(&self, index: u16) {
        self.word(self.used, 2 + 4 * usize::from(self.size)).store(index, Ordering::Release);
    }

    /// Returns true if the driver requests a notification that `old..new` were used (2.7.7).
    #[inline]
    pub fn driver_listens(&self, event_index: bool, old: u16, new: u16) -> bool {
        // What was published must be seen before what the driver wants is read.
        fence(Ordering::SeqCst);
        if event_index {
            let event = self.word(self.available, 2 + usize::from(self.size));
            return passes(event.load(Ordering::Relaxed), old, new);
        }
        self.word(self.available, 0).load(Ordering::Relaxed) & NO_NOTIFICATION == 0
    }

    /// Returns true if the device requests a notification that `old..new` were made available
    /// (2.7.10).
    #[inline]
    pub fn device_listens(&self, event_index: bool, old: u16, new: u16) -> bool {
        fence(Ordering::SeqCst);
        if event_index {
            let event = self.word(self.used, 2 + 4 * usize::from(self.size));
            return passes(event.load(Ordering::Relaxed), old, new);
        }
        self.word(self.used, 0).load(Ordering::Relaxed) & NO_NOTIFICATION == 0
    }

    /// Returns a word of the available or used ring; `at` must be within the size from [`parts`].
    #[inline(always)]
    fn word(&self, area: *mut u16, at: usize) -> &AtomicU16 {
        // SAFETY: callers name words of the area that `new` found, which is aligned to two bytes
        // and mapped as long as `self` lives; others access it atomically or are another process.
        unsafe { AtomicU16::from_ptr(area.add(at)) }
    }
}

/// Returns size in bytes and alignment of the three areas of a ring.
pub fn parts(size: u16) -> [(usize, usize); 3] {
    let size = usize::from(size);
    [(16 * size, 16), (2 * (3 + size), 2), (4 + 8 * size + 2, 4)]
}

/// Returns true if the step from `old` to `new` passes the number for which a notification is
/// requested.
#[inline(always)]
fn passes(event: u16, old: u16, new: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Prefetches a cache line.
#[inline(always)]
pub fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on the caches.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Largest number of descriptors of a ring (2.7).
pub const SIZE_MAX: u16 = 32768;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_passed_as_the_standard_computes() {
        for (event, old, new, passed) in [
            (5, 5, 6, true),
            (5, 6, 7, false),
            (5, 4, 5, false),
            (5, 0, 10, true),
            (65535, 65535, 0, true),
            (65535, 65534, 65535, false),
            (0, 65530, 3, true),
            (3, 65530, 3, false),
        ] {
            assert_eq!(passes(event, old, new), passed, "{event} {old} {new}");
        }
    }

    #[test]
    fn a_ring_has_the_places_that_the_standard_gives_it() {
        assert_eq!(parts(256), [(4096, 16), (518, 2), (2054, 4)]);
    }
}
