//! A queue's rings of one connection, in either role.

use packet::{Batch, PortId, Slot};

use crate::memory::Furnished;
use crate::ring::Ring;
use crate::side::{Master, Side, Slave};
use crate::transfer::{Burst, Incoming, Outgoing};

/// Rings of a queue.
#[derive(Debug)]
pub enum Line {
    /// Used by the master.
    Master(MasterLine),
    /// Used by the slave.
    Slave(SlaveLine),
}

/// The master's end of a pair of rings.
pub type MasterLine = Ends<Master>;

/// The slave's end of a pair of rings.
pub type SlaveLine = Ends<Slave>;

/// Ends of a pair of rings; a peer may have only one direction.
#[derive(Debug)]
pub struct Ends<S> {
    incoming: Option<Incoming<S>>,
    outgoing: Option<Outgoing<S>>,
}

impl MasterLine {
    /// Creates the master's end from the ring from the slave and the ring to it.
    pub fn new(incoming: Option<Ring>, outgoing: Option<Ring>) -> MasterLine {
        Ends {
            incoming: incoming.map(|ring| Incoming::new(ring, Master)),
            outgoing: outgoing.map(|ring| Outgoing::new(ring, Master)),
        }
    }
}

impl SlaveLine {
    /// Creates the slave's end from the ring to the master and the ring from it.
    pub fn new(outgoing: Option<Furnished>, incoming: Option<Furnished>) -> SlaveLine {
        Ends {
            incoming: incoming.map(|(ring, side)| Incoming::new(ring, side)),
            outgoing: outgoing.map(|(ring, side)| Outgoing::new(ring, side)),
        }
    }
}

impl Line {
    /// Appends up to `limit` frames to the batch.
    #[inline]
    pub fn receive(&mut self, batch: &mut Batch, id: PortId, limit: usize) -> Burst {
        match self {
            Line::Master(ends) => ends.receive(batch, id, limit),
            Line::Slave(ends) => ends.receive(batch, id, limit),
        }
    }

    /// Sends frames until the ring is full; `None` if the peer has no ring in this direction.
    #[inline]
    pub fn transmit(&mut self, batch: &Batch, slots: &[Slot]) -> Option<Burst> {
        match self {
            Line::Master(ends) => ends.transmit(batch, slots),
            Line::Slave(ends) => ends.transmit(batch, slots),
        }
    }

    /// Returns the frames from the peer that were not read, and the frames to it that it did not
    /// read; 0 for unknown numbers.
    pub fn left(&self) -> (u64, u64) {
        match self {
            Line::Master(ends) => ends.left(),
            Line::Slave(ends) => ends.left(),
        }
    }
}

impl<S: Side> Ends<S> {
    fn left(&self) -> (u64, u64) {
        let incoming = self.incoming.as_ref().map_or(0, Incoming::waiting);
        (incoming, self.outgoing.as_ref().map_or(0, Outgoing::unread))
    }

    #[inline]
    fn receive(&mut self, batch: &mut Batch, id: PortId, limit: usize) -> Burst {
        let incoming = self.incoming.as_mut();
        incoming.map_or_else(Burst::default, |incoming| incoming.receive(batch, id, limit))
    }

    #[inline]
    fn transmit(&mut self, batch: &Batch, slots: &[Slot]) -> Option<Burst> {
        Some(self.outgoing.as_mut()?.transmit(batch, slots))
    }
}
