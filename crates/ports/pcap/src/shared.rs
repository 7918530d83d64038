//! What the queues, the threads and whoever reads the counters share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use engine::{Link, Monitor, PortCounts, PortDrop, QueueCounters};

/// Why frames are lost, in the order of the counters.
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
/// Counted when the disk refuses: the frame was counted as sent before.
pub(crate) const NOT_WRITTEN: usize = 6;

/// A port, as seen from outside.
pub(crate) struct Shared {
    /// Of each queue, then of the reading and the writing thread.
    pub(crate) counters: Vec<Arc<QueueCounters>>,
    /// Why frames cannot come, or not be written.
    pub(crate) replay_ended: Mutex<Option<String>>,
    pub(crate) capture_failed: Mutex<Option<String>>,
    pub(crate) has_capture: bool,
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Tells the threads that no queue is left.
    pub(crate) stop: AtomicBool,
    /// Frames that the reading thread has handed to queues.
    pub(crate) handed_over: AtomicU64,
    /// How many queues there are.
    pub(crate) queues: usize,
    /// The tick at which the replay began; 0 until then.
    pub(crate) begun: AtomicU64,
}

impl Shared {
    /// Notes why something does not go on, or that it does.
    pub(crate) fn note(place: &Mutex<Option<String>>, what: Option<String>) {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

impl Shared {
    /// Whether workers have taken all that was handed over.
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

    /// A port that captures is up as long as it can; one that only replays, until the file has ended.
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

/// The threads of a port; whoever lets go of it last ends them.
pub(crate) struct Threads {
    pub(crate) shared: Arc<Shared>,
    /// Joined, so that the file is whole when the port is closed.
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
