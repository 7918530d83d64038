//! The worker's end of a link.

use std::io;

use engine::Port;
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::ring::{Receiver, Sender, ring};

/// A port of a worker, made of one ring in each direction.
pub struct MemoryPort {
    id: PortId,
    incoming: Receiver,
    outgoing: Sender,
    /// Frames longer than a batch's room, received and thrown away.
    oversized: u64,
}

/// A link whose far end is port `id` of a worker; the near end sends to it and receives from it.
///
/// # Errors
/// When the kernel has no memory for two rings of `ring_bytes`.
pub fn link(id: PortId, ring_bytes: usize) -> io::Result<((Sender, Receiver), MemoryPort)> {
    let (near_sender, incoming) = ring(ring_bytes)?;
    let (outgoing, near_receiver) = ring(ring_bytes)?;
    Ok(((near_sender, near_receiver), MemoryPort { id, incoming, outgoing, oversized: 0 }))
}

impl MemoryPort {
    /// Frames that were longer than a batch takes.
    pub fn oversized(&self) -> u64 {
        self.oversized
    }
}

impl Port for MemoryPort {
    #[inline]
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let mut count = 0;
        while count < limit {
            let Some(frame) = self.incoming.next_frame() else { break };
            match batch.append(self.id, frame.len()) {
                Some(room) => {
                    room.copy_from_slice(frame);
                    count += 1;
                }
                None => self.oversized += 1,
            }
        }
        self.incoming.release();
        count
    }

    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let mut sent = 0;
        for &slot in slots {
            sent += usize::from(self.outgoing.send(batch.frame(slot)));
        }
        self.outgoing.publish();
        sent
    }
}

#[cfg(test)]
mod tests {
    use packet::Room;

    use super::*;

    #[test]
    fn frames_go_through_a_worker_port_both_ways() {
        let ((mut sender, mut receiver), mut port) = link(PortId(1), 0).expect("memory");
        let mut batch = Batch::new(4, Room { headroom: 0, frame: 100 }).expect("memory");
        for len in [60, 100, 101, 64, 70, 80] {
            assert!(sender.send(&vec![len as u8; len]));
        }
        sender.publish();
        assert_eq!(port.receive(&mut batch, 4, 0), 4, "the limit holds; the oversized is no frame");
        assert_eq!(port.oversized(), 1);
        assert_eq!(batch.port(0), PortId(1));
        let slots: Vec<Slot> = batch.slots().collect();
        assert_eq!(port.transmit(&mut batch, &slots, 0), 4);
        for len in [60, 100, 64, 70] {
            assert_eq!(receiver.next_frame().map(<[u8]>::len), Some(len));
        }
        batch.clear();
        assert_eq!(port.receive(&mut batch, 4, 0), 1);
        assert_eq!(batch.frame(0), [80; 80]);
    }
}
