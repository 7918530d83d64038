//! A queue of the port: the rings that one worker holds at the moment, taken over and let go of
//! between two bursts.

use std::sync::Arc;

use engine::{Intake, Kinds, Losses, Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::control::Owner;
use crate::drops::{Broken, NO_PEER, SEGMENTS, TOO_LONG};
use crate::exchange::Holder;

/// A ring that is stopped when the peer violates the standard.
pub trait Stops: Send + 'static {
    /// Returns the reason if the ring was stopped.
    fn broken(&self) -> Option<Broken>;
}

/// A ring that receives frames.
pub trait Source: Stops {
    /// Appends up to `limit` frames to the batch, by way of the intake, and counts them; returns
    /// their number.
    fn receive(
        &mut self,
        into: (&mut Intake, &mut Batch),
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize;
}

/// A ring that transmits frames.
pub trait Sink: Stops {
    /// Sends these frames of the batch and counts them; returns the number of accepted frames.
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], counters: &QueueCounters) -> usize;

    /// Returns the kinds of long segments that the peer takes.
    fn takes_long(&self) -> Kinds;
}

/// A worker's queue of the port.
pub struct Queue<S, K> {
    pub(crate) id: PortId,
    pub(crate) sources: Vec<Holder<S>>,
    pub(crate) sinks: Vec<Holder<K>>,
    /// Index of the pair to start with next, so that every pair gets its turn.
    pub(crate) turn: usize,
    pub(crate) counters: Arc<QueueCounters>,
    pub(crate) intake: Intake,
    /// Ends the control thread with the last queue; after the rings in the order of fields, so that
    /// they are dropped first.
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
                let into = (&mut self.intake, &mut *batch);
                received += ring.receive(into, self.id, limit - received, &self.counters);
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

    fn takes_long(&self) -> Kinds {
        // Where there is no peer, nothing has to be cut.
        self.sinks.iter().find_map(Holder::peek).map_or(Kinds::ALL, Sink::takes_long)
    }

    fn is_up(&mut self) -> bool {
        self.sinks.iter_mut().any(|sink| sink.current().is_some())
    }
}

/// Places of the reasons that an intake tells.
pub const LOSSES: Losses = Losses { too_long: TOO_LONG, unfit: SEGMENTS };
