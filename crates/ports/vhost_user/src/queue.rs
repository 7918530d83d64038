//! A queue of the port: the rings that one worker holds at the moment, taken over and let go of
//! between two bursts.

use std::sync::Arc;

use engine::{Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::control::Owner;
use crate::drops::{Broken, NO_PEER};
use crate::exchange::Holder;

/// A ring that is stopped when the other side breaks the rules.
pub trait Stops: Send + 'static {
    /// Why it was stopped, if it was.
    fn broken(&self) -> Option<Broken>;
}

/// A ring from which frames come.
pub trait Source: Stops {
    /// Appends up to `limit` frames to the batch, counts, and tells how many.
    fn receive(
        &mut self,
        batch: &mut Batch,
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize;
}

/// A ring into which frames go.
pub trait Sink: Stops {
    /// Sends these frames of the batch, counts all of them, and tells how many were taken.
    fn transmit(&mut self, batch: &Batch, slots: &[Slot], counters: &QueueCounters) -> usize;
}

/// One worker's part of the port.
pub struct Queue<S, K> {
    pub(crate) id: PortId,
    pub(crate) sources: Vec<Holder<S>>,
    pub(crate) sinks: Vec<Holder<K>>,
    /// Where to begin next, so that no pair starves another.
    pub(crate) turn: usize,
    pub(crate) counters: Arc<QueueCounters>,
    /// Ends the control thread with the last queue; after the rings, so that they are gone by then.
    pub(crate) _owner: Arc<Owner>,
}

impl<S: Source, K: Sink> Port for Queue<S, K> {
    #[inline]
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        // A worker with nothing to send must let go of its rings, too.
        self.sinks.iter_mut().for_each(Holder::attend);
        let mut received = 0;
        for _ in 0..self.sources.len() {
            self.turn = (self.turn + 1) % self.sources.len();
            if let Some(ring) = self.sources[self.turn].current() {
                received += ring.receive(batch, self.id, limit - received, &self.counters);
            }
            if received >= limit {
                break;
            }
        }
        received
    }

    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        // The first pair that the driver has enabled: frames of one flow stay in order.
        for sink in &mut self.sinks {
            if let Some(ring) = sink.current() {
                return ring.transmit(batch, slots, &self.counters);
            }
        }
        self.counters.dropped(NO_PEER, slots.len() as u64);
        0
    }
}
