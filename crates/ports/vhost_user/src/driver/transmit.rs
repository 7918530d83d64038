//! Frames of a batch, into buffers that the device reads.

use engine::{Kinds, QueueCounters, Unsent, announced};
use offload::Header;
use packet::{Batch, Slot};

use super::ring::Ring;
use crate::drops::{Broken, RING_FULL, TRANSMIT_BROKEN, TRANSMIT_SEGMENTS, TRANSMIT_TOO_LONG};
use crate::layout::NEXT;
use crate::queue::{Sink, Stops};

/// A ring that transmits frames to the device.
#[derive(Debug)]
pub struct Transmitting {
    ring: Ring,
    /// Size of a buffer in bytes, including the header of a frame.
    room: usize,
    /// Free buffers in a queue, the oldest first.
    free: Vec<u16>,
    /// Position of the oldest free buffer, counted without wrap.
    first: usize,
    count: usize,
    /// For the first buffer of a frame that the device has, how many it has in all; the others
    /// follow in `chains`.
    parts: Vec<u16>,
    /// The buffer in which the frame of another one continues.
    chains: Vec<u16>,
}

impl Transmitting {
    pub(super) fn new(ring: Ring, room: usize) -> Transmitting {
        let free: Vec<u16> = (0..ring.size()).collect();
        let (count, parts) = (free.len(), vec![1; free.len()]);
        Transmitting { ring, room, chains: free.clone(), free, first: 0, count, parts }
    }

    /// Takes back the buffers that the device has read.
    fn reclaim(&mut self) -> Result<(), Broken> {
        for _ in 0..self.ring.returned()? {
            let (mut index, _) = self.ring.take_back()?;
            for _ in 0..self.parts[usize::from(index)] {
                let place = (self.first + self.count) & (self.free.len() - 1);
                self.free[place] = index;
                self.count += 1;
                index = self.chains[usize::from(index)];
            }
        }
        Ok(())
    }

    /// Returns the oldest free buffer, of which there must be one.
    #[inline(always)]
    fn next_free(&mut self) -> u16 {
        let index = self.free[self.first & (self.free.len() - 1)];
        self.first += 1;
        self.count -= 1;
        index
    }

    /// Sends a frame that fits into a buffer and lacks nothing.
    #[inline(always)]
    fn put(&mut self, frame: &[u8]) {
        let index = self.next_free();
        let header = self.ring.terms.header;
        let buffer = self.ring.buffer(index);
        // SAFETY: the buffer is this side's, and has room for a header and the longest frame.
        unsafe {
            header.write(buffer);
            let bytes = buffer.add(header.bytes());
            std::ptr::copy_nonoverlapping(frame.as_ptr(), bytes, frame.len());
        }
        self.ring.describe(index, header.bytes() + frame.len(), 0);
        self.parts[usize::from(index)] = 1;
        self.ring.give(index);
    }

    /// Sends a long segment in as many buffers as it takes; returns false if there are fewer.
    #[cold]
    fn put_long(&mut self, frame: &[u8], lacks: &Header) -> bool {
        let form = self.ring.terms.header;
        let parts = (form.bytes() + frame.len()).div_ceil(self.room);
        if parts > self.count {
            return false;
        }
        let head = self.next_free();
        let encoded = form.encode(lacks, 1);
        let (mut index, mut before, mut rest) = (head, &encoded[..form.bytes()], frame);
        for part in 1..=parts {
            let (bytes, behind) = rest.split_at(rest.len().min(self.room - before.len()));
            let buffer = self.ring.buffer(index);
            // SAFETY: the buffer is this side's, and has `room` bytes, of which `bytes` are those
            // that the header leaves.
            unsafe {
                std::ptr::copy_nonoverlapping(before.as_ptr(), buffer, before.len());
                let place = buffer.add(before.len());
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
            }
            let len = before.len() + bytes.len();
            let next = if part < parts { self.next_free() } else { index };
            let flags = if part < parts { NEXT } else { 0 };
            self.ring.describe_linked(index, len, (flags, next));
            self.chains[usize::from(index)] = next;
            (index, before, rest) = (next, &[], behind);
        }
        self.parts[usize::from(head)] = parts as u16;
        self.ring.give(head);
        true
    }

    /// Sends a long segment; returns why it did not leave.
    fn send_long(&mut self, batch: &mut Batch, slot: Slot) -> Result<(), usize> {
        let lacks = match announced(batch, slot, self.ring.terms.frame_bytes_max) {
            Ok(lacks) if self.ring.terms.sends.permit(&lacks) => lacks,
            Ok(_) | Err(Unsent::Unfit) => return Err(TRANSMIT_SEGMENTS),
            Err(Unsent::TooLong) => return Err(TRANSMIT_TOO_LONG),
        };
        if self.put_long(batch.frame(slot), &lacks) { Ok(()) } else { Err(RING_FULL) }
    }
}

impl Stops for Transmitting {
    fn broken(&self) -> Option<Broken> {
        self.ring.broken
    }
}

impl Sink for Transmitting {
    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], counters: &QueueCounters) -> usize {
        if (self.count < slots.len() || batch.has_long())
            && self.ring.broken.is_none()
            && let Err(why) = self.reclaim()
        {
            self.ring.broken = Some(why);
        }
        if self.ring.broken.is_some() {
            counters.dropped(TRANSMIT_BROKEN, slots.len() as u64);
            return 0;
        }
        let old = self.ring.available;
        let (mut sent, mut bytes) = (0, 0);
        for &slot in slots {
            let frame = batch.frame(slot);
            if batch.long(slot).is_some() {
                if let Err(why) = self.send_long(batch, slot) {
                    counters.dropped(why, 1);
                    continue;
                }
            } else if frame.len() > self.ring.terms.frame_bytes_max {
                counters.dropped(TRANSMIT_TOO_LONG, 1);
                continue;
            } else if self.count == 0 {
                counters.dropped(RING_FULL, 1);
                continue;
            } else {
                self.put(frame);
            }
            sent += 1;
            bytes += batch.frame_len(slot);
        }
        counters.sent(sent, bytes);
        self.ring.publish(old);
        sent
    }

    fn takes_long(&self) -> Kinds {
        self.ring.terms.sends.kinds
    }
}
