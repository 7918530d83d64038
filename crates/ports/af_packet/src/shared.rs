//! What the queues, the watching thread and whoever reads the counters share.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Kinds, Link, Monitor, PortCounts, PortDrop, QueueCounters};

use crate::config::AfPacketConfig;
use crate::drops::DROPS;
use crate::ends::Ends;
use crate::sys;

/// Drop reason of frames that the kernel dropped and counted.
const KERNEL_RING_FULL: PortDrop = PortDrop::receive("kernel-ring-full");

/// State of a port that all its threads share, independent of its interface.
pub(crate) struct Shared {
    pub(crate) config: AfPacketConfig,
    pub(crate) counters: Vec<Arc<QueueCounters>>,
    /// True if frames can be sent, for the workers to read.
    pub(crate) is_up: AtomicBool,
    /// Longest packet that the interface takes, in bytes, for the workers to read.
    pub(crate) mtu: AtomicU32,
    /// Long segments that the kernel takes.
    pub(crate) kinds: Kinds,
    link: Mutex<Link>,
    /// Number of times that the queues got new sockets, for the workers to read.
    pub(crate) generation: AtomicU64,
    /// New sockets and rings of each queue that the queue has not taken yet.
    pub(crate) waiting: Vec<Mutex<Option<Ends>>>,
    /// Replaced sockets and rings, which another thread closes because the kernel takes time.
    old: Mutex<Vec<Ends>>,
    kernel: Mutex<Kernel>,
    pub(crate) facts: Vec<(&'static str, String)>,
}

#[derive(Default)]
struct Kernel {
    sockets: Vec<Arc<OwnedFd>>,
    drops: u64,
}

impl Kernel {
    fn read(&mut self) -> u64 {
        self.drops += self.sockets.iter().map(|socket| sys::take_drops(socket)).sum::<u64>();
        self.drops
    }
}

impl Shared {
    pub(crate) fn new(
        config: AfPacketConfig,
        queues: usize,
        facts: Vec<(&'static str, String)>,
    ) -> Shared {
        Shared {
            config,
            counters: (0..queues).map(|_| QueueCounters::new(DROPS)).collect(),
            is_up: AtomicBool::new(false),
            mtu: AtomicU32::new(0),
            kinds: Kinds { udp: sys::takes_long_datagrams(), ..Kinds::ALL },
            link: Mutex::new(Link::Down("the interface was not checked yet".to_owned())),
            generation: AtomicU64::new(0),
            waiting: (0..queues).map(|_| Mutex::new(None)).collect(),
            old: Mutex::default(),
            kernel: Mutex::default(),
            facts,
        }
    }

    /// Sets the state of the link.
    pub(crate) fn set_link(&self, link: Link) {
        self.is_up.store(link == Link::Up, Ordering::Relaxed);
        *locked(&self.link) = link;
    }

    /// Provides new sockets and rings to the queues.
    pub(crate) fn renew(&self, ends: Vec<Ends>) {
        self.count_drops_of(&ends);
        for (place, ends) in self.waiting.iter().zip(ends) {
            *locked(place) = Some(ends);
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Reads the kernel's drop counters at these sockets from now on; the counts of the old ones
    /// are kept.
    pub(crate) fn count_drops_of(&self, ends: &[Ends]) {
        let mut kernel = locked(&self.kernel);
        kernel.read();
        kernel.sockets = ends.iter().map(|ends| ends.receiver.clone()).collect();
    }

    /// Stores replaced sockets and rings to be closed.
    pub(crate) fn retire(&self, ends: Ends) {
        locked(&self.old).push(ends);
    }

    /// Closes the replaced sockets and rings.
    pub(crate) fn close_old(&self) {
        let old = std::mem::take(&mut *locked(&self.old));
        drop(old);
    }
}

impl Monitor for Shared {
    fn counts(&self) -> PortCounts {
        let mut counts = PortCounts::sum(&self.counters);
        counts.drops.insert(0, (KERNEL_RING_FULL, locked(&self.kernel).read()));
        counts
    }

    fn link(&self) -> Link {
        locked(&self.link).clone()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.facts.clone();
        let mtu = self.mtu.load(Ordering::Relaxed);
        for (name, fact) in &mut facts {
            if *name == MTU && mtu > 0 {
                *fact = mtu.to_string();
            }
        }
        facts
    }
}

/// The fact that changes while the port is open.
pub(crate) const MTU: &str = "mtu-bytes";

/// Locks a mutex, even if a thread panicked while holding it: values are replaced as a whole, so
/// they are never half written.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
