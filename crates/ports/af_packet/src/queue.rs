//! A queue of the port, in its worker's hands.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Intake, Kinds, Losses, Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::deliver::deliver;
use crate::drops::{LINK_DOWN, PORT_CLOSED, SEGMENTS, TOO_LONG};
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
    pub(crate) intake: Intake,
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
        let to = (self.id, &*self.counters);
        let received = match &mut self.ends.ring {
            ReceiveRing::Blocks(ring) => drain(ring, (&mut self.intake, batch), limit, to),
            ReceiveRing::Frames(ring) => {
                let received = drain(ring, (&mut self.intake, batch), limit, to);
                ring.release();
                received
            }
        };
        // Only when the old ring is empty, so that nothing is lost with it.
        let is_new = self.shared.generation.load(Ordering::Relaxed) != self.generation;
        if received == 0 && self.intake.is_dry() && is_new {
            self.renew();
        }
        received
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        if !self.shared.is_up.load(Ordering::Relaxed) {
            self.counters.dropped(LINK_DOWN, slots.len() as u64);
            return 0;
        }
        let mtu = self.shared.mtu.load(Ordering::Relaxed) as usize;
        self.ends.sender.send((batch, slots), mtu, &self.counters)
    }

    fn takes_long(&self) -> Kinds {
        self.shared.kinds
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
    (intake, batch): (&mut Intake, &mut Batch),
    limit: usize,
    (id, counters): (PortId, &QueueCounters),
) -> usize {
    intake.round((batch, id), limit, (counters, LOSSES), |intake, batch| {
        Some(deliver(intake, batch, id, &ring.next_frame()?))
    })
}

const LOSSES: Losses = Losses { too_long: TOO_LONG, unfit: SEGMENTS };
