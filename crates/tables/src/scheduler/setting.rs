//! What ports, nodes, subscribers and queues are set up with, and why one is refused.

/// Levels of priority; 0 is served first.
pub const LEVELS: usize = 8;

/// Most bytes by which a frame may count for more or less than its length.
pub const OVERHEAD_BYTES_MAX: i16 = 256;

/// A maximum rate, as each queue, subscriber, node, port and level of a port has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The rate; an infinite one is no limit.
    pub bytes_per_s: f64,
    /// What may leave at once after a pause, beyond which one more frame may leave. It counts as
    /// 100 µs of the rate where it is less, because nobody looks more often.
    pub burst_bytes: f64,
    /// What each frame counts for beyond its length, from -256 to 256 bytes: of what the link below
    /// adds or takes away. A frame counts for a byte at least.
    pub overhead_bytes: i16,
}

impl Shape {
    /// No limit.
    pub const UNLIMITED: Shape =
        Shape { bytes_per_s: f64::INFINITY, burst_bytes: 0.0, overhead_bytes: 0 };

    pub(super) fn check(&self) -> Result<(), Refused> {
        let is_burst = self.burst_bytes.is_finite() && self.burst_bytes >= 0.0;
        let is_overhead = self.overhead_bytes.unsigned_abs() <= OVERHEAD_BYTES_MAX.unsigned_abs();
        match self.bytes_per_s > 0.0 && is_burst && is_overhead {
            true => Ok(()),
            false => Err(Refused::Shape),
        }
    }
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    /// Its rate.
    pub shape: Shape,
    /// The rate of each level.
    pub levels: [Shape; LEVELS],
}

/// A subscriber of a node, or a node of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Number of the node of a subscriber, or of the port of a node.
    pub parent: u32,
    /// Its rate.
    pub shape: Shape,
    /// Its part of what its parent has for a level, beside its siblings: above 0.
    pub weight: u8,
}

/// A queue of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Number of its subscriber.
    pub subscriber: u32,
    /// Its rate.
    pub shape: Shape,
    /// Below [`LEVELS`]: a queue of a lower number goes before all others of the port.
    pub level: u8,
    /// Its part beside the queues of its subscriber that have the same level: above 0.
    pub weight: u8,
    /// Most bytes that wait in it.
    pub depth_bytes: u32,
    /// It may hold 2^`share` times the cells that are free, from -7 to 7: of a pool that nobody
    /// else uses half at 0, and a ninth at -3.
    pub share: i8,
    /// Which frames are dropped beside those that have no room.
    pub discard: Discard,
}

/// Which frames of a queue are dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discard {
    /// Those that come when there is no room.
    Tail,
    /// Beside these what Controlled Delay says, RFC 8289.
    Codel {
        /// TARGET, how long frames may wait all the time; 5 ms by the RFC. Up to 100 s.
        target_s: f64,
        /// INTERVAL, in which they have to wait less at least once; 100 ms. Up to 100 s.
        interval_s: f64,
    },
}

/// Sizes of a scheduler, all of whose memory is taken when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Ports.
    pub ports: u32,
    /// Access nodes.
    pub nodes: u32,
    /// Subscribers.
    pub subscribers: u32,
    /// Queues.
    pub queues: u32,
    /// Cells for frames that wait, of 256 bytes each, 232 of them a frame's.
    pub cells: u32,
    /// The longest frame that can wait, in bytes.
    pub frame_bytes_max: u16,
}

/// Why something cannot be set or cleared; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such number.
    #[error("take a number below {count}, or make the scheduler larger: there is no {number}")]
    Number {
        /// What was asked for.
        number: u32,
        /// How many the scheduler was made for.
        count: u32,
    },
    /// A rate is not above zero, a burst is below zero or infinite, or the overhead is too large.
    #[error(
        "take a rate above 0, a finite burst from 0 on, and an overhead from -256 to 256 bytes"
    )]
    Shape,
    /// A weight, level, share or time is none.
    #[error(
        "take a weight from 1 on, a level up to 7, a share from -7 to 7, and times up to 100 s"
    )]
    Setting,
    /// The parent is not set.
    #[error("set number {parent} first, or take another parent: this one is not set")]
    Parent {
        /// The parent wanted.
        parent: u32,
    },
    /// It is to be cleared, and has children.
    #[error("clear the {children} children of number {number} first, or move them elsewhere")]
    Children {
        /// What was to be cleared.
        number: u32,
        /// How many have it for their parent.
        children: u32,
    },
}
