//! The queues of [`crate::scheduler`], looked at one by one, with rates in whole numbers.
//!
//! Whose turn it is among equals is the scheduler's choice: this twin is told what became of each
//! frame, says whether that was allowed and whether anything else was, and takes it over. Its
//! rates are whole bytes per second; what is "late" is what a timer may be late.

mod delay;

use std::collections::{BTreeMap, VecDeque};

use crate::scheduler::{
    Cause, Counts, Discard, Dropped, Held, Member, Offered, Port, Queue, Shape, Sizes, Why,
};
use delay::{ControlledDelay, Waiting};

/// A maximum rate; its times are ticks multiplied by the rate.
#[derive(Clone, Copy, Debug)]
struct Rate {
    bytes_per_s: Option<i128>,
    burst: i128,
    overhead: i128,
    ready_at: i128,
}

impl Rate {
    /// A full one; in the place of another it has nothing, and that one's debt, rounded up
    /// to 1/64 byte.
    fn new(shape: &Shape, ticks_per_s: i128, before: Option<&Rate>, now: u64) -> Rate {
        let bytes_per_s = shape.bytes_per_s.is_finite().then_some(shape.bytes_per_s as i128);
        let ready_at = match (before, bytes_per_s) {
            (Some(before), Some(rate)) => {
                let debt = (before.debt(now) * 64 + ticks_per_s - 1) / ticks_per_s;
                i128::from(now) * rate + debt * ticks_per_s / 64
            }
            _ => i128::MIN / 2,
        };
        let burst = shape.burst_bytes as i128 * ticks_per_s;
        Rate { bytes_per_s, burst, overhead: shape.overhead_bytes.into(), ready_at }
    }

    /// What has left too early, in bytes multiplied by the ticks of a second.
    fn debt(&self, now: u64) -> i128 {
        self.bytes_per_s.map_or(0, |rate| (self.ready_at - i128::from(now) * rate).max(0))
    }

    /// Ticks until there is credit.
    fn ticks_to_credit(&self, now: u64) -> u64 {
        self.bytes_per_s.map_or(0, |rate| ((self.debt(now) + rate - 1) / rate) as u64)
    }

    fn has_credit(&self, now: u64) -> bool {
        self.bytes_per_s.is_none_or(|rate| self.ready_at <= i128::from(now) * rate)
    }

    fn charge(&mut self, now: u64, len: usize, ticks_per_s: i128) {
        let Some(rate) = self.bytes_per_s else { return };
        let full = i128::from(now) * rate - self.burst;
        let bytes = (len as i128 + self.overhead).max(1);
        self.ready_at = self.ready_at.max(full) + bytes * ticks_per_s;
    }
}

#[derive(Clone, Debug)]
struct Line {
    queue: Queue,
    rate: Rate,
    delay: Option<ControlledDelay>,
    frames: VecDeque<Waiting>,
}

/// A port, the rates of its levels, and a member with its rate.
type PortRates = (Rate, [Rate; 8]);
type MemberRate = (u32, Rate);

/// What is allowed of a scheduler; see the module's text.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    sizes: Sizes,
    ticks_per_s: i128,
    late: u64,
    ports: BTreeMap<u32, PortRates>,
    nodes: BTreeMap<u32, MemberRate>,
    subscribers: BTreeMap<u32, MemberRate>,
    queues: BTreeMap<u32, Line>,
    /// When timers were last looked at.
    woken_at: u64,
    counts: Counts,
}

/// Whether it was allowed; else what was not.
type Judged = Result<(), String>;

impl Hierarchy {
    /// One in which nothing is set. A timer is late by less than `late` ticks, and due at a
    /// multiple of them.
    pub fn new(sizes: Sizes, ticks_per_s: u64, late: u64) -> Hierarchy {
        Hierarchy {
            sizes,
            ticks_per_s: ticks_per_s.into(),
            late,
            ports: BTreeMap::new(),
            nodes: BTreeMap::new(),
            subscribers: BTreeMap::new(),
            queues: BTreeMap::new(),
            woken_at: 0,
            counts: Counts::default(),
        }
    }

    /// Sets a port; whether that is possible.
    pub fn set_port(&mut self, number: u32, port: &Port, now: u64) -> bool {
        let before = self.ports.get(&number);
        let rate = |shape, before| Rate::new(shape, self.ticks_per_s, before, now);
        let levels = std::array::from_fn(|level| {
            rate(&port.levels[level], before.map(|(_, levels)| &levels[level]))
        });
        let rates = (rate(&port.shape, before.map(|(rate, _)| rate)), levels);
        let is_possible = number < self.sizes.ports;
        if is_possible {
            self.ports.insert(number, rates);
        }
        is_possible
    }

    /// Sets a node; whether that is possible.
    pub fn set_node(&mut self, number: u32, node: &Member, now: u64) -> bool {
        let before = self.nodes.get(&number).map(|(_, rate)| rate);
        let rate = Rate::new(&node.shape, self.ticks_per_s, before, now);
        let is_possible = number < self.sizes.nodes && self.ports.contains_key(&node.parent);
        if is_possible {
            self.nodes.insert(number, (node.parent, rate));
        }
        is_possible
    }

    /// Sets a subscriber; whether that is possible.
    pub fn set_subscriber(&mut self, number: u32, subscriber: &Member, now: u64) -> bool {
        let before = self.subscribers.get(&number).map(|(_, rate)| rate);
        let rate = Rate::new(&subscriber.shape, self.ticks_per_s, before, now);
        let has_parent = self.nodes.contains_key(&subscriber.parent);
        let is_possible = number < self.sizes.subscribers && has_parent;
        if is_possible {
            self.subscribers.insert(number, (subscriber.parent, rate));
        }
        is_possible
    }

    /// Sets a queue, which keeps its frames; whether that is possible.
    pub fn set_queue(&mut self, number: u32, queue: &Queue, now: u64) -> bool {
        if number >= self.sizes.queues || !self.subscribers.contains_key(&queue.subscriber) {
            return false;
        }
        let before = self.queues.remove(&number);
        let rate_before = before.as_ref().map(|line| &line.rate);
        let rate = Rate::new(&queue.shape, self.ticks_per_s, rate_before, now);
        let ticks = |seconds: f64| (seconds * self.ticks_per_s as f64).round() as u64;
        let delay = match queue.discard {
            Discard::Tail => None,
            Discard::Codel { target_s, interval_s } => {
                Some(ControlledDelay::new(ticks(target_s), ticks(interval_s)))
            }
        };
        let frames = before.map(|line| line.frames).unwrap_or_default();
        self.queues.insert(number, Line { queue: *queue, rate, delay, frames });
        true
    }

    /// Clears a queue; whether there was one.
    pub fn clear_queue(&mut self, number: u32) -> bool {
        let cleared = self.queues.remove(&number);
        let frames = cleared.as_ref().map_or(0, |line| line.frames.len() as u64);
        self.counts.waiting -= frames;
        self.counts.dropped[Dropped::Cleared as usize] += frames;
        cleared.is_some()
    }

    /// Clears a subscriber that has no queue; whether there was one, or none where it has.
    pub fn clear_subscriber(&mut self, number: u32) -> Option<bool> {
        let has_children = self.queues.values().any(|line| line.queue.subscriber == number);
        (!has_children).then(|| self.subscribers.remove(&number).is_some())
    }

    /// Clears a node that has no subscriber; whether there was one, or none where it has.
    pub fn clear_node(&mut self, number: u32) -> Option<bool> {
        let has_children = self.subscribers.values().any(|(parent, _)| *parent == number);
        (!has_children).then(|| self.nodes.remove(&number).is_some())
    }

    /// Whether a frame may have met this.
    ///
    /// # Errors
    /// What was not allowed.
    pub fn offer(
        &mut self,
        number: u32,
        (frame, note): (&[u8], u32),
        now: u64,
        got: Offered,
    ) -> Judged {
        self.counts.offered += 1;
        if got == Offered::Passes {
            self.check_passing(number, now)?;
            self.counts.passed += 1;
            if self.queues.contains_key(&number) {
                self.charge(number, frame.len(), now);
            }
            return Ok(());
        }
        self.check_waiting(number, now)?;
        let expected = self.room_for(number, frame.len());
        if got != expected {
            return Err(format!("queue {number}: {got:?}, not {expected:?}"));
        }
        match got {
            Offered::Dropped(dropped) => self.counts.dropped[dropped as usize] += 1,
            _ => {
                let waiting = Waiting { frame: frame.to_vec(), note, at: now };
                let line = self.queues.get_mut(&number).ok_or("it waits in no queue")?;
                line.frames.push_back(waiting);
                self.counts.waiting += 1;
            }
        }
        Ok(())
    }

    /// Frames are asked for: timers that are due are looked at.
    pub fn woken(&mut self, now: u64) {
        self.woken_at = now;
    }

    /// Whether a frame may leave by a port now.
    ///
    /// # Errors
    /// What was not allowed.
    pub fn left(
        &mut self,
        port: u32,
        number: u32,
        (frame, note, waited): (&[u8], u32, u64),
        now: u64,
    ) -> Judged {
        if self.port_of(number) != Some(port) {
            return Err(format!("queue {number} leaves by port {port}"));
        }
        if let Some(cause) = self.lacks(number, now) {
            return Err(format!("queue {number} leaves without credit: {cause:?}"));
        }
        let level = self.queues[&number].queue.level;
        if let Some(better) = self.others(number).find(|&other| {
            self.queues[&other].queue.level < level && self.is_surely_ready(other, now)
        }) {
            return Err(format!("queue {number} leaves before queue {better}"));
        }
        let sent = self.dequeue(number, now).ok_or(format!("queue {number} is empty"))?;
        let is_same = (sent.frame.as_slice(), sent.note, now - sent.at) == (frame, note, waited);
        if !is_same {
            return Err(format!("queue {number}: {note}, not {} of {}", sent.note, sent.at));
        }
        self.counts.left += 1;
        self.counts.waiting -= 1;
        self.charge(number, frame.len(), now);
        Ok(())
    }

    /// Whether nothing more may leave by a port.
    ///
    /// # Errors
    /// What may.
    pub fn rests(&self, port: u32, now: u64) -> Judged {
        let ready = self.queues.keys().find(|&&number| {
            self.port_of(number) == Some(port) && self.is_surely_ready(number, now)
        });
        ready.map_or(Ok(()), |number| Err(format!("queue {number} of port {port} may send")))
    }

    /// Whether a queue may say that it waits for this reason.
    ///
    /// # Errors
    /// What it has to say.
    pub fn why(&self, number: u32, now: u64, got: Option<Why>) -> Judged {
        let waits = self.queues.get(&number).is_some_and(|line| !line.frames.is_empty());
        let expected = waits.then(|| self.lacks(number, now).unwrap_or(Cause::Turn));
        if let Some(why) = got {
            let ticks = self.ticks_of(number, why.cause, now);
            if why.ticks != ticks {
                return Err(format!("queue {number} waits for {why:?}, not {ticks} ticks"));
            }
        }
        let got = got.map(|why| why.cause);
        // Who has credit again may be blamed until a timer says so.
        let is_late = got.is_some_and(|cause| {
            let since = self.floor(self.woken_at);
            cause <= Cause::Node && self.lacks_at_least(number, cause, since)
        });
        let is_first = expected.is_some_and(|expected| got.is_some_and(|got| got <= expected));
        match got == expected || is_late && is_first {
            true => Ok(()),
            false => Err(format!("queue {number} waits for {got:?}, not {expected:?}")),
        }
    }

    /// How long a queue waits at least for the credit of a rate; of a turn nobody knows.
    fn ticks_of(&self, number: u32, cause: Cause, now: u64) -> u64 {
        let waits = self.queues.get(&number).is_some_and(|line| !line.frames.is_empty());
        let rates = waits.then(|| self.rates(number)).into_iter().flatten();
        let rate = rates.into_iter().find(|(of, _)| *of == cause);
        rate.map_or(0, |(_, rate)| rate.ticks_to_credit(now))
    }

    /// What waits in a queue.
    pub fn held(&self, number: u32, now: u64) -> Held {
        let line = self.queues.get(&number);
        let Some((line, first)) = line.and_then(|line| Some((line, line.frames.front()?))) else {
            return Held::default();
        };
        let bytes = line.frames.iter().map(|waiting| waiting.frame.len() as u32).sum();
        let frames = line.frames.len() as u32;
        Held { frames, bytes, waited_ticks: now.saturating_sub(first.at) }
    }

    /// What became of all frames.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Cells of which no frame has one.
    pub fn free_cells(&self) -> u32 {
        self.sizes.cells - self.queues.values().map(cells).sum::<u32>()
    }

    fn check_passing(&self, number: u32, now: u64) -> Judged {
        let Some(line) = self.queues.get(&number) else { return Ok(()) };
        if !line.frames.is_empty() || self.lacks(number, now).is_some() {
            return Err(format!("queue {number}: a frame passes without credit, or others"));
        }
        let since = self.floor(self.woken_at);
        let overtaken = self.others(number).find(|&other| {
            self.queues[&other].queue.level <= line.queue.level
                && !self.queues[&other].frames.is_empty()
                && self.lacks(other, now).is_none()
                && [Cause::Own, Cause::Subscriber, Cause::Node]
                    .iter()
                    .all(|&cause| !self.lacks_at_least(other, cause, since))
        });
        overtaken.map_or(Ok(()), |other| Err(format!("queue {number} overtakes queue {other}")))
    }

    fn check_waiting(&self, number: u32, now: u64) -> Judged {
        let Some(line) = self.queues.get(&number) else {
            return Err(format!("a frame waits in queue {number}, which there is not"));
        };
        let since = self.floor(self.woken_at);
        let may_be_late = [Cause::Subscriber, Cause::Node]
            .iter()
            .any(|&cause| self.lacks_at_least(number, cause, since));
        let has_reason = !line.frames.is_empty()
            || may_be_late
            || self.lacks(number, now).is_some()
            || self.others(number).any(|other| {
                self.queues[&other].queue.level <= line.queue.level
                    && !self.queues[&other].frames.is_empty()
                    && self.lacks(other, now).is_none()
            });
        match has_reason {
            true => Ok(()),
            false => Err(format!("queue {number}: a frame waits for nothing")),
        }
    }

    fn room_for(&self, number: u32, len: usize) -> Offered {
        let line = &self.queues[&number];
        let (needed, free) = (cells_of(len), self.free_cells());
        let bytes: usize = line.frames.iter().map(|waiting| waiting.frame.len()).sum();
        let share = f64::from(free) * 2f64.powi(line.queue.share.into());
        if len > usize::from(self.sizes.frame_bytes_max) {
            Offered::Dropped(Dropped::Long)
        } else if bytes + len > line.queue.depth_bytes as usize {
            Offered::Dropped(Dropped::Depth)
        } else if f64::from(cells(line) + needed) > share {
            Offered::Dropped(Dropped::Share)
        } else if needed > free {
            Offered::Dropped(Dropped::Cells)
        } else {
            Offered::Waits
        }
    }

    fn dequeue(&mut self, number: u32, now: u64) -> Option<Waiting> {
        let frame_bytes_max = usize::from(self.sizes.frame_bytes_max);
        let line = self.queues.get_mut(&number)?;
        let Some(mut delay) = line.delay else { return line.frames.pop_front() };
        let mut drops = 0;
        let sent = delay.deque(&mut line.frames, now, frame_bytes_max, &mut drops);
        line.delay = Some(delay);
        self.counts.dropped[Dropped::Delay as usize] += drops;
        self.counts.waiting -= drops;
        sent
    }

    fn charge(&mut self, number: u32, len: usize, now: u64) {
        let ticks_per_s = self.ticks_per_s;
        let charge = |rate: &mut Rate| rate.charge(now, len, ticks_per_s);
        let Some(line) = self.queues.get_mut(&number) else { return };
        charge(&mut line.rate);
        let Some((node, rate)) = self.subscribers.get_mut(&line.queue.subscriber) else { return };
        charge(rate);
        let Some((port, rate)) = self.nodes.get_mut(node) else { return };
        charge(rate);
        let Some((rate, levels)) = self.ports.get_mut(port) else { return };
        charge(rate);
        charge(&mut levels[usize::from(line.queue.level)]);
    }

    /// The rates that a frame of a queue meets, in the order of causes.
    fn rates(&self, number: u32) -> [(Cause, Rate); 5] {
        let line = &self.queues[&number];
        let (node, subscriber) = self.subscribers[&line.queue.subscriber];
        let (port, node) = self.nodes[&node];
        let (port, levels) = self.ports[&port];
        [
            (Cause::Own, line.rate),
            (Cause::Subscriber, subscriber),
            (Cause::Node, node),
            (Cause::Port, port),
            (Cause::Level, levels[usize::from(line.queue.level)]),
        ]
    }

    /// The first rate that a queue has no credit of.
    fn lacks(&self, number: u32, now: u64) -> Option<Cause> {
        let mut rates = self.rates(number).into_iter();
        rates.find(|(_, rate)| !rate.has_credit(now)).map(|(cause, _)| cause)
    }

    fn lacks_at_least(&self, number: u32, cause: Cause, now: u64) -> bool {
        self.rates(number).iter().any(|(of, rate)| *of == cause && !rate.has_credit(now))
    }

    /// Whether a queue has a frame that may leave, and every timer has said so.
    fn is_surely_ready(&self, number: u32, now: u64) -> bool {
        let since = self.floor(now);
        !self.queues[&number].frames.is_empty()
            && self.rates(number).iter().all(|(cause, rate)| {
                rate.has_credit(if *cause <= Cause::Node { since } else { now })
            })
    }

    /// The other queues of a queue's port.
    fn others(&self, number: u32) -> impl Iterator<Item = u32> {
        let port = self.port_of(number);
        let others = self.queues.keys().copied();
        others.filter(move |&other| other != number && self.port_of(other) == port)
    }

    fn port_of(&self, number: u32) -> Option<u32> {
        let (node, _) = self.subscribers.get(&self.queues.get(&number)?.queue.subscriber)?;
        self.nodes.get(node).map(|(port, _)| *port)
    }

    /// The last time at which a timer was due.
    fn floor(&self, now: u64) -> u64 {
        now - now % self.late
    }
}

/// Cells of 232 bytes, one at least.
fn cells_of(len: usize) -> u32 {
    (len.max(1) as u32).div_ceil(232)
}

fn cells(line: &Line) -> u32 {
    line.frames.iter().map(|waiting| cells_of(waiting.frame.len())).sum()
}
