//! The driver's side of a ring: what a virtual machine would do, done here in order to talk to a
//! device in another process.
//!
//! Guarantees: a descriptor belongs to one buffer for ever and is never read back; what the device
//! says it used is judged against a private record before any byte is touched. The memory belongs
//! to one connection: a device that has gone sees nothing of the next one's frames.

mod receive;
#[cfg(test)]
mod tests;
mod transmit;

use std::sync::Arc;

use vmm_sys_util::eventfd::EventFd;

pub use self::receive::Receiving;
pub use self::transmit::Transmitting;
use crate::drops::Broken;
use crate::header::{HEADER_BYTES_MAX, Header};
use crate::layout::{Addresses, Descriptor, Layout, LayoutError, NO_NOTIFICATION, parts};
use crate::memory::{Memory, MemoryError, Region};

/// Memory for all rings of a connection and their buffers, to be shared with a device.
pub struct Arena {
    /// As seen from here.
    pub memory: Arc<Memory>,
    /// To be handed to the device.
    pub file: std::fs::File,
    plan: Plan,
}

/// How an arena is divided: rings first, then the buffers of each ring.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Pairs of rings; the even ones receive, the odd ones transmit.
    pub pairs: usize,
    /// Descriptors, and buffers, of each ring.
    pub size: u16,
    /// Room of a buffer to receive into, header included.
    pub receive_bytes: usize,
    /// Room of a buffer to transmit from, header included.
    pub transmit_bytes: usize,
}

/// What was negotiated.
#[derive(Debug)]
pub struct Terms {
    /// How a frame's header looks.
    pub header: Header,
    /// Notifications by index instead of by flag.
    pub event_index: bool,
    /// Wakes the device.
    pub kick: EventFd,
    /// The longest frame, without its header.
    pub frame_bytes_max: usize,
}

impl Plan {
    fn receives(ring: usize) -> bool {
        ring.is_multiple_of(2)
    }

    /// Bytes from one buffer of a ring to the next: an odd number of cache lines, so that headers
    /// spread over the sets of the cache.
    fn stride(&self, ring: usize) -> usize {
        let room = if Plan::receives(ring) { self.receive_bytes } else { self.transmit_bytes };
        (room.max(HEADER_BYTES_MAX).div_ceil(LINE) | 1) * LINE
    }

    /// Where the three parts of a ring are, from its beginning on, and how many bytes they take.
    fn ring(&self) -> ([usize; 3], usize) {
        let mut end = 0;
        let starts = parts(self.size).map(|(bytes, _)| {
            let start = end;
            end = (end + bytes).next_multiple_of(2 * LINE);
            start
        });
        (starts, end.next_multiple_of(PAGE))
    }

    /// Where the buffers of a ring begin; of the ring behind the last: where the arena ends.
    fn buffers(&self, ring: usize) -> usize {
        let before = (0..ring).map(|ring| self.stride(ring) * usize::from(self.size));
        2 * self.pairs * self.ring().1 + before.sum::<usize>()
    }

    fn bytes(&self) -> usize {
        self.buffers(2 * self.pairs).next_multiple_of(PAGE)
    }
}

impl Arena {
    /// Zeroed memory, sealed against whoever would shrink it.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn new(plan: Plan) -> Result<Arena, MemoryError> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        let failed = |error: std::io::Error| MemoryError::Map(error.to_string());
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("plumbline-vhost-user", flags).map_err(|e| failed(e.into()))?;
        let bytes = plan.bytes() as u64;
        ftruncate(&file, bytes).map_err(|error| failed(error.into()))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(|error| failed(error.into()))?;
        let file = std::fs::File::from(file);
        let mapped = file.try_clone().map_err(failed)?;
        let region = Region::map(mapped, 0, bytes, GUEST_START, USER_START)?;
        Ok(Arena { memory: Memory::new(vec![region])?, file, plan })
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.plan.bytes() as u64
    }

    /// Where the parts of a ring are, as addresses of this process are told to a device.
    pub fn addresses(&self, ring: usize) -> Addresses {
        let (starts, bytes) = self.plan.ring();
        let [descriptors, available, used] =
            starts.map(|start| USER_START + (ring * bytes + start) as u64);
        Addresses { descriptors, available, used }
    }

    fn ring(&self, ring: usize, terms: Terms) -> Result<Ring, LayoutError> {
        let size = self.plan.size;
        let layout = Layout::new(&self.memory, size.into(), self.addresses(ring))?;
        let stride = self.plan.stride(ring);
        let start = self.plan.buffers(ring);
        let guest = GUEST_START + start as u64;
        let len = (stride * usize::from(size)) as u32;
        let buffers = self.memory.find(&mut 0, guest, len).ok_or(LayoutError::Place("buffers"))?;
        layout.set_available_flags(NO_NOTIFICATION);
        if terms.event_index {
            // As far away as can be: the device wakes nobody but once in 65,536 buffers.
            layout.set_used_event(u16::MAX);
        }
        Ok(Ring {
            layout,
            buffers,
            guest,
            stride,
            given: vec![false; usize::from(size)],
            used: 0,
            available: 0,
            terms,
            broken: None,
        })
    }

    /// The receiving ring of a pair, all its buffers given to the device.
    ///
    /// # Errors
    /// When the plan makes no ring.
    pub fn receiving(&self, pair: usize, terms: Terms) -> Result<Receiving, LayoutError> {
        Ok(Receiving::new(self.ring(2 * pair, terms)?, self.plan.receive_bytes))
    }

    /// The transmitting ring of a pair.
    ///
    /// # Errors
    /// When the plan makes no ring.
    pub fn transmitting(&self, pair: usize, terms: Terms) -> Result<Transmitting, LayoutError> {
        Ok(Transmitting::new(self.ring(2 * pair + 1, terms)?))
    }
}

/// What both directions have: descriptor `n` is for ever that of buffer `n`.
#[derive(Debug)]
struct Ring {
    layout: Layout,
    /// The first buffer.
    buffers: *mut u8,
    /// The first buffer, as the device's descriptors say it.
    guest: u64,
    stride: usize,
    /// Whether a buffer is the device's.
    given: Vec<bool>,
    /// Buffers that came back.
    used: u16,
    /// Buffers that were made available.
    available: u16,
    terms: Terms,
    broken: Option<Broken>,
}

// SAFETY: the buffers are part of the memory in which the layout has its share; whoever has the ring
// may touch those that are not given.
unsafe impl Send for Ring {}

impl Ring {
    fn size(&self) -> u16 {
        self.layout.size()
    }

    /// The room of a buffer.
    #[inline(always)]
    fn buffer(&self, index: u16) -> *mut u8 {
        self.buffers.wrapping_add(usize::from(index) * self.stride)
    }

    #[inline(always)]
    fn describe(&self, index: u16, len: usize, flags: u16) {
        let addr = self.guest + u64::from(index) * self.stride as u64;
        self.layout.set_descriptor(index, Descriptor { addr, len: len as u32, flags, next: 0 });
    }

    /// Gives a buffer to the device, which sees it with [`Ring::publish`].
    #[inline(always)]
    fn give(&mut self, index: u16) {
        self.given[usize::from(index)] = true;
        self.layout.set_available(self.available, index);
        self.available = self.available.wrapping_add(1);
    }

    /// How many buffers came back, at this moment.
    #[inline(always)]
    fn returned(&self) -> Result<u16, Broken> {
        let count = self.layout.used_index().wrapping_sub(self.used);
        let given = self.available.wrapping_sub(self.used);
        if count > given { Err(Broken::Index) } else { Ok(count) }
    }

    /// Takes back the next buffer of those that came back: which, and how many bytes it says it has.
    #[inline(always)]
    fn take_back(&mut self) -> Result<(u16, u32), Broken> {
        let (id, written) = self.layout.used(self.used);
        match self.given.get_mut(id as usize) {
            Some(given) if *given => *given = false,
            _ => return Err(Broken::Head),
        }
        self.used = self.used.wrapping_add(1);
        Ok((id as u16, written))
    }

    /// Shows the device what it was given since `old`, and wakes it if it wants.
    #[inline]
    fn publish(&self, old: u16) {
        if self.available == old {
            return;
        }
        self.layout.publish_available(self.available);
        if self.layout.device_listens(self.terms.event_index, old, self.available) {
            // A counter that cannot be raised is high already.
            let _ = self.terms.kick.write(1);
        }
    }
}

/// Where the device sees the arena.
pub const GUEST_START: u64 = 1 << 32;

/// Where the device is told that this process sees the arena; a name for places, no more.
pub const USER_START: u64 = 1 << 40;

const LINE: usize = 64;
const PAGE: usize = 4096;
