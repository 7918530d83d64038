//! The two ends of a ring that is shared with the kernel: who writes it, and who reads it.
//!
//! ```text
//!           consumer                producer
//!  ... free | entry | entry | entry | free ...     positions count entries, wrap at 2^32, and a
//!                                                  place is position modulo size (a power of two)
//! ```
//! The kernel describes the order in `net/xdp/xsk_queue.h`: an entry is written before the producer
//! moves past it (release, met by the reader's acquire), and read before the consumer moves past it
//! (the same the other way). Each end keeps its own position and a copy of the other's, so that a
//! burst costs one look at what the other side writes.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pointers to the parts of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<T> {
    /// Position of the next entry to be written.
    pub producer: NonNull<AtomicU32>,
    /// Position of the next entry to be read.
    pub consumer: NonNull<AtomicU32>,
    /// Flags of the kernel; `None` for a ring without flags.
    pub flags: Option<NonNull<AtomicU32>>,
    /// First entry.
    pub entries: NonNull<T>,
    /// Number of entries, a power of two.
    pub size: u32,
}

/// Writing end of a ring.
pub(crate) struct Producer<T: Copy> {
    places: Places<T>,
    /// Position of the next entry to write; ahead of the shared position until published.
    head: u32,
    /// Position of the reading end, as last read.
    tail_seen: u32,
    owns: PhantomData<T>,
}

/// Reading end of a ring.
pub(crate) struct Consumer<T: Copy> {
    places: Places<T>,
    /// Position of the next entry to read; ahead of the shared position until released.
    tail: u32,
    head_seen: u32,
    owns: PhantomData<T>,
}

// SAFETY: an end is the only one of its side; the other side is reached through atomics alone, and
// the memory belongs to no thread.
unsafe impl<T: Copy + Send> Send for Producer<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + Send> Send for Consumer<T> {}

impl<T: Copy> Places<T> {
    /// Returns a pointer to the entry at a position.
    ///
    /// # Safety
    /// The pointers are valid.
    #[inline(always)]
    unsafe fn entry(&self, position: u32) -> NonNull<T> {
        // SAFETY: a position modulo the size is one of the places, by the caller's promise.
        unsafe { self.entries.add((position & (self.size - 1)) as usize) }
    }
}

impl<T: Copy> Producer<T> {
    /// Creates the writing end of a ring.
    ///
    /// # Safety
    /// The parts are in mapped memory that outlives this end, aligned for their types; the
    /// size is a power of two; nobody else writes entries or the producer's position.
    pub unsafe fn new(places: Places<T>) -> Producer<T> {
        // SAFETY: by the caller's promise.
        let head = unsafe { places.producer.as_ref() }.load(Ordering::Relaxed);
        // SAFETY: as above.
        let tail_seen = unsafe { places.consumer.as_ref() }.load(Ordering::Acquire);
        Producer { places, head, tail_seen, owns: PhantomData }
    }

    /// Writes an entry, which [`Self::publish`] makes visible to the reader; returns false when the
    /// ring is full.
    #[inline(always)]
    pub fn push(&mut self, entry: T) -> bool {
        if self.head.wrapping_sub(self.tail_seen) >= self.places.size {
            self.tail_seen = self.consumed();
            if self.head.wrapping_sub(self.tail_seen) >= self.places.size {
                return false;
            }
        }
        // SAFETY: the place lies in the ring (see `new`), and the reader has left it: acquire in
        // `consumed` orders its reads before this write.
        unsafe { self.places.entry(self.head).write(entry) };
        self.head = self.head.wrapping_add(1);
        true
    }

    /// Makes all written entries visible to the reader.
    #[inline(always)]
    pub fn publish(&mut self) {
        // SAFETY: the word is mapped and aligned (see `new`).
        unsafe { self.places.producer.as_ref() }.store(self.head, Ordering::Release);
    }

    /// Returns the position up to which the reader has read.
    #[inline(always)]
    pub fn consumed(&self) -> u32 {
        // SAFETY: the word is mapped and aligned (see `new`).
        unsafe { self.places.consumer.as_ref() }.load(Ordering::Acquire)
    }

    /// Returns the position of the next entry.
    #[inline(always)]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Returns an entry that was written within the last round of the ring.
    #[inline(always)]
    pub fn written(&self, position: u32) -> T {
        debug_assert!(self.head.wrapping_sub(position) <= self.places.size);
        // SAFETY: the place lies in the ring; this end wrote it, and the reader only reads.
        unsafe { self.places.entry(position).read() }
    }

    /// Returns true if the reader requests to be woken (`XDP_RING_NEED_WAKEUP`).
    #[inline(always)]
    pub fn needs_wakeup(&self) -> bool {
        self.places.flags.is_none_or(|flags| {
            // SAFETY: the word is mapped and aligned (see `new`).
            unsafe { flags.as_ref() }.load(Ordering::Relaxed) & NEED_WAKEUP != 0
        })
    }
}

impl<T: Copy> Consumer<T> {
    /// Creates the reading end of a ring.
    ///
    /// # Safety
    /// Those of [`Producer::new`]; nobody else writes the consumer's position.
    pub unsafe fn new(places: Places<T>) -> Consumer<T> {
        // SAFETY: by the caller's promise.
        let tail = unsafe { places.consumer.as_ref() }.load(Ordering::Relaxed);
        Consumer { places, tail, head_seen: tail, owns: PhantomData }
    }

    /// Returns the next entry if one was published.
    #[inline(always)]
    pub fn next(&mut self) -> Option<T> {
        if self.tail == self.head_seen {
            // SAFETY: the word is mapped and aligned (see `new`).
            self.head_seen = unsafe { self.places.producer.as_ref() }.load(Ordering::Acquire);
            if self.tail == self.head_seen {
                return None;
            }
        }
        // SAFETY: the place lies in the ring; the writer wrote it before its release, which the
        // load above has acquired, and leaves it until this end moves past it.
        let entry = unsafe { self.places.entry(self.tail).read() };
        self.tail = self.tail.wrapping_add(1);
        Some(entry)
    }

    /// Releases the slots of all entries read so far to the writer.
    #[inline(always)]
    pub fn release(&mut self) {
        // SAFETY: the word is mapped and aligned (see `new`).
        unsafe { self.places.consumer.as_ref() }.store(self.tail, Ordering::Release);
    }
}

/// `XDP_RING_NEED_WAKEUP` of `linux/if_xdp.h`.
const NEED_WAKEUP: u32 = 1;

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;
    use std::sync::Arc;

    use super::*;

    /// A ring in ordinary memory, without the kernel; both ends belong to the test.
    struct Memory<const SIZE: usize> {
        producer: AtomicU32,
        consumer: AtomicU32,
        flags: AtomicU32,
        entries: UnsafeCell<[u64; SIZE]>,
    }

    // SAFETY: the entries are reached through the two ends alone, which keep apart.
    unsafe impl<const SIZE: usize> Sync for Memory<SIZE> {}

    fn memory<const SIZE: usize>(position: u32) -> Arc<Memory<SIZE>> {
        Arc::new(Memory {
            producer: AtomicU32::new(position),
            consumer: AtomicU32::new(position),
            flags: AtomicU32::new(0),
            entries: UnsafeCell::new([0; SIZE]),
        })
    }

    impl<const SIZE: usize> Memory<SIZE> {
        /// Returns both ends.
        ///
        /// # Safety
        /// Called once; the memory outlives both ends.
        unsafe fn ends(&self) -> (Producer<u64>, Consumer<u64>) {
            let places = Places {
                producer: NonNull::from(&self.producer),
                consumer: NonNull::from(&self.consumer),
                flags: Some(NonNull::from(&self.flags)),
                entries: NonNull::new(self.entries.get().cast::<u64>()).expect("not null"),
                size: SIZE as u32,
            };
            // SAFETY: the words and entries live in `self`; the size is a power of two in all
            // tests.
            unsafe { (Producer::new(places), Consumer::new(places)) }
        }
    }

    #[test]
    fn positions_wrap_at_the_end_of_their_word() {
        let memory = memory::<4>(u32::MAX - 5);
        // SAFETY: once, and the memory lives to the end of the test.
        let (mut producer, mut consumer) = unsafe { memory.ends() };
        for round in 0..10u64 {
            for entry in 0..4 {
                assert!(producer.push(round * 4 + entry), "round {round}");
            }
            assert!(!producer.push(99), "four places are taken");
            assert_eq!(consumer.next(), None, "nothing was published");
            producer.publish();
            for entry in 0..4 {
                assert_eq!(producer.written(producer.head().wrapping_sub(4 - entry)), {
                    round * 4 + u64::from(entry)
                });
                assert_eq!(consumer.next(), Some(round * 4 + u64::from(entry)));
            }
            assert_eq!(consumer.next(), None);
            assert!(!producer.push(99), "nothing was released");
            consumer.release();
            assert_eq!(producer.consumed(), producer.head());
        }
    }

    #[test]
    fn a_burst_becomes_visible_as_a_whole() {
        let memory = memory::<8>(0);
        // SAFETY: once, and the memory lives to the end of the test.
        let (mut producer, mut consumer) = unsafe { memory.ends() };
        assert!(producer.push(1) && producer.push(2));
        producer.publish();
        assert!(producer.push(3));
        assert_eq!((consumer.next(), consumer.next(), consumer.next()), (Some(1), Some(2), None));
        producer.publish();
        assert_eq!(consumer.next(), Some(3));
    }

    #[test]
    fn a_wakeup_is_wanted_when_the_reader_says_so_or_cannot_say() {
        let memory = memory::<2>(0);
        // SAFETY: once, and the memory lives to the end of the test.
        let (mut producer, _consumer) = unsafe { memory.ends() };
        assert!(!producer.needs_wakeup());
        memory.flags.store(NEED_WAKEUP, Ordering::Relaxed);
        assert!(producer.needs_wakeup());
        producer.places.flags = None;
        assert!(producer.needs_wakeup());
    }

    #[test]
    fn entries_cross_threads_once_and_in_order() {
        let memory = memory::<16>(u32::MAX - 40);
        // SAFETY: once; both threads hold the memory by its Arc.
        let (mut producer, mut consumer) = unsafe { memory.ends() };
        let count: u64 = if cfg!(miri) { 200 } else { 200_000 };
        let held = memory.clone();
        let writer = std::thread::spawn(move || {
            for entry in 0..count {
                while !producer.push(entry) {
                    producer.publish();
                    std::thread::yield_now();
                }
                if entry % 3 == 0 {
                    producer.publish();
                }
            }
            producer.publish();
            drop(held);
        });
        for entry in 0..count {
            let found = loop {
                if let Some(found) = consumer.next() {
                    break found;
                }
                consumer.release();
                std::thread::yield_now();
            };
            assert_eq!(found, entry);
        }
        writer.join().expect("the writer ends well");
        assert_eq!(consumer.next(), None);
    }
}
