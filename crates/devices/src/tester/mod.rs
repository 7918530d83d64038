//! The tester of an open loop: sends at a rate whatever the device does, receives, and accounts.
//!
//! One thread does both, so that all times come from one clock. Frames that are due are sent in
//! small bursts, over real ports those of the last 20 us at once; after a stall the tester catches
//! up at most that fast, and what it could not send in time is missing from `sent`, which the
//! verdict on the tester rests on. A full ring of the device refuses a frame: it counts as sent and
//! lost, as with a network card. What the tester's own port refuses was never sent, so it is
//! missing from `sent` as well. On links that others may speak on, their frames are counted and
//! passed over.

pub(crate) mod changes;
mod far_end;
mod floods;
mod flow;
pub(crate) mod foreign;
mod latency;
pub(crate) mod link;
mod pieces;
mod policed;
mod schedule;
pub(crate) mod sessions;
pub(crate) mod thread;
mod window;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use changes::{Changes, Control};
use engine::Gaps;
use engine::steering::worker_of;
use far_end::FarEnd;
use floods::Floods;
use flow::Flow;
pub(crate) use latency::latency_histogram;
use link::Link;
use machine::clock::{self, Clock, Ticks};
use measure::{Direction, Flood, FloodCounts, Load, PathFailing, PathFailure, Policed};
use packet::PortId;
use pieces::Pieces;
use policed::PolicedBytes;
use schedule::{BURST, Schedule};
use traffic::{Account, Arrival, Delivery, Stamp, Workload};

/// A tester during a trial.
pub(crate) struct Tester<'a, W, L, C> {
    workload: W,
    /// Links by worker, then by port.
    links: &'a mut [Vec<L>],
    flows: Vec<Flow>,
    changes: Changes<C>,
    floods: Floods,
    far_end: FarEnd,
    clock: Clock,
    /// Start of sending: a frame with an older stamp belongs to another trial.
    start: Ticks,
    /// End of sending.
    end: Ticks,
    gaps: Gaps,
    /// Frames that arrived without a stamp of this trial.
    strangers: u64,
    /// Frames of other senders, on shared links.
    foreign: u64,
    reports: Pieces,
    last_arrival: Ticks,
    /// Longest time between two arrivals while frames are sent.
    silence: Ticks,
    /// True if received frames passed a device, not a wire.
    is_judging: bool,
    /// True if bytes are counted by subscriber.
    is_counting: bool,
}

/// Task of a tester.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// Load to send.
    pub load: Load,
    /// Duration of sending.
    pub duration: Duration,
    /// Number of subscribers whose bytes are counted.
    pub subscribers_counted: u32,
    /// Floods sent in addition to the load.
    pub floods: [Option<Flood>; 2],
    /// Failure of the path to the neighbour that the device watches.
    pub path_failing: Option<PathFailing>,
    /// True if a device, which changes frames, is in the path.
    pub is_judging: bool,
    /// The gap of a thread that the rings bridge at the rate of the load; zero if unknown.
    pub bridged: Duration,
}

impl Task {
    /// Returns a task with the load only, through a device or a wire.
    pub fn plain(load: Load, duration: Duration, is_judging: bool) -> Task {
        let (floods, path_failing, bridged) = ([None; 2], None, Duration::ZERO);
        Task { load, duration, subscribers_counted: 0, floods, path_failing, is_judging, bridged }
    }
}

/// Progress of a trial, for other threads to read.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of frames sent so far.
    pub sent: AtomicU64,
    /// Number of frames received so far.
    pub received: AtomicU64,
}

impl<'a, W: Workload, L: Link, C: Control<W::Update>> Tester<'a, W, L, C> {
    /// Creates a tester that starts its task shortly.
    pub fn new(
        workload: W,
        links: &'a mut [Vec<L>],
        mut changes: Changes<C>,
        task: Task,
        clock: Clock,
    ) -> Tester<'a, W, L, C> {
        let start = clock::now() + clock.ticks(LEAD_TIME);
        changes.start(start, clock.ticks_per_second());
        let flow = |(index, &direction): (usize, &traffic::Direction)| Flow {
            direction,
            schedule: {
                let delay = workload.delay(index).min(task.duration);
                let start = start + clock.ticks(delay);
                let times = workload.times(index);
                Schedule::new(task.load, times, task.duration - delay, start, &clock)
            },
            next_number: 0,
            sent_bytes: 0,
            ring_full: 0,
            refused: 0,
            unstamped: 0,
            misdelivered: 0,
            accounts: vec![Account::new(); links.len()],
            latency_ns: latency_histogram(),
            first_sent: start,
            last_sent: start,
            last_lost: None,
            policed: PolicedBytes::new(workload.policer(), task.subscribers_counted),
        };
        let flows = workload.directions().iter().enumerate().map(flow).collect();
        let floods = Floods::new(&workload, task.floods, (start, task.duration), &clock);
        let far_end = FarEnd::new(&workload, task.path_failing, start, &clock);
        Tester {
            workload,
            links,
            flows,
            changes,
            floods,
            far_end,
            clock,
            start,
            end: start + clock.ticks(task.duration),
            gaps: Gaps::default(),
            strangers: 0,
            foreign: 0,
            reports: Pieces::new(start, clock.ticks(task.duration)),
            last_arrival: start,
            silence: 0,
            is_judging: task.is_judging,
            is_counting: task.subscribers_counted > 0,
        }
    }

    /// Sends until the end, and receives until no more frames arrive.
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
                if self.floods.is_active() {
                    self.floods.send(now, &self.workload, self.links);
                }
                self.changes.request(now, &mut self.workload);
            }
            if self.far_end.is_there() {
                self.far_end.keep(now, &mut self.workload, self.links);
            }
            self.changes.settle(&mut self.workload);
            self.probe(now);
            self.receive(now);
            progress.sent.store(self.sent(), Ordering::Relaxed);
            progress.received.store(self.received(), Ordering::Relaxed);
            let all_back = self.received() == self.sent()
                && self.changes.all_settled()
                && !self.floods.is_active();
            let is_quiet = now > end + quiet && now > self.last_arrival + quiet;
            let is_over = now >= end && (all_back || is_quiet || now > give_up);
            if is_over || stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
        }
    }

    /// Sends the due frames, up to a burst in each direction.
    #[inline]
    fn send(&mut self, now: Ticks) {
        let workers = self.links.len() as u32;
        let grain = self.clock.ticks(L::GRAIN);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let due = flow.schedule.due(now, BURST, flow.next_number);
            let is_early = flow.next_number > 0 && now - flow.last_sent < grain;
            if due == 0 || (due < BURST && is_early) {
                continue;
            }
            let port = usize::from(flow.direction.from.0);
            // Deciding and writing take turns, so that each loop keeps what it needs in registers.
            let mut draws = [const { None }; BURST as usize];
            let numbers = flow.next_number..flow.next_number + due;
            for (place, sequence) in draws.iter_mut().zip(numbers) {
                let draw = self.workload.draw(index, sequence);
                self.workload.prefetch(&draw);
                *place = Some((sequence, draw));
            }
            for (sequence, draw) in draws.iter().flatten() {
                let len = self.workload.frame_len(draw);
                let worker = worker_of(self.workload.steering(draw), workers) as usize;
                match self.links[worker][port].reserve(len) {
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
            for ports in self.links.iter_mut() {
                flow.refused_of(ports[port].publish(now), now);
            }
            if flow.next_number == 0 {
                flow.first_sent = now;
            }
            flow.last_sent = now;
            flow.next_number += due;
            flow.schedule.take(due);
        }
    }

    /// Sends a frame that would show a pending change, if there is one.
    fn probe(&mut self, now: Ticks) {
        let Some(subject) = self.changes.next_to_probe(now) else { return };
        let Some((direction, draw)) = self.workload.probe(subject) else { return };
        let workers = self.links.len() as u32;
        let worker = worker_of(self.workload.steering(&draw), workers) as usize;
        let port = usize::from(self.flows[direction].direction.from.0);
        let link = &mut self.links[worker][port];
        if let Some(frame) = link.reserve(self.workload.frame_len(&draw)) {
            let stream = PROBE | direction as u16;
            self.workload.write(&draw, Stamp { stream, sequence: subject, time: now }, frame);
            link.publish(now);
        }
    }

    #[inline]
    fn receive(&mut self, last: Ticks) {
        for worker in 0..self.links.len() {
            for port in 0..self.links[worker].len() {
                self.receive_from(worker, port, last);
            }
        }
    }

    #[inline]
    fn receive_from(&mut self, worker: usize, port: usize, last: Ticks) {
        let is_only_worker = self.links.len() == 1;
        let link = &mut self.links[worker][port];
        if !link.fetch(last) {
            return;
        }
        // After fetching, which on a real port may take a while: nothing arrives before it was
        // sent.
        let now = clock::now();
        self.silence = self.silence.max(now.min(self.end).saturating_sub(self.last_arrival));
        self.last_arrival = now;
        self.changes.heard(now);
        for _ in 0..RECEIVE_BURST {
            let Some(frame) = link.next_frame() else { break };
            let Some(stamp) = Stamp::read(frame) else {
                if self.floods.is_active() && self.floods.take(&self.workload, frame) {
                    continue;
                }
                if self.far_end.is_there() && self.workload.hear(PortId(port as u8), frame, now) {
                    continue;
                }
                let is_report = self.workload.is_report(PortId(port as u8), frame);
                if is_report {
                    self.reports.note(now, frame.len() + CHECK_SEQUENCE_LEN);
                }
                let is_foreign = is_report
                    || foreign::is_error(frame)
                    || L::IS_SHARED && foreign::is_talk(frame);
                match self.workload.unstamped(PortId(port as u8)) {
                    _ if is_foreign => self.foreign += 1,
                    Some(direction) => self.flows[direction].unstamped += 1,
                    None => self.strangers += 1,
                }
                continue;
            };
            if L::IS_SHARED && stamp.time < self.start {
                self.foreign += 1;
                continue;
            }
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
                Delivery::Beside | Delivery::Lost => continue,
                Delivery::Shows(subject) => self.changes.shown(subject, now, &self.workload),
                Delivery::Late(subject) => self.changes.late(subject, &self.workload),
                Delivery::Misdelivered => {
                    flow.misdelivered += u64::from(!is_probe);
                    continue;
                }
            }
            if !is_probe {
                let arrival = flow.accounts[worker].note(stamp.sequence);
                // The numbers of a direction are spread over workers, so that only a worker that
                // has them all can tell by a gap that one is missing.
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
        link.release();
    }

    /// Returns the number of frames sent so far.
    pub fn sent(&self) -> u64 {
        self.flows.iter().map(Flow::sent).sum()
    }

    /// Returns the number of frames received so far.
    pub fn received(&self) -> u64 {
        self.flows.iter().map(Flow::received).sum()
    }

    /// Returns the findings: counters of all directions, times of the first and the last frame
    /// sent, and the rest.
    pub fn finish(self) -> Findings {
        let first = self.flows.iter().map(|flow| flow.first_sent).min().unwrap_or(0);
        let last = self.flows.iter().map(|flow| flow.last_sent).max().unwrap_or(0);
        let strangers = self.strangers;
        let policed = self.flows.iter().flat_map(|f| f.policed.record(f.direction.name)).collect();
        let clock = self.clock;
        let path_failure = self.far_end.finish(&self.workload, first, &clock);
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
            foreign: self.foreign,
            reports: self.reports.finish(),
            floods: self.floods.finish(),
            path_failure,
            course: Course {
                first_sent: first,
                silence: self.silence.max(self.end.saturating_sub(self.last_arrival)),
            },
            gaps: self.gaps,
        }
    }
}

/// Findings of a tester.
pub(crate) struct Findings {
    pub directions: Vec<Direction>,
    pub effective: Duration,
    pub events: Vec<measure::Events>,
    pub policed: Vec<Policed>,
    /// Skipped frames of other senders.
    pub foreign: u64,
    /// Reports that the device sent.
    pub reports: Vec<measure::Reports>,
    /// Counters of the floods.
    pub floods: Vec<FloodCounts>,
    /// What the path to the watched neighbour carried, if it was to fail.
    pub path_failure: Option<PathFailure>,
    pub course: Course,
    pub gaps: Gaps,
}

/// Times of a trial, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// Time at which the first frame was sent.
    pub first_sent: Ticks,
    /// Longest time without any frame from the device.
    pub silence: Ticks,
}

/// Length of the Ethernet frame check sequence in bytes.
pub(crate) const CHECK_SEQUENCE_LEN: usize = 4;

/// Flag of the stream of probes, whose sequence number is the subject of the change.
const PROBE: u16 = 0x8000;

/// Number of frames that are taken from a ring at once.
const RECEIVE_BURST: usize = 64;

/// Time between the start of the tester and its first frame.
const LEAD_TIME: Duration = Duration::from_micros(200);

/// Time without an arrival after which no more frames are expected.
const QUIET_TIME: Duration = Duration::from_millis(150);

/// Time limit for residual frames: two seconds (RFC 2544 section 23).
const RESIDUAL_TIME: Duration = Duration::from_secs(2);
