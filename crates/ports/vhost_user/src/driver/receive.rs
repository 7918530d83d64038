//! Frames that the device wrote, into a batch.

use engine::{Intake, LONG_FRAME_BYTES_MAX, QueueCounters, Taken};
use offload::{Gso, Header};
use packet::{Batch, PortId};

use super::ring::Ring;
use crate::drops::{BROKEN, Broken, OFFLOAD, TOO_SHORT};
use crate::header::{BUFFERS_AT, ETHERNET_BYTES, lacks};
use crate::layout::{WRITE, prefetch};
use crate::queue::{LOSSES, Source, Stops};

/// A ring that receives the device's frames.
#[derive(Debug)]
pub struct Receiving {
    ring: Ring,
    /// Size of a buffer in bytes.
    room: usize,
    /// Buffer in which a frame of several buffers is assembled.
    whole: Vec<u8>,
}

/// Where a frame goes.
type Into<'a> = (&'a mut Intake, &'a mut Batch, PortId);

impl Receiving {
    pub(super) fn new(mut ring: Ring, room: usize) -> Receiving {
        for index in 0..ring.size() {
            ring.describe(index, room, WRITE);
            ring.give(index);
        }
        ring.publish(0);
        let terms = &ring.terms;
        let is_long = terms.receives != Default::default();
        let most = if is_long { LONG_FRAME_BYTES_MAX } else { terms.frame_bytes_max };
        let whole = Vec::with_capacity(most + 1);
        Receiving { ring, room, whole }
    }

    /// Takes the next frame of `rest` buffers, and returns the buffers to the device.
    #[inline(always)]
    fn take(
        &mut self,
        rest: &mut u16,
        into: Into<'_>,
        counters: &QueueCounters,
    ) -> Result<Taken, Broken> {
        if *rest > AHEAD {
            let (id, _) = self.ring.layout.used(self.ring.used.wrapping_add(AHEAD));
            let later = self.ring.buffer(id as u16 & (self.ring.size() - 1));
            prefetch(later);
            prefetch(later.wrapping_add(64));
        }
        let (index, written) = self.ring.take_back()?;
        *rest -= 1;
        let bytes = written as usize;
        let header = self.ring.terms.header;
        if bytes > self.room || bytes < header.bytes() {
            return Err(Broken::Kind);
        }
        let buffer = self.ring.buffer(index);
        let mut buffers = 1;
        if header.is_mergeable() {
            // SAFETY: the buffer is longer than a header; the device may still write to it, so the
            // number is read once.
            let said = unsafe { buffer.add(BUFFERS_AT).cast::<[u8; 2]>().read_volatile() };
            buffers = u16::from_le_bytes(said).max(1);
        }
        // SAFETY: as above.
        let lacks = unsafe { lacks(buffer) };
        let (frame, len) = (buffer.wrapping_add(header.bytes()), bytes - header.bytes());
        let taken = if buffers == 1 {
            // SAFETY: so many bytes lie in the buffer, which is this side's again. A device that
            // writes on changes bytes, not places.
            unsafe { self.put((frame, len), &lacks, into, counters) }
        } else {
            let most = self.longest(&lacks);
            self.whole.clear();
            // SAFETY: as above.
            unsafe { append(&mut self.whole, frame, len, most) };
            self.join(buffers - 1, rest, most)?;
            // SAFETY: it is this side's own.
            unsafe { self.put((self.whole.as_ptr(), self.whole.len()), &lacks, into, counters) }
        };
        self.ring.give(index);
        Ok(taken)
    }

    /// Returns the longest frame that may lack this, in bytes.
    #[inline(always)]
    fn longest(&self, lacks: &Header) -> usize {
        let terms = &self.ring.terms;
        let is_long = lacks.gso != Gso::None && terms.receives.permit(lacks);
        if is_long { LONG_FRAME_BYTES_MAX } else { terms.frame_bytes_max }
    }

    /// Appends the bytes of the next buffers to the current frame.
    #[cold]
    fn join(&mut self, buffers: u16, rest: &mut u16, most: usize) -> Result<(), Broken> {
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
            // SAFETY: as in `take`.
            unsafe { append(&mut self.whole, self.ring.buffer(index), bytes, most) };
            self.ring.give(index);
        }
        Ok(())
    }

    /// Takes a frame into the batch.
    ///
    /// # Safety
    /// `len` bytes are at `frame`.
    #[inline(always)]
    unsafe fn put(
        &self,
        (frame, len): (*const u8, usize),
        lacks: &Header,
        (intake, batch, id): Into<'_>,
        counters: &QueueCounters,
    ) -> Taken {
        if len < ETHERNET_BYTES {
            counters.dropped(TOO_SHORT, 1);
            return Taken::default();
        }
        if !self.ring.terms.receives.permit(lacks) {
            counters.dropped(OFFLOAD, 1);
            return Taken::default();
        }
        if len > self.longest(lacks) {
            return Taken { too_long: 1, ..Taken::default() };
        }
        intake.take_written((batch, id), len, lacks, |room| {
            // SAFETY: the caller's promise; the batch's memory is not shared.
            unsafe { std::ptr::copy_nonoverlapping(frame, room.as_mut_ptr(), room.len()) };
        })
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
        (intake, batch): (&mut Intake, &mut Batch),
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize {
        let old = self.ring.available;
        // What is thrown away counts, too: a flood of it must not keep the worker here.
        let mut left = limit.min(batch.remaining());
        let mut rest = None;
        let frames = intake.round((batch, id), limit, (counters, LOSSES), |intake, batch| {
            if left == 0 || self.ring.broken.is_some() {
                return None;
            }
            left -= 1;
            let returned = rest.map_or_else(|| self.ring.returned(), Ok);
            let taken = returned.and_then(|mut count| {
                let into = (intake, batch, id);
                let taken = match count {
                    0 => None,
                    _ => Some(self.take(&mut count, into, counters)?),
                };
                rest = Some(count);
                Ok(taken)
            });
            taken.unwrap_or_else(|why| {
                counters.dropped(BROKEN, 1);
                self.ring.broken = Some(why);
                None
            })
        });
        self.ring.publish(old);
        frames
    }
}

/// Number of buffers ahead that are prefetched.
const AHEAD: u16 = 8;
