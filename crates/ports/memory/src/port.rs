//! The worker's end of a link.

use std::io;
use std::sync::Arc;

use engine::{
    Kinds, Link, Monitor, Opened, Port, PortCounts, PortDrop, PortRequest, QueueCounters,
};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::ring::{Receiver, Sender, ring};

/// A port of a worker, made of one ring per direction.
pub struct MemoryPort {
    id: PortId,
    incoming: Receiver,
    outgoing: Sender,
    /// The other end is a worker's, too, with the same room for long segments.
    takes_long: Kinds,
    counters: Arc<QueueCounters>,
}

/// Remote end of a queue: sends to it and receives from it.
pub type FarEnd = (Sender, Receiver);

/// Creates a link whose near end is the port `id` of a worker; returns the remote end and the port.
///
/// # Errors
/// When the kernel has no memory for two rings of `ring_bytes`.
pub fn link(id: PortId, ring_bytes: usize) -> io::Result<(FarEnd, MemoryPort)> {
    let (near_sender, incoming) = ring(ring_bytes)?;
    let (outgoing, near_receiver) = ring(ring_bytes)?;
    let counters = QueueCounters::new(DROPS);
    let port = MemoryPort { id, incoming, outgoing, takes_long: Kinds::NONE, counters };
    Ok(((near_sender, near_receiver), port))
}

/// Creates a link between two workers of one process; returns the port of each, with the port
/// number that it has there.
///
/// # Errors
/// When the kernel has no memory for two rings of `ring_bytes`.
pub fn between(ids: [PortId; 2], ring_bytes: usize) -> io::Result<[MemoryPort; 2]> {
    let ((outgoing, incoming), other) = link(ids[1], ring_bytes)?;
    let counters = QueueCounters::new(DROPS);
    let one = MemoryPort { id: ids[0], incoming, outgoing, takes_long: Kinds::ALL, counters };
    Ok([one, MemoryPort { takes_long: Kinds::ALL, ..other }])
}

/// Creates a port with a link for each queue; returns the remote ends in queue order, and the port.
///
/// # Errors
/// When the kernel has no memory for the rings.
pub fn open(request: &PortRequest, ring_bytes: usize) -> io::Result<(Vec<FarEnd>, Opened)> {
    let mut ends = Vec::new();
    let mut queues: Vec<Box<dyn Port>> = Vec::new();
    let mut counters = Vec::new();
    for _ in 0..request.queues {
        let (end, port) = link(request.id, ring_bytes)?;
        ends.push(end);
        counters.push(port.counters.clone());
        queues.push(Box::new(port));
    }
    Ok((ends, Opened { queues, monitor: Arc::new(MemoryMonitor { counters }) }))
}

struct MemoryMonitor {
    counters: Vec<Arc<QueueCounters>>,
}

impl Monitor for MemoryMonitor {
    fn counts(&self) -> PortCounts {
        PortCounts::sum(&self.counters)
    }

    /// Returns that the link is up: both ends are in one process.
    fn link(&self) -> Link {
        Link::Up
    }
}

impl MemoryPort {
    /// Returns the counters, which any thread may read.
    pub fn counters(&self) -> &Arc<QueueCounters> {
        &self.counters
    }
}

impl Port for MemoryPort {
    #[inline]
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let limit = limit.min(batch.remaining());
        let (mut count, mut bytes, mut too_long) = (0, 0, 0);
        while count < limit {
            let Some((frame, long)) = self.incoming.next_any() else { break };
            match batch.append_any(self.id, frame.len(), long) {
                Some(room) => {
                    room.copy_from_slice(frame);
                    count += 1;
                    bytes += frame.len();
                }
                None => too_long += 1,
            }
        }
        self.incoming.release();
        self.counters.received(count, bytes);
        if too_long > 0 {
            self.counters.dropped(TOO_LONG, too_long);
        }
        count
    }

    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let (mut sent, mut bytes) = (0, 0);
        for &slot in slots {
            let frame = batch.frame(slot);
            if self.outgoing.send_any(frame, batch.long(slot)) {
                sent += 1;
                bytes += frame.len();
            }
        }
        self.outgoing.publish();
        self.counters.sent(sent, bytes);
        if sent < slots.len() {
            self.counters.dropped(RING_FULL, (slots.len() - sent) as u64);
        }
        sent
    }

    fn takes_long(&self) -> Kinds {
        self.takes_long
    }

    fn is_up(&mut self) -> bool {
        self.incoming.is_up()
    }
}

/// Drop reasons.
const DROPS: &[PortDrop] = &[PortDrop::receive("too-long"), PortDrop::transmit("ring-full")];
const TOO_LONG: usize = 0;
const RING_FULL: usize = 1;

#[cfg(test)]
mod tests {
    use packet::Room;

    use super::*;

    #[test]
    fn a_frame_between_workers_comes_in_by_the_port_of_the_other_side() {
        let mut ports = between([PortId(7), PortId(5)], 0).expect("memory");
        for (from, id) in [(0, PortId(5)), (1, PortId(7))] {
            let mut batch =
                Batch::new(4, Room { headroom: 0, frame: 100, long: 0 }).expect("memory");
            batch.append(PortId(0), 60).expect("room").fill(from as u8);
            let slots: Vec<Slot> = batch.slots().collect();
            assert_eq!(ports[from].transmit(&mut batch, &slots, 0), 1);
            batch.clear();
            assert_eq!(ports[from].receive(&mut batch, 4, 0), 0, "not back to where it came from");
            assert_eq!(ports[1 - from].receive(&mut batch, 4, 0), 1);
            assert_eq!((batch.port(0), batch.frame(0)), (id, &[from as u8; 60][..]));
        }
    }

    #[test]
    fn the_remote_end_takes_the_link_down_and_up() {
        let ((sender, _receiver), mut port) = link(PortId(1), 0).expect("memory");
        for is_up in [true, false, true] {
            sender.set_link(is_up);
            assert_eq!(port.is_up(), is_up);
        }
    }

    #[test]
    fn frames_go_through_a_worker_port_both_ways() {
        let ((mut sender, mut receiver), mut port) = link(PortId(1), 0).expect("memory");
        let mut batch = Batch::new(4, Room { headroom: 0, frame: 100, long: 0 }).expect("memory");
        for len in [60, 100, 101, 64, 70, 80] {
            assert!(sender.send(&vec![len as u8; len]));
        }
        sender.publish();
        assert_eq!(port.receive(&mut batch, 4, 0), 4, "the limit holds; the oversized is no frame");
        assert_eq!(port.counters().read().drops[TOO_LONG].1, 1);
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
