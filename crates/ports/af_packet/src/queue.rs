//! A queue of the port, in its worker's hands.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::deliver::deliver;
use crate::drops::{LINK_DOWN, PORT_CLOSED};
use crate::ends::Ends;
use crate::ring::{Frames, ReceiveRing};
use crate::shared::Shared;

/// A queue of the port.
pub(crate) struct Queue {
    pub(crate) id: PortId,
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<QueueCounters>,
    pub(crate) ends: Ends,
    pub(crate) generation: u64,
    /// Open as long as a queue exists: the watching thread ends with the last queue.
    pub(crate) _alive: Arc<OwnedFd>,
}

impl Queue {
    /// Switches to new sockets and rings if there are any, because the interface was created again.
    #[cold]
    fn renew(&mut self) {
        // Read first: ends that are put there later have a later number.
        let generation = self.shared.generation.load(Ordering::Acquire);
        let Ok(mut waiting) = self.shared.waiting[self.index].try_lock() else { return };
        if let Some(new) = waiting.take() {
            drop(waiting);
            self.shared.retire(std::mem::replace(&mut self.ends, new));
        }
        self.generation = generation;
    }
}

impl Port for Queue {
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let limit = limit.min(batch.remaining());
        let received = match &mut self.ends.ring {
            ReceiveRing::Blocks(ring) => drain(ring, batch, limit, self.id, &self.counters),
            ReceiveRing::Frames(ring) => {
                let received = drain(ring, batch, limit, self.id, &self.counters);
                ring.release();
                received
            }
        };
        // Only when the old ring is empty, so that nothing is lost with it.
        let is_new = self.shared.generation.load(Ordering::Relaxed) != self.generation;
        if received == 0 && limit > 0 && is_new {
            self.renew();
        }
        received
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        if !self.shared.is_up.load(Ordering::Relaxed) {
            self.counters.dropped(LINK_DOWN, slots.len() as u64);
            return 0;
        }
        self.ends.sender.send(batch, slots, &self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.shared.is_up.load(Ordering::Relaxed)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.counters.dropped(PORT_CLOSED, self.ends.shut());
    }
}

/// Moves up to `limit` frames from the ring into the batch.
#[inline]
fn drain<R: Frames>(
    ring: &mut R,
    batch: &mut Batch,
    limit: usize,
    id: PortId,
    counters: &QueueCounters,
) -> usize {
    let (mut count, mut bytes) = (0, 0);
    while count < limit {
        let Some(frame) = ring.next_frame() else { break };
        match deliver(batch, id, &frame) {
            Ok(len) => {
                count += 1;
                bytes += len;
            }
            Err(reason) => counters.dropped(reason, 1),
        }
    }
    if count > 0 {
        counters.received(count, bytes);
    }
    count
}
