//! A port: where frames enter and leave a worker.
//!
//! What is opened under one name has a queue for each worker ([`Port`], owned by it) and a
//! [`Monitor`] that any thread may read. A queue never blocks and never sleeps; it counts each frame
//! that it cannot carry, by reason. Peers that come and go are the port's own matter: a port without
//! a peer receives nothing, counts what it is given to send, and carries on when the peer returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

/// One queue of a port, the end of a link. It belongs to one worker; a full link counts and frees the
/// frame.
pub trait Port: Send {
    /// Appends up to `limit` waiting frames to the batch and tells how many it appended.
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize;

    /// Sends these frames of the batch, in order, and tells how many the link took; it counts the
    /// others as lost.
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize;
}

/// A port that was opened.
pub struct Opened {
    /// A queue for each worker, in their order.
    pub queues: Vec<Box<dyn Port>>,
    /// What others than the workers may know of it.
    pub monitor: Arc<dyn Monitor>,
}

/// What may be known of a port from outside its workers.
pub trait Monitor: Send + Sync {
    /// What all queues have counted since the port was opened.
    fn counts(&self) -> PortCounts;

    /// Whether frames can pass at this moment.
    fn link(&self) -> Link;

    /// Whether a frame that finds no place on its way out met the peer's own ring, in memory that both
    /// share: the peer did not keep up, then. Elsewhere such a frame never left this machine.
    fn shares_rings(&self) -> bool {
        false
    }

    /// How it runs, worth recording: `("mode", "zero-copy")`, `("driver", "veth")` …
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Whether frames can pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// They can.
    Up,
    /// They cannot, for this reason: `no carrier`, `no peer has connected` …
    Down(String),
}

/// What a port counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Frames handed to workers.
    pub received: u64,
    /// Their bytes, without check sequences.
    pub received_bytes: u64,
    /// Frames taken by the link.
    pub sent: u64,
    /// Their bytes, without check sequences.
    pub sent_bytes: u64,
    /// Frames that were lost in the port, by reason, in the order of the port's [`PortDrop`]s.
    pub drops: Vec<(PortDrop, u64)>,
}

/// A reason for which a port loses frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortDrop {
    /// On their way in or out.
    pub way: Way,
    /// Why, kebab-case: `ring-full`, `too-long`, `no-peer` …
    pub why: &'static str,
}

/// On the way in or out, seen from the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// Towards the worker.
    Receive,
    /// Away from it.
    Transmit,
}

/// What a port is opened for.
#[derive(Clone, Debug)]
pub struct PortRequest {
    /// The name under which messages speak of it.
    pub name: String,
    /// Its number at the function.
    pub id: PortId,
    /// How many queues, one for each worker.
    pub queues: usize,
    /// The longest frame to be carried, in bytes without check sequence.
    pub frame_bytes_max: usize,
    /// Ticks of the time-stamp clock in a second.
    pub ticks_per_second: f64,
}

/// A kind of port, as its crate provides it.
pub trait PortKind: 'static {
    /// The `type` in a configuration, kebab-case: `af-packet`.
    const NAME: &'static str;
    /// One line of help.
    const SUMMARY: &'static str;
    /// Its keys beside `type`.
    type Config: Send + Sync + 'static;

    /// Whether it can be used on this machine.
    ///
    /// # Errors
    /// What is missing, and the one command that would enable it.
    fn available() -> Result<(), PortError>;

    /// Checks what the types of the keys cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn validate(config: &Self::Config) -> Result<(), KeyError>;

    /// Opens a port; a running program may open it again after it was dropped.
    ///
    /// # Errors
    /// What is wrong, naming the interface, file or socket, and what to do.
    fn open(config: &Self::Config, request: &PortRequest) -> Result<Opened, PortError>;
}

/// A key of a port that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {what}")]
pub struct KeyError {
    /// Which key, dotted, from the port's own section on; empty for the section as a whole.
    pub key: String,
    /// What is wrong, without a full stop.
    pub what: String,
}

/// A port that could not be opened, or cannot be on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PortError {
    /// What is wrong, naming the interface, file or socket; without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop.
    pub remedy: String,
}

impl PortError {
    /// An error and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> PortError {
        PortError { what: what.into(), remedy: remedy.into() }
    }
}

/// The counters of one queue: written by its worker alone, read by anyone.
#[derive(Debug)]
pub struct QueueCounters {
    kinds: &'static [PortDrop],
    fixed: [AtomicU64; 4],
    drops: Vec<AtomicU64>,
}

impl QueueCounters {
    /// All zero, for a port that loses frames for these reasons.
    pub fn new(kinds: &'static [PortDrop]) -> Arc<QueueCounters> {
        let drops = kinds.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(QueueCounters { kinds, fixed: Default::default(), drops })
    }

    /// So many frames were handed to the worker.
    #[inline(always)]
    pub fn received(&self, frames: usize, bytes: usize) {
        add(&self.fixed[0], frames as u64);
        add(&self.fixed[1], bytes as u64);
    }

    /// So many frames were taken by the link.
    #[inline(always)]
    pub fn sent(&self, frames: usize, bytes: usize) {
        add(&self.fixed[2], frames as u64);
        add(&self.fixed[3], bytes as u64);
    }

    /// So many frames were lost for the reason of this place in the list.
    #[inline]
    pub fn dropped(&self, kind: usize, frames: u64) {
        if let Some(count) = self.drops.get(kind) {
            add(count, frames);
        }
    }

    /// What was counted so far, each number whole.
    pub fn read(&self) -> PortCounts {
        let [received, received_bytes, sent, sent_bytes] =
            self.fixed.each_ref().map(|count| count.load(Ordering::Relaxed));
        let drops = self.kinds.iter().zip(&self.drops);
        let drops = drops.map(|(kind, count)| (*kind, count.load(Ordering::Relaxed))).collect();
        PortCounts { received, received_bytes, sent, sent_bytes, drops }
    }
}

/// Adds to a counter that only this thread writes.
#[inline(always)]
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

impl PortCounts {
    /// Adds what another queue of the same port counted.
    pub fn add(&mut self, other: &PortCounts) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        for (kind, count) in &other.drops {
            match self.drops.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += count,
                None => self.drops.push((*kind, *count)),
            }
        }
    }

    /// The sum over the counters of all queues.
    pub fn sum<'a>(queues: impl IntoIterator<Item = &'a Arc<QueueCounters>>) -> PortCounts {
        let mut sum = PortCounts::default();
        queues.into_iter().for_each(|queue| sum.add(&queue.read()));
        sum
    }

    /// Frames lost on one way, for whatever reason.
    pub fn lost(&self, way: Way) -> u64 {
        self.drops.iter().filter(|(kind, _)| kind.way == way).map(|(_, count)| count).sum()
    }
}

impl PortDrop {
    /// A reason on the way in.
    pub const fn receive(why: &'static str) -> PortDrop {
        PortDrop { way: Way::Receive, why }
    }

    /// A reason on the way out.
    pub const fn transmit(why: &'static str) -> PortDrop {
        PortDrop { way: Way::Transmit, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[PortDrop] = &[PortDrop::receive("too-long"), PortDrop::transmit("ring-full")];

    #[test]
    fn queues_add_up_by_reason_and_way() {
        let queues = [QueueCounters::new(KINDS), QueueCounters::new(KINDS)];
        for queue in &queues {
            queue.received(3, 180);
            queue.sent(2, 120);
            queue.dropped(1, 1);
            queue.dropped(7, 1);
        }
        queues[0].dropped(0, 5);
        let sum = PortCounts::sum(&queues);
        assert_eq!((sum.received, sum.received_bytes, sum.sent, sum.sent_bytes), (6, 360, 4, 240));
        assert_eq!(sum.drops, [(KINDS[0], 5), (KINDS[1], 2)]);
        assert_eq!((sum.lost(Way::Receive), sum.lost(Way::Transmit)), (5, 2));
    }
}
