//! The tester's end of a link: rings in memory that it shares with a worker, or a port of the
//! engine.
//!
//! Which of the two is known when the tester is compiled, so that the rings of a device in this
//! program cost no call. Frames are reserved and written in place, then sent a burst at a time.

use std::sync::Arc;
use std::time::Duration;

use engine::{Monitor, Opened, Port, Way};
use machine::clock::Ticks;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};
use port_memory::{Receiver, Sender};

/// The tester's end of a link.
pub(crate) trait Link: Send {
    /// True if the link may carry frames of other senders, including frames of earlier trials.
    const IS_SHARED: bool;

    /// Time that due frames may wait for further ones, so that one system call carries several
    /// frames: on virtual links each call may have to wake a thread on another core.
    const GRAIN: Duration;

    /// Reserves room for a frame of `len` bytes, all of which must be written; `None` if the link
    /// is full.
    fn reserve(&mut self, len: usize) -> Option<&mut [u8]>;

    /// Sends the reserved frames.
    fn publish(&mut self, now: Ticks) -> Refused;

    /// Polls the link; returns true if a frame is available.
    fn fetch(&mut self, now: Ticks) -> bool;

    /// Returns the next available frame.
    fn next_frame(&mut self) -> Option<&[u8]>;

    /// Releases the buffers of all frames taken so far.
    fn release(&mut self);

    /// Takes the link down as the device sees it, or up again. Only links within this program have
    /// that in their hands.
    fn set_link(&mut self, _is_up: bool) {}
}

/// Reserved frames that could not be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Frames that the device refused because it did not empty its ring.
    pub by_device: u64,
    /// Frames that the tester's own port refused; they were never offered to the device.
    pub by_port: u64,
}

impl Link for (Sender, Receiver) {
    const IS_SHARED: bool = false;
    const GRAIN: Duration = Duration::ZERO;

    #[inline(always)]
    fn reserve(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0.reserve(len)
    }

    #[inline(always)]
    fn publish(&mut self, _: Ticks) -> Refused {
        self.0.publish();
        Refused::default()
    }

    #[inline(always)]
    fn fetch(&mut self, _: Ticks) -> bool {
        self.1.peek_len().is_some()
    }

    #[inline(always)]
    fn next_frame(&mut self) -> Option<&[u8]> {
        self.1.next_frame()
    }

    #[inline(always)]
    fn release(&mut self) {
        self.1.release();
    }

    fn set_link(&mut self, is_up: bool) {
        self.0.set_link(is_up);
    }
}

/// A port of the engine, with a batch for each direction. It sends on its first queue and receives
/// from all queues.
pub(crate) struct PortLink {
    queues: Vec<Box<dyn Port>>,
    monitor: Arc<dyn Monitor>,
    id: PortId,
    outgoing: Batch,
    incoming: Batch,
    /// Number of frames of `incoming` taken so far.
    taken: usize,
    /// Index of the next queue to poll.
    turn: usize,
    /// True if a full ring is the device's and not the port's own.
    shares_rings: bool,
}

impl PortLink {
    /// Creates the link of a port; frames have at most `frame_bytes_max` bytes.
    ///
    /// # Errors
    /// When the kernel has no memory for the batches.
    pub fn new(id: PortId, opened: Opened, frame_bytes_max: usize) -> std::io::Result<PortLink> {
        let room = Room { headroom: 0, frame: frame_bytes_max, long: 0 };
        Ok(PortLink {
            shares_rings: opened.monitor.shares_rings(),
            queues: opened.queues,
            monitor: opened.monitor,
            id,
            outgoing: Batch::new(BATCH_MAX, room)?,
            incoming: Batch::new(BATCH_MAX, room)?,
            taken: 0,
            turn: 0,
        })
    }

    /// Returns the number of received frames lost between the link and the tester so far.
    pub fn lost_on_receive(&self) -> u64 {
        self.monitor.counts().lost(Way::Receive)
    }

    /// Returns facts about the port.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.monitor.facts()
    }
}

impl Link for PortLink {
    const IS_SHARED: bool = true;
    const GRAIN: Duration = Duration::from_micros(20);

    #[inline]
    fn reserve(&mut self, len: usize) -> Option<&mut [u8]> {
        self.outgoing.append(self.id, len)
    }

    #[inline]
    fn publish(&mut self, now: Ticks) -> Refused {
        if self.outgoing.is_empty() {
            return Refused::default();
        }
        let mut slots = [0 as Slot; BATCH_MAX];
        let count = self.outgoing.len();
        slots.iter_mut().zip(self.outgoing.slots()).for_each(|(place, slot)| *place = slot);
        let sent = match self.queues.first_mut() {
            Some(queue) => queue.transmit(&mut self.outgoing, &slots[..count], now),
            None => 0,
        };
        self.outgoing.clear();
        let refused = count.saturating_sub(sent) as u64;
        match self.shares_rings {
            true => Refused { by_device: refused, by_port: 0 },
            false => Refused { by_device: 0, by_port: refused },
        }
    }

    #[inline]
    fn fetch(&mut self, now: Ticks) -> bool {
        if self.taken < self.incoming.len() {
            return true;
        }
        self.incoming.clear();
        self.taken = 0;
        for _ in 0..self.queues.len() {
            self.turn = (self.turn + 1) % self.queues.len();
            if self.queues[self.turn].receive(&mut self.incoming, BURST, now) > 0 {
                return true;
            }
        }
        false
    }

    #[inline]
    fn next_frame(&mut self) -> Option<&[u8]> {
        if self.taken >= self.incoming.len() {
            return None;
        }
        let slot = self.taken as Slot;
        self.taken += 1;
        Some(self.incoming.frame(slot))
    }

    #[inline]
    fn release(&mut self) {}
}

/// Number of frames taken from a port at once.
const BURST: usize = 64;
