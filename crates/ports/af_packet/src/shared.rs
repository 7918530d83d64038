//! What the queues, the watching thread and whoever reads the counters share.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Link, Monitor, PortCounts, PortDrop, QueueCounters};

use crate::config::AfPacketConfig;
use crate::ring::ReceiveRing;
use crate::sys;
use crate::transmit::Sender;

/// Why frames are lost, in the order of the counters.
pub(crate) const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("segments"),
    PortDrop::receive("port-closed"),
    PortDrop::transmit("link-down"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("too-short"),
    PortDrop::transmit("device-full"),
    PortDrop::transmit("refused"),
];
pub(crate) const TOO_LONG: usize = 0;
pub(crate) const SEGMENTS: usize = 1;
pub(crate) const PORT_CLOSED: usize = 2;
pub(crate) const LINK_DOWN: usize = 3;
pub(crate) const SENT_TOO_LONG: usize = 4;
pub(crate) const SENT_TOO_SHORT: usize = 5;
pub(crate) const DEVICE_FULL: usize = 6;
pub(crate) const REFUSED: usize = 7;

/// What the kernel dropped and counted.
const KERNEL_RING_FULL: PortDrop = PortDrop::receive("kernel-ring-full");

/// What a queue holds of an interface; another interface of the same name needs others.
pub(crate) struct Ends {
    /// Shared with whoever reads the kernel's drops.
    pub(crate) receiver: Arc<OwnedFd>,
    pub(crate) ring: ReceiveRing,
    pub(crate) sender: Sender,
}

impl Ends {
    /// Ends receiving, and tells how many frames nobody has taken. Queues that share an interface
    /// cannot leave it one by one: what comes at this very moment is lost uncounted there.
    pub(crate) fn shut(&mut self) -> u64 {
        // No frame bears this type (RFC 1701: reserved), and the kernel has left the ring afterwards.
        let left = sys::bind(&self.receiver, 0, TYPE_RESERVED);
        if left.is_err() && sys::close_gate(&self.receiver).is_err() {
            return 0;
        }
        self.ring.waiting()
    }
}

/// A port, whatever its interface does.
pub(crate) struct Shared {
    pub(crate) config: AfPacketConfig,
    pub(crate) counters: Vec<Arc<QueueCounters>>,
    /// Whether frames can be sent, for the workers to read.
    pub(crate) is_up: AtomicBool,
    link: Mutex<Link>,
    /// How often the queues were given new ends, for the workers to read.
    pub(crate) generation: AtomicU64,
    /// New ends of each queue, until it takes them.
    pub(crate) waiting: Vec<Mutex<Option<Ends>>>,
    /// Ends that queues have replaced, to be closed by another thread: the kernel takes its time.
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
            link: Mutex::new(Link::Down("the interface was not looked at yet".to_owned())),
            generation: AtomicU64::new(0),
            waiting: (0..queues).map(|_| Mutex::new(None)).collect(),
            old: Mutex::default(),
            kernel: Mutex::default(),
            facts,
        }
    }

    /// Says whether frames can pass.
    pub(crate) fn set_link(&self, link: Link) {
        self.is_up.store(link == Link::Up, Ordering::Relaxed);
        *locked(&self.link) = link;
    }

    /// Puts new ends where the queues find them.
    pub(crate) fn renew(&self, ends: Vec<Ends>) {
        self.count_drops_of(&ends);
        for (place, ends) in self.waiting.iter().zip(ends) {
            *locked(place) = Some(ends);
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// From now on the kernel's drops are read at these ends; those of the old are kept.
    pub(crate) fn count_drops_of(&self, ends: &[Ends]) {
        let mut kernel = locked(&self.kernel);
        kernel.read();
        kernel.sockets = ends.iter().map(|ends| ends.receiver.clone()).collect();
    }

    /// Puts ends aside to be closed.
    pub(crate) fn retire(&self, ends: Ends) {
        locked(&self.old).push(ends);
    }

    /// Closes what queues have replaced.
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
        self.facts.clone()
    }
}

/// An Ethernet type of no protocol.
const TYPE_RESERVED: u16 = 0xffff;

/// Who panicked while holding it left it whole: values are replaced, never half written.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
