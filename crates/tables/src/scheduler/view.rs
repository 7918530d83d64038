//! What a scheduler tells of itself: what waits, why it waits, what became of all frames.

use super::Scheduler;
use super::counts::{Cause, Counts, Held, Why};
use super::setting::LEVELS;
use super::tree::{BLOCKED, SET};

impl Scheduler {
    /// What waits in a queue at `now`; nothing where there is none.
    pub fn held(&self, queue: u32, now: u64) -> Held {
        let line = self.tree.queues.get(queue as usize).filter(|line| line.frames > 0);
        line.map_or_else(Held::default, |line| Held {
            frames: line.frames,
            bytes: line.bytes,
            waited_ticks: self.latest(now) - self.pool.first(line.turn.first).at,
        })
    }

    /// Why the first frame of a queue has not left at `now`; none where nothing waits.
    pub fn why(&self, queue: u32, now: u64) -> Option<Why> {
        let now = self.latest(now);
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
    /// [`Scheduler::take`] is always called and leaves nothing to the next call. Where more are
    /// due, or more timers are to be moved, than one call does, it is later by as many calls as
    /// that takes.
    pub fn late_ticks_max(&self) -> u64 {
        1 << self.step_bits
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let levels = size_of_val(&*self.levels);
        self.tree.bytes() + self.pool.bytes() + self.codels.mapped_bytes() + levels
    }
}
