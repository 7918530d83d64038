//! Opening a port, its queues, and what may be known of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use engine::{
    Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortKind, PortRequest,
    QueueCounters,
};
use keys::Invalid;
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::config::{Config, Role};
use crate::control;
use crate::handshake::Terms;
use crate::lines::Line;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::socket::Listener;
use crate::transfer::Burst;

/// Port type `memif`: shared memory with another process.
pub struct Memif;

/// Largest number of queues of a port.
pub const QUEUES_MAX: usize = 64;

/// Drop reasons.
pub const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("too-short"),
    PortDrop::receive("peer-gone"),
    PortDrop::transmit("no-peer"),
    PortDrop::transmit("ring-full"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("peer-broke-rules"),
    PortDrop::transmit("peer-gone"),
];

/// Indices in [`DROPS`].
mod drops {
    pub const RECEIVE_TOO_LONG: usize = 0;
    pub const RECEIVE_TOO_SHORT: usize = 1;
    pub const RECEIVE_PEER_GONE: usize = 2;
    pub const NO_PEER: usize = 3;
    pub const RING_FULL: usize = 4;
    pub const TRANSMIT_TOO_LONG: usize = 5;
    pub const PEER_BROKE_RULES: usize = 6;
    /// Index of the reason for frames that were counted as sent before.
    pub const TRANSMIT_PEER_GONE: usize = 7;
}

impl PortKind for Memif {
    const NAME: &'static str = "memif";
    const SUMMARY: &'static str =
        "shared memory with another process: DPDK, VPP, another Plumbline";
    type Config = Config;

    fn available() -> Result<(), PortError> {
        Ok(())
    }

    fn validate(config: &Config) -> Result<(), Invalid> {
        config.validate()
    }

    fn open(config: &Config, request: &PortRequest) -> Result<Opened, PortError> {
        let name = &request.name;
        if !(1..=QUEUES_MAX).contains(&request.queues) {
            let what = format!("memif port {name}: {} queues requested", request.queues);
            return Err(PortError::new(what, format!("use 1 to {QUEUES_MAX} workers")));
        }
        let failed = |what: &str, error: std::io::Error| {
            PortError::new(format!("memif port {name}: {what}: {error}"), REMEDY)
        };
        let shared = Shared::new(request.queues).map_err(|error| failed("eventfd", error))?;
        let shared = Arc::new(shared);
        let listener = match config.role {
            Role::Master => Some(Listener::bind(config.address()).map_err(|error| {
                let what = format!("memif port {name}: socket {}: {error}", config.socket);
                PortError::new(what, remedy_of(&error))
            })?),
            Role::Slave => None,
        };
        let queues = u16::try_from(request.queues).unwrap_or(1);
        let terms = Terms { config: config.clone(), name: name.clone(), queues };
        let thread = {
            let (terms, shared) = (terms, shared.clone());
            let body = move || control::run(&terms, listener, &shared);
            std::thread::Builder::new().name("memif-control".into()).spawn(body)
        };
        let thread = thread.map_err(|error| failed("no thread", error))?;
        let life = Arc::new(Life { shared: shared.clone(), thread: Some(thread) });
        let counters: Vec<_> = (0..request.queues).map(|_| QueueCounters::new(DROPS)).collect();
        let queue = |(index, counters): (usize, &Arc<QueueCounters>)| {
            let counters = counters.clone();
            let queue =
                Queue { id: request.id, index, seen: 0, line: None, counters, life: life.clone() };
            Box::new(queue) as Box<dyn Port>
        };
        let queues = counters.iter().enumerate().map(queue).collect();
        let monitor = MemifMonitor { config: config.clone(), shared, counters };
        Ok(Opened { queues, monitor: Arc::new(monitor) })
    }
}

const REMEDY: &str = "close other programs, or raise the limits of `ulimit`";

fn remedy_of(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "configure a separate socket for each master, or remove the file if no program uses it"
        }
        std::io::ErrorKind::NotFound => "create the folder of the socket first",
        std::io::ErrorKind::PermissionDenied => "use a folder in which you have write permission",
        _ => "choose another socket",
    }
}

/// Ends the control thread when the last queue is dropped.
struct Life {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A worker's queue: a ring in each direction while there is a peer.
struct Queue {
    id: PortId,
    index: usize,
    /// State of the mailbox to which `line` belongs.
    seen: u64,
    line: Option<Line>,
    counters: Arc<QueueCounters>,
    life: Arc<Life>,
}

impl Queue {
    #[inline(always)]
    fn mailbox(&self) -> &Mailbox {
        &self.life.shared.mailboxes[self.index]
    }

    /// Takes over new rings, or returns old ones.
    #[inline(always)]
    fn follow(&mut self) {
        if self.mailbox().has_changed(self.seen) {
            self.change();
        }
    }

    #[cold]
    fn change(&mut self) {
        let (waiting, unread) = self.line.as_ref().map_or((0, 0), Line::left);
        let (mut seen, mut line) = (self.seen, self.line.take());
        self.mailbox().collect(&mut seen, &mut line);
        if seen != self.seen {
            self.counters.dropped(drops::RECEIVE_PEER_GONE, waiting);
            self.counters.dropped(drops::TRANSMIT_PEER_GONE, unread);
        }
        (self.seen, self.line) = (seen, line);
    }

    /// Handles a protocol violation of the peer in a burst, which is rare: the rings are no longer
    /// used.
    #[cold]
    fn complain(&mut self, burst: &Burst) {
        let Some(breach) = burst.breach else { return };
        self.mailbox().complain(self.seen, breach);
        self.life.shared.wake.wake();
        // Unmapped here: a peer that does so once is gone.
        self.line = None;
    }
}

impl Port for Queue {
    #[inline]
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        self.follow();
        let Some(line) = &mut self.line else { return 0 };
        let burst = line.receive(batch, self.id, limit);
        if burst == Burst::default() {
            return 0;
        }
        self.counters.received(burst.frames, burst.bytes);
        if burst.too_long + burst.too_short > 0 {
            self.counters.dropped(drops::RECEIVE_TOO_LONG, burst.too_long);
            self.counters.dropped(drops::RECEIVE_TOO_SHORT, burst.too_short);
        }
        if burst.breach.is_some() {
            self.complain(&burst);
        }
        burst.frames
    }

    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        self.follow();
        if slots.is_empty() {
            return 0;
        }
        let burst = self.line.as_mut().and_then(|line| line.transmit(batch, slots));
        let Some(burst) = burst else {
            self.counters.dropped(drops::NO_PEER, slots.len() as u64);
            return 0;
        };
        self.counters.sent(burst.frames, burst.bytes);
        let lost = slots.len() as u64 - burst.frames as u64;
        if lost > 0 {
            let why = match burst.breach {
                Some(_) => drops::PEER_BROKE_RULES,
                None => drops::RING_FULL,
            };
            self.counters.dropped(why, lost - burst.too_long);
            self.counters.dropped(drops::TRANSMIT_TOO_LONG, burst.too_long);
        }
        if burst.breach.is_some() {
            self.complain(&burst);
        }
        burst.frames
    }

    fn is_up(&mut self) -> bool {
        self.follow();
        self.line.is_some()
    }
}

struct MemifMonitor {
    config: Config,
    shared: Arc<Shared>,
    counters: Vec<Arc<QueueCounters>>,
}

impl Monitor for MemifMonitor {
    fn counts(&self) -> PortCounts {
        PortCounts::sum(&self.counters)
    }

    fn link(&self) -> Link {
        self.shared.link()
    }

    fn shares_rings(&self) -> bool {
        true
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let role = match self.config.role {
            Role::Master => "master",
            Role::Slave => "slave",
        };
        vec![
            ("role", role.to_owned()),
            ("socket", self.config.socket.clone()),
            ("mode", "polling, one copy per direction".to_owned()),
            ("connections", self.shared.connections.load(Ordering::Relaxed).to_string()),
            ("disconnects", self.shared.breaches.text()),
        ]
    }
}
