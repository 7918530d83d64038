//! Memory shared with the peer.
//!
//! What this side makes is a sealed memfd. What the peer hands over is taken only if the kernel
//! vouches that it cannot shrink (`F_SEAL_SHRINK` on memory of tmpfs), because touching memory that
//! a peer has cut off ends the process. Places in a region are given out as raw pointers, never as
//! references: the peer may write at any time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::breach::Breach;

/// Largest number of regions of a connection.
pub const REGIONS_MAX: usize = 16;

/// Largest region in bytes.
pub const REGION_BYTES_MAX: u64 = 1 << 36;

/// A mapped region of shared memory.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a Region is an address and a length; the memory behind it is reached only by raw
// pointers, atomic operations and copies, wherever they run.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Creates sealed memory of `len` bytes, all zero, and its descriptor for the peer.
    ///
    /// # Errors
    /// The kernel's error when it has no memory.
    pub fn create(len: usize) -> io::Result<(Region, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = rustix::fs::memfd_create("memif", flags)?;
        rustix::fs::ftruncate(&memory, len as u64)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&memory, seals)?;
        let region = Region::map(&memory, len)?;
        // Only wishes: the first frames would pay for the pages otherwise.
        for advice in [Advice::LinuxHugepage, Advice::LinuxPopulateWrite] {
            // SAFETY: the range is this region's own mapping, and the advice changes no content.
            let _ = unsafe { rustix::mm::madvise(region.start.as_ptr().cast(), len, advice) };
        }
        Ok((region, memory))
    }

    /// Maps memory of the peer.
    ///
    /// # Errors
    /// When it is smaller than announced, not sealed (unless `accept_unsealed`), or cannot
    /// be mapped.
    pub fn accept(memory: &OwnedFd, size: u64, accept_unsealed: bool) -> Result<Region, Breach> {
        let stat = rustix::fs::fstat(memory).map_err(|_| Breach::RegionSize)?;
        let present = u64::try_from(stat.st_size).unwrap_or(0);
        if size == 0 || size > present || size > REGION_BYTES_MAX {
            return Err(Breach::RegionSize);
        }
        if !accept_unsealed && !cannot_shrink(memory) {
            return Err(Breach::RegionUnsealed);
        }
        let len = usize::try_from(size).map_err(|_| Breach::RegionSize)?;
        Region::map(memory, len).map_err(|_| Breach::RegionMapping)
    }

    fn map(memory: &OwnedFd, len: usize) -> io::Result<Region> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                memory,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Region { start, len })
    }

    /// Returns the address of `len` bytes from `offset`, if they are within the region.
    #[inline(always)]
    pub fn span(&self, offset: u64, len: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(len)?;
        if end > self.len as u64 {
            return None;
        }
        // SAFETY: offset is at most the length of the mapping.
        Some(unsafe { self.start.add(offset as usize) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever uses its addresses holds it by an Arc.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Returns true if the memory cannot be truncated and every byte of it is backed.
fn cannot_shrink(memory: impl AsFd) -> bool {
    let sealed = rustix::fs::fcntl_get_seals(&memory).is_ok_and(|s| s.contains(SealFlags::SHRINK));
    // Of huge pages the kernel may have none left when they are touched.
    sealed && rustix::fs::fstatfs(&memory).is_ok_and(|fs| fs.f_type == TMPFS_MAGIC)
}

/// `TMPFS_MAGIC` of linux/magic.h, the type of a memfd without huge pages.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// Regions of a connection; unmapped when the last ring is dropped.
pub type Regions = Arc<[Region]>;

/// Returns the address of `len` bytes of a region, if they exist.
#[inline(always)]
pub fn span(regions: &[Region], region: u16, offset: u32, len: u32) -> Option<NonNull<u8>> {
    regions.get(usize::from(region))?.span(u64::from(offset), u64::from(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_sealed_and_acceptable() {
        let (region, memory) = Region::create(10_000).expect("memory");
        assert!(rustix::fs::ftruncate(&memory, 4096).is_err(), "it cannot shrink");
        assert!(rustix::fs::ftruncate(&memory, 40_960).is_err(), "nor grow");
        let again = Region::accept(&memory, 10_000, false).expect("sealed memory");
        let place = region.span(9_999, 1).expect("within").as_ptr();
        // SAFETY: both mappings are live and hold the byte; nobody else knows of them.
        unsafe {
            place.write_volatile(7);
            assert_eq!(again.span(9_999, 1).expect("within").as_ptr().read_volatile(), 7);
        }
    }

    #[test]
    fn memory_that_could_vanish_is_refused() {
        let loose = rustix::fs::memfd_create("loose", MemfdFlags::CLOEXEC).expect("a memfd");
        rustix::fs::ftruncate(&loose, 4096).expect("a size");
        let refused = |size, unsealed| Region::accept(&loose, size, unsealed).err();
        assert_eq!(refused(4096, false), Some(Breach::RegionUnsealed));
        assert_eq!(refused(4096, true), None);
        for size in [0, 4097, u64::MAX, REGION_BYTES_MAX + 1] {
            assert_eq!(refused(size, true), Some(Breach::RegionSize));
        }
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a size");
        assert_eq!(
            Region::accept(&file.into(), 4096, false).err(),
            Some(Breach::RegionUnsealed),
            "a file may lie on a file system of the peer's making"
        );
        let socket = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
        assert_eq!(Region::accept(&socket.into(), 1, false).err(), Some(Breach::RegionSize));
    }

    #[test]
    fn spans_end_with_their_region() {
        let regions: Regions = Arc::new([Region::create(100).expect("memory").0]);
        assert!(span(&regions, 0, 0, 100).is_some());
        assert!(span(&regions, 0, 100, 0).is_some());
        for (region, offset, len) in
            [(0, 0, 101), (0, 100, 1), (0, 101, 0), (1, 0, 1), (0, u32::MAX, u32::MAX)]
        {
            assert_eq!(span(&regions, region, offset, len), None);
        }
    }
}
