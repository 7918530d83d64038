//! A single-producer, single-consumer ring of frames of any length.
//!
//! ```text
//!            tail (reader)            head (writer)
//!  ... free | len frame | len frame | free ...        positions count bytes and never wrap;
//!                                                     a place is position modulo capacity
//! ```
//! A record is a word with the frame's length in its lower half and into what it is cut in the
//! upper one ([`Long`]), then the frame, padded to eight bytes. A frame never wraps around the end:
//! a record of [`SKIP`] fills the rest. The writer makes records visible, and the reader gives
//! places back, once a burst.
//!
//! A ring that is much deeper than what is usually in it would pass through all of its memory and
//! keep none of it in a cache. So while the reader is close behind, the writer begins anew at the
//! start after [`NEAR_BYTES`], with such a record of [`SKIP`]; only when the reader falls behind do
//! frames go to the memory beyond.

use std::cell::UnsafeCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use machine::memory::HugeArray;
use packet::Long;

/// Creates a ring of at least `capacity_bytes` and returns its two ends.
///
/// # Errors
/// When the kernel has no memory for it.
pub fn ring(capacity_bytes: usize) -> io::Result<(Sender, Receiver)> {
    let capacity = capacity_bytes.next_power_of_two().max(FRAME_MAX * 4);
    let shared = Arc::new(Shared {
        memory: UnsafeCell::new(HugeArray::zeroed(capacity / WORD)?),
        capacity,
        head: Line(AtomicUsize::new(0)),
        tail: Line(AtomicUsize::new(0)),
        is_down: AtomicBool::new(false),
    });
    Ok((
        Sender { shared: shared.clone(), head: 0, tail_seen: 0, turn: NEAR_BYTES },
        Receiver { shared, tail: 0, head_seen: 0 },
    ))
}

/// Longest frame that a ring carries, in bytes.
pub const FRAME_MAX: usize = 1 << 16;

/// The writing end of a ring.
pub struct Sender {
    shared: Arc<Shared>,
    /// Position of the next record to write; ahead of the shared head until published.
    head: usize,
    tail_seen: usize,
    /// The place from which on the writer looks whether it may begin anew at the start.
    turn: usize,
}

/// The reading end of a ring.
pub struct Receiver {
    shared: Arc<Shared>,
    /// Position of the next record to read; ahead of the shared tail until released.
    tail: usize,
    head_seen: usize,
}

struct Shared {
    memory: UnsafeCell<HugeArray<u64>>,
    capacity: usize,
    /// Position up to which records were written.
    head: Line,
    /// Position up to which records were read.
    tail: Line,
    /// The writer has taken the link down. It orders nothing.
    is_down: AtomicBool,
}

/// A position on two cache lines, because the adjacent line is prefetched.
#[repr(align(128))]
struct Line(AtomicUsize);

// SAFETY: the memory is written only by the one Sender and read only by the one Receiver, at places
// that the head and tail positions keep apart (acquire and release order the bytes with them).
unsafe impl Sync for Shared {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Shared {}

impl Shared {
    #[inline(always)]
    fn place(&self, position: usize) -> *mut u8 {
        // SAFETY: the array itself (pointer and length) is never changed after creation, and a
        // position modulo the capacity is within it.
        unsafe {
            let start = (*self.memory.get()).as_ptr().cast::<u8>().cast_mut();
            start.add(position & (self.capacity - 1))
        }
    }
}

impl Sender {
    /// Reserves room for a frame of `len` bytes, which must be filled and then published; `None`
    /// when the ring is full. The bytes contain data of earlier frames.
    #[inline(always)]
    pub fn reserve(&mut self, len: usize) -> Option<&mut [u8]> {
        self.reserve_any(len, None)
    }

    /// Reserves room as [`Sender::reserve`] does, for a frame or a long segment.
    #[inline(always)]
    fn reserve_any(&mut self, len: usize, long: Option<Long>) -> Option<&mut [u8]> {
        let record = record_bytes(len);
        let place = self.head & (self.shared.capacity - 1);
        let to_end = self.shared.capacity - place;
        let turns = record > to_end || (place >= self.turn && self.may_turn(place));
        let skip = if turns { to_end } else { 0 };
        if len > FRAME_MAX || !self.has_room(skip + record) {
            return None;
        }
        if skip > 0 {
            // SAFETY: places are multiples of eight, so the word lies before the end; the room
            // check covered it.
            unsafe { self.shared.place(self.head).cast::<u64>().write(SKIP) };
            self.head += skip;
            self.turn = NEAR_BYTES;
        }
        let place = self.shared.place(self.head);
        self.head += record;
        // SAFETY: the record lies within the memory (it does not wrap) and between head and tail,
        // where only this end writes; the reader comes here after publish.
        unsafe {
            place.cast::<u64>().write(len as u64 | u64::from(long.map_or(0, Long::to_word)) << 32);
            Some(std::slice::from_raw_parts_mut(place.add(WORD), len))
        }
    }

    /// Copies a frame into the ring; returns false when the ring is full.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> bool {
        self.send_any(frame, None)
    }

    /// Copies a frame or a long segment into the ring; returns false when the ring is full.
    #[inline]
    pub fn send_any(&mut self, frame: &[u8], long: Option<Long>) -> bool {
        match self.reserve_any(frame.len(), long) {
            Some(room) => {
                room.copy_from_slice(frame);
                true
            }
            None => false,
        }
    }

    /// Makes all reserved frames visible to the reader.
    #[inline(always)]
    pub fn publish(&mut self) {
        self.shared.head.0.store(self.head, Ordering::Release);
    }

    /// Takes the link down as the reader sees it, or up again; frames pass in any case.
    pub fn set_link(&self, is_up: bool) {
        self.shared.is_down.store(!is_up, Ordering::Relaxed);
    }

    /// Returns the present number of bytes that were written and not read.
    pub fn backlog_bytes(&self) -> usize {
        self.head - self.shared.tail.0.load(Ordering::Acquire)
    }

    /// Whether the reader is so close behind that the frames after the next one go to the start
    /// again. If not, this is asked again a little further on.
    #[cold]
    fn may_turn(&mut self, place: usize) -> bool {
        self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        let is_close = self.head - self.tail_seen <= CLOSE_BYTES;
        self.turn = place + CLOSE_BYTES / 8;
        is_close
    }

    #[inline(always)]
    fn has_room(&mut self, bytes: usize) -> bool {
        if self.head + bytes - self.tail_seen <= self.shared.capacity {
            return true;
        }
        self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        self.head + bytes - self.tail_seen <= self.shared.capacity
    }
}

impl Receiver {
    /// Returns the next frame if one was published.
    #[inline(always)]
    pub fn next_frame(&mut self) -> Option<&[u8]> {
        self.next_any().map(|(frame, _)| frame)
    }

    /// Returns the next frame if one was published, and into what it is cut if it is a long
    /// segment.
    #[inline(always)]
    pub fn next_any(&mut self) -> Option<(&[u8], Option<Long>)> {
        loop {
            if self.tail == self.head_seen {
                self.head_seen = self.shared.head.0.load(Ordering::Acquire);
                if self.tail == self.head_seen {
                    return None;
                }
            }
            let place = self.shared.place(self.tail);
            // SAFETY: between tail and head stand whole records, written before head was published
            // and left alone until this end releases them.
            unsafe {
                let word = place.cast::<u64>().read();
                if word == SKIP {
                    let capacity = self.shared.capacity;
                    self.tail += capacity - (self.tail & (capacity - 1));
                    continue;
                }
                let len = word as u32 as usize;
                self.tail += record_bytes(len);
                let frame = std::slice::from_raw_parts(place.add(WORD), len);
                return Some((frame, Long::from_word((word >> 32) as u32)));
            }
        }
    }

    /// Returns the length of the next frame, without taking it.
    #[inline(always)]
    pub fn peek_len(&mut self) -> Option<usize> {
        let tail = self.tail;
        let len = self.next_frame().map(<[u8]>::len);
        self.tail = tail;
        len
    }

    /// Returns the next frame, without taking it.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<&[u8]> {
        let tail = self.tail;
        let (start, len) = self.next_frame().map(|frame| (frame.as_ptr(), frame.len()))?;
        self.tail = tail;
        // SAFETY: the record stays where it is until released, which takes `&mut self`, too.
        Some(unsafe { std::slice::from_raw_parts(start, len) })
    }

    /// Returns true unless the writer has taken the link down.
    pub fn is_up(&self) -> bool {
        !self.shared.is_down.load(Ordering::Relaxed)
    }

    /// Releases the slots of all frames taken so far to the writer.
    #[inline(always)]
    pub fn release(&mut self) {
        self.shared.tail.0.store(self.tail, Ordering::Release);
    }
}

#[inline(always)]
fn record_bytes(len: usize) -> usize {
    (WORD + len).next_multiple_of(WORD)
}

const WORD: usize = size_of::<u64>();

/// Bytes that a ring needs for a frame in addition to those of the frame.
pub const RECORD_BYTES: usize = WORD;

/// Memory that a deep ring uses while its reader keeps up: it fits into the caches of a machine.
const NEAR_BYTES: usize = 4 << 20;

/// Largest backlog at which a writer begins anew: until the reader has followed, the ring is only
/// as deep as [`NEAR_BYTES`] less this.
const CLOSE_BYTES: usize = NEAR_BYTES / 8;

/// A word that marks a record which fills the rest of the memory.
const SKIP: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_refuses_and_recovers() {
        let (mut sender, mut receiver) = ring(0).expect("memory");
        let frame = [7u8; 1000];
        let mut sent = 0;
        while sender.send(&frame) {
            sent += 1;
        }
        assert!(sent > 200 && receiver.next_frame().is_none(), "nothing was published yet");
        sender.publish();
        let mut received = 0;
        while receiver.next_frame().is_some() {
            received += 1;
        }
        assert_eq!(received, sent);
        assert!(!sender.send(&frame), "nothing was released yet");
        receiver.release();
        assert!(sender.send(&frame));
        assert!(sender.reserve(FRAME_MAX + 1).is_none());
    }

    #[test]
    fn a_deep_ring_stays_near_while_it_is_read_and_is_deep_when_it_is_not() {
        let capacity = 8 * NEAR_BYTES;
        let (mut sender, mut receiver) = ring(capacity).expect("memory");
        let mut number = 0_u64;
        let mut furthest = 0;
        let frame = |number: u64| [number as u8; 1500];
        // Twice the whole memory passes, a burst at a time.
        while number * 1500 < 2 * capacity as u64 {
            for _ in 0..32 {
                assert!(sender.send(&frame(number)));
                number += 1;
            }
            sender.publish();
            furthest = furthest.max(sender.head & (capacity - 1));
            while let Some(read) = receiver.next_frame() {
                assert!(read.len() == 1500);
            }
            receiver.release();
        }
        assert!(furthest < NEAR_BYTES + 100_000, "{furthest} bytes of memory are used");
        // The reader stalls: nearly all of the memory takes frames, and they come out in order.
        let first = number;
        while sender.send(&frame(number)) {
            number += 1;
        }
        sender.publish();
        let held = (number - first) as usize * record_bytes(1500);
        assert!(held > capacity - NEAR_BYTES, "{held} of {capacity} bytes");
        for expected in first..number {
            assert_eq!(receiver.next_frame(), Some(&frame(expected)[..]));
        }
        assert_eq!(receiver.next_frame(), None);
        // Once it has read all, frames go to the near part again.
        receiver.release();
        for _ in 0..capacity / 1500 {
            assert!(sender.send(&frame(number)));
            sender.publish();
            assert!(receiver.next_frame().is_some());
            receiver.release();
        }
        assert!(sender.head & (capacity - 1) < NEAR_BYTES + 100_000);
    }

    #[test]
    fn frames_of_all_lengths_cross_threads_whole_and_in_order() {
        for capacity in [0, 2 * NEAR_BYTES] {
            cross(capacity);
        }
    }

    /// Sends frames of all lengths from one thread to another.
    fn cross(capacity: usize) {
        let (mut sender, mut receiver) = ring(capacity).expect("memory");
        let count: u32 = if cfg!(miri) { 300 } else { 300_000 };
        let length = |index: u32| 4 + (index.wrapping_mul(2_654_435_761) >> 22) as usize;
        let writer = std::thread::spawn(move || {
            for index in 0..count {
                loop {
                    if let Some(room) = sender.reserve(length(index)) {
                        room.fill(index as u8);
                        room[..4].copy_from_slice(&index.to_le_bytes());
                        break;
                    }
                    sender.publish();
                    std::thread::yield_now();
                }
                sender.publish();
            }
        });
        for index in 0..count {
            let frame = loop {
                if receiver.peek_len().is_some() {
                    break receiver.next_frame().expect("it was peeked at");
                }
                receiver.release();
                std::thread::yield_now();
            };
            assert_eq!(frame.len(), length(index));
            assert_eq!(frame[..4], index.to_le_bytes());
            assert!(frame[4..].iter().all(|&byte| byte == index as u8));
        }
        writer.join().expect("the writer ends well");
        assert!(receiver.next_frame().is_none());
    }
}
