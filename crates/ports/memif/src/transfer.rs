//! Frames from a ring into a batch and back: one copy each way.
//!
//! A batch lends its frames to functions as plain slices, which nobody else may write meanwhile.
//! Memory that a peer can write at any time is therefore copied out of, once, and only the copy is
//! looked at.

use packet::{Batch, PortId, Slot};

use machine::memory::{prefetch_address, prefetch_address_to_write};

use crate::breach::Breach;
use crate::ring::{Descriptor, FLAG_NEXT, Ring};
use crate::side::Side;

/// Result of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Number of transferred frames.
    pub frames: usize,
    /// Bytes of the transferred frames.
    pub bytes: usize,
    /// Discarded frames that were longer than the available room.
    pub too_long: u64,
    /// Discarded frames without a complete Ethernet header.
    pub too_short: u64,
    /// Protocol violation of the peer; the frames before it count.
    pub breach: Option<Breach>,
}

/// The reading end of a ring.
#[derive(Debug)]
pub struct Incoming<S> {
    ring: Ring,
    side: S,
    next: u16,
    /// Buffer in which the parts of a chained frame are assembled.
    whole: Box<[u8]>,
}

/// The writing end of a ring.
#[derive(Debug)]
pub struct Outgoing<S> {
    ring: Ring,
    side: S,
    next: u16,
}

impl<S: Side> Incoming<S> {
    /// Starts to read at position 0; tells the peer that no interrupts are needed, and which places
    /// are free.
    pub fn new(ring: Ring, side: S) -> Incoming<S> {
        ring.mask_interrupts();
        side.give_back(&ring, 0, 0);
        Incoming { ring, side, next: 0, whole: vec![0; CHAIN_BYTES_MAX].into_boxed_slice() }
    }

    /// Appends up to `limit` frames to the batch.
    #[inline]
    pub fn receive(&mut self, batch: &mut Batch, id: PortId, limit: usize) -> Burst {
        let mut burst = Burst::default();
        let limit = limit.min(batch.remaining());
        let mut waiting = match S::filled(&self.ring, self.next) {
            Ok(0) => return burst,
            Ok(waiting) => waiting,
            Err(breach) => return Burst { breach: Some(breach), ..burst },
        };
        let first = self.next;
        while burst.frames < limit && waiting > 0 {
            if waiting > LOOK_AHEAD {
                prefetch_address(self.side.guess(&self.ring, self.next.wrapping_add(LOOK_AHEAD)));
            }
            let descriptor = self.ring.descriptor(self.next);
            let taken = if descriptor.flags & FLAG_NEXT == 0 {
                self.take(&descriptor, batch, id, &mut burst)
            } else {
                self.take_chain(waiting, batch, id, &mut burst)
            };
            match taken {
                Ok(0) => break,
                Ok(places) => {
                    self.next = self.next.wrapping_add(places);
                    waiting -= places;
                }
                Err(breach) => {
                    burst.breach = Some(breach);
                    break;
                }
            }
        }
        if self.next != first {
            self.side.give_back(&self.ring, first, self.next);
        }
        burst
    }

    /// Returns the number of waiting frames, according to the peer.
    pub fn waiting(&self) -> u64 {
        frames(&self.ring, self.next, S::filled(&self.ring, self.next).unwrap_or(0))
    }

    /// Reads a frame of one descriptor; returns the number of places that it used.
    #[inline(always)]
    fn take(
        &self,
        descriptor: &Descriptor,
        batch: &mut Batch,
        id: PortId,
        burst: &mut Burst,
    ) -> Result<u16, Breach> {
        let bytes = self.side.bytes(&self.ring, self.next, descriptor);
        let bytes = bytes.ok_or(Breach::Descriptor)?;
        let len = descriptor.length as usize;
        if len < FRAME_BYTES_MIN {
            burst.too_short += 1;
        } else if let Some(room) = batch.append(id, len) {
            // SAFETY: `bytes` are `len` bytes of mapped memory, which the batch is not part of.
            unsafe { copy(bytes.as_ptr(), room.as_mut_ptr(), len) };
            burst.frames += 1;
            burst.bytes += len;
        } else {
            burst.too_long += 1;
        }
        Ok(1)
    }

    /// Reads a frame of several descriptors; returns 0 places if its end is not available yet.
    #[cold]
    fn take_chain(
        &mut self,
        waiting: u16,
        batch: &mut Batch,
        id: PortId,
        burst: &mut Burst,
    ) -> Result<u16, Breach> {
        let mut len = 0;
        for place in 0..waiting {
            let position = self.next.wrapping_add(place);
            let descriptor = self.ring.descriptor(position);
            let bytes = self.side.bytes(&self.ring, position, &descriptor);
            let bytes = bytes.ok_or(Breach::Descriptor)?;
            let part = descriptor.length as usize;
            if let Some(room) = self.whole.get_mut(len..).and_then(|rest| rest.get_mut(..part)) {
                // SAFETY: `bytes` are `part` bytes of mapped memory, and so many are in the room.
                unsafe { copy(bytes.as_ptr(), room.as_mut_ptr(), part) };
            }
            len = len.saturating_add(part);
            if descriptor.flags & FLAG_NEXT == 0 {
                match self.whole.get(..len) {
                    Some(frame) if len >= FRAME_BYTES_MIN => match batch.append(id, len) {
                        Some(room) => {
                            room.copy_from_slice(frame);
                            burst.frames += 1;
                            burst.bytes += len;
                        }
                        None => burst.too_long += 1,
                    },
                    Some(_) => burst.too_short += 1,
                    None => burst.too_long += 1,
                }
                self.unchain(place + 1);
                return Ok(place + 1);
            }
        }
        // The peer can add no more places to a chain that fills the ring.
        if waiting == self.ring.size() { Err(Breach::Chain) } else { Ok(0) }
    }

    /// Clears the flag of a chain that was read: DPDK 22.11 as a slave sets it for a chain and does
    /// not clear it for the next frame in the place.
    fn unchain(&self, places: u16) {
        for place in 0..places {
            let position = self.next.wrapping_add(place);
            let Descriptor { region, length, .. } = self.ring.descriptor(position);
            self.ring.describe(position, 0, region, length);
        }
    }
}

impl<S: Side> Outgoing<S> {
    /// Starts to write at position 0.
    pub fn new(ring: Ring, side: S) -> Outgoing<S> {
        S::publish(&ring, 0);
        Outgoing { ring, side, next: 0 }
    }

    /// Sends frames until the ring is full; `frames` of them, and those that were too long, were
    /// processed.
    #[inline]
    pub fn transmit(&mut self, batch: &Batch, slots: &[Slot]) -> Burst {
        let mut burst = Burst::default();
        let mut free = match S::free(&self.ring, self.next) {
            Ok(free) => free,
            Err(breach) => return Burst { breach: Some(breach), ..burst },
        };
        for &slot in slots {
            if free == 0 {
                break;
            }
            if free > LOOK_AHEAD {
                let ahead = self.next.wrapping_add(LOOK_AHEAD);
                prefetch_address_to_write(self.side.guess(&self.ring, ahead));
            }
            let frame = batch.frame(slot);
            let buffer = self.side.buffer(&self.ring, self.next);
            let used = if frame.len() <= buffer.length as usize {
                self.put(self.next, &buffer, frame, 0).map(|()| Some(1))
            } else {
                self.put_chain(free, frame)
            };
            match used {
                Ok(Some(places)) => {
                    self.next = self.next.wrapping_add(places);
                    free -= places;
                    burst.frames += 1;
                    burst.bytes += frame.len();
                }
                Ok(None) if free == self.ring.size() => burst.too_long += 1,
                Ok(None) => break,
                Err(breach) => {
                    burst.breach = Some(breach);
                    break;
                }
            }
        }
        if burst.frames > 0 {
            S::publish(&self.ring, self.next);
        }
        burst
    }

    /// Returns the number of frames that the peer has not read, according to the peer.
    pub fn unread(&self) -> u64 {
        let places = S::free(&self.ring, self.next).map_or(0, |free| self.ring.size() - free);
        frames(&self.ring, self.next.wrapping_sub(places), places)
    }

    /// Writes bytes, no more than the buffer's length, to a position.
    #[inline(always)]
    fn put(
        &self,
        position: u16,
        buffer: &Descriptor,
        frame: &[u8],
        flags: u16,
    ) -> Result<(), Breach> {
        debug_assert!(frame.len() <= buffer.length as usize, "the caller compared them");
        let descriptor = Descriptor { length: frame.len() as u32, ..*buffer };
        let bytes = self.side.bytes(&self.ring, position, &descriptor);
        let bytes = bytes.ok_or(Breach::Descriptor)?;
        // SAFETY: `bytes` are as many bytes of mapped memory as the frame has; frames lie
        // elsewhere.
        unsafe { copy(frame.as_ptr(), bytes.as_ptr(), frame.len()) };
        self.ring.describe(position, flags, buffer.region, descriptor.length);
        Ok(())
    }

    /// Writes a frame into several buffers; `None` if there are too few.
    #[cold]
    fn put_chain(&self, free: u16, frame: &[u8]) -> Result<Option<u16>, Breach> {
        let mut room = 0usize;
        let mut places = 0;
        while room < frame.len() {
            if places == free {
                return Ok(None);
            }
            let buffer = self.side.buffer(&self.ring, self.next.wrapping_add(places));
            // A buffer of no bytes would make a chain of any length.
            if buffer.length == 0 {
                return Err(Breach::Descriptor);
            }
            room = room.saturating_add(buffer.length as usize);
            places += 1;
        }
        let mut rest = frame;
        for place in 0..places {
            let position = self.next.wrapping_add(place);
            // Read again, because the peer may have changed it: checked again.
            let buffer = self.side.buffer(&self.ring, position);
            let (part, more) = rest.split_at(rest.len().min(buffer.length as usize));
            let flags = if place + 1 < places { FLAG_NEXT } else { 0 };
            self.put(position, &buffer, part, flags)?;
            rest = more;
        }
        if rest.is_empty() { Ok(Some(places)) } else { Err(Breach::Descriptor) }
    }
}

/// Returns the number of frames that end in these places.
fn frames(ring: &Ring, from: u16, places: u16) -> u64 {
    let ends = |place: &u16| ring.descriptor(from.wrapping_add(*place)).flags & FLAG_NEXT == 0;
    (0..places).filter(ends).count() as u64
}

/// Copies bytes that the peer may write at the same time: the copy may contain any bytes, but it
/// does not change afterwards.
///
/// # Safety
/// Both are `len` bytes of mapped memory that do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// Length of an Ethernet header in bytes.
const FRAME_BYTES_MIN: usize = 14;

/// Longest frame that is assembled from a chain, in bytes.
const CHAIN_BYTES_MAX: usize = 1 << 16;

/// Number of frames ahead for which buffers are prefetched.
const LOOK_AHEAD: u16 = 8;
