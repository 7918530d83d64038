//! The guest's memory in this process: regions that the peer shared, found by guest or user
//! address.
//!
//! Guarantees: an address that is handed out lies, with all its bytes, in a mapping that lives as
//! long as the [`Memory`]; ranges that leave a region, wrap around or lie in no region are refused.
//! It does not guard against a peer process that shrinks the file behind a mapping: touching it
//! then ends this process, as it would end the virtual machine.

use std::fs::File;
use std::sync::Arc;

use vm_memory::{FileOffset, MmapRegion};

/// All memory regions of a guest.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<Region>,
}

/// A contiguous memory region of a guest.
#[derive(Debug)]
pub struct Region {
    /// Guest address of the region.
    guest: u64,
    /// Address of the region in the peer's process.
    user: u64,
    map: MmapRegion,
}

/// Error of memory that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The file is not a regular file.
    #[error("a region of guest memory is not a regular file")]
    NotAFile,
    /// The file ends before the region.
    #[error("a region of guest memory extends beyond its file")]
    BehindFile,
    /// Addresses overflow.
    #[error("a region of guest memory wraps around the address space")]
    Wraps,
    /// Two regions have common guest addresses.
    #[error("two regions of guest memory overlap")]
    Overlap,
    /// There are more than [`REGIONS_MAX`] regions.
    #[error("guest memory has more than {REGIONS_MAX} regions")]
    TooMany,
    /// The kernel refused to map the region.
    #[error("a region of guest memory cannot be mapped: {0}")]
    Map(String),
}

impl Region {
    /// Maps `len` bytes of a file from `offset`.
    ///
    /// # Errors
    /// When the file is too short, or the kernel refuses.
    pub fn map(
        file: File,
        offset: u64,
        len: u64,
        guest: u64,
        user: u64,
    ) -> Result<Region, MemoryError> {
        let ends = [guest, user, offset].map(|start| start.checked_add(len));
        let [Some(_), Some(_), Some(end)] = ends else { return Err(MemoryError::Wraps) };
        let facts = file.metadata().map_err(|error| MemoryError::Map(error.to_string()))?;
        if !facts.is_file() {
            return Err(MemoryError::NotAFile);
        }
        if end > facts.len() {
            return Err(MemoryError::BehindFile);
        }
        let len = usize::try_from(len).map_err(|_| MemoryError::Wraps)?;
        let map = MmapRegion::from_file(FileOffset::new(file, offset), len);
        let map = map.map_err(|error| MemoryError::Map(error.to_string()))?;
        Ok(Region { guest, user, map })
    }

    #[inline(always)]
    fn len(&self) -> u64 {
        self.map.size() as u64
    }

    /// Returns the address of an offset in this process; the caller has checked that it is within
    /// the region.
    #[inline(always)]
    fn host(&self, offset: u64) -> *mut u8 {
        self.map.as_ptr().wrapping_add(offset as usize)
    }
}

impl Memory {
    /// Returns the memory of these regions.
    ///
    /// # Errors
    /// When there are too many, or two overlap.
    pub fn new(regions: Vec<Region>) -> Result<Arc<Memory>, MemoryError> {
        if regions.len() > REGIONS_MAX {
            return Err(MemoryError::TooMany);
        }
        for (place, one) in regions.iter().enumerate() {
            let overlaps = |other: &Region| {
                one.guest < other.guest + other.len() && other.guest < one.guest + one.len()
            };
            if regions[..place].iter().any(overlaps) {
                return Err(MemoryError::Overlap);
            }
        }
        Ok(Arc::new(Memory { regions }))
    }

    /// Returns the address of guest address `guest` in this process, if `len` bytes from it are in
    /// one region. `near` is the region of the last access, which is tried first.
    #[inline(always)]
    pub fn find(&self, near: &mut usize, guest: u64, len: u32) -> Option<*mut u8> {
        if let Some(region) = self.regions.get(*near) {
            let offset = guest.wrapping_sub(region.guest);
            if offset < region.len() && u64::from(len) <= region.len() - offset {
                return Some(region.host(offset));
            }
        }
        let (host, there) = self.piece(near, guest)?;
        (u64::from(len) <= there).then_some(host)
    }

    /// Returns the address of guest address `guest` in this process, and the number of bytes that
    /// follow in its region.
    pub fn piece(&self, near: &mut usize, guest: u64) -> Option<(*mut u8, u64)> {
        for (place, region) in self.regions.iter().enumerate() {
            let offset = guest.wrapping_sub(region.guest);
            if offset < region.len() {
                *near = place;
                return Some((region.host(offset), region.len() - offset));
            }
        }
        None
    }

    /// Returns the address of an address of the peer's process in this process, if `len` bytes are
    /// in one region and the address is a multiple of `align`; used for the parts of a ring.
    pub fn find_user(&self, user: u64, len: usize, align: usize) -> Option<*mut u8> {
        let host = self.regions.iter().find_map(|region| {
            let offset = user.wrapping_sub(region.user);
            let inside = offset < region.len() && len as u64 <= region.len() - offset;
            inside.then(|| region.host(offset))
        })?;
        (host as usize).is_multiple_of(align).then_some(host)
    }

    /// Returns the bytes of all regions.
    pub fn len_bytes(&self) -> u64 {
        self.regions.iter().map(Region::len).sum()
    }
}

/// Largest number of regions of a guest; a message carries at most as many file descriptors.
pub const REGIONS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn region(guest: u64, user: u64) -> Region {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(3 * 4096).expect("room");
        Region::map(file, 4096, 8192, guest, user).expect("it is there")
    }

    #[test]
    fn only_what_lies_within_a_region_is_found() {
        let memory = Memory::new(vec![region(0x10000, 0x7000_0000), region(0x12000, 0x9000_0000)]);
        let memory = memory.expect("they do not overlap");
        let mut near = 0;
        let start = memory.find(&mut near, 0x10000, 8192).expect("the whole region");
        assert_eq!(memory.find(&mut near, 0x10008, 1), Some(start.wrapping_add(8)));
        assert_eq!(memory.find(&mut near, 0x10000, 8193), None, "two regions are two mappings");
        assert!(memory.find(&mut near, 0x12000, 8192).is_some());
        assert_eq!(near, 1);
        for (guest, len) in [(0xffff, 1), (0x14000, 0), (0x13fff, 2), (u64::MAX, 1), (0, 0)] {
            assert_eq!(memory.find(&mut near, guest, len), None, "{guest:#x} {len}");
        }
        assert_eq!(memory.piece(&mut near, 0x11fff).map(|(_, there)| there), Some(1));
        assert_eq!(memory.find_user(0x7000_0010, 16, 16), Some(start.wrapping_add(16)));
        assert_eq!(memory.find_user(0x7000_0008, 16, 16), None, "not aligned");
        assert_eq!(memory.find_user(0x7000_2000, 1, 1), None);
        assert_eq!(memory.len_bytes(), 16384);
    }

    #[test]
    fn regions_that_lie_are_refused() {
        let file = || {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(4096).expect("room");
            file
        };
        let refused = |offset, len, guest| Region::map(file(), offset, len, guest, 0).unwrap_err();
        assert_eq!(refused(0, 4097, 0), MemoryError::BehindFile);
        assert_eq!(refused(u64::MAX, 2, 0), MemoryError::Wraps);
        assert_eq!(refused(0, 4096, u64::MAX - 1), MemoryError::Wraps);
        assert!(matches!(refused(8, 8, 0), MemoryError::Map(_)), "the offset is no page's");
        let device = File::open("/dev/zero").expect("it is there");
        assert_eq!(Region::map(device, 0, 1, 0, 0).unwrap_err(), MemoryError::NotAFile);
        let overlapping = vec![region(0x10000, 0), region(0x11000, 0x10000)];
        assert_eq!(Memory::new(overlapping).unwrap_err(), MemoryError::Overlap);
    }
}
