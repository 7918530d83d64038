//! Queues looked at one by one: which frame passes, which waits, which leaves when.
//!
//! A rate is a time from which on a frame may leave, in attoseconds: no earlier than the burst ago,
//! and later by each frame's part of a second. Whose turn it is among equals is the scheduler's
//! choice; here the first one of a level is served first, and a sample that lets several wait at
//! once has one of each level.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use function_bng::config::{Name, Node, PortQueues, Profile, Queue};
use units::BytesPerSec;

/// What has a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    /// A session's queue, by the session's number and the queue's place.
    Queue(u32, usize),
    Session(u32),
    Node(Name),
    Port,
    Level(u8),
}

/// A rate with its burst, and what a frame counts for beyond its length.
#[derive(Clone, Copy)]
struct Shape {
    of: Of,
    rate: Option<BytesPerSec>,
    burst: u32,
    overhead: i16,
}

/// A frame on its way to a line.
#[derive(Clone)]
pub(super) struct Down {
    /// Number of its session.
    pub session: u32,
    /// The queue of its class, by the queue's place.
    pub place: usize,
    pub frame: Vec<u8>,
}

/// Queues and rates of which anything is known: all others are empty and full.
pub(super) struct Queues {
    port: PortQueues,
    /// When the next frame may leave.
    ready_at: BTreeMap<Of, i128>,
    waiting: BTreeMap<(u32, usize), Line>,
    /// Cells of 256 bytes, 232 of them a frame's.
    cells: usize,
    /// The longest frame that can wait.
    longest: usize,
}

struct Line {
    queue: Queue,
    shapes: Vec<Shape>,
    frames: VecDeque<Vec<u8>>,
}

impl Queues {
    pub fn new(port: &PortQueues, buffer_kib: u32, access_mtu: u16) -> Queues {
        Queues {
            port: port.clone(),
            longest: FRAME_BYTES_LEAST.max(usize::from(access_mtu) + 64),
            ready_at: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cells: buffer_kib as usize * 1024 / CELL_BYTES,
        }
    }

    /// What becomes of a frame; none where it passes.
    pub fn offer(
        &mut self,
        down: Down,
        (profile, node): (&Profile, Option<&Node>),
        now: Duration,
    ) -> Option<&'static str> {
        let queue = *profile.queues.get(down.place)?;
        let key = (down.session, down.place);
        let shapes = self.shapes(key, &queue, (profile, node));
        let is_first = !self.waiting.contains_key(&key);
        let is_held_up = self
            .waiting
            .values()
            .any(|other| other.queue.level <= queue.level && self.are_ready(&other.shapes, now));
        if is_first && self.are_ready(&shapes, now) && !is_held_up {
            self.charge(&shapes, down.frame.len(), now);
            return None;
        }
        let cells = |frame: &Vec<u8>| frame.len().div_ceil(CELL_ROOM);
        let line = self.waiting.get(&key);
        let held = |count: fn(&Vec<u8>) -> usize| {
            line.map_or(0, |line| line.frames.iter().map(count).sum::<usize>())
        };
        let (bytes, of_queue) = (held(Vec::len), held(|frame| frame.len().div_ceil(CELL_ROOM)));
        let all = self.waiting.values().flat_map(|line| &line.frames);
        let free = self.cells - all.map(cells).sum::<usize>();
        let wanted = cells(&down.frame);
        if down.frame.len() > self.longest {
            return Some("queue-too-long");
        }
        if bytes + down.frame.len() > queue.depth_bytes as usize {
            return Some("queue-full");
        }
        if of_queue + wanted > free {
            return Some("queue-share");
        }
        let line = || Line { queue, shapes, frames: VecDeque::new() };
        self.waiting.entry(key).or_insert_with(line).frames.push_back(down.frame);
        Some("queued")
    }

    /// The frames that leave by now, in their order.
    pub fn release(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let mut left = Vec::new();
        loop {
            let ready = self.waiting.iter().filter(|(_, line)| self.are_ready(&line.shapes, now));
            let Some(key) = ready.min_by_key(|(_, line)| line.queue.level).map(|(key, _)| *key)
            else {
                return left;
            };
            let Some(line) = self.waiting.get_mut(&key) else { return left };
            let Some(frame) = line.frames.pop_front() else { return left };
            let (shapes, is_empty) = (line.shapes.clone(), line.frames.is_empty());
            if is_empty {
                self.waiting.remove(&key);
            }
            self.charge(&shapes, frame.len(), now);
            left.push(frame);
        }
    }

    /// A session is gone, and what waited for it.
    pub fn end(&mut self, session: u32) {
        self.waiting.retain(|(number, _), _| *number != session);
        self.forget(session);
    }

    fn forget(&mut self, session: u32) {
        self.ready_at.retain(|of, _| match *of {
            Of::Queue(number, _) | Of::Session(number) => number != session,
            Of::Node(_) | Of::Port | Of::Level(_) => true,
        });
    }

    /// A session of a profile has another one behind a node: what was there has nothing to spend,
    /// and owes the bytes that it owed; what waits in queues that are there no more is dropped.
    pub fn renew(
        &mut self,
        session: u32,
        (before, profile, node): (&Profile, &Profile, Option<&Node>),
        now: Duration,
    ) {
        let queues = before.queues.iter().zip(&profile.queues);
        let of_queue = |(place, (was, is)): (usize, (&Queue, &Queue))| {
            (Of::Queue(session, place), was.rate, is.rate)
        };
        let of_session = (Of::Session(session), before.down_rate, profile.down_rate);
        let rates: Vec<_> = queues.enumerate().map(of_queue).chain([of_session]).collect();
        let owed = rates.into_iter().map(|(of, was, is)| {
            let late = self.ready_at.get(&of).map_or(0, |&ready_at| ready_at - exact(now)).max(0);
            let part = was.zip(is).map_or(0.0, |(was, is)| was.0 / is.0);
            (of, exact(now) + (late as f64 * part).round() as i128)
        });
        let owed: Vec<_> = owed.collect();
        self.forget(session);
        self.ready_at.extend(owed);
        self.waiting
            .retain(|(number, place), _| *number != session || *place < profile.queues.len());
        for (place, queue) in profile.queues.iter().enumerate() {
            let key = (session, place);
            let shapes = self.shapes(key, queue, (profile, node));
            if let Some(line) = self.waiting.get_mut(&key) {
                (line.queue, line.shapes) = (*queue, shapes);
            }
        }
    }

    fn shapes(
        &self,
        (session, place): (u32, usize),
        queue: &Queue,
        (profile, node): (&Profile, Option<&Node>),
    ) -> Vec<Shape> {
        let own = profile.overhead_bytes;
        let port = &self.port;
        let (burst, overhead) = (port.burst, port.overhead_bytes);
        let rate = port.levels.get(usize::from(queue.level)).copied();
        let mut shapes = vec![
            Shape {
                of: Of::Queue(session, place),
                rate: queue.rate,
                burst: queue.burst,
                overhead: own,
            },
            Shape {
                of: Of::Session(session),
                rate: profile.down_rate,
                burst: profile.down_burst,
                overhead: own,
            },
            Shape { of: Of::Port, rate: port.rate, burst, overhead },
            Shape { of: Of::Level(queue.level), rate, burst, overhead },
        ];
        shapes.extend(node.map(|node| Shape {
            of: Of::Node(node.name),
            rate: node.down_rate,
            burst: node.burst,
            overhead,
        }));
        shapes
    }

    fn are_ready(&self, shapes: &[Shape], now: Duration) -> bool {
        let is_ready = |shape: &Shape| {
            let ready_at = self.ready_at.get(&shape.of);
            shape.rate.is_none() || ready_at.is_none_or(|&ready_at| ready_at <= exact(now))
        };
        shapes.iter().all(is_ready)
    }

    fn charge(&mut self, shapes: &[Shape], len: usize, now: Duration) {
        for shape in shapes {
            let Some(rate) = shape.rate else { continue };
            let part = |bytes: f64| (bytes / rate.0 * 1e18).round() as i128;
            let burst = part(f64::from(shape.burst)).max(BURST_LEAST);
            let full = exact(now) - burst;
            let bytes = (len as i64 + i64::from(shape.overhead)).max(1);
            let ready_at = self.ready_at.entry(shape.of).or_insert(full);
            *ready_at = (*ready_at).max(full) + part(bytes as f64);
        }
    }
}

fn exact(time: Duration) -> i128 {
    time.as_nanos() as i128 * 1_000_000_000
}

/// Nobody looks more often than every 100 µs.
const BURST_LEAST: i128 = 100_000_000_000_000;

/// A cell of the memory for frames that wait, and what of it is a frame's.
const CELL_BYTES: usize = 256;
const CELL_ROOM: usize = 232;

/// A frame of this length can wait whatever the links take.
const FRAME_BYTES_LEAST: usize = 2048;
