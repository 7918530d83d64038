//! What the queues, the threads and whoever reads the counters share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use engine::{Link, Monitor, PortCounts, PortDrop, QueueCounters};

/// Drop reasons, in the order of the counters.
pub(crate) const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("cut-short"),
    PortDrop::receive("not-ethernet"),
    PortDrop::receive("malformed"),
    PortDrop::transmit("no-capture"),
    PortDrop::transmit("ring-full"),
    PortDrop::transmit("not-written"),
];
pub(crate) const TOO_LONG: usize = 0;
pub(crate) const CUT_SHORT: usize = 1;
pub(crate) const NOT_ETHERNET: usize = 2;
pub(crate) const MALFORMED: usize = 3;
pub(crate) const NO_CAPTURE: usize = 4;
pub(crate) const RING_FULL: usize = 5;
/// Index of the reason for frames that could not be written; they were counted as sent before.
pub(crate) const NOT_WRITTEN: usize = 6;

/// State of a port that all its threads share.
pub(crate) struct Shared {
    /// Counters of each queue, then of the reading and of the writing thread.
    pub(crate) counters: Vec<Arc<QueueCounters>>,
    /// Reason why the replay ended, or why frames cannot be written.
    pub(crate) replay_ended: Mutex<Option<String>>,
    pub(crate) capture_failed: Mutex<Option<String>>,
    pub(crate) has_capture: bool,
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Tells the threads that no queue is left.
    pub(crate) stop: AtomicBool,
    /// Number of frames that the reading thread has passed to queues.
    pub(crate) handed_over: AtomicU64,
    /// Number of queues.
    pub(crate) queues: usize,
    /// Tick at which the replay began; 0 until then.
    pub(crate) begun: AtomicU64,
}

impl Shared {
    /// Sets or clears the reason why something does not continue.
    pub(crate) fn note(place: &Mutex<Option<String>>, what: Option<String>) {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

impl Shared {
    /// Returns true if workers have received all frames passed to the queues.
    fn is_drained(&self) -> bool {
        let taken = PortCounts::sum(&self.counters[..self.queues]);
        let too_long = taken.drops.get(TOO_LONG).map_or(0, |(_, count)| *count);
        taken.received + too_long >= self.handed_over.load(Ordering::Acquire)
    }
}

impl Monitor for Shared {
    fn counts(&self) -> PortCounts {
        PortCounts::sum(&self.counters)
    }

    /// Returns the state of the link: a port that captures is up as long as it can write; a port
    /// that only replays is up until the file has ended.
    fn link(&self) -> Link {
        let read = |place: &Mutex<Option<String>>| {
            place.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        if let Some(why) = read(&self.capture_failed) {
            return Link::Down(why);
        }
        match read(&self.replay_ended) {
            Some(why) if !self.has_capture && self.is_drained() => Link::Down(why),
            _ => Link::Up,
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.facts.clone()
    }
}

/// Threads of a port; they end when the last reference is dropped.
pub(crate) struct Threads {
    pub(crate) shared: Arc<Shared>,
    /// Joined at the end, so that the file is complete when the port is closed.
    pub(crate) writer: Option<JoinHandle<()>>,
    pub(crate) reader: Option<JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for thread in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            thread.thread().unpark();
            // Who panicked has said so.
            let _ = thread.join();
        }
    }
}
