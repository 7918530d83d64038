//! Memory that is shared with the kernel: mappings, and the chunks in which frames lie (UMEM).

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A memory mapping that is unmapped when it is dropped.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps private memory, zeroed and present.
    ///
    /// # Errors
    /// The kernel's error when there is no memory.
    pub fn anonymous(len: usize) -> io::Result<Mapping> {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, READ_WRITE, flags)? };
        Mapping::of(start.cast(), len)
    }

    /// Maps the part of a socket's memory at this offset, which is one of its rings.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn of_socket(socket: BorrowedFd<'_>, offset: u64, len: usize) -> io::Result<Mapping> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: as above.
        let start = unsafe { mmap(std::ptr::null_mut(), len, READ_WRITE, flags, socket, offset)? };
        Mapping::of(start.cast(), len)
    }

    fn of(start: *mut u8, len: usize) -> io::Result<Mapping> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }

    /// Returns a pointer to a place with room for `count` elements; `None` if it would exceed the
    /// mapping.
    pub fn place<T>(&self, offset: u64, count: usize) -> Option<NonNull<T>> {
        let offset = usize::try_from(offset).ok()?;
        let bytes = count.checked_mul(size_of::<T>())?;
        let fits = offset.checked_add(bytes)? <= self.len;
        // SAFETY: the offset is within the mapping.
        let place = fits.then(|| unsafe { self.start.add(offset) }.cast::<T>())?;
        place.is_aligned().then_some(place)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever has places in it is dropped before it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The chunks of one socket. The rings determine which chunks this process may access: a chunk in
/// the fill or transmit ring belongs to the kernel until it is returned.
pub(crate) struct Umem {
    memory: Mapping,
    chunk_bytes: usize,
}

impl Umem {
    /// Creates this number of chunks of this size.
    ///
    /// # Errors
    /// The kernel's error when there is no memory.
    pub fn new(chunks: usize, chunk_bytes: usize) -> io::Result<Umem> {
        let len = chunks.checked_mul(chunk_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Umem { memory: Mapping::anonymous(len)?, chunk_bytes })
    }

    /// Returns the start and the length in bytes.
    pub fn extent(&self) -> (u64, u64) {
        (self.memory.start.as_ptr() as u64, self.memory.len as u64)
    }

    /// Returns the bytes of a frame that the kernel wrote; `None` if they would exceed the memory.
    #[inline(always)]
    pub fn frame(&self, address: u64, len: u32) -> Option<&[u8]> {
        let place = self.memory.place::<u8>(address, len as usize)?;
        // SAFETY: within the mapping, and the chunk is this side's: it came from the receive ring
        // and has not been put back into the fill ring.
        Some(unsafe { std::slice::from_raw_parts(place.as_ptr(), len as usize) })
    }

    /// Copies a frame to the start of a chunk; returns false if the chunk is too short or does not
    /// exist.
    #[inline(always)]
    pub fn write(&mut self, chunk: u64, frame: &[u8]) -> bool {
        let place = self.memory.place::<u8>(chunk, self.chunk_bytes);
        let Some(place) = place.filter(|_| frame.len() <= self.chunk_bytes) else { return false };
        // SAFETY: within the mapping; the chunk is this side's: it was never sent, or came back by
        // the completion ring. `frame` lies elsewhere, because the mapping is lent to nobody.
        unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), place.as_ptr(), frame.len()) };
        true
    }

    /// Returns the chunk that contains an address.
    #[inline(always)]
    pub fn chunk_of(&self, address: u64) -> u64 {
        address & !(self.chunk_bytes as u64 - 1)
    }

    /// Returns the size of a chunk in bytes.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }
}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_within_the_chunks() {
        let mut umem = Umem::new(4, 2048).expect("8 KiB are to be had");
        assert!(umem.write(2048, b"frame"));
        assert_eq!(umem.frame(2048, 5), Some(&b"frame"[..]));
        assert_eq!(umem.frame(0, 2048), Some(&[0; 2048][..]));
        assert!(!umem.write(2048, &[1; 2049]), "longer than a chunk");
        assert!(!umem.write(4 * 2048, b"x"), "no such chunk");
        assert!(!umem.write(u64::MAX - 3, b"x"), "no such chunk");
        assert_eq!(umem.frame(4 * 2048 - 4, 5), None, "across the end");
        assert_eq!(umem.frame(u64::MAX, 1), None);
        assert_eq!(umem.chunk_of(2048 + 256), 2048);
    }
}
