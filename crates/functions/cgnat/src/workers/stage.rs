//! Packets between subscribers of two workers (RFC 4787 REQ-9): the worker of the sender makes them
//! what they are outside, and hands them over to the one that has the other end's mapping, where
//! they arrive as any from outside. Fragments from outside go the same way, from the worker that
//! has their datagram.

use packet::{Batch, PortId, Slot};

use crate::pipeline::Pipeline;
use crate::reasons::Tally;
use crate::sessions::session::Session;
use crate::types::flow::Outside;
use crate::types::sides::{is_worker, towards_worker};

impl Pipeline {
    /// Towards the worker that has the other end of a session between subscribers, if it is another
    /// one.
    pub(crate) fn other_worker(&self, session: &Session) -> Option<PortId> {
        let met = session.met();
        let allocation = &self.state.allocation;
        let worker = allocation.elsewhere(met.far.protocol(), (met.address(), met.port()))?;
        Some(towards_worker(worker))
    }

    /// Towards the worker that has the end to which a first fragment came from outside, if it is
    /// another one: fragments find a worker by their datagram.
    pub(crate) fn owner_of_fragments(&self, from: PortId, to: &Outside) -> Option<PortId> {
        let end = (to.address(), to.port());
        let worker = self.state.allocation.elsewhere(to.far.protocol(), end);
        worker.filter(|_| !is_worker(from)).map(towards_worker)
    }

    /// Sends a packet, or an error, with its outside ends to another worker.
    pub(crate) fn hand_over(&mut self, batch: &mut Batch, slot: Slot, worker: PortId) {
        self.state.tallies[Tally::HandedOver as usize] += 1;
        self.scratch.realm[usize::from(slot)] = 0;
        self.send(batch, slot, worker);
    }
}
