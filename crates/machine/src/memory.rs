//! Large memory: zeroed arrays in huge pages where they can be had, and prefetch.
//!
//! A [`HugeArray`] is a fixed-size array of plain data, zeroed, aligned to 2 MiB, for which the
//! kernel is asked for transparent huge pages. It never grows: state is sized at the start.
//! Pages are touched at creation, so that no measurement pays for the first touch.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Plain data of which zero bytes are a value: derive [`FromZeros`](zerocopy::FromZeros). What is to be
/// dropped does not compile.
pub trait Zeroable: zerocopy::FromZeros {}

impl<T: zerocopy::FromZeros> Zeroable for T {}

/// A fixed-size, zero-initialised array in its own mapping; see the module's text.
pub struct HugeArray<T: Zeroable> {
    start: NonNull<T>,
    len: usize,
    mapped_bytes: usize,
    owns: PhantomData<T>,
}

// SAFETY: a HugeArray owns its memory as a Vec does; it moves between threads as its elements may.
unsafe impl<T: Zeroable + Send> Send for HugeArray<T> {}
// SAFETY: as above for shared references.
unsafe impl<T: Zeroable + Sync> Sync for HugeArray<T> {}

impl<T: Zeroable> HugeArray<T> {
    /// An array of `len` zeroes, every page of it touched.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory.
    pub fn zeroed(len: usize) -> io::Result<HugeArray<T>> {
        let array = HugeArray::reserve(len)?;
        array.populate();
        Ok(array)
    }

    /// An array of `len` zeroes whose pages come when they are first written: for sparse tables.
    ///
    /// # Errors
    /// What the kernel says when it has no such address space.
    pub fn reserve(len: usize) -> io::Result<HugeArray<T>> {
        const { assert!(align_of::<T>() <= HUGE_PAGE_BYTES && !std::mem::needs_drop::<T>()) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|&bytes| bytes <= isize::MAX as usize - 2 * HUGE_PAGE_BYTES)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        if bytes == 0 {
            return Ok(HugeArray::unmapped(len));
        }
        let mapped_bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
        let start = map_aligned(mapped_bytes)?;
        Ok(HugeArray { start: start.cast(), len, mapped_bytes, owns: PhantomData })
    }

    /// An array that takes no memory: of no element, or of a type without a size.
    fn unmapped(len: usize) -> HugeArray<T> {
        HugeArray { start: NonNull::dangling(), len, mapped_bytes: 0, owns: PhantomData }
    }

    /// Bytes of address space this array holds; all of it is resident after [`Self::zeroed`].
    pub fn mapped_bytes(&self) -> usize {
        self.mapped_bytes
    }

    fn populate(&self) {
        // Faults every page in as if written; a kernel older than 5.14 does not know the advice,
        // and then the first writer pays.
        if self.mapped_bytes > 0 {
            // SAFETY: the range is this array's own mapping.
            let _ = unsafe {
                madvise(
                    self.start.as_ptr().cast(),
                    self.len * size_of::<T>(),
                    Advice::LinuxPopulateWrite,
                )
            };
        }
    }
}

impl<T: Zeroable> Default for HugeArray<T> {
    /// An array without elements, which needs no memory.
    fn default() -> HugeArray<T> {
        HugeArray::unmapped(0)
    }
}

impl<T: Zeroable> Deref for HugeArray<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` elements, zeroed by the kernel, which is a value of T.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroable> DerefMut for HugeArray<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in deref, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroable> Drop for HugeArray<T> {
    fn drop(&mut self) {
        if self.mapped_bytes > 0 {
            // SAFETY: the mapping is ours and no reference into it outlives `self`.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped_bytes) };
        }
    }
}

impl<T: Zeroable> std::fmt::Debug for HugeArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HugeArray({} x {} bytes)", self.len, size_of::<T>())
    }
}

/// Asks the processor to bring the cache line of `at` close, for a read that follows.
#[inline(always)]
pub fn prefetch<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on the caches.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
            std::ptr::from_ref(at).cast(),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks the processor to bring the cache line of an address close, for a read that follows; any address
/// will do, also of memory that is not there.
#[inline(always)]
pub fn prefetch_address(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on the caches.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// As [`prefetch_address`], for a write: the line is taken from other cores at once.
#[inline(always)]
pub fn prefetch_address_to_write(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on the caches; a processor without the
    // instruction takes it for one that does nothing.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Prefetches element `index` of a slice; an index past its end does nothing.
#[inline(always)]
pub fn prefetch_at<T>(slice: &[T], index: usize) {
    if let Some(at) = slice.get(index) {
        prefetch(at);
    }
}

/// Bytes of this process that are resident in memory, from `/proc/self/statm`; 0 if unknown.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Maps `bytes` (a multiple of 2 MiB) at a multiple of 2 MiB and asks for huge pages.
fn map_aligned(bytes: usize) -> io::Result<NonNull<u8>> {
    let span = bytes + HUGE_PAGE_BYTES;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let raw = unsafe {
        mmap_anonymous(std::ptr::null_mut(), span, ProtFlags::READ | ProtFlags::WRITE, flags)?
    };
    let lead = raw.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
    // SAFETY: `lead` is below 2 MiB, so start..start+bytes lies within the mapping; what lies
    // before and behind it is ours and not used, so it can be given back.
    unsafe {
        let start = raw.cast::<u8>().add(lead);
        if lead > 0 {
            let _ = munmap(raw, lead);
        }
        if HUGE_PAGE_BYTES > lead {
            let _ = munmap(start.add(bytes).cast(), HUGE_PAGE_BYTES - lead);
        }
        // Only a wish: without huge pages everything works, with more TLB misses.
        let _ = madvise(start.cast(), bytes, Advice::LinuxHugepage);
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

const HUGE_PAGE_BYTES: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_zeroed_aligned_and_writable() {
        let mut array = HugeArray::<u64>::zeroed(1_000_000).expect("8 MB are to be had");
        assert_eq!(array.as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        assert!(array.iter().all(|&word| word == 0));
        array[999_999] = 7;
        assert_eq!(array[999_999], 7);
        assert_eq!(array.len(), 1_000_000);
    }

    #[test]
    fn an_empty_array_has_no_mapping() {
        let array = HugeArray::<u32>::zeroed(0).expect("nothing is always to be had");
        assert_eq!((array.len(), array.mapped_bytes()), (0, 0));
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert!(HugeArray::<u64>::reserve(usize::MAX / 4).is_err());
    }

    #[test]
    fn resident_memory_is_read() {
        assert!(resident_bytes() > 0);
    }
}
