//! A port: where frames enter and leave a worker.
//!
//! What is opened under one name has a queue for each worker ([`Port`], owned by it) and a
//! [`Monitor`] that any thread may read. A queue never blocks and never sleeps; it counts each
//! frame that it cannot carry, by reason. Peers that come and go are the port's own matter: a port
//! without a peer receives nothing, counts what it is given to send, and carries on when the peer
//! returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keys::Invalid;
use machine::clock::Ticks;
use offload::Kinds;
use packet::{Batch, PortId, Slot};

/// A queue of a port, which is an end of a link. It belongs to one worker; if the link is full, it
/// counts and frees the frame.
pub trait Port: Send {
    /// Appends up to `limit` waiting frames to the batch and returns their number.
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize;

    /// Sends these frames of the batch in order and returns the number that the link accepted; it
    /// counts the others as lost.
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize;

    /// Returns the kinds of long segments ([`Batch::long`]) that the port takes as they are: then
    /// whoever gets them cuts them, or has them cut. Of others the port gets pieces. It may change
    /// with the peer; the worker asks before it transmits.
    fn takes_long(&self) -> Kinds {
        Kinds::NONE
    }

    /// Returns true if received frames are in no cache, because the port hands over memory that
    /// another has written. Then the worker prefetches what most functions touch of them. A port
    /// that copies frames into the batch has them in its cache.
    fn leaves_cold(&self) -> bool {
        false
    }

    /// Returns true if frames can pass, as [`Monitor::link`] says it to other threads. The worker
    /// asks about a thousand times a second, so it must not take long. A port whose link is no
    /// matter of its own says true.
    fn is_up(&mut self) -> bool {
        true
    }
}

/// An open port.
pub struct Opened {
    /// A queue for each worker, in the order of workers.
    pub queues: Vec<Box<dyn Port>>,
    /// Monitor for threads other than the workers.
    pub monitor: Arc<dyn Monitor>,
}

/// Information about a port for threads other than its workers.
pub trait Monitor: Send + Sync {
    /// Returns the counters of all queues since the port was opened.
    fn counts(&self) -> PortCounts;

    /// Returns the state of the link.
    fn link(&self) -> Link;

    /// Returns true if a frame that is refused on transmission found the peer's own ring full, in
    /// memory that both share: then the peer is too slow. With other ports such a frame never left
    /// this machine.
    fn shares_rings(&self) -> bool {
        false
    }

    /// Returns facts for the record: `("mode", "zero-copy")`, `("driver", "veth")` …
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// State of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Frames can pass.
    Up,
    /// Frames cannot pass, for this reason: `no carrier`, `no peer has connected` …
    Down(String),
}

/// Counters of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Frames passed to workers.
    pub received: u64,
    /// Bytes of the received frames, without frame check sequences.
    pub received_bytes: u64,
    /// Frames accepted by the link.
    pub sent: u64,
    /// Bytes of the sent frames, without frame check sequences.
    pub sent_bytes: u64,
    /// Frames lost in the port, by reason, in the order of the port's [`PortDrop`]s.
    pub drops: Vec<(PortDrop, u64)>,
}

/// Drop reason of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortDrop {
    /// Direction of the lost frames.
    pub way: Way,
    /// Name of the reason in kebab case: `ring-full`, `too-long`, `no-peer` …
    pub why: &'static str,
}

/// Direction of frames, seen from the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// Towards the worker.
    Receive,
    /// From the worker.
    Transmit,
}

/// Parameters with which a port is opened.
#[derive(Clone, Debug)]
pub struct PortRequest {
    /// Name of the port in messages.
    pub name: String,
    /// Number of the port at the function.
    pub id: PortId,
    /// Number of queues, one for each worker.
    pub queues: usize,
    /// Longest frame to be carried, in bytes without frame check sequence.
    pub frame_bytes_max: usize,
    /// Frequency of the time-stamp clock in ticks per second.
    pub ticks_per_second: f64,
}

/// A port type, as its crate provides it.
pub trait PortKind: 'static {
    /// The `type` in a configuration, in kebab case: `af-packet`.
    const NAME: &'static str;
    /// One-line summary.
    const SUMMARY: &'static str;
    /// Keys of the port type, without `type`.
    type Config: Send + Sync + 'static;

    /// Checks that the port type can be used on this machine.
    ///
    /// # Errors
    /// The missing requirement, and the one command that would provide it.
    fn available() -> Result<(), PortError>;

    /// Checks values that the schema of the keys does not constrain.
    ///
    /// # Errors
    /// The first invalid key.
    fn validate(_config: &Self::Config) -> Result<(), Invalid> {
        Ok(())
    }

    /// Opens a port; a running program may open it again after it was dropped.
    ///
    /// # Errors
    /// The cause, with the interface, file or socket, and the remedy.
    fn open(config: &Self::Config, request: &PortRequest) -> Result<Opened, PortError>;
}

/// Error of a port that could not be opened, or cannot be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PortError {
    /// Description of the error with the interface, file or socket; without a full stop.
    pub what: String,
    /// Remedy: an imperative sentence without a full stop.
    pub remedy: String,
}

impl PortError {
    /// Creates an error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> PortError {
        PortError { what: what.into(), remedy: remedy.into() }
    }
}

/// Counters of one queue: written by its worker only, readable by any thread.
#[derive(Debug)]
pub struct QueueCounters {
    kinds: &'static [PortDrop],
    fixed: [AtomicU64; 4],
    drops: Vec<AtomicU64>,
}

impl QueueCounters {
    /// Creates counters of a port with these drop reasons, all zero.
    pub fn new(kinds: &'static [PortDrop]) -> Arc<QueueCounters> {
        let drops = kinds.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(QueueCounters { kinds, fixed: Default::default(), drops })
    }

    /// Counts frames that were passed to the worker.
    #[inline(always)]
    pub fn received(&self, frames: usize, bytes: usize) {
        add(&self.fixed[0], frames as u64);
        add(&self.fixed[1], bytes as u64);
    }

    /// Counts frames that the link accepted.
    #[inline(always)]
    pub fn sent(&self, frames: usize, bytes: usize) {
        add(&self.fixed[2], frames as u64);
        add(&self.fixed[3], bytes as u64);
    }

    /// Counts frames that were lost for the reason with this index.
    #[inline]
    pub fn dropped(&self, kind: usize, frames: u64) {
        if let Some(count) = self.drops.get(kind) {
            add(count, frames);
        }
    }

    /// Returns the present counters; each number is read atomically.
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
    /// Adds the counters of another queue of the same port.
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

    /// Returns the sum of the counters of all queues.
    pub fn sum<'a>(queues: impl IntoIterator<Item = &'a Arc<QueueCounters>>) -> PortCounts {
        let mut sum = PortCounts::default();
        queues.into_iter().for_each(|queue| sum.add(&queue.read()));
        sum
    }

    /// Returns the number of frames lost in one direction, for any reason.
    pub fn lost(&self, way: Way) -> u64 {
        self.drops.iter().filter(|(kind, _)| kind.way == way).map(|(_, count)| count).sum()
    }
}

impl PortDrop {
    /// Creates a drop reason of the receive direction.
    pub const fn receive(why: &'static str) -> PortDrop {
        PortDrop { way: Way::Receive, why }
    }

    /// Creates a drop reason of the transmit direction.
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
