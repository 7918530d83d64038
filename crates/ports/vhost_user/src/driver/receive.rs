//! Frames that the device wrote, into a batch.

use engine::QueueCounters;
use packet::{Batch, PortId};

use super::ring::Ring;
use crate::drops::{BROKEN, Broken, TOO_SHORT};
use crate::header::{BUFFERS_AT, ETHERNET_BYTES};
use crate::intake::Intake;
use crate::layout::{WRITE, prefetch};
use crate::queue::{Source, Stops};

/// A ring that receives the device's frames.
#[derive(Debug)]
pub struct Receiving {
    ring: Ring,
    /// Size of a buffer in bytes.
    room: usize,
    /// Buffer in which a frame of several buffers is assembled.
    whole: Vec<u8>,
}

impl Receiving {
    pub(super) fn new(mut ring: Ring, room: usize) -> Receiving {
        for index in 0..ring.size() {
            ring.describe(index, room, WRITE);
            ring.give(index);
        }
        ring.publish(0);
        let whole = Vec::with_capacity(ring.terms.frame_bytes_max + 1);
        Receiving { ring, room, whole }
    }

    /// Copies up to `limit` frames of `rest` buffers into the batch and returns the buffers to the
    /// device.
    #[inline(always)]
    fn take(&mut self, mut rest: u16, limit: usize, into: &mut Intake<'_>) -> Result<(), Broken> {
        for _ in 0..limit {
            if rest == 0 {
                break;
            }
            if rest > AHEAD {
                let (id, _) = self.ring.layout.used(self.ring.used.wrapping_add(AHEAD));
                let later = self.ring.buffer(id as u16 & (self.ring.size() - 1));
                prefetch(later);
                prefetch(later.wrapping_add(64));
            }
            let (index, written) = self.ring.take_back()?;
            rest -= 1;
            let bytes = written as usize;
            let header = self.ring.terms.header;
            if bytes > self.room || bytes < header.bytes() {
                return Err(Broken::Kind);
            }
            let buffer = self.ring.buffer(index);
            let mut buffers = 1;
            if header.is_mergeable() {
                // SAFETY: the buffer is longer than a header; the device may still write to it, so
                // the number is read once.
                let said = unsafe { buffer.add(BUFFERS_AT).cast::<[u8; 2]>().read_volatile() };
                buffers = u16::from_le_bytes(said).max(1);
            }
            let (frame, len) = (buffer.wrapping_add(header.bytes()), bytes - header.bytes());
            let len_max = self.ring.terms.frame_bytes_max;
            if buffers == 1 {
                // SAFETY: so many bytes lie in the buffer, which is this side's again. A device
                // that writes on changes bytes, not places.
                unsafe { into.put(frame, len, len_max) };
            } else {
                self.whole.clear();
                // SAFETY: as above.
                unsafe { append(&mut self.whole, frame, len, len_max) };
                self.join(buffers - 1, &mut rest)?;
                // SAFETY: it is this side's own.
                unsafe { into.put(self.whole.as_ptr(), self.whole.len(), len_max) };
            }
            self.ring.give(index);
        }
        Ok(())
    }

    /// Appends the bytes of the next buffers to the current frame.
    #[cold]
    fn join(&mut self, buffers: u16, rest: &mut u16) -> Result<(), Broken> {
        if buffers > *rest {
            return Err(Broken::Index);
        }
        for _ in 0..buffers {
            let (index, written) = self.ring.take_back()?;
            *rest -= 1;
            let bytes = written as usize;
            if bytes > self.room {
                return Err(Broken::Kind);
            }
            let (part, len_max) = (self.ring.buffer(index), self.ring.terms.frame_bytes_max);
            // SAFETY: as in `take`.
            unsafe { append(&mut self.whole, part, bytes, len_max) };
            self.ring.give(index);
        }
        Ok(())
    }
}

/// Appends bytes to a frame, up to one byte more than is permitted: a frame that is too long is
/// detected by its length.
///
/// # Safety
/// `len` bytes are at `part`.
unsafe fn append(whole: &mut Vec<u8>, part: *const u8, len: usize, len_max: usize) {
    let len = len.min((len_max + 1).saturating_sub(whole.len()));
    whole.reserve(len);
    // SAFETY: the caller's promise, and room was made.
    unsafe {
        std::ptr::copy_nonoverlapping(part, whole.as_mut_ptr().add(whole.len()), len);
        whole.set_len(whole.len() + len);
    }
}

impl Stops for Receiving {
    fn broken(&self) -> Option<Broken> {
        self.ring.broken
    }
}

impl Source for Receiving {
    #[inline]
    fn receive(
        &mut self,
        batch: &mut Batch,
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize {
        if self.ring.broken.is_some() {
            return 0;
        }
        let old = self.ring.available;
        let limit = limit.min(batch.remaining());
        let mut into = Intake::new(batch, id, counters);
        let returned = self.ring.returned();
        if let Err(why) = returned.and_then(|count| self.take(count, limit, &mut into)) {
            counters.dropped(BROKEN, 1);
            self.ring.broken = Some(why);
        }
        let frames = into.finish();
        self.ring.publish(old);
        frames
    }
}

impl Intake<'_> {
    /// Appends a frame to the batch.
    ///
    /// # Safety
    /// `len` bytes are at `frame`.
    #[inline(always)]
    unsafe fn put(&mut self, frame: *const u8, len: usize, len_max: usize) {
        if len < ETHERNET_BYTES {
            return self.counters.dropped(TOO_SHORT, 1);
        }
        let Some(room) = self.room(len, len_max) else { return };
        // SAFETY: the caller's promise; the batch's memory is not shared.
        unsafe { std::ptr::copy_nonoverlapping(frame, room.as_mut_ptr(), len) };
    }
}

/// Number of buffers ahead that are prefetched.
const AHEAD: u16 = 8;
