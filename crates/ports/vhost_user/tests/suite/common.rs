//! What the tests with other programs share: frames, a port that is driven by hand, and waiting.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::{Kinds, Link, Monitor, Port, PortKind, PortRequest};
use machine::clock;
use netns::{Child, Namespace};
use packet::{BATCH_MAX, Batch, LONG_BYTES_MAX, Long, PortId, Room, Slot};
use port_vhost_user::{Config, VhostUser};

/// An open port with one queue, polled by the test's thread.
pub struct Station {
    queue: Box<dyn Port>,
    pub monitor: Arc<dyn Monitor>,
    batch: Batch,
}

impl Station {
    /// Opens the port.
    pub fn open(config: &Config) -> Station {
        let request = PortRequest {
            name: "under-test".to_owned(),
            id: PortId(0),
            queues: 1,
            frame_bytes_max: FRAME_BYTES_MAX,
            ticks_per_second: 1e9,
        };
        let mut opened = VhostUser::open(config, &request).expect("the port opens");
        let room = Room { headroom: 0, frame: FRAME_BYTES_MAX, long: LONG_BYTES_MAX };
        Station {
            queue: opened.queues.remove(0),
            monitor: opened.monitor,
            batch: Batch::new(BATCH_MAX, room).expect("memory for a batch"),
        }
    }

    /// Sends frames; returns the number of accepted frames.
    pub fn send(&mut self, frames: &[Vec<u8>]) -> usize {
        self.batch.clear();
        for frame in frames {
            self.batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        }
        let slots: Vec<Slot> = self.batch.slots().collect();
        self.queue.transmit(&mut self.batch, &slots, clock::now())
    }

    /// Sends a long segment; returns true if it was accepted.
    pub fn send_long(&mut self, frame: &[u8], long: Long) -> bool {
        self.batch.clear();
        let room = self.batch.append_long(PortId(0), frame.len(), long);
        room.expect("room").copy_from_slice(frame);
        self.queue.transmit(&mut self.batch, &[0], clock::now()) == 1
    }

    /// Returns the kinds of long segments that the peer takes.
    pub fn takes_long(&self) -> Kinds {
        self.queue.takes_long()
    }

    /// Returns the received frames.
    pub fn receive(&mut self) -> Vec<Vec<u8>> {
        self.receive_any().into_iter().map(|(frame, _)| frame).collect()
    }

    /// Returns the received frames, and what those are cut into that are long segments.
    pub fn receive_any(&mut self) -> Vec<(Vec<u8>, Option<Long>)> {
        self.batch.clear();
        self.queue.receive(&mut self.batch, BATCH_MAX, clock::now());
        let batch = &self.batch;
        batch.slots().map(|slot| (batch.frame(slot).to_vec(), batch.long(slot))).collect()
    }

    /// Polls until `holds` returns true for the received frames.
    pub fn until(
        &mut self,
        what: &str,
        other: &Program,
        mut holds: impl FnMut(&mut Station) -> bool,
    ) {
        let start = Instant::now();
        while !holds(self) {
            if start.elapsed() > PATIENCE {
                panic!(
                    "in vain: {what}; {:?}; {:?}; {:?}\n{}",
                    self.monitor.link(),
                    self.monitor.facts(),
                    self.monitor.counts(),
                    other.said()
                );
            }
            std::thread::park_timeout(Duration::from_micros(100));
        }
    }

    /// Polls until the link is up, or down.
    pub fn until_link(&mut self, up: bool, other: &Program) {
        let what = if up { "the link comes up" } else { "the link goes down" };
        self.until(what, other, |station| {
            station.receive();
            (station.monitor.link() == Link::Up) == up
        });
    }
}

/// Another program, whose output is kept. It ends with the test.
pub struct Program {
    child: Child,
    output: Arc<Mutex<Vec<u8>>>,
    _namespace: Namespace,
}

impl Program {
    /// Starts a program in a separate namespace without interfaces.
    pub fn start(command: std::process::Command) -> Program {
        let namespace = Namespace::new().expect("namespaces can be made");
        let mut child = namespace.spawn(command).expect("it starts");
        let output = Arc::new(Mutex::new(Vec::new()));
        let (stdout, stderr) = child.output();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            stdout.map(|stream| Box::new(stream) as _),
            stderr.map(|stream| Box::new(stream) as _),
        ];
        for mut stream in streams.into_iter().flatten() {
            let output = output.clone();
            std::thread::spawn(move || {
                let mut part = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut part) {
                    let mut kept = output.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&part[..count]);
                }
            });
        }
        Program { child, output, _namespace: namespace }
    }

    /// Returns the output so far.
    pub fn said(&self) -> String {
        let kept = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Kills the program.
    pub fn kill(self) {
        drop(self.child);
    }
}

/// Time limit for all waits, for busy machines.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Longest frame of these tests in bytes.
pub const FRAME_BYTES_MAX: usize = 1514;
