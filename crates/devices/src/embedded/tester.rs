//! The tester of an open loop: sends at a rate whatever the device does, receives, and accounts.
//!
//! One thread does both, so that all times come from one clock. Frames that are due are sent in small
//! bursts; after a stall the tester catches up at most that fast, and what it could not send in time
//! is missing from `sent`, which the verdict on the tester rests on. A full ring refuses a frame: it
//! counts as sent and lost, as with a network card.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use engine::Gaps;
use hdrhistogram::Histogram;
use machine::clock::{self, Clock, Ticks};
use measure::{Direction, Load, Policed};
use packet::PortId;
use port_memory::{Receiver, Sender};

use traffic::workload::worker_of;
use traffic::{Account, Arrival, Delivery, Stamp, Workload};

use super::events::Changes;
use super::generator::CHECK_SEQUENCE_LEN;
use super::policed::PolicedBytes;
use super::schedule::Schedule;

/// The tester's ends of the links to one worker, by port.
pub(super) type Links = Vec<(Sender, Receiver)>;

/// A tester in the middle of a trial.
pub(super) struct Tester<'a, W: Workload> {
    workload: W,
    /// By worker.
    links: Vec<Links>,
    flows: Vec<Flow>,
    changes: Changes<'a, W::Update>,
    clock: Clock,
    /// When sending ends.
    end: Ticks,
    gaps: Gaps,
    /// Frames that came back and bear no stamp of this trial.
    strangers: u64,
    last_arrival: Ticks,
    /// Whether what comes back was through a device, and not through a wire.
    is_judging: bool,
    /// Whether bytes are counted by subscriber.
    is_counting: bool,
}

/// One direction of frames.
struct Flow {
    direction: traffic::Direction,
    schedule: Schedule,
    next_number: u64,
    sent_bytes: u64,
    ring_full: u64,
    misdelivered: u64,
    /// By worker.
    accounts: Vec<Account>,
    latency_ns: Histogram<u64>,
    first_sent: Ticks,
    last_sent: Ticks,
    /// When the last lost frame was sent, or at the latest.
    last_lost: Option<Ticks>,
    policed: PolicedBytes,
}

/// What a tester is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// What to send.
    pub load: Load,
    /// For how long.
    pub duration: Duration,
    /// Of how many subscribers the bytes are counted.
    pub subscribers_counted: u32,
    /// Whether a device is in the way, which changes frames.
    pub is_judging: bool,
}

/// What others may watch while a trial runs.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Frames sent so far.
    pub sent: AtomicU64,
    /// Frames received so far.
    pub received: AtomicU64,
}

impl<'a, W: Workload> Tester<'a, W> {
    /// A tester that will begin with its task soon from now on.
    pub fn new(
        workload: W,
        links: Vec<Links>,
        mut changes: Changes<'a, W::Update>,
        task: Task,
        clock: Clock,
    ) -> Tester<'a, W> {
        let start = clock::now() + clock.ticks(LEAD_TIME);
        changes.start(start, clock.ticks_per_second());
        let flow = |&direction: &traffic::Direction| Flow {
            direction,
            schedule: Schedule::new(task.load, task.duration, start, &clock),
            next_number: 0,
            sent_bytes: 0,
            ring_full: 0,
            misdelivered: 0,
            accounts: vec![Account::new(); links.len()],
            latency_ns: latency_histogram(),
            first_sent: start,
            last_sent: start,
            last_lost: None,
            policed: PolicedBytes::new(workload.policer(), task.subscribers_counted),
        };
        let flows = workload.directions().iter().map(flow).collect();
        Tester {
            workload,
            links,
            flows,
            changes,
            clock,
            end: start + clock.ticks(task.duration),
            gaps: Gaps::default(),
            strangers: 0,
            last_arrival: start,
            is_judging: task.is_judging,
            is_counting: task.subscribers_counted > 0,
        }
    }

    /// Sends until the end and receives until nothing more comes.
    pub fn run(&mut self, progress: &Progress, stops: &[&AtomicBool]) {
        let end = self.end;
        let quiet = self.clock.ticks(QUIET_TIME);
        let give_up = end + self.clock.ticks(RESIDUAL_TIME);
        let mut last = clock::now();
        loop {
            let now = clock::now();
            self.gaps.note(now.wrapping_sub(last));
            last = now;
            if now < end {
                self.send(now);
                self.changes.request(now, &mut self.workload);
            }
            self.changes.settle(&mut self.workload);
            self.probe(now);
            self.receive();
            progress.sent.store(self.sent(), Ordering::Relaxed);
            progress.received.store(self.received(), Ordering::Relaxed);
            let all_back = self.received() == self.sent() && self.changes.all_settled();
            let is_quiet = now > end + quiet && now > self.last_arrival + quiet;
            let is_over = now >= end && (all_back || is_quiet || now > give_up);
            if is_over || stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
        }
    }

    /// Sends what is due, up to a burst in each direction.
    #[inline]
    fn send(&mut self, now: Ticks) {
        let workers = self.links.len() as u32;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let due = flow.schedule.due(now, BURST, flow.next_number);
            if due == 0 {
                continue;
            }
            let port = usize::from(flow.direction.from.0);
            // Deciding and writing take turns, so that each loop keeps what it needs in registers.
            let mut draws = [const { None }; BURST as usize];
            let numbers = flow.next_number..flow.next_number + due;
            for (place, sequence) in draws.iter_mut().zip(numbers) {
                *place = Some((sequence, self.workload.draw(index, sequence)));
            }
            for (sequence, draw) in draws.iter().flatten() {
                let len = self.workload.frame_len(draw);
                let worker = worker_of(self.workload.steering(draw), workers) as usize;
                match self.links[worker][port].0.reserve(len) {
                    Some(frame) => {
                        let stamp = Stamp { stream: index as u16, sequence: *sequence, time: now };
                        self.workload.write(draw, stamp, frame);
                    }
                    None => {
                        flow.ring_full += 1;
                        flow.last_lost = Some(now);
                    }
                }
                if self.is_counting {
                    flow.policed.offered(self.workload.policed(draw));
                }
                flow.sent_bytes += (len + CHECK_SEQUENCE_LEN) as u64;
            }
            if flow.next_number == 0 {
                flow.first_sent = now;
            }
            flow.last_sent = now;
            flow.next_number += due;
            flow.schedule.take(due);
            self.links.iter_mut().for_each(|ports| ports[port].0.publish());
        }
    }

    /// Sends a frame that would show a change under way, if one is waiting to be seen.
    fn probe(&mut self, now: Ticks) {
        let Some(subject) = self.changes.next_to_probe(now) else { return };
        let Some((direction, draw)) = self.workload.probe(subject) else { return };
        let workers = self.links.len() as u32;
        let worker = worker_of(self.workload.steering(&draw), workers) as usize;
        let port = usize::from(self.flows[direction].direction.from.0);
        let sender = &mut self.links[worker][port].0;
        if let Some(frame) = sender.reserve(self.workload.frame_len(&draw)) {
            let stream = PROBE | direction as u16;
            self.workload.write(&draw, Stamp { stream, sequence: subject, time: now }, frame);
            sender.publish();
        }
    }

    #[inline]
    fn receive(&mut self) {
        for worker in 0..self.links.len() {
            for port in 0..self.links[worker].len() {
                self.receive_from(worker, port);
            }
        }
    }

    #[inline]
    fn receive_from(&mut self, worker: usize, port: usize) {
        let is_only_worker = self.links.len() == 1;
        let receiver = &mut self.links[worker][port].1;
        let now = clock::now();
        if receiver.peek_len().is_some() {
            self.last_arrival = now;
            self.changes.heard(now);
        }
        for _ in 0..RECEIVE_BURST {
            let Some(frame) = receiver.next_frame() else { break };
            let Some(stamp) = Stamp::read(frame) else {
                self.strangers += 1;
                continue;
            };
            let direction = usize::from(stamp.stream & !PROBE);
            let Some(flow) = self.flows.get_mut(direction) else {
                self.strangers += 1;
                continue;
            };
            let is_probe = stamp.stream & PROBE != 0;
            let draw = match is_probe {
                false => self.workload.draw(direction, stamp.sequence),
                true => match self.workload.probe(stamp.sequence) {
                    Some((_, draw)) => draw,
                    None => continue,
                },
            };
            let from = PortId(port as u8);
            let delivery = match self.is_judging {
                true => self.workload.delivery(direction, &draw, &stamp, from, frame),
                false => Delivery::AsExpected,
            };
            match delivery {
                Delivery::AsExpected => {}
                Delivery::Shows(subject) => self.changes.shown(subject, now, &self.workload),
                Delivery::Late(subject) => self.changes.late(subject, &self.workload),
                Delivery::Misdelivered => {
                    flow.misdelivered += u64::from(!is_probe);
                    continue;
                }
            }
            if !is_probe {
                let arrival = flow.accounts[worker].note(stamp.sequence);
                // The numbers of a direction are spread over workers, so that only a worker that has
                // them all can tell by a gap that one is missing.
                if arrival == Arrival::Ahead && is_only_worker {
                    flow.last_lost = flow.last_lost.max(Some(stamp.time));
                }
                if self.is_counting && arrival != Arrival::Duplicate {
                    flow.policed.passed(self.workload.policed(&draw));
                }
                let latency = self.clock.nanos(now.saturating_sub(stamp.time));
                flow.latency_ns.saturating_record(latency.max(1));
            }
        }
        receiver.release();
    }

    /// Frames sent so far.
    pub fn sent(&self) -> u64 {
        self.flows.iter().map(|flow| flow.next_number).sum()
    }

    /// Frames that came back so far.
    pub fn received(&self) -> u64 {
        self.flows.iter().map(Flow::received).sum()
    }

    /// The counts of all directions, the times of the first and the last frame sent, and the rest.
    pub fn finish(self) -> Findings {
        let first = self.flows.iter().map(|flow| flow.first_sent).min().unwrap_or(0);
        let last = self.flows.iter().map(|flow| flow.last_sent).max().unwrap_or(0);
        let strangers = self.strangers;
        let policed = self.flows.iter().flat_map(|f| f.policed.record(f.direction.name)).collect();
        let clock = self.clock;
        let flows = self.flows.into_iter().enumerate();
        let directions = flows.map(|(index, flow)| {
            // A frame without a stamp cannot be told by direction; the first one bears it.
            let strangers = if index == 0 { strangers } else { 0 };
            flow.finish(strangers, &clock)
        });
        Findings {
            directions: directions.collect(),
            effective: self.clock.duration(last - first),
            events: self.changes.finish(),
            policed,
            gaps: self.gaps,
        }
    }
}

/// What a tester has found out.
pub(super) struct Findings {
    pub directions: Vec<Direction>,
    pub effective: Duration,
    pub events: Vec<measure::Events>,
    pub policed: Vec<Policed>,
    pub gaps: Gaps,
}

impl Flow {
    fn received(&self) -> u64 {
        self.accounts.iter().map(Account::received).sum()
    }

    /// When the last lost frame was sent; none without loss, or where it cannot be told.
    fn last_lost(&self) -> Option<Ticks> {
        if self.received() >= self.next_number {
            return None;
        }
        match self.accounts.as_slice() {
            [only] if only.next() < self.next_number => Some(self.last_sent),
            [_] => self.last_lost,
            // What several workers lost themselves leaves no gap to see.
            _ => self.last_lost.filter(|_| self.received() + self.ring_full >= self.next_number),
        }
    }

    fn finish(self, strangers: u64, clock: &Clock) -> Direction {
        let received = self.received();
        let last_lost = self.last_lost();
        Direction {
            name: self.direction.name.to_owned(),
            intended: self.schedule.intended(),
            sent: self.next_number,
            received,
            lost: self.next_number.saturating_sub(received),
            ring_full: self.ring_full,
            duplicated: self.accounts.iter().map(Account::duplicated).sum(),
            reordered: self.accounts.iter().map(Account::reordered).sum(),
            misdelivered: self.misdelivered + strangers,
            sent_bytes: self.sent_bytes,
            latency_ns: self.latency_ns,
            last_lost_ns: last_lost.map(|at| clock.nanos(at.saturating_sub(self.first_sent))),
        }
    }
}

/// Latencies from 1 ns to 10 s, to 1 % or better.
pub(super) fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 2).unwrap_or_else(|error| {
        unreachable!("the bounds are constants that a histogram can have: {error}")
    })
}

/// Marks the stream of probes, whose sequence is the subject they are to show.
const PROBE: u16 = 0x8000;

/// Frames of a direction sent at once.
const BURST: u64 = 32;

/// Frames taken from a ring at once.
const RECEIVE_BURST: usize = 64;

/// Between the start of the tester and its first frame.
const LEAD_TIME: Duration = Duration::from_micros(200);

/// With no arrival for so long, nothing more comes.
const QUIET_TIME: Duration = Duration::from_millis(150);

/// RFC 2544 section 23: residual frames are waited for two seconds.
const RESIDUAL_TIME: Duration = Duration::from_secs(2);
