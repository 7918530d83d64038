//! Large memory: zeroed arrays in huge pages where they can be had, and prefetch.
//!
//! A [`HugeArray`] is a fixed-size array of plain data, zeroed, aligned to 2 MiB, for which the
//! kernel is asked for transparent huge pages. It never grows: state is sized at the start.
//! Pages are touched at creation, so that no measurement pays for the first touch; what the machine
//! has no room for is refused before that, because the kernel would end the process instead.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of a cache line; a processor with longer ones has its lines touched more than once.
pub const CACHE_LINE: usize = 64;

/// Plain data for which zero bytes are a valid value: derive [`FromZeros`](zerocopy::FromZeros).
/// Types with a destructor do not compile.
pub trait Zeroable: zerocopy::FromZeros {}

impl<T: zerocopy::FromZeros> Zeroable for T {}

/// A fixed-size, zero-initialised array in its own mapping; see the description of the module.
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
    /// Creates an array of `len` zeroes, with all pages present.
    ///
    /// # Errors
    /// The kernel's error when there is no memory, and those of [`Self::populate`].
    pub fn zeroed(len: usize) -> io::Result<HugeArray<T>> {
        let mut array = HugeArray::reserve(len)?;
        array.populate(0..len)?;
        Ok(array)
    }

    /// Creates an array of `len` zeroes whose pages are allocated when they are first written, for
    /// sparse tables.
    ///
    /// # Errors
    /// The kernel's error when there is no address space.
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

    /// Creates an array without memory: without elements, or of a type of size zero.
    fn unmapped(len: usize) -> HugeArray<T> {
        HugeArray { start: NonNull::dangling(), len, mapped_bytes: 0, owns: PhantomData }
    }

    /// Returns the bytes of address space of this array; all of it is resident after
    /// [`Self::zeroed`].
    pub fn mapped_bytes(&self) -> usize {
        self.mapped_bytes
    }

    /// Allocates the pages of some elements now, so that later accesses do not wait for the kernel.
    ///
    /// # Errors
    /// When the machine, or its container, has less memory available; nothing is allocated
    /// then.
    ///
    /// # Panics
    /// When the range is not within the array.
    pub fn populate(&mut self, range: Range<usize>) -> io::Result<()> {
        let bytes = size_of_val(&self[range.clone()]);
        check_available(bytes)?;
        if self.mapped_bytes == 0 || bytes == 0 {
            return Ok(());
        }
        let first = range.start * size_of::<T>();
        let lead = first % rustix::param::page_size();
        // Faults every page in as if written; a kernel older than 5.14 does not know the advice,
        // and then the first writer pays.
        // SAFETY: the range is in this array's own mapping, and its elements stay as they are.
        let _ = unsafe {
            let start = self.start.as_ptr().cast::<u8>().add(first - lead);
            madvise(start.cast(), lead + bytes, Advice::LinuxPopulateWrite)
        };
        Ok(())
    }
}

/// Checks that the machine has this number of bytes available, as far as it reports. Small amounts
/// are not checked.
fn check_available(bytes: usize) -> io::Result<()> {
    if bytes < ASKED_FROM_BYTES {
        return Ok(());
    }
    let available = available().bytes;
    if available == 0 || bytes as u64 <= available {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    let text = format!(
        "{} MiB are needed and {} MiB are available",
        mebibytes(bytes as u64),
        mebibytes(available)
    );
    Err(io::Error::new(io::ErrorKind::OutOfMemory, text))
}

/// Memory of the machine or of the container in which this process runs; zero if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available {
    /// Total memory in bytes.
    pub total_bytes: u64,
    /// Available memory without swapping, in bytes.
    pub bytes: u64,
}

/// Returns the memory, limited by a container's limit.
pub fn available() -> Available {
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    let meminfo = text("/proc/meminfo");
    let bytes = |name| kibibytes_of(&meminfo, name).unwrap_or(0).saturating_mul(1024);
    let machine = Available { total_bytes: bytes("MemTotal:"), bytes: bytes("MemAvailable:") };
    let limit = text("/sys/fs/cgroup/memory.max").trim().parse::<u64>();
    let used = text("/sys/fs/cgroup/memory.current").trim().parse::<u64>();
    match (limit, used) {
        (Ok(limit), Ok(used)) => Available {
            total_bytes: machine.total_bytes.min(limit),
            bytes: machine.bytes.min(limit.saturating_sub(used)),
        },
        _ => machine,
    }
}

/// Returns the value of a line of `/proc/meminfo`, in KiB.
fn kibibytes_of(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

impl<T: Zeroable> Default for HugeArray<T> {
    /// Returns an array without elements, which needs no memory.
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

/// Prefetches the cache line of `at` for a later read.
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

/// Prefetches the cache line of an address for a later read; any address is permitted, also of
/// memory that does not exist.
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

/// Prefetches the cache line of an address for a later write, which removes it from other cores.
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

/// Prefetches element `index` of a slice; an index beyond its end does nothing.
#[inline(always)]
pub fn prefetch_at<T>(slice: &[T], index: usize) {
    if let Some(at) = slice.get(index) {
        prefetch(at);
    }
}

/// Writes the cache lines of these bytes back and removes them from all caches, as if a device had
/// written the bytes to memory; returns when that has happened.
pub fn evict<'a>(all: impl IntoIterator<Item = &'a [u8]>) {
    for bytes in all {
        // Nothing need be where no bytes are.
        let Range { start, end } = bytes.as_ptr_range();
        let (start, end) = (start as usize & !(CACHE_LINE - 1), end as usize);
        let lines = if bytes.is_empty() { 0..0 } else { start..end };
        for line in lines.step_by(CACHE_LINE) {
            evict_line(line as *const u8);
        }
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    unsafe {
        core::arch::x86_64::_mm_mfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier has no effect but on the order of accesses.
    unsafe {
        core::arch::asm!("dsb sy", options(nostack, preserves_flags));
    }
}

/// Removes the line of an address that can be read.
#[inline(always)]
fn evict_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the line holds a byte that is borrowed; its contents stay as they are.
    unsafe {
        core::arch::x86_64::_mm_clflush(line);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the line holds a byte that is borrowed; its contents stay as they are.
    unsafe {
        core::arch::asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// Returns the resident memory of this process in bytes, from `/proc/self/statm`; 0 if unknown.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Maps `bytes` (a multiple of 2 MiB) at a multiple of 2 MiB and requests huge pages.
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

/// Amount in bytes from which the available memory is checked, which needs to read a file.
const ASKED_FROM_BYTES: usize = 64 << 20;

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
    fn what_is_evicted_is_still_there() {
        let bytes: Vec<u8> = (0..=255).collect();
        for range in [0..256, 1..2, 63..65, 100..100] {
            evict([&bytes[range], &[]]);
        }
        assert!(bytes.iter().enumerate().all(|(index, byte)| usize::from(*byte) == index));
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
    fn more_than_there_is_is_refused_in_words() {
        let total = available().total_bytes;
        assert!(total > 0 && available().bytes <= total);
        let mut array = HugeArray::<u64>::reserve(total as usize / 4).expect("address space");
        let refused = array.populate(0..total as usize / 4).expect_err("twice what there is");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
        let wanted = format!("{} MiB", (total / 4 * 8) >> 20);
        assert!(refused.to_string().contains(&wanted), "{refused}");
        // A part of it is to be had, from the middle of a page on.
        array.populate(1000..3000).expect("24 KB");
        array[1000] = 7;
        assert_eq!(array[999..1002], [0, 7, 0]);
    }

    #[test]
    fn the_kernels_file_is_read() {
        let text = "MemTotal:       24576 kB\nMemAvailable:    1024 kB\nHugePages_Total:   3\n";
        assert_eq!(kibibytes_of(text, "MemTotal:"), Some(24576));
        assert_eq!(kibibytes_of(text, "MemAvailable:"), Some(1024));
        assert_eq!(kibibytes_of(text, "HugePages_Total:"), None);
        assert_eq!(kibibytes_of(text, "SwapFree:"), None);
    }

    #[test]
    fn resident_memory_is_read() {
        assert!(resident_bytes() > 0);
    }
}
