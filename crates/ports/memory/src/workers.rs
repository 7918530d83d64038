//! Links between workers of one process: what one of them has got, and another one is to have.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Kinds, Link, Monitor, Opened, Port, PortCounts, PortDrop, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::port::{between, link};
use crate::ring::{Receiver, Sender, ring};

/// Creates ports between workers, numbered from `first`: for each worker one port to each worker in
/// order, with a placeholder for itself.
///
/// # Errors
/// When the kernel has no memory for the rings.
pub fn mesh(workers: usize, first: usize) -> io::Result<Vec<Vec<Box<dyn Port>>>> {
    let id = |worker: usize| PortId((first + worker) as u8);
    let mut all: Vec<Vec<Box<dyn Port>>> = (0..workers).map(|_| Vec::new()).collect();
    for one in 0..workers {
        for other in 0..one {
            let [here, there] = between([id(other), id(one)], MESH_BYTES)?;
            all[one].push(Box::new(here));
            all[other].push(Box::new(there));
        }
        // Nothing is sent by it, but places are counted.
        let (_, oneself) = link(id(one), 0)?;
        all[one].push(Box::new(oneself));
    }
    Ok(all)
}

/// Returns the worker for a frame; `None` for a frame that any worker may process. Each queue has
/// one of its own.
pub type Steering = Box<dyn FnMut(&[u8]) -> Option<usize> + Send>;

/// Wraps a port of several workers so that frames reach the worker for them, on whichever queue
/// they arrive: the worker of that queue passes them on in order before any other processing.
///
/// # Errors
/// When the kernel has no memory for the rings.
pub fn steered(opened: Opened, id: PortId, steering: impl Fn() -> Steering) -> io::Result<Opened> {
    let Opened { queues, monitor } = opened;
    let count = queues.len();
    let mut ways: Vec<(Vec<Option<Sender>>, Vec<Receiver>)> =
        (0..count).map(|_| (Vec::new(), Vec::new())).collect();
    for from in 0..count {
        for to in 0..count {
            let sender = match from == to {
                true => None,
                false => {
                    let (sender, receiver) = ring(STEERED_BYTES)?;
                    ways[to].1.push(receiver);
                    Some(sender)
                }
            };
            ways[from].0.push(sender);
        }
    }
    let handed = Arc::new(AtomicU64::new(0));
    let counters: Vec<_> = queues.iter().map(|_| QueueCounters::new(DROPS)).collect();
    let queue = |((port, (towards, from)), counters): ((Box<dyn Port>, _), &Arc<QueueCounters>)| {
        let (steering, handed, counters) = (steering(), handed.clone(), counters.clone());
        Box::new(Steered { id, port, towards, from, steering, handed, counters }) as Box<dyn Port>
    };
    let queues = queues.into_iter().zip(ways).zip(&counters).map(queue).collect();
    Ok(Opened { queues, monitor: Arc::new(SteeredMonitor { monitor, handed, counters }) })
}

/// A queue of a steered port.
struct Steered {
    id: PortId,
    port: Box<dyn Port>,
    /// Rings to other workers, by worker; `None` for the worker itself.
    towards: Vec<Option<Sender>>,
    from: Vec<Receiver>,
    steering: Steering,
    /// Number of frames passed to other workers, of all queues.
    handed: Arc<AtomicU64>,
    counters: Arc<QueueCounters>,
}

impl Port for Steered {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        let first = batch.len();
        let limit = limit.min(batch.remaining());
        // Neither the others' frames nor one's own keep the other ones out.
        let mut left = limit.div_ceil(2);
        for receiver in &mut self.from {
            while left > 0 {
                let Some((frame, long)) = receiver.next_any() else { break };
                // It was in such a batch before.
                if let Some(room) = batch.append_any(self.id, frame.len(), long) {
                    room.copy_from_slice(frame);
                }
                left -= 1;
            }
            receiver.release();
        }
        let own = batch.len();
        self.port.receive(batch, limit - (own - first), now);
        let (mut handed, mut full) = (0, 0);
        batch.retain_from(own, |frame, long| {
            let worker = (self.steering)(frame);
            let sender = worker.and_then(|worker| self.towards.get_mut(worker)?.as_mut());
            let Some(sender) = sender else { return true };
            match sender.send_any(frame, long) {
                true => handed += 1,
                false => full += 1,
            }
            false
        });
        if handed > 0 {
            self.towards.iter_mut().flatten().for_each(Sender::publish);
            self.handed.fetch_add(handed, Ordering::Relaxed);
        }
        if full > 0 {
            self.counters.dropped(WORKER_FULL, full);
        }
        batch.len() - first
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        self.port.transmit(batch, slots, now)
    }

    fn takes_long(&self) -> Kinds {
        self.port.takes_long()
    }

    fn is_up(&mut self) -> bool {
        self.port.is_up()
    }
}

/// Monitor of the wrapped port, with the frames passed between workers.
struct SteeredMonitor {
    monitor: Arc<dyn Monitor>,
    handed: Arc<AtomicU64>,
    counters: Vec<Arc<QueueCounters>>,
}

impl Monitor for SteeredMonitor {
    fn counts(&self) -> PortCounts {
        let mut counts = self.monitor.counts();
        counts.add(&PortCounts::sum(&self.counters));
        counts
    }

    fn link(&self) -> Link {
        self.monitor.link()
    }

    fn shares_rings(&self) -> bool {
        self.monitor.shares_rings()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.monitor.facts();
        facts.push(("handed-to-other-workers", self.handed.load(Ordering::Relaxed).to_string()));
        facts
    }
}

/// Drop reasons.
const DROPS: &[PortDrop] = &[PortDrop::receive("worker-full")];
const WORKER_FULL: usize = 0;

/// Size in bytes of each ring between two workers for frames that the function passes on, which is
/// rare.
const MESH_BYTES: usize = 256 << 10;

/// Size in bytes of each ring between two workers for steered frames, which may be half of all
/// frames: about 10,000 of the shortest.
const STEERED_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use engine::PortRequest;
    use packet::Room;

    use super::*;
    use crate::port::{FarEnd, open};

    #[test]
    fn every_worker_has_a_port_towards_every_other_in_their_order() {
        let mut mesh = mesh(3, 2).expect("memory");
        assert!(mesh.iter().all(|ports| ports.len() == 3));
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let mut batch = Batch::new(1, Room::default()).expect("memory");
            batch.append(PortId(0), 60).expect("room").fill(1);
            let slots: Vec<Slot> = batch.slots().collect();
            assert_eq!(mesh[from][to].transmit(&mut batch, &slots, 0), 1);
            batch.clear();
            assert_eq!(mesh[to][from].receive(&mut batch, 1, 0), 1, "from {from} to {to}");
            assert_eq!(batch.port(0), PortId(2 + from as u8));
        }
    }

    /// Returns a port of workers that is steered by the first byte of a frame; 9 means any worker.
    fn of_workers(queues: usize) -> (Vec<FarEnd>, Opened) {
        let request = PortRequest {
            name: String::new(),
            id: PortId(1),
            queues,
            frame_bytes_max: 2000,
            ticks_per_second: 1e9,
        };
        let (ends, opened) = open(&request, 1 << 18).expect("memory");
        let steering =
            || -> Steering { Box::new(|frame| Some(usize::from(frame[0])).filter(|&at| at < 9)) };
        (ends, steered(opened, PortId(1), steering).expect("memory"))
    }

    fn send(end: &mut FarEnd, frame: &[u8]) {
        assert!(end.0.send(frame));
        end.0.publish();
    }

    fn received(port: &mut Box<dyn Port>, limit: usize) -> Vec<[u8; 2]> {
        let mut batch = Batch::new(256, Room::default()).expect("memory");
        let count = port.receive(&mut batch, limit, 0);
        assert_eq!(count, batch.len());
        assert!(batch.slots().all(|slot| batch.port(slot) == PortId(1)));
        batch.slots().map(|slot| [batch.frame(slot)[0], batch.frame(slot)[1]]).collect()
    }

    #[test]
    fn frames_reach_their_worker_whole_once_and_in_order() {
        let (mut ends, mut opened) = of_workers(3);
        for number in 0..60u8 {
            let worker = [0, 1, 2, 9][usize::from(number % 4)];
            let mut frame = [number; 60];
            frame[0] = worker;
            send(&mut ends[0], &frame);
        }
        let own = received(&mut opened.queues[0], 256);
        assert_eq!(own.len(), 30, "its own and anybody's stay: {own:?}");
        assert!(own.is_sorted_by_key(|frame| frame[1]), "{own:?}");
        for worker in [1, 2] {
            let got = received(&mut opened.queues[worker], 256);
            let expected: Vec<[u8; 2]> =
                (0..60).filter(|at| at % 4 == worker).map(|at| [worker as u8, at as u8]).collect();
            assert_eq!(got, expected);
            assert_eq!(received(&mut opened.queues[worker], 256), Vec::<[u8; 2]>::new());
        }
        let facts = opened.monitor.facts();
        assert_eq!(facts.last(), Some(&("handed-to-other-workers", "30".to_owned())));
        assert_eq!(opened.monitor.counts().received, 60, "each counts once");
    }

    #[test]
    fn what_a_worker_has_no_room_for_is_counted_and_its_own_come_in_all_the_same() {
        let (mut ends, mut opened) = of_workers(2);
        let (mut lost, mut sent) = (0, 0);
        while lost == 0 {
            for _ in 0..64 {
                send(&mut ends[0], &[1; 1500]);
            }
            sent += 64;
            assert_eq!(received(&mut opened.queues[0], 256), Vec::<[u8; 2]>::new());
            lost = opened.monitor.counts().drops.iter().map(|(_, count)| count).sum::<u64>();
        }
        for _ in 0..8 {
            send(&mut ends[1], &[1; 60]);
        }
        let first = received(&mut opened.queues[1], 8);
        assert_eq!(first.len(), 8, "four of each");
        let mut rest = first.len() as u64;
        loop {
            match received(&mut opened.queues[1], 256).len() as u64 {
                0 => break,
                count => rest += count,
            }
        }
        assert_eq!(rest + lost, sent + 8);
    }
}
