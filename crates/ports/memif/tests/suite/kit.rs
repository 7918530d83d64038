//! What the tests share: a port with its batch, and waiting with a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Link, Monitor, Opened, Port, PortError, PortKind, PortRequest};
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};
use port_memif::{Config, Memif, Role};

/// Opens a port. A program that another test starts at this moment holds every socket of this
/// process until it begins, those that are closed meanwhile too: a name in use is asked for again.
pub fn open(config: &Config, request: &PortRequest) -> Result<Opened, PortError> {
    let start = Instant::now();
    loop {
        match Memif::open(config, request) {
            Err(error) if error.what.contains("in use") && start.elapsed() < PATIENCE => {
                thread::park_timeout(Duration::from_millis(1));
            }
            opened => return opened,
        }
    }
}

/// A port of one queue or more, with a batch for all of them.
pub struct End {
    pub queues: Vec<Box<dyn Port>>,
    pub monitor: Arc<dyn Monitor>,
    batch: Batch,
}

impl End {
    pub fn open(config: &Config, queues: usize) -> End {
        End::with_room(config, queues, 9000)
    }

    pub fn with_room(config: &Config, queues: usize, frame_bytes_max: usize) -> End {
        let request = PortRequest {
            name: format!("{:?}", config.role),
            id: PortId(3),
            queues,
            frame_bytes_max,
            ticks_per_second: 1e9,
        };
        let opened = open(config, &request);
        let Opened { queues, monitor } = opened.expect("it can be opened");
        let room = Room { headroom: 64, frame: frame_bytes_max, long: 0 };
        End { queues, monitor, batch: Batch::new(BATCH_MAX, room).expect("memory") }
    }

    /// Sends frames on a queue; returns the number that the ring accepted.
    pub fn send(&mut self, queue: usize, frames: &[Vec<u8>]) -> usize {
        let mut sent = 0;
        for chunk in frames.chunks(BATCH_MAX) {
            self.batch.clear();
            for frame in chunk {
                let room = self.batch.append(PortId(0), frame.len()).expect("room");
                room.copy_from_slice(frame);
            }
            let slots: Vec<Slot> = self.batch.slots().collect();
            sent += self.queues[queue].transmit(&mut self.batch, &slots, 0);
        }
        sent
    }

    /// Returns the frames that wait at a queue, up to a batch.
    pub fn receive(&mut self, queue: usize) -> Vec<Vec<u8>> {
        self.batch.clear();
        self.queues[queue].receive(&mut self.batch, BATCH_MAX, 0);
        assert!(self.batch.slots().all(|slot| self.batch.port(slot) == PortId(3)));
        self.batch.slots().map(|slot| self.batch.frame(slot).to_vec()).collect()
    }

    /// Receives until this number of frames has arrived.
    pub fn receive_all(&mut self, queue: usize, count: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        wait_for("all frames", || {
            frames.extend(self.receive(queue));
            frames.len() >= count
        });
        frames
    }

    /// Polls all queues until the link is up, or down.
    pub fn wait_for_link(&mut self, up: bool) {
        wait_for(if up { "link up" } else { "link down" }, || {
            for queue in 0..self.queues.len() {
                assert!(self.receive(queue).is_empty(), "nobody sends yet");
            }
            (self.monitor.link() == Link::Up) == up
        });
        for queue in 0..self.queues.len() {
            assert!(self.receive(queue).is_empty(), "nobody sends yet");
        }
    }

    /// Returns a drop counter by direction and reason.
    pub fn drops(&self, why: &str) -> u64 {
        let counts = self.monitor.counts();
        counts.drops.iter().filter(|(kind, _)| kind.why == why).map(|(_, count)| count).sum()
    }

    pub fn fact(&self, name: &str) -> String {
        let facts = self.monitor.facts();
        facts.into_iter().find(|(key, _)| *key == name).map(|(_, text)| text).expect("a fact")
    }
}

/// Returns a configuration with this socket.
pub fn config(role: Role, socket: &str) -> Config {
    Config {
        socket: socket.to_owned(),
        role,
        id: 7,
        secret: None,
        ring_size: 64,
        buffer_bytes: 2048,
        accept_unsealed: false,
    }
}

/// Returns a unique name in the abstract namespace.
pub fn abstract_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("@plumbline-memif-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Time limit for all waits, for busy machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Polls a condition until it holds.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        std::thread::yield_now();
    }
}

/// Returns frame number `n`, whose bytes and length depend on the number.
pub fn frame(n: usize) -> Vec<u8> {
    frame_of(n, 60 + n * 37 % 1455)
}

/// Returns a frame of this length whose bytes depend on the number.
pub fn frame_of(n: usize, len: usize) -> Vec<u8> {
    let seed = (n as u32).wrapping_mul(2_654_435_761);
    (0..len).map(|at| (seed.rotate_left(at as u32 % 32) as usize + at) as u8).collect()
}
