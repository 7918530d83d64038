//! Frames of a batch, into buffers that the device reads.

use engine::QueueCounters;
use packet::{Batch, Slot};

use super::ring::Ring;
use crate::drops::{Broken, RING_FULL, TRANSMIT_BROKEN, TRANSMIT_TOO_LONG};
use crate::queue::{Sink, Stops};

/// A ring that transmits frames to the device.
#[derive(Debug)]
pub struct Transmitting {
    ring: Ring,
    /// Free buffers in a queue, the oldest first.
    free: Vec<u16>,
    /// Position of the oldest free buffer, counted without wrap.
    first: usize,
    count: usize,
}

impl Transmitting {
    pub(super) fn new(ring: Ring) -> Transmitting {
        let free: Vec<u16> = (0..ring.size()).collect();
        let count = free.len();
        Transmitting { ring, free, first: 0, count }
    }

    /// Takes back the buffers that the device has read.
    fn reclaim(&mut self) -> Result<(), Broken> {
        for _ in 0..self.ring.returned()? {
            let (index, _) = self.ring.take_back()?;
            let place = (self.first + self.count) & (self.free.len() - 1);
            self.free[place] = index;
            self.count += 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, frame: &[u8]) {
        let index = self.free[self.first & (self.free.len() - 1)];
        self.first += 1;
        self.count -= 1;
        let header = self.ring.terms.header;
        let buffer = self.ring.buffer(index);
        // SAFETY: the buffer is this side's, and has room for a header and the longest frame.
        unsafe {
            header.write(buffer);
            let bytes = buffer.add(header.bytes());
            std::ptr::copy_nonoverlapping(frame.as_ptr(), bytes, frame.len());
        }
        self.ring.describe(index, header.bytes() + frame.len(), 0);
        self.ring.give(index);
    }
}

impl Stops for Transmitting {
    fn broken(&self) -> Option<Broken> {
        self.ring.broken
    }
}

impl Sink for Transmitting {
    #[inline]
    fn transmit(&mut self, batch: &Batch, slots: &[Slot], counters: &QueueCounters) -> usize {
        if self.count < slots.len()
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
            if frame.len() > self.ring.terms.frame_bytes_max {
                counters.dropped(TRANSMIT_TOO_LONG, 1);
            } else if self.count == 0 {
                counters.dropped(RING_FULL, 1);
            } else {
                self.put(frame);
                sent += 1;
                bytes += frame.len();
            }
        }
        counters.sent(sent, bytes);
        self.ring.publish(old);
        sent
    }
}
