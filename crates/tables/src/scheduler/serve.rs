//! Frames: which pass, which wait, which leave.

use machine::memory::prefetch_at;

use super::Scheduler;
use super::counts::Dropped;
use super::pool::Pool;
use super::setting::LEVELS;
use super::tree::{CODEL, Head, SET, bit, counted};

/// What becomes of a frame that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It leaves now, as the caller has it. So does one of a number without a queue.
    Passes,
    /// It was copied, and leaves by [`Scheduler::take`].
    Waits,
    /// It is dropped.
    Dropped(Dropped),
}

/// A frame that leaves after it has waited.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// Its queue.
    pub queue: u32,
    /// What the caller had noted of it.
    pub note: u32,
    /// Its bytes.
    pub len: usize,
    /// How long it has waited, in ticks.
    pub waited_ticks: u64,
    pool: &'a Pool,
    first: u32,
}

impl Leaving<'_> {
    /// Copies the frame to the front of `into`, as far as there is room.
    #[inline]
    pub fn copy_to(&self, into: &mut [u8]) {
        self.pool.copy(self.first, into);
    }
}

/// A frame that is no queue's any more.
#[derive(Clone, Copy, Debug, Default)]
struct Pick {
    queue: u32,
    /// Its first cell.
    first: u32,
}

impl Scheduler {
    /// Asks the processor to fetch a queue.
    #[inline]
    pub fn prefetch(&self, queue: u32) {
        prefetch_at(&self.tree.queues, queue as usize);
    }

    /// Asks the processor to fetch what a frame of a queue that was fetched touches: the queue's
    /// last frame, or what is above the queue, of which a frame that passes needs one line.
    #[inline]
    pub fn prefetch_above(&self, queue: u32) {
        let Some(line) = self.tree.queues.get(queue as usize) else { return };
        if line.frames > 0 {
            self.pool.prefetch(line.last);
        } else if self.counts.waiting > 0 {
            self.tree.prefetch_shaper(line.parent, usize::from(line.level));
        } else {
            prefetch_at(&self.tree.shapers, line.parent as usize);
        }
    }

    /// What becomes of a frame of a queue at `now`. `note` comes back when it leaves.
    #[inline]
    pub fn offer(&mut self, queue: u32, frame: &[u8], note: u32, now: u64) -> Offered {
        let now = self.advance(now);
        self.counts.offered += 1;
        if self.passes(queue, frame.len() as u32, now) {
            self.counts.passed += 1;
            return Offered::Passes;
        }
        match self.wait(queue, frame, note, now) {
            Ok(()) => {
                self.counts.waiting += 1;
                Offered::Waits
            }
            Err(dropped) => {
                self.counts.dropped[dropped as usize] += 1;
                Offered::Dropped(dropped)
            }
        }
    }

    /// Gives `sink` what may leave by a port at `now`, `most` frames at most, and returns how many
    /// there were; fewer than `most` where no more may leave.
    #[inline]
    pub fn take(
        &mut self,
        port: u32,
        now: u64,
        most: usize,
        mut sink: impl FnMut(&Leaving<'_>),
    ) -> usize {
        let now = self.advance(now);
        self.tree.wake(now);
        let (mut picks, mut taken) = ([Pick::default(); PICKS], 0);
        while taken < most && port < self.sizes.ports {
            let room = PICKS.min(most - taken);
            let count = self.pick(port, now, &mut picks[..room]);
            for &Pick { queue, first } in &picks[..count] {
                let cell = self.pool.first(first);
                let (note, len, waited_ticks) = (cell.note, usize::from(cell.len), now - cell.at);
                sink(&Leaving { queue, note, len, waited_ticks, pool: &self.pool, first });
                self.pool.release(first);
            }
            taken += count;
            if count < room {
                break;
            }
        }
        self.counts.left += taken as u64;
        self.counts.waiting -= taken as u64;
        taken
    }

    /// Whether a frame passes; if so, it is charged for.
    #[inline(always)]
    fn passes(&mut self, queue: u32, len: u32, now: u64) -> bool {
        let Some(line) = self.tree.queues.get(queue as usize).filter(|line| line.is(SET)) else {
            return true;
        };
        if line.frames > 0 || !line.bucket.has_credit(now) {
            return false;
        }
        let (at, level, overhead) = (line.parent, usize::from(line.level) % LEVELS, line.overhead);
        let shapers = &self.tree.shapers;
        let subscriber = &shapers[at as usize];
        let above = subscriber.parent;
        let node = &shapers[above as usize];
        let port = node.parent;
        let shaper = &shapers[port as usize];
        let (active, port_overhead) = (shaper.active, shaper.overhead);
        let is_open = subscriber.is_open(now) & node.is_open(now) & shaper.is_open(now);
        let rates = &mut self.levels[port as usize];
        if !is_open || !rates[level].bucket.has_credit(now) {
            return false;
        }
        let before = active & (u8::MAX >> (LEVELS - 1 - level));
        if before != 0
            && (0..=level).any(|of| before & bit(of) != 0 && rates[of].bucket.has_credit(now))
        {
            return false;
        }
        let rate = &mut rates[level];
        rate.bucket.charge(now, counted(len, rate.overhead));
        self.tree.shapers[port as usize].bucket.charge(now, counted(len, port_overhead));
        self.tree.queues[queue as usize].bucket.charge(now, counted(len, overhead));
        self.tree.pass(at, len, now);
        self.tree.pass(above, len, now);
        true
    }

    /// A frame waits in its queue if there is room for it.
    fn wait(&mut self, queue: u32, frame: &[u8], note: u32, now: u64) -> Result<(), Dropped> {
        if frame.len() > usize::from(self.sizes.frame_bytes_max) {
            return Err(Dropped::Long);
        }
        let (len, cells, free) =
            (frame.len() as u32, Pool::cells_of(frame.len()), self.pool.free());
        let line = &mut self.tree.queues[queue as usize];
        if line.bytes.saturating_add(len) > line.depth_bytes {
            return Err(Dropped::Depth);
        }
        let share = (u64::from(free) << (line.share + SHARE_BITS)) >> SHARE_BITS;
        if u64::from(line.cells + cells) > share {
            return Err(Dropped::Share);
        }
        if cells > free {
            return Err(Dropped::Cells);
        }
        let first = self.pool.put(frame, note, now);
        (line.frames, line.cells, line.bytes) =
            (line.frames + 1, line.cells + cells, line.bytes + len);
        if line.frames > 1 {
            self.pool.append(line.last, first);
            line.last = first;
            return Ok(());
        }
        (line.turn.first, line.last) = (first, first);
        self.tree.raise_queue(queue, now);
        Ok(())
    }

    /// Takes frames that may leave by a port out of their queues; returns how many.
    fn pick(&mut self, port: u32, now: u64, picks: &mut [Pick]) -> usize {
        let mut open = self.open_levels(port, now);
        let mut last = Head { node: NONE, subscriber: NONE, queue: NONE };
        for (count, pick) in picks.iter_mut().enumerate() {
            let shaper = &self.tree.shapers[port as usize];
            let levels = shaper.active & open;
            if levels == 0 || !shaper.bucket.has_credit(now) {
                return count;
            }
            let level = levels.trailing_zeros() as usize % LEVELS;
            let head = self.tree.head(port, level);
            if head.subscriber != last.subscriber {
                self.look_ahead(&head, &last, level);
                last = head;
            }
            let first = self.dequeue(head.queue, now);
            self.pool.prefetch_bytes(first);
            *pick = Pick { queue: head.queue, first };
            let len = u32::from(self.pool.first(first).len);
            self.tree.sent(&head, level, len, now);
            let shaper = &mut self.tree.shapers[port as usize];
            shaper.bucket.charge(now, counted(len, shaper.overhead));
            let rate = &mut self.levels[port as usize][level];
            rate.bucket.charge(now, counted(len, rate.overhead));
            if !rate.bucket.has_credit(now) {
                open &= !bit(level);
            }
        }
        picks.len()
    }

    /// The levels of a port that have credit, a bit each.
    fn open_levels(&self, port: u32, now: u64) -> u8 {
        let rates = self.levels[port as usize].iter().enumerate();
        rates.fold(0, |open, (level, rate)| {
            open | if rate.bucket.has_credit(now) { bit(level) } else { 0 }
        })
    }

    /// Asks the processor to fetch what comes behind a subscriber's turn, and, where its node's
    /// began, behind that.
    #[inline(always)]
    fn look_ahead(&self, head: &Head, last: &Head, level: usize) {
        let [next, second] = self.tree.look_ahead(head.subscriber, level);
        self.prefetch_second(next);
        self.prefetch_first(second);
        if head.node != last.node {
            self.prefetch_first(self.tree.look_ahead_of_node(head.node, level));
        }
    }

    #[inline(always)]
    fn prefetch_second(&self, queue: u32) {
        if let Some(line) = self.tree.queues.get(queue as usize)
            && line.frames > 1
        {
            self.pool.prefetch(self.pool.first(line.turn.first).next);
        }
    }

    #[inline(always)]
    fn prefetch_first(&self, queue: u32) {
        if let Some(line) = self.tree.queues.get(queue as usize) {
            self.pool.prefetch(line.turn.first);
        }
    }

    /// The frame of a queue that leaves; Controlled Delay may drop some before it.
    #[inline(always)]
    fn dequeue(&mut self, queue: u32, now: u64) -> u32 {
        if !self.tree.queues[queue as usize].is(CODEL) {
            return self.unhook(queue);
        }
        let (mut first, mut is_above) = self.judged(queue, now);
        let mut drops = self.codels[queue as usize].drops_first(is_above, now);
        while drops {
            self.discard(first, Dropped::Delay);
            (first, is_above) = self.judged(queue, now);
            drops = self.codels[queue as usize].drops_another(is_above, now);
        }
        first
    }

    /// The first frame of a queue, and whether Controlled Delay may drop it. There is one: it drops
    /// none behind which no other waits.
    fn judged(&mut self, queue: u32, now: u64) -> (u32, bool) {
        let first = self.unhook(queue);
        let waited = now - self.pool.first(first).at;
        let behind = self.tree.queues[queue as usize].bytes;
        let frame_bytes_max = self.sizes.frame_bytes_max.into();
        let codel = &mut self.codels[queue as usize];
        (first, codel.judge(waited, behind, frame_bytes_max, now))
    }

    /// Takes the first frame out of a queue, without telling the tree.
    #[inline(always)]
    pub(super) fn unhook(&mut self, queue: u32) -> u32 {
        let line = &mut self.tree.queues[queue as usize];
        let first = line.turn.first;
        let cell = self.pool.first(first);
        line.frames -= 1;
        line.cells -= u32::from(cell.cells);
        line.bytes -= u32::from(cell.len);
        line.turn.first = cell.next;
        if line.frames > 0 {
            self.pool.prefetch(cell.next);
        }
        first
    }

    /// Drops a frame that is no queue's any more.
    pub(super) fn discard(&mut self, first: u32, why: Dropped) {
        self.pool.release(first);
        self.counts.dropped[why as usize] += 1;
        self.counts.waiting -= 1;
    }
}

/// Frames that are taken out of their queues before the first of them is copied.
const PICKS: usize = 32;

/// A share below one is a shift to the right by up to as many bits.
const SHARE_BITS: i8 = 7;

/// No number.
const NONE: u32 = u32::MAX;
