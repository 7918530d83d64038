//! What a scheduler tells of itself: what waits, why it waits, what became of all frames.

use super::tree::{BLOCKED, SET};
use super::{LEVELS, Scheduler};

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

impl Scheduler {
    /// What waits in a queue at `now`; nothing where there is none.
    pub fn held(&self, queue: u32, now: u64) -> Held {
        let line = self.tree.queues.get(queue as usize).filter(|line| line.frames > 0);
        line.map_or_else(Held::default, |line| Held {
            frames: line.frames,
            bytes: line.bytes,
            waited_ticks: now.saturating_sub(self.pool.first(line.turn.first).at),
        })
    }

    /// Why the first frame of a queue has not left at `now`; none where nothing waits.
    pub fn why(&self, queue: u32, now: u64) -> Option<Why> {
        let now = self.now.max(now);
        let line = self.tree.queues.get(queue as usize).filter(|line| line.frames > 0)?;
        let shapers = &self.tree.shapers;
        let subscriber = &shapers[line.parent as usize];
        let node = &shapers[subscriber.parent as usize];
        let port = &shapers[node.parent as usize];
        let level = &self.levels[node.parent as usize][usize::from(line.level) % LEVELS];
        let causes = [
            (Cause::Own, line.is(BLOCKED), &line.bucket),
            (Cause::Subscriber, subscriber.is_blocked != 0, &subscriber.bucket),
            (Cause::Node, node.is_blocked != 0, &node.bucket),
            (Cause::Port, false, &port.bucket),
            (Cause::Level, false, &level.bucket),
        ];
        let first = causes.into_iter().find(|(_, waits, bucket)| *waits || !bucket.has_credit(now));
        Some(first.map_or(Why { cause: Cause::Turn, ticks: 0 }, |(cause, _, bucket)| Why {
            cause,
            ticks: bucket.ready_at().saturating_sub(now),
        }))
    }

    /// Whether there is a queue of this number.
    pub fn is_queue(&self, queue: u32) -> bool {
        self.tree.queues.get(queue as usize).is_some_and(|line| line.is(SET))
    }

    /// What became of all frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Cells that are free.
    pub fn free_cells(&self) -> u32 {
        self.pool.free()
    }

    /// By how many ticks at most something may be served later than its rate allows, if
    /// [`Scheduler::take`] is always called.
    pub fn late_ticks_max(&self) -> u64 {
        1 << self.step_bits
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let levels = size_of_val(&*self.levels);
        self.tree.bytes() + self.pool.bytes() + self.codels.mapped_bytes() + levels
    }
}
