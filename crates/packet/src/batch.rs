//! A batch: up to 256 frames in their own buffers, their metadata apart from their bytes.
//!
//! ```text
//!        slot 0                              slot 1
//! memory |  headroom  | frame      | free   |  headroom  | frame …
//!                     ^ start[0]   ^ start[0] + len[0]
//! ```
//! Buffers stand an odd number of cache lines apart, so that the headers of a batch spread over
//! all sets of the first-level cache instead of falling into a few.

mod cold;

use std::io;
use std::ops::Range;

use machine::memory::{CACHE_LINE, HugeArray};

use crate::{Long, PortId, Slot, Verdict};

/// Largest number of frames in a batch.
pub const BATCH_MAX: usize = 256;

/// Room of each frame of a batch, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes in front of a received frame, for headers that a function adds.
    pub headroom: usize,
    /// Bytes for the received frame itself, without its frame check sequence.
    pub frame: usize,
    /// Bytes for a long segment, up to [`LONG_BYTES_MAX`]; 0 where none is taken whole.
    pub long: usize,
}

/// Longest segment that a batch takes whole, in bytes: with all that a function adds in front of
/// it, its length is a number of 16 bits.
pub const LONG_BYTES_MAX: usize = u16::MAX as usize - HEADROOM;

/// The usual headroom.
const HEADROOM: usize = 128;

impl Default for Room {
    /// Returns 128 bytes in front, and an Ethernet frame with 2,000 bytes of payload; no long
    /// segments.
    fn default() -> Room {
        Room { headroom: HEADROOM, frame: 2014, long: 0 }
    }
}

/// Up to [`BATCH_MAX`] frames with a port and a verdict each.
pub struct Batch {
    memory: HugeArray<u8>,
    stride: usize,
    room: Room,
    capacity: usize,
    count: usize,
    /// Buffer of each slot; in another order once frames were removed, and while some packets are
    /// processed alone.
    home: [Slot; BATCH_MAX],
    start: [u32; BATCH_MAX],
    len: [u16; BATCH_MAX],
    port: [PortId; BATCH_MAX],
    verdict: [Verdict; BATCH_MAX],
    long: [Option<Long>; BATCH_MAX],
    /// Whether there was a long segment since the batch was emptied.
    has_long: bool,
    joins: Joins,
    /// Whether received frames are in no cache.
    cold: bool,
}

/// Frames that ports may join to long segments where they follow each other, because all ways out
/// take these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// Segments of TCP.
    pub segments: bool,
    /// Datagrams of UDP.
    pub datagrams: bool,
    /// Destination ports of UDP whose datagrams are never joined.
    pub except: &'static [u16],
}

impl Batch {
    /// Creates an empty batch for up to `capacity` frames.
    ///
    /// # Errors
    /// When the kernel has no memory for the buffers.
    ///
    /// # Panics
    /// If `capacity` is 0 or above [`BATCH_MAX`], or a frame's room exceeds 65,535 bytes:
    /// the program chooses these, not a user.
    pub fn new(capacity: usize, room: Room) -> io::Result<Batch> {
        assert!((1..=BATCH_MAX).contains(&capacity), "a batch must have 1 to {BATCH_MAX} frames");
        let bytes = room.headroom + room.frame.max(room.long);
        assert!(bytes <= usize::from(u16::MAX), "a frame must have at most 65,535 bytes");
        let stride = (bytes.div_ceil(CACHE_LINE) | 1) * CACHE_LINE;
        Ok(Batch {
            memory: HugeArray::zeroed(stride * BATCH_MAX)?,
            stride,
            room,
            capacity,
            count: 0,
            home: std::array::from_fn(|index| index as Slot),
            start: [0; BATCH_MAX],
            len: [0; BATCH_MAX],
            port: [PortId(0); BATCH_MAX],
            verdict: [Verdict::UNHANDLED; BATCH_MAX],
            long: [None; BATCH_MAX],
            has_long: false,
            joins: Joins::default(),
            cold: false,
        })
    }

    /// Empties the batch.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.has_long = false;
    }

    /// Returns the number of frames.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no frames.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of further frames for which there is room.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.capacity - self.count
    }

    /// Returns the longest frame that can be received, in bytes.
    pub fn frame_room(&self) -> usize {
        self.room.frame
    }

    /// Returns the longest segment that is taken whole, in bytes; 0 if none is.
    pub fn long_room(&self) -> usize {
        self.room.long
    }

    /// Returns which frames ports may join.
    #[inline(always)]
    pub fn joins(&self) -> Joins {
        self.joins
    }

    /// Sets which frames ports may join; none without room for long segments.
    pub fn set_joins(&mut self, joins: Joins) {
        self.joins = if self.room.long > 0 { joins } else { Joins::default() };
    }

    /// Returns the slots of all frames.
    #[inline(always)]
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.count).map(|index| index as Slot)
    }

    /// Appends a frame of `len` bytes that arrived at `port`, and returns its bytes, which must be
    /// filled: they contain data of an earlier frame. `None` when the batch is full or the frame is
    /// longer than its room.
    #[inline(always)]
    pub fn append(&mut self, port: PortId, len: usize) -> Option<&mut [u8]> {
        if self.count >= self.capacity || len > self.room.frame {
            return None;
        }
        self.append_within(port, len)
    }

    /// Appends a frame of `len` bytes, for which there is room.
    #[inline(always)]
    fn append_within(&mut self, port: PortId, len: usize) -> Option<&mut [u8]> {
        let index = self.count & (BATCH_MAX - 1);
        let start = self.buffer(index) + self.room.headroom;
        self.start[index] = start as u32;
        self.len[index] = len as u16;
        self.port[index] = port;
        self.verdict[index] = Verdict::UNHANDLED;
        self.long[index] = None;
        self.count += 1;
        self.memory.get_mut(start..start + len)
    }

    /// Appends a long segment as [`Batch::append`] does a frame; `None` also where one of its
    /// pieces would be longer than the room of a frame.
    pub fn append_long(&mut self, port: PortId, len: usize, long: Long) -> Option<&mut [u8]> {
        self.append_open(port, len)?;
        match self.settle(long) {
            true => Some(self.frame_mut((self.count - 1) as Slot)),
            false => {
                self.drop_last();
                None
            }
        }
    }

    /// Appends what may turn out to be a long segment as [`Batch::append`] does a frame, if there
    /// is room for one; then [`Batch::settle`] says what it is, or it is to be dropped again.
    pub fn append_open(&mut self, port: PortId, len: usize) -> Option<&mut [u8]> {
        if self.count >= self.capacity || len > self.room.long {
            return None;
        }
        self.append_within(port, len)
    }

    /// Says that the last frame is a long segment; returns false, without any change, where one of
    /// its pieces would be longer than the room of a frame.
    pub fn settle(&mut self, long: Long) -> bool {
        let Some(last) = self.count.checked_sub(1) else { return false };
        let head_len = usize::from(self.len[last]).checked_sub(long.payload_len());
        let fits = head_len.is_some_and(|len| len + long.piece_len() <= self.room.frame);
        if fits {
            self.has_long = true;
            self.long[last] = Some(long);
        }
        fits
    }

    /// Appends a frame as [`Batch::append`] does, or a long segment.
    #[inline]
    pub fn append_any(
        &mut self,
        port: PortId,
        len: usize,
        long: Option<Long>,
    ) -> Option<&mut [u8]> {
        match long {
            None => self.append(port, len),
            Some(long) => self.append_long(port, len, long),
        }
    }

    /// Appends a copy of a frame of this batch, with the same port and verdict. `None` without
    /// room.
    pub fn append_copy(&mut self, of: Slot) -> Option<Slot> {
        let (len, start) = (self.frame_len(of), self.start[usize::from(of)] as usize);
        self.append_any(self.port(of), len, self.long(of))?;
        let slot = self.count - 1;
        self.memory.copy_within(start..start + len, self.start[slot] as usize);
        self.verdict[slot] = self.verdict(of);
        Some(slot as Slot)
    }

    /// Returns the bytes of a frame, from its Ethernet header to the end of its payload.
    #[inline(always)]
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let start = self.start[usize::from(slot)] as usize;
        &self.memory[start..start + usize::from(self.len[usize::from(slot)])]
    }

    /// Returns the bytes of a frame, to change them.
    #[inline(always)]
    pub fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        let start = self.start[usize::from(slot)] as usize;
        &mut self.memory[start..start + usize::from(self.len[usize::from(slot)])]
    }

    /// Returns the length of a frame in bytes.
    #[inline(always)]
    pub fn frame_len(&self, slot: Slot) -> usize {
        usize::from(self.len[usize::from(slot)])
    }

    /// Removes `count` bytes from the front of a frame (all of them, if it has fewer).
    #[inline(always)]
    pub fn pull_front(&mut self, slot: Slot, count: usize) {
        let index = usize::from(slot);
        let count = count.min(usize::from(self.len[index]));
        self.start[index] += count as u32;
        self.len[index] -= count as u16;
    }

    /// Adds `count` bytes in front of a frame and returns the whole frame; the new bytes contain
    /// earlier data. `None`, without any change, if the headroom is too small.
    #[inline(always)]
    pub fn push_front(&mut self, slot: Slot, count: usize) -> Option<&mut [u8]> {
        let index = usize::from(slot);
        let start = self.start[index] as usize;
        if start < self.buffer(index) + count {
            return None;
        }
        let start = start - count;
        let len = usize::from(self.len[index]) + count;
        self.start[index] = start as u32;
        self.len[index] = len as u16;
        self.memory.get_mut(start..start + len)
    }

    /// Truncates a frame to its first `len` bytes; a shorter frame remains unchanged. What was cut
    /// off stands for one frame.
    #[inline(always)]
    pub fn truncate(&mut self, slot: Slot, len: usize) {
        let index = usize::from(slot);
        if len < usize::from(self.len[index]) {
            self.len[index] = len as u16;
            self.long[index] = None;
        }
    }

    /// Sets the length of a frame, up to the end of its buffer; bytes beyond the old length contain
    /// data of an earlier frame. It stands for one frame then. Returns false, without any change,
    /// if there is no room.
    #[inline]
    pub fn set_frame_len(&mut self, slot: Slot, len: usize) -> bool {
        let index = usize::from(slot);
        let fits = self.start[index] as usize + len <= self.buffer(index) + self.stride;
        if fits && len <= usize::from(u16::MAX) {
            self.len[index] = len as u16;
            self.long[index] = None;
        }
        fits
    }

    /// Appends a part of the last frame to another one, and removes it. `part` gets the bytes of
    /// both and says which; returns false, with both as it left them, if it says none, or if there
    /// might be no room for all.
    #[inline]
    pub fn join(
        &mut self,
        slot: Slot,
        part: impl FnOnce(&mut [u8], &[u8]) -> Option<Range<usize>>,
    ) -> bool {
        let (index, Some(last)) = (usize::from(slot), self.count.checked_sub(1)) else {
            return false;
        };
        let (from, to) = (self.span(last), self.span(index));
        let end = self.buffer(index) + self.room.headroom + self.room.long;
        if index >= last || to.end + from.len() > end {
            return false;
        }
        let Ok([held, frame]) = self.memory.get_disjoint_mut([to.clone(), from.clone()]) else {
            return false;
        };
        let Some(part) = part(held, frame) else { return false };
        let part = from.start + part.start..from.start + part.end;
        let len = part.len();
        self.memory.copy_within(part, to.end);
        self.len[index] += len as u16;
        self.drop_last();
        true
    }

    /// Returns where the bytes of a frame are.
    #[inline(always)]
    fn span(&self, index: usize) -> Range<usize> {
        let start = self.start[index] as usize;
        start..start + usize::from(self.len[index])
    }

    /// Returns true if there was a long segment since the batch was emptied.
    #[inline(always)]
    pub fn has_long(&self) -> bool {
        self.has_long
    }

    /// Returns into what a long segment is cut; `None` of any other frame.
    #[inline(always)]
    pub fn long(&self, slot: Slot) -> Option<Long> {
        self.long[usize::from(slot)]
    }

    /// Says that a frame is a long segment, or none (any more).
    #[inline]
    pub fn set_long(&mut self, slot: Slot, long: Option<Long>) {
        self.has_long |= long.is_some();
        self.long[usize::from(slot)] = long;
    }

    /// Returns for how many frames of a link a frame stands: one, but for long segments.
    #[inline(always)]
    pub fn segments(&self, slot: Slot) -> u32 {
        self.long(slot).map_or(1, |long| long.pieces() as u32)
    }

    /// Returns the bytes of all frames of a link for which a frame stands.
    #[inline(always)]
    pub fn link_bytes(&self, slot: Slot) -> usize {
        let len = self.frame_len(slot);
        self.long(slot)
            .map_or(len, |long| len + (long.pieces() - 1) * len.saturating_sub(long.payload_len()))
    }

    /// Returns the length of the longest frame of a link for which a frame stands, in bytes.
    #[inline(always)]
    pub fn longest(&self, slot: Slot) -> usize {
        let len = self.frame_len(slot);
        self.long(slot)
            .map_or(len, |long| len.saturating_sub(long.payload_len()) + long.piece_len())
    }

    /// Removes the last frame, if there is one.
    pub fn drop_last(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// Removes the frames from position `first` for which `keeps` returns false; the others move up
    /// in order.
    pub fn retain_from(
        &mut self,
        first: usize,
        mut keeps: impl FnMut(&[u8], Option<Long>) -> bool,
    ) {
        let first = first.min(self.count);
        let mut place = first;
        for index in first..self.count {
            if keeps(self.frame(index as Slot), self.long[index]) {
                self.home.swap(place, index);
                self.start.swap(place, index);
                self.len.swap(place, index);
                self.port.swap(place, index);
                self.verdict.swap(place, index);
                self.long.swap(place, index);
                place += 1;
            }
        }
        self.count = place;
    }

    /// Returns the start of a slot's buffer.
    #[inline(always)]
    fn buffer(&self, index: usize) -> usize {
        usize::from(self.home[index]) * self.stride
    }

    /// Calls `work` with some of the frames as a batch: their slots are 0, 1 … in the order of the
    /// list, and there is room for no other frame. No byte is moved. Afterwards all frames have
    /// their slots again; lengths, ports and verdicts are as `work` left them. A slot may be in the
    /// list once.
    pub fn with_only<T>(&mut self, slots: &[Slot], work: impl FnOnce(&mut Batch) -> T) -> T {
        let (count, capacity) = (self.count, self.capacity);
        self.capacity = slots.len();
        if slots.len() == count && slots.is_sorted() {
            let done = work(self);
            (self.count, self.capacity) = (count, capacity);
            return done;
        }
        let mut all = (self.home, self.start, self.len, self.port, self.verdict, self.long);
        for (index, slot) in slots.iter().map(|slot| usize::from(*slot)).enumerate() {
            self.home[index] = all.0[slot];
            self.start[index] = all.1[slot];
            self.len[index] = all.2[slot];
            self.port[index] = all.3[slot];
            self.verdict[index] = all.4[slot];
            self.long[index] = all.5[slot];
        }
        self.count = slots.len();
        let done = work(self);
        for (index, slot) in slots.iter().map(|slot| usize::from(*slot)).enumerate() {
            all.1[slot] = self.start[index];
            all.2[slot] = self.len[index];
            all.3[slot] = self.port[index];
            all.4[slot] = self.verdict[index];
            all.5[slot] = self.long[index];
        }
        (self.home, self.start, self.len, self.port, self.verdict, self.long) = all;
        (self.count, self.capacity) = (count, capacity);
        done
    }

    /// Returns the port at which a frame arrived.
    #[inline(always)]
    pub fn port(&self, slot: Slot) -> PortId {
        self.port[usize::from(slot)]
    }

    /// Sets the port at which a packet arrives for the next function.
    #[inline(always)]
    pub fn set_port(&mut self, slot: Slot, port: PortId) {
        self.port[usize::from(slot)] = port;
    }

    /// Returns the verdict of a packet so far.
    #[inline(always)]
    pub fn verdict(&self, slot: Slot) -> Verdict {
        self.verdict[usize::from(slot)]
    }

    /// Sets the verdict of a packet.
    #[inline(always)]
    pub fn set_verdict(&mut self, slot: Slot, verdict: Verdict) {
        self.verdict[usize::from(slot)] = verdict;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    fn batch() -> Batch {
        Batch::new(BATCH_MAX, Room { headroom: 64, frame: 200, long: 0 })
            .expect("memory for a batch")
    }

    #[test]
    fn frames_that_stay_keep_their_order_and_their_bytes() {
        let mut batch = batch();
        // Twice, because the buffers have another order the second time.
        for _ in 0..2 {
            batch.clear();
            for value in 0..20u8 {
                batch.append(PortId(value % 3), 60 + usize::from(value)).expect("room").fill(value);
            }
            batch.retain_from(4, |frame, _| frame[0] % 2 == 1);
            let expected: Vec<u8> = (0..4).chain((5..20).step_by(2)).collect();
            let left: Vec<u8> = batch.slots().map(|slot| batch.frame(slot)[0]).collect();
            assert_eq!(left, expected);
            for (slot, value) in batch.slots().zip(expected) {
                assert_eq!(batch.frame(slot), vec![value; 60 + usize::from(value)]);
                assert_eq!(batch.port(slot), PortId(value % 3));
            }
        }
        batch.retain_from(30, |_, _| false);
        assert_eq!(batch.len(), 12, "there is none so far behind");
    }

    #[test]
    fn frames_stay_in_their_own_buffers() {
        let mut batch = batch();
        for value in 0..=255u8 {
            batch.append(PortId(value % 2), 200).expect("room for 256").fill(value);
        }
        assert!(batch.append(PortId(0), 1).is_none(), "a 257th frame is refused");
        for slot in batch.slots() {
            batch.push_front(slot, 64).expect("headroom")[..64].fill(slot);
            assert!(batch.frame(slot).iter().all(|&byte| byte == slot));
            assert_eq!(batch.port(slot), PortId(slot % 2));
            assert_eq!(batch.verdict(slot), Verdict::UNHANDLED);
        }
    }

    #[test]
    fn the_front_moves_back_and_forth() {
        let mut batch = batch();
        batch.append(PortId(0), 4).expect("room").copy_from_slice(b"abcd");
        batch.pull_front(0, 1);
        assert_eq!(batch.frame(0), b"bcd");
        batch.push_front(0, 2).expect("headroom")[0] = b'x';
        assert_eq!(batch.frame(0)[0], b'x');
        assert_eq!(&batch.frame(0)[2..], b"bcd");
        batch.truncate(0, 3);
        assert_eq!(batch.frame_len(0), 3);
        batch.pull_front(0, 99);
        assert_eq!(batch.frame(0), b"");
    }

    #[test]
    fn some_frames_alone_keep_their_bytes_and_their_room() {
        let mut batch = batch();
        for value in 0..8 {
            batch.append(PortId(0), 100).expect("room").fill(value);
        }
        let told = batch.with_only(&[1, 4, 7], |some| {
            assert_eq!((some.len(), some.remaining()), (3, 0));
            assert!(some.append(PortId(0), 1).is_none(), "there are no others");
            for (slot, value) in [(0, 1), (1, 4), (2, 7)] {
                assert!(some.frame(slot).iter().all(|&byte| byte == value));
                some.push_front(slot, 64).expect("its own headroom").fill(value + 100);
                assert!(some.push_front(slot, 1).is_none(), "and no more");
                some.set_verdict(slot, Verdict::Punt(Reason(1)));
                some.set_port(slot, PortId(1));
            }
            assert!(some.set_frame_len(1, 264) && !some.set_frame_len(1, 1000));
            some.with_only(&[2], |one| one.set_verdict(0, Verdict::Forward(PortId(3))));
            "told"
        });
        assert_eq!((told, batch.len(), batch.remaining()), ("told", 8, 248));
        for slot in 0..8 {
            let (len, verdict) = match slot {
                1 => (164, Verdict::Punt(Reason(1))),
                4 => (264, Verdict::Punt(Reason(1))),
                7 => (164, Verdict::Forward(PortId(3))),
                _ => (100, Verdict::UNHANDLED),
            };
            assert_eq!((batch.frame_len(slot), batch.verdict(slot)), (len, verdict), "{slot}");
            let value = if len > 100 { slot + 100 } else { slot };
            assert!(batch.frame(slot)[..100].iter().all(|&byte| byte == value), "{slot}");
            assert_eq!(batch.port(slot), PortId(u8::from(len > 100)));
        }
        let every: Vec<Slot> = batch.slots().collect();
        batch.with_only(&every, |all| all.slots().for_each(|slot| all.truncate(slot, 5)));
        assert!(batch.slots().all(|slot| batch.frame_len(slot) == 5));
    }

    #[test]
    fn headroom_and_buffer_have_an_end() {
        let mut batch = batch();
        batch.append(PortId(0), 10).expect("room");
        batch.append(PortId(0), 10).expect("room");
        assert!(batch.push_front(1, 65).is_none());
        assert_eq!(batch.frame_len(1), 10);
        assert!(batch.push_front(1, 64).is_some());
        assert!(batch.append(PortId(0), 201).is_none(), "longer than the room");
        assert!(batch.set_frame_len(0, 200));
        assert!(!batch.set_frame_len(0, 4000));
        assert_eq!(batch.frame_len(0), 200);
    }
    #[test]
    fn a_long_segment_stands_for_its_pieces_until_it_is_another_frame() {
        let room = Room { headroom: 128, frame: 1514, long: LONG_BYTES_MAX };
        let mut batch = Batch::new(8, room).expect("memory");
        let long = Long::new(60_000, 1448);
        batch.append(PortId(0), 1514).expect("room");
        assert!(batch.append(PortId(0), 1515).is_none(), "no frame is as long");
        assert!(!batch.has_long());
        batch.append_any(PortId(1), 60_066, long).expect("room").fill(7);
        assert_eq!((batch.len(), batch.has_long(), batch.long(1)), (2, true, long));
        assert_eq!([0, 1].map(|slot| batch.segments(slot)), [1, 42]);
        assert_eq!([0, 1].map(|slot| batch.link_bytes(slot)), [1514, 60_000 + 42 * 66]);
        assert_eq!([0, 1].map(|slot| batch.longest(slot)), [1514, 1514]);
        batch.push_front(1, 4).expect("headroom");
        assert_eq!((batch.longest(1), batch.link_bytes(1)), (1518, 60_000 + 42 * 70));
        batch.pull_front(1, 4);
        assert_eq!(batch.append_copy(1), Some(2));
        assert_eq!((batch.long(2), batch.frame(2)), (long, batch.frame(1)));
        batch.with_only(&[2], |one| assert_eq!((one.segments(0), one.long(0)), (42, long)));
        batch.retain_from(0, |_, long| long.is_some());
        assert_eq!((batch.len(), batch.long(0), batch.long(1)), (2, long, long));
        batch.truncate(0, 60_066);
        assert_eq!(batch.long(0), long, "nothing was cut off");
        batch.truncate(0, 60_065);
        assert!(batch.set_frame_len(1, 60));
        assert_eq!((batch.long(0), batch.long(1)), (None, None), "they are others now");
        let too_much = Long::new(60_000, 1449);
        assert!(batch.append_any(PortId(0), 60_066, too_much).is_none(), "its pieces");
        assert!(batch.append_any(PortId(0), LONG_BYTES_MAX + 1, long).is_none());
        assert!(batch.append_any(PortId(0), 59_999, long).is_none(), "less than its payload");
        batch.clear();
        batch.append(PortId(0), 60).expect("room").fill(1);
        assert_eq!((batch.has_long(), batch.long(0)), (false, None));
        let mut join = |len: usize| {
            batch.append_open(PortId(0), len).expect("room").fill(2);
            let joins = batch.join(0, |held, frame| {
                held[0] = 3;
                (frame.len() == len).then_some(0..len)
            });
            assert_eq!(batch.len(), if joins { 1 } else { 2 });
            (0..batch.len() - 1).for_each(|_| batch.drop_last());
            joins
        };
        assert!(join(3) && !join(LONG_BYTES_MAX - 62) && join(LONG_BYTES_MAX - 63));
        assert_eq!((batch.frame(0)[0], &batch.frame(0)[59..64]), (3, &[1, 2, 2, 2, 2][..]));
        assert!(!batch.join(0, |_, _| Some(0..0)), "with itself");
    }
}
