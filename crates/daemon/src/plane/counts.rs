//! What is counted of the way to the host, for whoever shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{PlaneReader, PuntCounts};
use packet::Reason;
use serde_json::{Map, Value, json};

/// Counters of one interface, written by the thread alone.
#[derive(Debug, Default)]
pub(super) struct InterfaceCounts {
    /// Frames to the host.
    pub up: AtomicU64,
    /// Frames that the kernel did not take: the interface is down or gone.
    pub up_refused: AtomicU64,
    /// Frames of the host that a worker has been handed.
    pub down: AtomicU64,
    /// Frames of the host for which the worker had no room.
    pub down_full: AtomicU64,
    /// Frames of the host that cannot be cut or completed.
    pub down_unfit: AtomicU64,
}

/// Counters of the thread.
#[derive(Debug, Default)]
pub(super) struct ThreadCounts {
    /// Turns that took too long.
    pub late: AtomicU64,
    /// How often it began again after a panic.
    pub restarts: AtomicU64,
    /// Punted frames of interfaces that the host does not have.
    pub unclaimed: AtomicU64,
    /// Frames that controllers have been handed.
    pub taken: AtomicU64,
    /// Frames for controllers that had no room for them.
    pub taken_full: AtomicU64,
    /// Frames of controllers that a worker has been handed.
    pub injected: AtomicU64,
    /// Frames of controllers for which the worker, or the way to it, had no room.
    pub injected_full: AtomicU64,
}

/// Reads all of it.
pub(crate) struct Watch {
    pub(super) names: &'static [&'static str],
    pub(super) planes: Vec<PlaneReader>,
    pub(super) interfaces: Vec<(String, Arc<InterfaceCounts>)>,
    pub(super) thread: Arc<ThreadCounts>,
}

impl Watch {
    /// Returns all counters.
    pub fn view(&self) -> Value {
        let reason = |(number, name): (u8, &&str)| {
            let mut sum = PuntCounts::default();
            for counts in self.planes.iter().map(|plane| plane.counts(Reason(number))) {
                sum.delivered += counts.delivered;
                sum.over_rate += counts.over_rate;
                sum.over_source += counts.over_source;
                sum.ring_full += counts.ring_full;
            }
            let shown = json!({
                "delivered": sum.delivered,
                "over_rate": sum.over_rate,
                "over_source": sum.over_source,
                "ring_full": sum.ring_full,
            });
            ((*name).to_owned(), shown)
        };
        let interface = |(name, counts): &(String, Arc<InterfaceCounts>)| {
            let shown = json!({
                "up": read(&counts.up),
                "up_refused": read(&counts.up_refused),
                "down": read(&counts.down),
                "down_full": read(&counts.down_full),
                "down_unfit": read(&counts.down_unfit),
            });
            (name.clone(), shown)
        };
        json!({
            "reasons": (0..).zip(self.names).map(reason).collect::<Map<_, _>>(),
            "interfaces": self.interfaces.iter().map(interface).collect::<Map<_, _>>(),
            "late_turns": read(&self.thread.late),
            "restarts": read(&self.thread.restarts),
            "unclaimed": read(&self.thread.unclaimed),
            "controllers": {
                "taken": read(&self.thread.taken),
                "taken_full": read(&self.thread.taken_full),
                "injected": read(&self.thread.injected),
                "injected_full": read(&self.thread.injected_full),
            },
        })
    }
}

/// Adds to a counter that this thread alone writes.
pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.store(read(counter) + count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
