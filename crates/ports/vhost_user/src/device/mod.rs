//! The device's side of a ring: takes what the driver sends, and fills what it offers to receive.
//!
//! A burst goes in passes: heads, descriptors, bytes; each pass asks the processor for what the
//! next one reads. What is out of the ordinary (chains, several buffers for a frame) is walked one
//! by one. Guarantees: buffers are used in the order in which they were made available and shown to
//! the driver once a burst; what was judged is not read again; a ring that contradicts the standard
//! is stopped.

mod receive;
#[cfg(test)]
mod tests;
mod transmit;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use crate::drops::Broken;
use crate::features::Offloads;
use crate::header::Header;
use crate::layout::{Descriptor, INDIRECT, Layout, NEXT, NO_NOTIFICATION, WRITE, prefetch};
use crate::queue::Stops;
use crate::walk::Pieces;

/// Negotiated features, and descriptors of a ring.
#[derive(Debug, Default)]
pub struct Terms {
    /// Form of a frame's header.
    pub header: Header,
    /// What the driver's frames may lack.
    pub receives: Offloads,
    /// What frames for the driver may lack.
    pub sends: Offloads,
    /// True if notifications are by index instead of by flag.
    pub event_index: bool,
    /// True if indirect descriptor tables are permitted.
    pub indirect: bool,
    /// Descriptor that notifies the driver.
    pub call: Option<Arc<File>>,
    /// Descriptor that reports a stop of the ring to the driver's process.
    pub error: Option<Arc<File>>,
    /// Longest frame in bytes, without its header.
    pub frame_bytes_max: usize,
}

/// A ring of the guest that a worker uses.
#[derive(Debug)]
pub struct DeviceRing {
    layout: Layout,
    terms: Terms,
    /// Index of the next buffer; all earlier ones were used.
    next: u16,
    /// Number of available buffers when it was last read.
    seen: u16,
    /// Memory region of the last access.
    near: usize,
    /// True if the driver was notified at least once since the ring was set up.
    woken: bool,
    pieces: Pieces,
    broken: Option<Broken>,
}

/// Buffers that were examined in advance: start and length of each; null for those that need the
/// slow path.
struct Ahead {
    count: usize,
    head: [u16; CHUNK],
    host: [*mut u8; CHUNK],
    len: [u32; CHUNK],
}

impl DeviceRing {
    /// Creates a ring from the state in its memory: all buffers used so far are complete.
    pub fn new(layout: Layout, terms: Terms) -> DeviceRing {
        let next = layout.used_index();
        if terms.event_index {
            // As far away as can be: the driver kicks once in 65,536 buffers.
            layout.set_available_event(next.wrapping_sub(1));
        }
        layout.set_used_flags(NO_NOTIFICATION);
        DeviceRing {
            layout,
            terms,
            next,
            seen: next,
            near: 0,
            woken: false,
            pieces: Pieces::new(),
            broken: None,
        }
    }

    /// Returns the index of the next buffer.
    pub fn next(&self) -> u16 {
        self.next
    }

    /// Returns the number of available buffers; reads the driver's index if fewer than `wanted`
    /// were known.
    #[inline(always)]
    fn waiting(&mut self, wanted: usize) -> Result<usize, Broken> {
        let known = usize::from(self.seen.wrapping_sub(self.next));
        if known >= wanted {
            return Ok(known);
        }
        self.seen = self.layout.available_index();
        let waiting = self.seen.wrapping_sub(self.next);
        if waiting > self.layout.size() { Err(Broken::Index) } else { Ok(usize::from(waiting)) }
    }

    /// Examines up to `wanted` buffers.
    #[inline(always)]
    fn look_ahead(&mut self, wanted: usize, kind: u16, ahead: &mut Ahead) -> Result<(), Broken> {
        ahead.count = 0;
        let count = self.waiting(wanted)?.min(wanted).min(CHUNK);
        for place in 0..count {
            let head = self.layout.available(self.next.wrapping_add(place as u16));
            self.layout.prefetch_descriptor(head);
            ahead.head[place] = head;
        }
        for place in 0..count {
            let head = ahead.head[place];
            if head >= self.layout.size() {
                return Err(Broken::Head);
            }
            let Descriptor { addr, len, flags, .. } = self.layout.descriptor(head);
            ahead.len[place] = len;
            ahead.host[place] = std::ptr::null_mut();
            if flags & (NEXT | INDIRECT | WRITE) == kind
                && let Some(host) = self.layout.memory().find(&mut self.near, addr, len)
            {
                prefetch(host);
                prefetch(host.wrapping_add(64));
                ahead.host[place] = host;
            }
            ahead.count = place + 1;
        }
        Ok(())
    }

    /// Records the next buffer as used.
    #[inline(always)]
    fn put_used(&mut self, head: u16, written: usize) {
        self.layout.set_used(self.next, head, written as u32);
        self.next = self.next.wrapping_add(1);
    }

    /// Makes the buffers used since `old` visible to the driver, and notifies it if requested.
    #[inline]
    fn publish(&mut self, old: u16) {
        if self.next == old {
            return;
        }
        self.layout.publish_used(self.next);
        let Some(mut call) = self.terms.call.as_deref() else { return };
        let listens = self.layout.driver_listens(self.terms.event_index, old, self.next);
        if listens || !self.woken {
            self.woken = true;
            // A counter that cannot be raised is high already.
            let _ = call.write(&1u64.to_ne_bytes());
        }
    }

    fn stop(&mut self, why: Broken) {
        self.broken = Some(why);
        if let Some(mut error) = self.terms.error.as_deref() {
            let _ = error.write(&1u64.to_ne_bytes());
        }
    }
}

impl Stops for DeviceRing {
    fn broken(&self) -> Option<Broken> {
        self.broken
    }
}

impl Ahead {
    fn new() -> Ahead {
        let host = [std::ptr::null_mut(); CHUNK];
        Ahead { count: 0, head: [0; CHUNK], host, len: [0; CHUNK] }
    }
}

/// Number of buffers examined at once: few enough that prefetched data is still in the cache when
/// it is used.
const CHUNK: usize = 64;
