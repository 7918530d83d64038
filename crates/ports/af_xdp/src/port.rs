//! A queue of the port, as a worker has it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::counts;
use crate::keeper::{Keeper, Shared};
use crate::socket::Socket;
use crate::transmitter::Settled;

/// Where the keeper leaves a new socket for a queue whose interface was made again.
#[derive(Default)]
pub(crate) struct Mailbox {
    is_full: AtomicBool,
    socket: Mutex<Option<Socket>>,
}

impl Mailbox {
    /// Leaves a socket; one that nobody took is closed.
    pub fn put(&self, socket: Socket) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        self.is_full.store(true, Ordering::Release);
    }

    /// Takes it back, if nobody took it.
    pub fn clear(&self) {
        self.is_full.store(false, Ordering::Relaxed);
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What was left, without waiting for a keeper that is just about to leave something.
    #[inline(always)]
    fn take(&self) -> Option<Socket> {
        if !self.is_full.load(Ordering::Acquire) {
            return None;
        }
        let socket = self.socket.try_lock().ok()?.take();
        self.is_full.store(false, Ordering::Relaxed);
        socket
    }
}

/// A queue of the port.
pub(crate) struct Queue {
    socket: Socket,
    /// The socket before, as long as frames wait in it that its interface had received.
    before: Option<Socket>,
    id: PortId,
    index: usize,
    counters: Arc<QueueCounters>,
    shared: Arc<Shared>,
    /// Holds the program on the interface as long as there is a queue.
    _keeper: Arc<Keeper>,
}

impl Queue {
    /// The queue of the worker of this number.
    pub fn new(
        socket: Socket,
        id: PortId,
        index: usize,
        counters: Arc<QueueCounters>,
        keeper: Arc<Keeper>,
    ) -> Queue {
        let shared = keeper.shared().clone();
        Queue { socket, before: None, id, index, counters, shared, _keeper: keeper }
    }

    /// Whether frames can pass; takes up a new interface first.
    #[inline(always)]
    fn is_up(&mut self) -> bool {
        let is_up = self.shared.is_up();
        if let Some(socket) = self.shared.mail[self.index].take() {
            self.replace(socket);
        }
        is_up
    }

    fn count(&self, settled: Settled) {
        self.counters.sent(settled.sent, settled.sent_bytes);
        if settled.refused > 0 {
            self.counters.dropped(counts::REFUSED, settled.refused as u64);
        }
    }

    /// Goes on with the interface that was made again under the name.
    #[cold]
    fn replace(&mut self, socket: Socket) {
        let settled = self.socket.transmitter.flush();
        self.count(settled);
        let lost = self.socket.transmitter.unsettled();
        self.counters.dropped(counts::INTERFACE_GONE, u64::from(lost));
        // Frames in one that was replaced before are older, but nobody came for them.
        self.before = Some(std::mem::replace(&mut self.socket, socket));
    }
}

impl Port for Queue {
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let is_up = self.is_up();
        if self.socket.transmitter.is_waiting() && is_up {
            let settled = self.socket.transmitter.flush();
            self.count(settled);
        }
        let limit = limit.min(batch.remaining());
        if let Some(before) = &mut self.before {
            let frames = take(before, batch, limit, self.id, &self.counters);
            if frames > 0 || limit == 0 {
                return frames;
            }
            self.before = None;
        }
        take(&mut self.socket, batch, limit, self.id, &self.counters)
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        if !self.is_up() {
            self.counters.dropped(counts::LINK_DOWN, slots.len() as u64);
            return 0;
        }
        let Socket { transmitter, umem, .. } = &mut self.socket;
        let mut pushed = 0;
        for &slot in slots {
            let frame = batch.frame(slot);
            if frame.len() < FRAME_BYTES_MIN {
                self.counters.dropped(counts::TRANSMIT_TOO_SHORT, 1);
            } else if frame.len() > umem.chunk_bytes() {
                self.counters.dropped(counts::TRANSMIT_TOO_LONG, 1);
            } else if transmitter.push(umem, frame) {
                pushed += 1;
            } else {
                self.counters.dropped(counts::TRANSMIT_RING_FULL, 1);
            }
        }
        let settled = transmitter.flush();
        self.count(settled);
        pushed - settled.refused.min(pushed)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.kernel.retire(&self.socket.handle());
    }
}

/// Appends up to `limit` frames that wait in a socket.
#[inline(always)]
fn take(
    socket: &mut Socket,
    batch: &mut Batch,
    limit: usize,
    id: PortId,
    counters: &QueueCounters,
) -> usize {
    let (mut frames, mut bytes) = (0, 0);
    socket.receive(limit, |frame| {
        let Some(frame) = frame else {
            counters.dropped(counts::RECEIVE_INVALID, 1);
            return false;
        };
        let Some(room) = batch.append(id, frame.len()) else {
            counters.dropped(counts::RECEIVE_TOO_LONG, 1);
            return false;
        };
        room.copy_from_slice(frame);
        frames += 1;
        bytes += frame.len();
        true
    });
    if frames > 0 {
        counters.received(frames, bytes);
    }
    frames
}

/// An Ethernet header; the kernel sends nothing shorter.
const FRAME_BYTES_MIN: usize = 14;
