//! The tree of rates: who may send, who waits for credit, and whose turn it is.
//!
//! A shaper is a port, a node or a subscriber. At each level it has a ring of the children that
//! may send at that level, and a bit that says whether there is one. A child is in its parent's
//! rings as long as it has something to send, and credit; without credit it leaves them, with its
//! own rings as they are, and a timer brings it back. So whatever is reached from a port by first
//! children may send, and nobody looks at others.

use std::io;

use machine::memory::{HugeArray, prefetch_at};
use zerocopy::FromZeros;

use super::bucket::Bucket;
use super::setting::{LEVELS, Sizes};
use super::turn::{Linked, Turn, join, leave};
use crate::wheel::slots::{Slots, Timer};

/// A port, node or subscriber: three cache lines, of which a frame touches two.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Shaper {
    pub bucket: Bucket,
    pub parent: u32,
    pub children: u32,
    /// What it may send in a turn.
    pub quantum: i32,
    pub overhead: i16,
    /// Levels whose ring has somebody, a bit each.
    pub active: u8,
    /// Levels at which it is in its parent's ring.
    pub linked: u8,
    pub is_set: u8,
    /// Whether it is out of its parent's rings until its timer is due.
    pub is_blocked: u8,
    unused: [u8; 6],
    pub timer: Timer,
    pub turns: [Turn; LEVELS],
}

impl Linked for Shaper {
    #[inline(always)]
    fn turn(&self, level: usize) -> &Turn {
        &self.turns[level % LEVELS]
    }
    #[inline(always)]
    fn turn_mut(&mut self, level: usize) -> &mut Turn {
        &mut self.turns[level % LEVELS]
    }
}

impl Shaper {
    /// The child whose turn it is, if there is one.
    #[inline(always)]
    fn first(&self, level: usize) -> Option<u32> {
        (self.active & bit(level) != 0).then(|| self.turn(level).first)
    }

    /// Whether a frame may pass it now.
    #[inline(always)]
    pub fn is_open(&self, now: u64) -> bool {
        self.is_blocked == 0 && self.bucket.has_credit(now)
    }
}

/// A queue: a cache line.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Line {
    pub bucket: Bucket,
    /// Its place in its subscriber's ring; the first cell of its first frame.
    pub turn: Turn,
    pub parent: u32,
    /// The first cell of its last frame.
    pub last: u32,
    pub frames: u32,
    pub cells: u32,
    pub bytes: u32,
    pub depth_bytes: u32,
    pub overhead: i16,
    pub level: u8,
    pub share: i8,
    pub weight: u8,
    /// What it is, a bit each: [`SET`] and those below.
    pub state: u8,
    unused: u16,
}

impl Linked for Line {
    #[inline(always)]
    fn turn(&self, _: usize) -> &Turn {
        &self.turn
    }
    #[inline(always)]
    fn turn_mut(&mut self, _: usize) -> &mut Turn {
        &mut self.turn
    }
}

impl Line {
    #[inline(always)]
    pub fn is(&self, state: u8) -> bool {
        self.state & state != 0
    }
}

/// Bits of a queue's state: there is one.
pub(super) const SET: u8 = 1;
/// It is in its subscriber's ring.
pub(super) const LINKED: u8 = 2;
/// It is out of it until its timer is due.
pub(super) const BLOCKED: u8 = 4;
/// Controlled Delay looks at it.
pub(super) const CODEL: u8 = 8;

/// All shapers, ports first, then nodes, then subscribers, and all queues.
#[derive(Debug)]
pub(super) struct Tree {
    pub shapers: HugeArray<Shaper>,
    pub queues: HugeArray<Line>,
    /// Timers of the queues; a shaper has its own.
    pub timers: HugeArray<Timer>,
    /// Timers by time: numbers of shapers, then of queues.
    pub slots: Slots,
    ports: u32,
    /// What a weight of 1 may send in a turn, in bytes.
    quantum: i32,
}

impl Tree {
    /// # Errors
    /// What the kernel says when it has no such memory.
    pub fn new(sizes: &Sizes, quantum: i32, step_bits: u32) -> io::Result<Tree> {
        let shapers = sizes.ports as usize + sizes.nodes as usize + sizes.subscribers as usize;
        let queues = sizes.queues as usize;
        Ok(Tree {
            shapers: HugeArray::zeroed(shapers)?,
            queues: HugeArray::zeroed(queues)?,
            timers: HugeArray::zeroed(queues)?,
            slots: Slots::new(step_bits),
            ports: sizes.ports,
            quantum,
        })
    }

    /// What a weight may send in a turn.
    pub fn quantum_of(&self, weight: u8) -> i32 {
        i32::from(weight) * self.quantum
    }

    /// A queue that is in no ring has something to send: it comes to its subscriber's ring, or
    /// waits for its credit.
    pub fn raise_queue(&mut self, number: u32, now: u64) {
        let quantum = self.quantum;
        let queue = &mut self.queues[number as usize];
        if !queue.bucket.has_credit(now) {
            queue.state |= BLOCKED;
            let ready_at = queue.bucket.ready_at();
            return self.set_timer(self.shapers.len() as u32 + number, ready_at);
        }
        queue.state |= LINKED;
        queue.turn.begin(i32::from(queue.weight) * quantum);
        let (above, level) = (queue.parent as usize, usize::from(queue.level));
        let first = self.shapers[above].first(level);
        let joined = join(&mut self.queues, first, level, number);
        self.shapers[above].turn_mut(level).first = joined;
        if first.is_none() {
            self.raise(above as u32, level, now);
        }
    }

    /// A queue has nothing to send, or waits for credit.
    pub fn lower_queue(&mut self, number: u32) {
        let queue = &mut self.queues[number as usize];
        if !queue.is(LINKED) {
            return;
        }
        queue.state &= !LINKED;
        let (above, level) = (queue.parent, usize::from(queue.level));
        let first = self.shapers[above as usize].turn(level).first;
        match leave(&mut self.queues, first, level, number) {
            Some(first) => self.shapers[above as usize].turn_mut(level).first = first,
            None => self.lower(above, level),
        }
    }

    /// Takes a queue out of the tree, to be changed; it keeps its frames.
    pub fn detach_queue(&mut self, number: u32) {
        self.lower_queue(number);
        self.cancel_timer(self.shapers.len() as u32 + number);
        self.queues[number as usize].state &= !BLOCKED;
    }

    /// Takes a shaper out of its parent's rings, to be changed; it keeps its own.
    pub fn detach(&mut self, at: u32) {
        self.leave_rings(at);
        self.cancel_timer(at);
        self.shapers[at as usize].is_blocked = 0;
    }

    /// A shaper that is not blocked comes to its parent's rings, or waits for its credit.
    pub fn enter(&mut self, at: u32, now: u64) {
        let shaper = &self.shapers[at as usize];
        if at < self.ports || shaper.active == 0 {
            return;
        }
        if !shaper.bucket.has_credit(now) {
            return self.block(at);
        }
        for level in levels(shaper.active & !shaper.linked) {
            if let Some(above) = self.link(at, level) {
                self.raise(above, level, now);
            }
        }
    }

    /// The queue whose turn it is at a port's level that somebody is in, with its subscriber and
    /// its node.
    #[inline(always)]
    pub fn head(&self, port: u32, level: usize) -> Head {
        let node = self.shapers[port as usize].turn(level).first;
        let subscriber = self.shapers[node as usize].turn(level).first;
        let queue = self.shapers[subscriber as usize].turn(level).first;
        Head { node, subscriber, queue }
    }

    /// The queue whose turn it was has sent a frame of this length. All but the port are charged.
    #[inline]
    pub fn sent(&mut self, head: &Head, level: usize, len: u32, now: u64) {
        let quantum = self.quantum;
        let queue = &mut self.queues[head.queue as usize];
        let bytes = counted(len, queue.overhead);
        queue.bucket.charge(now, bytes);
        let is_over = queue.turn.spend(bytes);
        if queue.frames == 0 {
            self.lower_queue(head.queue);
        } else if !queue.bucket.has_credit(now) {
            self.lower_queue(head.queue);
            self.raise_queue(head.queue, now);
        } else if is_over {
            queue.turn.renew(i32::from(queue.weight) * quantum);
            let next = queue.turn.next;
            self.shapers[head.subscriber as usize].turn_mut(level).first = next;
        }
        self.shaper_sent((head.subscriber, head.node), level, len, now);
        let port = self.shapers[head.node as usize].parent;
        self.shaper_sent((head.node, port), level, len, now);
    }

    /// A shaper whose turn it was at its parent has sent.
    #[inline(always)]
    fn shaper_sent(&mut self, (at, above): (u32, u32), level: usize, len: u32, now: u64) {
        let bytes = self.pass(at, len, now);
        let shaper = &mut self.shapers[at as usize];
        let quantum = shaper.quantum;
        let is_over = shaper.turn_mut(level).spend(bytes);
        if is_over && shaper.linked & bit(level) != 0 {
            shaper.turn_mut(level).renew(quantum);
            let next = shaper.turn(level).next;
            self.shapers[above as usize].turn_mut(level).first = next;
        }
    }

    /// A frame leaves by a shaper, which is blocked if others are to leave by it and it has no
    /// credit for them. Returns for how many bytes the frame counts there.
    #[inline(always)]
    pub fn pass(&mut self, at: u32, len: u32, now: u64) -> u32 {
        let shaper = &mut self.shapers[at as usize];
        let bytes = counted(len, shaper.overhead);
        shaper.bucket.charge(now, bytes);
        if shaper.active != 0 && !shaper.bucket.has_credit(now) {
            self.block(at);
        }
        bytes
    }

    /// Asks the processor to fetch what comes behind a subscriber's turn: the fourth one behind it,
    /// and the queue of the third; returns the queues of the first and the second.
    #[inline(always)]
    pub fn look_ahead(&self, subscriber: u32, level: usize) -> [u32; 2] {
        let turn = |at: u32| self.shapers[at as usize].turn(level);
        let first = turn(turn(subscriber).next);
        let second = turn(first.next);
        let third = turn(second.next);
        self.prefetch_shaper(third.next, level);
        prefetch_at(&self.queues, third.first as usize);
        [first.first, second.first]
    }

    /// The same of what comes behind a node's turn: the fourth one behind it, the subscriber of the
    /// third, the queue of the second; returns the queue of the first.
    #[inline(always)]
    pub fn look_ahead_of_node(&self, node: u32, level: usize) -> u32 {
        let turn = |at: u32| self.shapers[at as usize].turn(level);
        let first = turn(turn(node).next);
        let second = turn(first.next);
        let third = turn(second.next);
        self.prefetch_shaper(third.next, level);
        self.prefetch_shaper(third.first, level);
        prefetch_at(&self.queues, turn(second.first).first as usize);
        turn(first.first).first
    }

    /// Asks the processor to fetch the lines of a shaper that a frame of a level touches.
    #[inline(always)]
    pub fn prefetch_shaper(&self, at: u32, level: usize) {
        if let Some(shaper) = self.shapers.get(at as usize) {
            machine::memory::prefetch(&shaper.bucket);
            machine::memory::prefetch(shaper.turn(level));
        }
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        self.shapers.mapped_bytes()
            + self.queues.mapped_bytes()
            + self.timers.mapped_bytes()
            + self.slots.bytes()
    }

    /// The ring of a shaper at a level has somebody, for the first time or again.
    fn raise(&mut self, mut at: u32, level: usize, now: u64) {
        loop {
            let shaper = &mut self.shapers[at as usize];
            shaper.active |= bit(level);
            if at < self.ports || shaper.is_blocked != 0 {
                return;
            }
            if !shaper.bucket.has_credit(now) {
                return self.block(at);
            }
            match self.link(at, level) {
                Some(above) => at = above,
                None => return,
            }
        }
    }

    /// The ring of a shaper at a level has nobody any more.
    fn lower(&mut self, mut at: u32, level: usize) {
        loop {
            let shaper = &mut self.shapers[at as usize];
            shaper.active &= !bit(level);
            if shaper.linked & bit(level) == 0 {
                return;
            }
            match self.unlink(at, level) {
                Some(above) => at = above,
                None => return,
            }
        }
    }

    /// A shaper waits for its credit.
    fn block(&mut self, at: u32) {
        self.leave_rings(at);
        let shaper = &mut self.shapers[at as usize];
        shaper.is_blocked = 1;
        let ready_at = shaper.bucket.ready_at();
        self.set_timer(at, ready_at);
    }

    fn leave_rings(&mut self, at: u32) {
        for level in levels(self.shapers[at as usize].linked) {
            if let Some(above) = self.unlink(at, level) {
                self.lower(above, level);
            }
        }
    }

    /// Puts a shaper at the end of its parent's ring; returns the parent if it is alone there.
    fn link(&mut self, at: u32, level: usize) -> Option<u32> {
        let shaper = &mut self.shapers[at as usize];
        shaper.linked |= bit(level);
        let (above, quantum) = (shaper.parent, shaper.quantum);
        shaper.turn_mut(level).begin(quantum);
        let first = self.shapers[above as usize].first(level);
        let joined = join(&mut self.shapers, first, level, at);
        self.shapers[above as usize].turn_mut(level).first = joined;
        first.is_none().then_some(above)
    }

    /// Takes a shaper out of its parent's ring; returns the parent if it was alone there.
    fn unlink(&mut self, at: u32, level: usize) -> Option<u32> {
        let shaper = &mut self.shapers[at as usize];
        shaper.linked &= !bit(level);
        let above = shaper.parent;
        let first = self.shapers[above as usize].turn(level).first;
        match leave(&mut self.shapers, first, level, at) {
            Some(first) => {
                self.shapers[above as usize].turn_mut(level).first = first;
                None
            }
            None => Some(above),
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub node: u32,
    pub subscriber: u32,
    pub queue: u32,
}

/// For how many bytes a frame counts.
#[inline(always)]
pub(super) fn counted(len: u32, overhead: i16) -> u32 {
    (len as i32 + i32::from(overhead)).max(1) as u32
}

#[inline(always)]
pub(super) fn bit(level: usize) -> u8 {
    1 << (level % LEVELS)
}

/// The levels of some bits.
fn levels(bits: u8) -> impl Iterator<Item = usize> {
    (0..LEVELS).filter(move |&level| bits & bit(level) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_a_cache_line_and_a_shaper_three() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
        assert_eq!((size_of::<Shaper>(), align_of::<Shaper>()), (192, 64));
    }
}
