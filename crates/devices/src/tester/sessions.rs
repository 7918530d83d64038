//! The tester of sessions: begins them, drives each from step to step, and tells what became of
//! them (RFC 9693 section 4).
//!
//! One thread does all. A frame that comes back has the next step's frame of its session sent at
//! once. Sessions are begun at a rate, whatever the device does, and each frame is sent once: one
//! that is lost is a session that failed. Or they are begun as fast as they succeed, with a window
//! of them under way; then a session without an answer is begun again, as hosts do, until its
//! deadline, and the tester gives up on a device that answers nothing any more. What a session has
//! come to is one bit; nothing is allocated for it on the way. How long an answer took is known for
//! a few seconds behind it, and not told beyond.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Gaps;
use engine::steering::worker_of;
use machine::clock::{self, Clock, Ticks};
use measure::{Direction, SessionCounts, SessionLoad};
use packet::PortId;
use traffic::{Pacer, Pacing, Random, SessionAction, SessionStep, Workload};

use super::link::{Link, Refused};
use super::schedule::BURST;
use super::window::Window;
use super::{
    CHECK_SEQUENCE_LEN, Course, LEAD_TIME, Progress, RECEIVE_BURST, foreign, latency_histogram,
};

/// A tester of sessions during a trial.
pub(crate) struct SessionTester<'a, W, L> {
    workload: W,
    /// Links by worker, then by port.
    links: &'a mut [Vec<L>],
    action: SessionAction,
    first: u64,
    counts: SessionCounts,
    pace: Pace,
    window: Window,
    /// One bit per session: true if it has succeeded.
    done: Vec<u64>,
    /// Directions of the steps, by the port at which they enter.
    ways: [Way; 2],
    clock: Clock,
    wait: Ticks,
    start: Ticks,
    last_begun: Ticks,
    last_sent: Ticks,
    last_success: Ticks,
    last_arrival: Ticks,
    silence: Ticks,
    gaps: Gaps,
    strangers: u64,
    foreign: u64,
}

/// Pacing of session starts.
enum Pace {
    /// Evenly, at a rate.
    Rate(Pacer),
    /// With a limited number of pending sessions.
    Windowed(u64),
}

/// Frames of one direction.
#[derive(Clone, Copy, Debug)]
struct Way {
    port: PortId,
    sent: u64,
    sent_bytes: u64,
    received: u64,
    ring_full: u64,
    duplicated: u64,
    misdelivered: u64,
}

/// Findings of a tester of sessions.
pub(crate) struct Found {
    pub counts: SessionCounts,
    pub directions: Vec<Direction>,
    pub effective: Duration,
    /// Skipped frames of other senders.
    pub foreign: u64,
    pub course: Course,
    pub gaps: Gaps,
}

impl<'a, W: Workload, L: Link> SessionTester<'a, W, L> {
    /// Creates a tester that starts shortly.
    pub fn new(
        workload: W,
        links: &'a mut [Vec<L>],
        (load, wait): (SessionLoad, Duration),
        clock: Clock,
    ) -> SessionTester<'a, W, L> {
        let places = if L::IS_SHARED { WINDOW_SHARED } else { WINDOW };
        let remembered = load.rate.map_or(places * SPAN, |rate| (rate * REMEMBERED_S) as u64);
        let window = Window::new(remembered.min(load.count));
        let words = usize::try_from(load.count.div_ceil(64)).unwrap_or(usize::MAX);
        let done = vec![0; words];
        let start = clock::now() + clock.ticks(LEAD_TIME);
        let pace = match load.rate {
            Some(rate) => {
                let (random, ticks_per_s) = (Random::new(0, 0), clock.ticks_per_second());
                Pace::Rate(Pacer::new(Pacing::Constant, rate, ticks_per_s, start, random))
            }
            None => Pace::Windowed(places),
        };
        SessionTester {
            ways: workload.session_ports().map(Way::new),
            workload,
            links,
            action: action_of(load.action),
            first: load.first,
            counts: SessionCounts::new(&load),
            pace,
            window,
            done,
            clock,
            wait: clock.ticks(wait),
            start,
            last_begun: start,
            last_sent: start,
            last_success: start,
            last_arrival: start,
            silence: 0,
            gaps: Gaps::default(),
            strangers: 0,
            foreign: 0,
        }
    }

    /// Starts all sessions, and continues until each has succeeded or timed out.
    pub fn run(&mut self, progress: &Progress, stops: &[&AtomicBool]) {
        let mut last = clock::now();
        loop {
            let now = clock::now();
            self.gaps.note(now.wrapping_sub(last));
            last = now;
            self.begin(now);
            self.receive(now);
            if matches!(self.pace, Pace::Windowed(_)) && self.window.is_overdue(now) {
                self.look_after(now);
            }
            progress.sent.store(self.sent(), Ordering::Relaxed);
            progress.received.store(self.received(), Ordering::Relaxed);
            if self.is_over(now) || stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
        }
    }

    fn is_over(&self, now: Ticks) -> bool {
        let counts = &self.counts;
        if counts.attempted < counts.asked {
            // A device that has no room left answers nothing, however long it is asked.
            let is_hopeless = self.window.abandoned() >= GIVE_UP
                && now > self.last_success.saturating_add(self.wait);
            return is_hopeless;
        }
        let settled = counts.succeeded + self.window.abandoned();
        settled >= counts.asked || now > self.last_sent.saturating_add(self.wait)
    }

    /// Starts the sessions that are due, or for which the window has room.
    #[inline]
    fn begin(&mut self, now: Ticks) {
        if now < self.start {
            return;
        }
        let left = (self.counts.asked - self.counts.attempted).min(BURST);
        let due = match &self.pace {
            Pace::Rate(pacer) => {
                let due = pacer.due(now, left);
                let grain = self.clock.ticks(L::GRAIN);
                let is_early = self.counts.attempted > 0 && now - self.last_begun < grain;
                if is_early && due < left { 0 } else { due }
            }
            Pace::Windowed(places) => {
                let settled = self.counts.succeeded + self.window.abandoned();
                let under_way = self.counts.attempted.saturating_sub(settled);
                left.min(places.saturating_sub(under_way)).min(self.window.room())
            }
        };
        if due == 0 {
            return;
        }
        if let Pace::Rate(pacer) = &mut self.pace {
            pacer.take(due);
        }
        for number in self.counts.attempted..self.counts.attempted + due {
            self.window.begin(now);
            self.send_first(number, now);
        }
        self.counts.attempted += due;
        self.last_begun = now;
        self.publish(0, now);
    }

    /// Sends the first step of a session; a session without steps succeeds at once.
    #[inline]
    fn send_first(&mut self, number: u64, now: Ticks) {
        let Some(draw) = self.workload.session(self.first + number) else { return };
        match self.workload.session_steps(&draw, self.action) {
            0 => self.succeed(number, now),
            _ => self.send(&draw, 0, now),
        }
    }

    #[inline(always)]
    fn send(&mut self, draw: &W::Draw, step: u8, now: Ticks) {
        let way = &mut self.ways[self.workload.session_side(draw, self.action, step)];
        let len = self.workload.session_frame_len(draw, self.action, step);
        let worker = worker_of(self.workload.steering(draw), self.links.len() as u32) as usize;
        match self.links[worker][usize::from(way.port.0)].reserve(len) {
            Some(frame) => {
                self.workload.write_session(draw, (self.action, step), now, frame);
            }
            None => way.ring_full += 1,
        }
        way.sent += 1;
        way.sent_bytes += (len + CHECK_SEQUENCE_LEN) as u64;
        self.last_sent = now;
    }

    /// Sends the reserved frames of one direction.
    #[inline]
    fn publish(&mut self, way: usize, now: Ticks) {
        let way = &mut self.ways[way];
        for ports in self.links.iter_mut() {
            let Refused { by_device, by_port } = ports[usize::from(way.port.0)].publish(now);
            way.ring_full += by_device;
            // What the tester's own port did not take was never sent.
            way.sent -= by_port;
        }
    }

    #[inline]
    fn receive(&mut self, last: Ticks) {
        for worker in 0..self.links.len() {
            for port in self.ways.map(|way| way.port) {
                if self.links[worker][usize::from(port.0)].fetch(last) {
                    self.receive_from(worker, port);
                    (0..self.ways.len()).for_each(|way| self.publish(way, last));
                }
            }
        }
    }

    #[inline]
    fn receive_from(&mut self, worker: usize, port: PortId) {
        let now = clock::now();
        self.silence = self.silence.max(now.saturating_sub(self.last_arrival));
        self.last_arrival = now;
        let index = usize::from(port.0);
        for _ in 0..RECEIVE_BURST {
            let Some(frame) = self.links[worker][index].next_frame() else { break };
            match self.workload.session_seen(port, frame) {
                Some((step, draw)) => self.take(&step, &draw, now),
                // A device may say that it takes no more sessions.
                None if foreign::is_error(frame) => self.foreign += 1,
                None if self.workload.is_report(port, frame) => self.foreign += 1,
                None if L::IS_SHARED && foreign::is_talk(frame) => self.foreign += 1,
                None => self.strangers += 1,
            }
        }
        self.links[worker][index].release();
        let port = usize::from(self.ways[0].port.0);
        while let Some(frame) = self.workload.session_says() {
            if let Some(room) = self.links[worker][port].reserve(frame.len()) {
                room.copy_from_slice(frame);
            }
        }
    }

    /// Continues a session of which a step was received.
    #[inline(always)]
    fn take(&mut self, seen: &SessionStep, draw: &W::Draw, now: Ticks) {
        let number = seen.session.wrapping_sub(self.first);
        if seen.action != self.action || number >= self.counts.attempted {
            self.foreign += 1;
            return;
        }
        let is_done = self.is_done(number);
        let is_last = seen.step + 1 >= self.workload.session_steps(draw, self.action);
        let side = self.workload.session_side(draw, self.action, seen.step);
        let way = &mut self.ways[side];
        if !seen.is_right {
            way.misdelivered += 1;
            self.counts.wrong += 1;
            return;
        }
        way.received += 1;
        match (is_last, is_done) {
            (true, false) => self.succeed(number, now),
            (true, true) => way.duplicated += 1,
            (false, _) => self.send(draw, seen.step + 1, now),
        }
    }

    #[inline(always)]
    fn is_done(&self, number: u64) -> bool {
        self.done[(number / 64) as usize] >> (number % 64) & 1 != 0
    }

    #[inline(always)]
    fn succeed(&mut self, number: u64, now: Ticks) {
        self.done[(number / 64) as usize] |= 1 << (number % 64);
        self.counts.succeeded += 1;
        self.last_success = now;
        if let Some(begun) = self.window.settle(number) {
            let took = self.clock.nanos(now.saturating_sub(begun));
            self.counts.answered_ns.saturating_record(took.max(1));
        }
    }

    /// Retries sessions without an answer, and gives up those that have timed out.
    #[cold]
    fn look_after(&mut self, now: Ticks) {
        for _ in 0..AGAIN_BURST {
            let Some(number) = self.window.next_overdue(now, self.wait) else { break };
            self.send_first(number, now);
        }
        self.publish(0, now);
    }

    /// Returns the number of frames sent so far.
    pub fn sent(&self) -> u64 {
        self.ways.iter().map(|way| way.sent).sum()
    }

    /// Returns the number of frames received so far.
    pub fn received(&self) -> u64 {
        self.ways.iter().map(|way| way.received).sum()
    }

    /// Returns the results of the sessions and their frames.
    pub fn finish(mut self) -> Found {
        self.counts.failed = self.counts.attempted - self.counts.succeeded;
        self.counts.wrong = self.counts.wrong.min(self.counts.failed);
        let named = |port: PortId| {
            let of_port = |direction: &&traffic::Direction| direction.from == port;
            let named = self.workload.directions().iter().find(of_port);
            named.map_or("back", |direction| direction.name)
        };
        self.ways[0].misdelivered += self.strangers;
        let directions = self.ways.iter().map(|way| way.finish(named(way.port))).collect();
        Found {
            directions,
            counts: self.counts,
            effective: self.clock.duration(self.last_begun - self.start),
            foreign: self.foreign,
            course: Course { first_sent: self.start, silence: self.silence },
            gaps: self.gaps,
        }
    }
}

impl Way {
    fn new(port: PortId) -> Way {
        Way {
            port,
            sent: 0,
            sent_bytes: 0,
            received: 0,
            ring_full: 0,
            duplicated: 0,
            misdelivered: 0,
        }
    }

    fn finish(&self, name: &str) -> Direction {
        let received = self.received.saturating_sub(self.duplicated).min(self.sent);
        Direction {
            name: name.to_owned(),
            intended: self.sent,
            sent: self.sent,
            received,
            lost: self.sent - received,
            ring_full: self.ring_full,
            duplicated: self.duplicated,
            reordered: 0,
            misdelivered: self.misdelivered,
            sent_bytes: self.sent_bytes,
            latency_ns: latency_histogram(),
            last_lost_ns: None,
        }
    }
}

/// Converts an action to the type of the traffic.
fn action_of(action: measure::SessionAction) -> SessionAction {
    match action {
        measure::SessionAction::Open => SessionAction::Open,
        measure::SessionAction::Close => SessionAction::Close,
        measure::SessionAction::Use => SessionAction::Use,
        measure::SessionAction::Keep => SessionAction::Keep,
    }
}

/// Window of pending sessions over rings in memory: their frames fill a tenth of a ring.
const WINDOW: u64 = 4096;
/// Window of pending sessions over real ports, whose queues have a few hundred slots.
const WINDOW_SHARED: u64 = 256;
/// Number of windows of sessions that may be started after the oldest one without an answer.
const SPAN: u64 = 16;
/// Time for which the start of a session is remembered, in seconds.
const REMEMBERED_S: f64 = 4.0;
/// Number of sessions given up after which the whole load is given up, if none has succeeded
/// meanwhile.
const GIVE_UP: u64 = 128;
/// Number of sessions retried at once.
const AGAIN_BURST: usize = 64;

#[cfg(test)]
mod tests;
