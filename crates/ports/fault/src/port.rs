//! The wrapped port.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{
    Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortRequest, QueueCounters,
};
use machine::clock::Ticks;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};

use crate::config::FaultConfig;
use crate::lane::{Lane, Tally};

/// Adds faults to an open port.
///
/// # Errors
/// When there is no memory for held frames.
pub fn wrap(
    opened: Opened,
    config: &FaultConfig,
    request: &PortRequest,
) -> Result<Opened, PortError> {
    let room = Room { headroom: 0, frame: request.frame_bytes_max, long: 0 };
    let mut queues: Vec<Box<dyn Port>> = Vec::new();
    let mut tallies = Vec::new();
    let mut counters = Vec::new();
    for (index, inner) in opened.queues.into_iter().enumerate() {
        let lane = |faults, way: u64| {
            let stream = index as u64 * 2 + way;
            Lane::new(config, faults, stream, request.frame_bytes_max, request.ticks_per_second)
        };
        let (receive, transmit) = (lane(&config.receive, 0), lane(&config.transmit, 1));
        let scratch = Batch::new(BATCH_MAX, room).map_err(|error| {
            PortError::new(
                format!("{}: no memory for fault injection: {error}", request.name),
                "free some memory",
            )
        })?;
        let counter = QueueCounters::new(DROPS);
        tallies.push([receive.tally.clone(), transmit.tally.clone()]);
        counters.push(counter.clone());
        let id = request.id;
        queues.push(Box::new(Faulty { id, inner, receive, transmit, scratch, counters: counter }));
    }
    let seed = config.seed;
    let monitor = FaultMonitor { inner: opened.monitor, counters, tallies, seed };
    Ok(Opened { queues, monitor: Arc::new(monitor) })
}

/// A queue with faults.
struct Faulty {
    id: PortId,
    inner: Box<dyn Port>,
    receive: Lane,
    transmit: Lane,
    scratch: Batch,
    /// Counters of frames that reached the worker; frames that reached the link are counted by the
    /// wrapped port.
    counters: Arc<QueueCounters>,
}

impl Faulty {
    /// Passes the due frames to the port; returns the number of refused frames.
    fn flush(&mut self, now: Ticks) -> usize {
        let mut refused = 0;
        loop {
            self.scratch.clear();
            while self.scratch.remaining() > 0
                && let Some(frame) = self.transmit.store.next(now)
            {
                match self.scratch.append(self.id, frame.len()) {
                    Some(room) => room.copy_from_slice(frame),
                    None => self.counters.dropped(SENT_TOO_LONG, 1),
                }
                self.transmit.store.release();
            }
            if self.scratch.is_empty() {
                return refused;
            }
            let slots: [Slot; BATCH_MAX] = std::array::from_fn(|index| index as Slot);
            let slots = &slots[..self.scratch.len()];
            refused += slots.len() - self.inner.transmit(&mut self.scratch, slots, now);
        }
    }
}

impl Port for Faulty {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        // A worker that has nothing to send polls; what was delayed goes out then.
        self.flush(now);
        let limit = limit.min(batch.remaining());
        // What there is surely room for, should each come twice; the rest waits in the port.
        let most = limit.min(self.receive.store.room() / 2);
        self.scratch.clear();
        self.inner.receive(&mut self.scratch, most, now);
        for slot in self.scratch.slots() {
            self.receive.admit(self.scratch.frame(slot), now);
        }
        let (mut count, mut bytes) = (0, 0);
        while count < limit
            && let Some(frame) = self.receive.store.next(now)
        {
            match batch.append(self.id, frame.len()) {
                Some(room) => {
                    room.copy_from_slice(frame);
                    count += 1;
                    bytes += frame.len();
                }
                None => self.counters.dropped(RECEIVED_TOO_LONG, 1),
            }
            self.receive.store.release();
        }
        self.counters.received(count, bytes);
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        let mut taken = 0;
        for &slot in slots {
            taken += usize::from(self.transmit.admit(batch.frame(slot), now) > 0);
        }
        taken.saturating_sub(self.flush(now))
    }

    fn is_up(&mut self) -> bool {
        self.inner.is_up()
    }
}

struct FaultMonitor {
    inner: Arc<dyn Monitor>,
    counters: Vec<Arc<QueueCounters>>,
    /// Counts of each queue, for the receive and the transmit direction.
    tallies: Vec<[Arc<Tally>; 2]>,
    seed: u64,
}

impl FaultMonitor {
    fn sum(&self, way: usize, of: impl Fn(&Tally) -> &AtomicU64) -> u64 {
        self.tallies.iter().map(|tally| of(&tally[way]).load(Ordering::Relaxed)).sum()
    }
}

impl Monitor for FaultMonitor {
    fn counts(&self) -> PortCounts {
        let own = PortCounts::sum(&self.counters);
        let mut counts = self.inner.counts();
        (counts.received, counts.received_bytes) = (own.received, own.received_bytes);
        counts.drops.extend([
            (PortDrop::receive("fault-loss"), self.sum(0, |tally| &tally.lost)),
            (PortDrop::receive("fault-full"), self.sum(0, |tally| &tally.store_full)),
            (PortDrop::transmit("fault-loss"), self.sum(1, |tally| &tally.lost)),
            (PortDrop::transmit("fault-full"), self.sum(1, |tally| &tally.store_full)),
        ]);
        counts.drops.extend(own.drops);
        counts
    }

    fn link(&self) -> Link {
        self.inner.link()
    }

    fn shares_rings(&self) -> bool {
        self.inner.shares_rings()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.inner.facts();
        facts.push(("fault-seed", self.seed.to_string()));
        for (way, names) in [FACTS_RECEIVE, FACTS_TRANSMIT].into_iter().enumerate() {
            let counts = [
                self.sum(way, |tally| &tally.corrupted),
                self.sum(way, |tally| &tally.duplicated),
                self.sum(way, |tally| &tally.reordered),
                self.sum(way, |tally| &tally.delayed),
            ];
            facts.extend(names.into_iter().zip(counts.map(|count| count.to_string())));
        }
        facts
    }
}

/// Names of the facts about faults that lose no frame.
const FACTS_RECEIVE: [&str; 4] = [
    "fault-receive-corrupted",
    "fault-receive-duplicated",
    "fault-receive-reordered",
    "fault-receive-delayed",
];
const FACTS_TRANSMIT: [&str; 4] = [
    "fault-transmit-corrupted",
    "fault-transmit-duplicated",
    "fault-transmit-reordered",
    "fault-transmit-delayed",
];

const DROPS: &[PortDrop] =
    &[PortDrop::receive("fault-too-long"), PortDrop::transmit("fault-too-long")];
const RECEIVED_TOO_LONG: usize = 0;
const SENT_TOO_LONG: usize = 1;
