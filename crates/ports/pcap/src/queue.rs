//! A queue of the port, in its worker's hands.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};
use port_memory::{Receiver, Sender};

use crate::replay::STAMP_LEN;
use crate::shared::{NO_CAPTURE, RING_FULL, Shared, TOO_LONG, Threads};

/// A queue of the port.
pub(crate) struct Queue {
    pub(crate) id: PortId,
    pub(crate) replay: Option<Receiver>,
    /// Ticks per nanosecond of the file; 0 for as fast as possible.
    pub(crate) ticks_per_file_ns: f64,
    pub(crate) capture: Option<Sender>,
    pub(crate) epoch: Epoch,
    pub(crate) counters: Arc<QueueCounters>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) _threads: Arc<Threads>,
}

/// A tick of the clock and its wall-clock time, for the time stamps of captures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    pub(crate) tick: Ticks,
    pub(crate) unix_ns: u64,
    pub(crate) ns_per_tick: f64,
}

impl Epoch {
    fn unix_ns(&self, now: Ticks) -> u64 {
        let since = now.saturating_sub(self.tick) as f64 * self.ns_per_tick;
        self.unix_ns + since as u64
    }
}

impl Queue {
    /// Returns the tick at which the replay began: the first receive call of any queue.
    fn begun(&self, now: Ticks) -> Ticks {
        let begun = &self.shared.begun;
        match begun.load(Ordering::Relaxed) {
            0 => {
                let order = Ordering::Relaxed;
                begun.compare_exchange(0, now, order, order).map_or_else(|first| first, |_| now)
            }
            first => first,
        }
    }
}

impl Port for Queue {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        // Tick 0 stands for a replay that has not begun.
        let now = now.max(1);
        let begun = self.begun(now);
        let Some(ring) = &mut self.replay else { return 0 };
        let limit = limit.min(batch.remaining());
        let (mut count, mut bytes) = (0, 0);
        while count < limit
            && let Some(record) = ring.peek()
        {
            let (stamp, frame) = record.split_at(STAMP_LEN.min(record.len()));
            let at_ns = stamp.try_into().map_or(0, u64::from_le_bytes);
            let due = (at_ns as f64 * self.ticks_per_file_ns) as Ticks;
            if now < begun.saturating_add(due) {
                break;
            }
            match batch.append(self.id, frame.len()) {
                Some(room) => {
                    room.copy_from_slice(frame);
                    count += 1;
                    bytes += frame.len();
                }
                None => self.counters.dropped(TOO_LONG, 1),
            }
            ring.next_frame();
        }
        ring.release();
        self.counters.received(count, bytes);
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        let Some(ring) = &mut self.capture else {
            self.counters.dropped(NO_CAPTURE, slots.len() as u64);
            return 0;
        };
        let stamp = self.epoch.unix_ns(now).to_le_bytes();
        let (mut sent, mut bytes) = (0, 0);
        for &slot in slots {
            let frame = batch.frame(slot);
            if let Some(room) = ring.reserve(STAMP_LEN + frame.len()) {
                room[..STAMP_LEN].copy_from_slice(&stamp);
                room[STAMP_LEN..].copy_from_slice(frame);
                sent += 1;
                bytes += frame.len();
            }
        }
        ring.publish();
        self.counters.sent(sent, bytes);
        if sent < slots.len() {
            self.counters.dropped(RING_FULL, (slots.len() - sent) as u64);
        }
        sent
    }
}
