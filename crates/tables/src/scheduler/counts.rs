//! What became of frames, and why a queue waits.

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Dropped {
    /// As many bytes as the queue may have wait in it.
    Depth = 0,
    /// The queue has its share of the free cells.
    Share = 1,
    /// There are no cells for it.
    Cells = 2,
    /// It is longer than what can wait.
    Long = 3,
    /// Controlled Delay.
    Delay = 4,
    /// Its queue was cleared.
    Cleared = 5,
}

impl Dropped {
    /// All of them, in the order of their numbers.
    pub const ALL: [Dropped; 6] = [
        Dropped::Depth,
        Dropped::Share,
        Dropped::Cells,
        Dropped::Long,
        Dropped::Delay,
        Dropped::Cleared,
    ];
}

/// What became of all frames: those offered are those that passed, left, were dropped or wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames offered.
    pub offered: u64,
    /// Those that passed at once.
    pub passed: u64,
    /// Those that left after they had waited.
    pub left: u64,
    /// Those dropped, by [`Dropped`].
    pub dropped: [u64; Dropped::ALL.len()],
    /// Those that wait.
    pub waiting: u64,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Frames.
    pub frames: u32,
    /// Their bytes.
    pub bytes: u32,
    /// How long the first of them has waited, in ticks.
    pub waited_ticks: u64,
}

/// Whose matter it is that a queue waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its own rate.
    Own,
    /// The rate of its subscriber.
    Subscriber,
    /// The rate of its node.
    Node,
    /// The rate of its port.
    Port,
    /// The rate of its level at the port.
    Level,
    /// All have credit; the turn is a sibling's, or one of a better level.
    Turn,
}

/// Why a queue waits: the first cause from the queue to the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Whose matter it is.
    pub cause: Cause,
    /// For how many more ticks at least, by what has left so far; 0 of a turn.
    pub ticks: u64,
}
