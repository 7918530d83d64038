//! A queue of the port, as a worker has it.

use std::sync::Arc;

use engine::{Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::counts;
use crate::keeper::{Keeper, Shared};
use crate::socket::Socket;
use crate::transmitter::Settled;

/// A queue of the port.
pub(crate) struct Queue {
    socket: Socket,
    /// The previous socket, as long as it has received frames that were not read.
    before: Option<Socket>,
    id: PortId,
    index: usize,
    counters: Arc<QueueCounters>,
    shared: Arc<Shared>,
    /// Keeps the program on the interface as long as there is a queue.
    _keeper: Arc<Keeper>,
}

impl Queue {
    /// Creates the queue of the worker of this number.
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

    /// Returns true if frames can pass; first switches to a new interface.
    #[inline(always)]
    fn follow(&mut self) -> bool {
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

    /// Continues with an interface that was created again under the same name.
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
        let is_up = self.follow();
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
        if !self.follow() {
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

    fn is_up(&mut self) -> bool {
        self.shared.is_up()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.kernel.retire(&self.socket.handle());
    }
}

/// Appends up to `limit` waiting frames of a socket to the batch.
#[inline(always)]
fn take(
    socket: &mut Socket,
    batch: &mut Batch,
    limit: usize,
    id: PortId,
    counters: &QueueCounters,
) -> usize {
    let (mut frames, mut bytes) = (0, 0);
    let has_begun = socket.has_begun;
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
        if has_begun {
            offload::complete_begun(room);
        }
        frames += 1;
        bytes += frame.len();
        true
    });
    if frames > 0 {
        counters.received(frames, bytes);
    }
    frames
}

/// Length of an Ethernet header in bytes; the kernel sends nothing shorter.
const FRAME_BYTES_MIN: usize = 14;
