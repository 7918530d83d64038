//! Queues with rates in a hierarchy: what has credit at all tiers passes, the rest waits its turn.
//!
//! ```text
//!  queue ──┐                                        each has a maximum rate
//!  queue ──┼─► subscriber ──┐
//!  queue ──┘                ├─► access node ──┐     siblings: levels 0 to 7 in strict order,
//!           ─► subscriber ──┘                 ├─► port         among equals by weight
//!                            ─► access node ──┘     a port has a rate for each level, too
//! ```
//! Queue, subscriber, node and port are the tiers of the hierarchy; a level is a queue's priority.
//!
//! **Passing.** A frame of an empty queue passes at once, and is not copied, where its queue, its
//! subscriber, its node, its port and its level there have credit, and nobody of its own or a
//! better level waits who has. Every other frame is copied into cells of 256 bytes, or dropped for
//! a reason; [`Scheduler::take`] gives what may leave by a port.
//!
//! **Rates** are token buckets ([`crate::meter`] has the law): in any time `T` at most `rate * T`,
//! the burst and one frame leave. What has no credit leaves its parent's rings with all below it,
//! and a timer brings it back: it holds up nobody else, and nobody looks at it meanwhile. It is
//! back at most a step late ([`Scheduler::late_ticks_max`]), and a call of `take` later for each
//! 1,024 that are due before it and each 4,096 timers that are moved before it, due or not.
//!
//! **Order.** A level goes before all others of the port, whatever the subscriber. Within a level,
//! nodes of a port, subscribers of a node and queues of a subscriber take turns by deficit round
//! robin: in a turn a weight of 1 sends as much as the longest frame. Frames of a queue keep their
//! order.
//!
//! **Room.** Cells are one pool. A queue has up to its depth in bytes, and up to a power of two
//! times the cells that are free (dynamic thresholds, Choudhury and Hahne, 1998): a queue alone
//! never gets all, and the more wait the less each gets.
//!
//! | | |
//! |---|---|
//! | memory | 120 bytes a queue, 192 a subscriber, node or port, 256 a cell; all taken at creation |
//! | clock | ticks of any clock, 2^57 from creation on: 1.7 years at 2.6 GHz; a step back counts as no time |
//! | cost | constant for each frame, whatever waits elsewhere; a call of `take` brings 1,024 back and moves 4,096 timers at most |
//! | precision | a frame's cost is rounded to 1/64 tick, a rate to 24 bits |
//!
//! Numbers are the caller's. Clearing a queue drops what waits in it at once, and whoever has
//! children is not cleared, so no number is ever seen behind its end.
//!
//! It deliberately does not: read a clock, share between threads, guarantee a rate, split what is
//! longer than a frame, tell flows of a queue apart, or count anything by queue.

mod bucket;
mod codel;
mod counts;
mod pool;
mod serve;
mod setting;
mod tree;
mod turn;
mod view;
mod wake;

use std::io;

use machine::memory::HugeArray;
use zerocopy::FromZeros;

use bucket::Bucket;
use codel::Codel;
use pool::Pool;
use tree::{CODEL, Line, SET, Shaper, Tree};

pub use counts::{Cause, Counts, Dropped, Held, Why};
pub use serve::{Leaving, Offered};
pub use setting::{
    Discard, LEVELS, Member, OVERHEAD_BYTES_MAX, Port, Queue, Refused, Shape, Sizes,
};

/// Queues under subscribers, nodes and ports; see the module's text.
#[derive(Debug)]
pub struct Scheduler {
    tree: Tree,
    pool: Pool,
    /// What Controlled Delay knows of each queue.
    codels: HugeArray<Codel>,
    /// The rates of each port's levels.
    levels: Vec<[LevelRate; LEVELS]>,
    sizes: Sizes,
    ticks_per_s: f64,
    step_bits: u32,
    /// When it was made. All times within are ticks since then, so that it does not matter for how
    /// long the clock has run before.
    epoch: u64,
    /// The latest time that anybody has told.
    now: u64,
    counts: Counts,
}

/// The rate of a level of a port.
#[derive(Clone, Copy, Debug, Default)]
struct LevelRate {
    bucket: Bucket,
    overhead: i16,
}

impl Scheduler {
    /// A scheduler of these sizes in which nothing is set, for a clock of `ticks_per_s` that
    /// stands at `now`.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory; `InvalidInput` where there are 2^32 - 1
    /// queues, subscribers, nodes and ports, or cells, or more.
    ///
    /// # Panics
    /// When the clock is not above zero.
    pub fn new(sizes: Sizes, ticks_per_s: f64, now: u64) -> io::Result<Scheduler> {
        assert!(ticks_per_s > 0.0 && ticks_per_s.is_finite(), "a clock of {ticks_per_s} Hz");
        let Sizes { ports, nodes, subscribers, queues, cells, frame_bytes_max } = sizes;
        let timers: u64 = [ports, nodes, subscribers, queues].into_iter().map(u64::from).sum();
        if timers.max(u64::from(cells)) >= u64::from(u32::MAX) {
            let text = format!(
                "{timers} queues and what they are under, {cells} cells: take less than {} of each",
                u32::MAX
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let step_bits = (ticks_per_s * STEP_S).max(1.0).log2() as u32;
        let quantum = i32::from(frame_bytes_max) + i32::from(OVERHEAD_BYTES_MAX);
        Ok(Scheduler {
            tree: Tree::new(&sizes, quantum, step_bits)?,
            pool: Pool::new(cells)?,
            codels: HugeArray::zeroed(queues as usize)?,
            levels: vec![[LevelRate::default(); LEVELS]; ports as usize],
            sizes,
            ticks_per_s,
            step_bits,
            epoch: now,
            now: 0,
            counts: Counts::default(),
        })
    }

    /// Sets up a port, whether there was one of this number or not. Its buckets are full; if there
    /// was one, they hold nothing, and keep what debt there is.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn set_port(&mut self, number: u32, port: &Port, now: u64) -> Result<(), Refused> {
        check(number, self.sizes.ports)?;
        port.shape.check()?;
        port.levels.iter().try_for_each(Shape::check)?;
        let now = self.advance(now);
        let Shaper { is_set, bucket: before, .. } = self.tree.shapers[number as usize];
        let before_of = |bucket: Bucket| (is_set != 0).then_some(bucket);
        let bucket = self.bucket(&port.shape, before_of(before), now);
        let levels = self.levels[number as usize];
        self.levels[number as usize] = std::array::from_fn(|level| LevelRate {
            bucket: self.bucket(&port.levels[level], before_of(levels[level].bucket), now),
            overhead: port.levels[level].overhead_bytes,
        });
        let shaper = &mut self.tree.shapers[number as usize];
        (shaper.bucket, shaper.overhead, shaper.is_set) = (bucket, port.shape.overhead_bytes, 1);
        Ok(())
    }

    /// Sets up a node, as [`Scheduler::set_port`] does a port. What waits below it goes on waiting.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn set_node(&mut self, number: u32, node: &Member, now: u64) -> Result<(), Refused> {
        check(number, self.sizes.nodes)?;
        let parent = self.parent(node.parent, 0, self.sizes.ports)?;
        self.set_member(self.first_node() + number, parent, node, now)
    }

    /// Sets up a subscriber, as [`Scheduler::set_port`] does a port. What waits below it goes on
    /// waiting.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn set_subscriber(
        &mut self,
        number: u32,
        subscriber: &Member,
        now: u64,
    ) -> Result<(), Refused> {
        check(number, self.sizes.subscribers)?;
        let parent = self.parent(subscriber.parent, self.first_node(), self.sizes.nodes)?;
        self.set_member(self.first_subscriber() + number, parent, subscriber, now)
    }

    /// Sets up a queue, as [`Scheduler::set_port`] does a port. What waits in it goes on waiting,
    /// also where it is more than its depth.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn set_queue(&mut self, number: u32, queue: &Queue, now: u64) -> Result<(), Refused> {
        check(number, self.sizes.queues)?;
        queue.shape.check()?;
        let codel = codel(queue.discard, self.ticks_per_s)?;
        let are_numbers = usize::from(queue.level) < LEVELS && queue.share.unsigned_abs() <= 7;
        if queue.weight == 0 || !are_numbers {
            return Err(Refused::Setting);
        }
        let first = self.first_subscriber();
        let parent = self.parent(queue.subscriber, first, self.sizes.subscribers)?;
        let now = self.advance(now);
        self.tree.detach_queue(number);
        let line = self.tree.queues[number as usize];
        if line.is(SET) {
            self.tree.shapers[line.parent as usize].children -= 1;
        }
        self.tree.shapers[parent as usize].children += 1;
        let bucket = self.bucket(&queue.shape, line.is(SET).then_some(line.bucket), now);
        self.codels[number as usize] = codel.unwrap_or_default();
        let line = &mut self.tree.queues[number as usize];
        (line.bucket, line.overhead) = (bucket, queue.shape.overhead_bytes);
        (line.parent, line.level, line.weight) = (parent, queue.level, queue.weight);
        (line.depth_bytes, line.share) = (queue.depth_bytes, queue.share);
        line.state = SET | if codel.is_some() { CODEL } else { 0 };
        if line.frames > 0 {
            self.tree.raise_queue(number, now);
        }
        Ok(())
    }

    /// From now on there is no such queue; what waits in it is dropped. Whether there was one.
    ///
    /// # Errors
    /// [`Refused::Number`].
    pub fn clear_queue(&mut self, number: u32) -> Result<bool, Refused> {
        check(number, self.sizes.queues)?;
        if !self.tree.queues[number as usize].is(SET) {
            return Ok(false);
        }
        self.tree.detach_queue(number);
        while self.tree.queues[number as usize].frames > 0 {
            let first = self.unhook(number);
            self.discard(first, Dropped::Cleared);
        }
        let line = std::mem::replace(&mut self.tree.queues[number as usize], Line::new_zeroed());
        self.tree.shapers[line.parent as usize].children -= 1;
        Ok(true)
    }

    /// From now on there is no such subscriber. Whether there was one.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn clear_subscriber(&mut self, number: u32) -> Result<bool, Refused> {
        check(number, self.sizes.subscribers)?;
        self.clear_shaper(self.first_subscriber() + number, number)
    }

    /// From now on there is no such node. Whether there was one.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn clear_node(&mut self, number: u32) -> Result<bool, Refused> {
        check(number, self.sizes.nodes)?;
        self.clear_shaper(self.first_node() + number, number)
    }

    /// From now on there is no such port. Whether there was one.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn clear_port(&mut self, number: u32) -> Result<bool, Refused> {
        check(number, self.sizes.ports)?;
        self.clear_shaper(number, number)
    }

    fn set_member(
        &mut self,
        at: u32,
        parent: u32,
        member: &Member,
        now: u64,
    ) -> Result<(), Refused> {
        member.shape.check()?;
        if member.weight == 0 {
            return Err(Refused::Setting);
        }
        let now = self.advance(now);
        self.tree.detach(at);
        let before = self.tree.shapers[at as usize];
        let was_set = before.is_set != 0;
        if was_set {
            self.tree.shapers[before.parent as usize].children -= 1;
        }
        self.tree.shapers[parent as usize].children += 1;
        let bucket = self.bucket(&member.shape, was_set.then_some(before.bucket), now);
        let quantum = self.tree.quantum_of(member.weight);
        let shaper = &mut self.tree.shapers[at as usize];
        (shaper.bucket, shaper.overhead) = (bucket, member.shape.overhead_bytes);
        (shaper.parent, shaper.quantum, shaper.is_set) = (parent, quantum, 1);
        self.tree.enter(at, now);
        Ok(())
    }

    fn clear_shaper(&mut self, at: u32, number: u32) -> Result<bool, Refused> {
        let Shaper { is_set, children, parent, .. } = self.tree.shapers[at as usize];
        if is_set == 0 {
            return Ok(false);
        }
        if children > 0 {
            return Err(Refused::Children { number, children });
        }
        self.tree.detach(at);
        self.tree.shapers[at as usize] = Shaper::new_zeroed();
        if at >= self.sizes.ports {
            self.tree.shapers[parent as usize].children -= 1;
        }
        Ok(true)
    }

    /// Where a parent is among the shapers, if it is set.
    fn parent(&self, number: u32, first: u32, count: u32) -> Result<u32, Refused> {
        let at = u64::from(first) + u64::from(number);
        let is_set = number < count && self.tree.shapers[at as usize].is_set != 0;
        if is_set { Ok(first + number) } else { Err(Refused::Parent { parent: number }) }
    }

    fn first_node(&self) -> u32 {
        self.sizes.ports
    }

    fn first_subscriber(&self) -> u32 {
        self.sizes.ports + self.sizes.nodes
    }

    /// A full bucket, or one without tokens and with the debt of that before it: a rate that
    /// changes again and again gives neither a burst nor a frame each time.
    fn bucket(&self, shape: &Shape, before: Option<Bucket>, now: u64) -> Bucket {
        let full = Bucket::full(shape, self.ticks_per_s);
        before.map_or(full, |before| full.in_place_of(&before, now))
    }

    /// The time since creation, which does not step back.
    #[inline(always)]
    fn advance(&mut self, now: u64) -> u64 {
        self.now = self.latest(now);
        self.now
    }

    /// The same for whoever only looks.
    #[inline(always)]
    fn latest(&self, now: u64) -> u64 {
        self.now.max(now.saturating_sub(self.epoch))
    }
}

fn check(number: u32, count: u32) -> Result<(), Refused> {
    if number < count { Ok(()) } else { Err(Refused::Number { number, count }) }
}

/// The state of Controlled Delay, if a queue has it.
fn codel(discard: Discard, ticks_per_s: f64) -> Result<Option<Codel>, Refused> {
    let Discard::Codel { target_s, interval_s } = discard else { return Ok(None) };
    let are_times = [target_s, interval_s].iter().all(|&time| time > 0.0 && time <= TIME_S_MAX);
    match are_times {
        true => Ok(Some(Codel::new(target_s * ticks_per_s, interval_s * ticks_per_s))),
        false => Err(Refused::Setting),
    }
}

/// A step of the timers is the power of two of ticks that is the next below this.
const STEP_S: f64 = 8e-6;

/// The longest target and interval of Controlled Delay.
const TIME_S_MAX: f64 = 100.0;
