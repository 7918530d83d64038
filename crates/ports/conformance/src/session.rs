//! A port and its peer with accounts: what was given to either side, and what came out of the
//! other.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use engine::{Link, Opened, PortCounts, PortDrop, Way};
use machine::clock;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};

use crate::bench::{Bench, LostBetween, Order, Promises, request};
use crate::frames::{Found, build, recognise};
use crate::random::Random;

/// An opening of the port, from its first frame to its end.
pub(crate) struct Session<'a> {
    pub(crate) bench: &'a mut dyn Bench,
    pub(crate) promises: Promises,
    pub(crate) random: Random,
    pub(crate) opened: Opened,
    pub(crate) batch: Batch,
    /// Frames passed to transmit, and frames accepted by it.
    pub(crate) offered: u64,
    pub(crate) taken: u64,
    /// Frames that the peer sent.
    pub(crate) peer_sent: u64,
    pub(crate) to_port: Ledger,
    pub(crate) from_port: Ledger,
    between_before: LostBetween,
    /// True if frames were lost with a peer that cannot report their number.
    pub(crate) inexact: bool,
    number: u64,
}

impl<'a> Session<'a> {
    /// Opens the port with one queue, for the longest frames, and waits until its link is up.
    pub(crate) fn start(bench: &'a mut dyn Bench, random: &Random) -> Session<'a> {
        let frame_bytes_max = bench.promises().frame_bytes_max;
        let mut session = Session::open(bench, random, 1, frame_bytes_max);
        session.wait_for_link(true);
        session
    }

    /// Opens the port; the link may be down.
    pub(crate) fn open(
        bench: &'a mut dyn Bench,
        random: &Random,
        queues: usize,
        frame_bytes_max: usize,
    ) -> Session<'a> {
        let promises = bench.promises();
        let between_before = bench.lost_between();
        let opened = bench.open(&request(queues, frame_bytes_max)).unwrap_or_else(|error| {
            panic!("the port does not open: {error}; {}", error.remedy);
        });
        assert_eq!(opened.queues.len(), queues, "a queue for each worker");
        let room = Room { headroom: 128, frame: frame_bytes_max, long: 0 };
        Session {
            bench,
            promises,
            random: random.clone(),
            opened,
            batch: Batch::new(BATCH_MAX, room).expect("memory for a batch"),
            offered: 0,
            taken: 0,
            peer_sent: 0,
            to_port: Ledger::new(promises.order),
            from_port: Ledger::new(promises.order),
            between_before,
            inexact: false,
            number: 0,
        }
    }

    /// Returns a frame of this flow and length with the next number.
    pub(crate) fn frame(&mut self, flow: usize, len: usize) -> Vec<u8> {
        self.number += 1;
        build(Found { flow: flow as u16, number: self.number }, len)
    }

    /// Returns this number of random lengths that pass.
    pub(crate) fn lengths(&mut self, count: usize) -> Vec<usize> {
        let (low, high) = (self.promises.frame_bytes_min.max(60), self.promises.frame_bytes_max);
        // Mostly short ones, as on real links, and some of the very longest.
        let mut draw = || match self.random.between(0, 9) {
            0 => high,
            1..=5 => self.random.between(low, low.max(high.min(200))),
            _ => self.random.between(low, high),
        };
        (0..count).map(|_| draw()).collect()
    }

    /// Transmits frames of these lengths on a queue; returns the number of accepted frames.
    pub(crate) fn transmit(&mut self, queue: usize, lengths: &[usize]) -> usize {
        let first_flow = queue * FLOWS_PER_QUEUE;
        let flow = |index: usize| first_flow + index % FLOWS_PER_QUEUE;
        let frames: Vec<_> =
            lengths.iter().enumerate().map(|(index, len)| self.frame(flow(index), *len)).collect();
        self.transmit_frames(queue, &frames)
    }

    /// Transmits any bytes as frames on a queue; returns the number of accepted frames.
    pub(crate) fn transmit_frames(&mut self, queue: usize, frames: &[Vec<u8>]) -> usize {
        let mut taken = 0;
        for part in frames.chunks(BATCH_MAX) {
            self.batch.clear();
            for frame in part {
                self.from_port.given(frame);
                let room = self.batch.append(PortId(0), frame.len());
                room.expect("the suite's frames fit").copy_from_slice(frame);
            }
            let slots: Vec<Slot> = self.batch.slots().collect();
            let now = clock::now();
            let count = self.opened.queues[queue].transmit(&mut self.batch, &slots, now);
            assert!(count <= part.len(), "{count} of {} frames taken", part.len());
            taken += count;
        }
        self.offered += frames.len() as u64;
        self.taken += taken as u64;
        taken
    }

    /// Makes the peer send frames of these lengths; returns the number of sent frames.
    pub(crate) fn peer_send(&mut self, lengths: &[usize]) -> usize {
        let flow = |index: usize| index % (2 * FLOWS_PER_QUEUE);
        let frames: Vec<_> =
            lengths.iter().enumerate().map(|(index, len)| self.frame(flow(index), *len)).collect();
        self.peer_send_frames(&frames)
    }

    /// Makes the peer send any bytes as frames; returns the number of sent frames.
    pub(crate) fn peer_send_frames(&mut self, frames: &[Vec<u8>]) -> usize {
        let sent = self.bench.peer_send(frames);
        assert!(sent <= frames.len(), "{sent} of {} frames sent", frames.len());
        frames[..sent].iter().for_each(|frame| self.to_port.given(frame));
        self.peer_sent += sent as u64;
        sent
    }

    /// Processes the frames that have arrived at the port; returns their number.
    pub(crate) fn receive(&mut self) -> usize {
        let mut sum = 0;
        for (index, queue) in self.opened.queues.iter_mut().enumerate() {
            self.batch.clear();
            let count = queue.receive(&mut self.batch, BATCH_MAX, clock::now());
            assert_eq!(count, self.batch.len(), "receive tells how many it appended");
            for slot in self.batch.slots() {
                assert_eq!(self.batch.port(slot), PortId(1), "frames bear the port's number");
                self.to_port.arrived(self.batch.frame(slot), |_| index);
            }
            sum += count;
        }
        sum
    }

    /// Processes the frames that have arrived at the peer; returns their number.
    pub(crate) fn peer_receive(&mut self) -> usize {
        let before = self.from_port.arrived;
        let ledger = &mut self.from_port;
        let queue_of = |found: Found| usize::from(found.flow) / FLOWS_PER_QUEUE;
        self.bench.peer_receive(&mut |frame| ledger.arrived(frame, queue_of));
        (self.from_port.arrived - before) as usize
    }

    /// Processes the frames that have arrived at either side.
    pub(crate) fn pump(&mut self) -> usize {
        self.receive() + self.peer_receive()
    }

    /// Processes arrivals until a condition holds.
    ///
    /// # Panics
    /// With the accounts if the condition does not hold in time.
    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Session<'a>) -> bool) {
        self.poll(what, |session| {
            let held = holds(session);
            if !held && session.pump() == 0 {
                std::thread::park_timeout(POLL);
            }
            held
        });
    }

    /// Waits until a condition holds, with arrivals processed by `step` only.
    pub(crate) fn poll(&mut self, what: &str, mut step: impl FnMut(&mut Session<'a>) -> bool) {
        let start = Instant::now();
        while !step(self) {
            assert!(start.elapsed() < PATIENCE, "in vain: {what}; {}", self.accounts());
        }
    }

    /// Waits until the link is up, or down, according to the port's monitor and to its queues.
    pub(crate) fn wait_for_link(&mut self, up: bool) {
        let what = if up { "the link comes up" } else { "the link goes down" };
        self.until(what, |session| {
            let queues = &mut session.opened.queues;
            let queues_agree = queues.iter_mut().all(|queue| queue.is_up() == up);
            queues_agree && (session.opened.monitor.link() == Link::Up) == up
        });
    }

    /// Waits until frames pass in both directions, by sending a frame in each direction from time
    /// to time.
    pub(crate) fn wait_until_passing(&mut self) {
        let (to, from) = (self.to_port.arrived, self.from_port.arrived);
        let len = self.promises.frame_bytes_min.max(60);
        self.until("frames pass again", |session| {
            if session.to_port.arrived == to {
                session.peer_send(&[len]);
            }
            if session.from_port.arrived == from {
                session.transmit(0, &[len]);
            }
            session.to_port.arrived > to && session.from_port.arrived > from
        });
    }

    /// Waits until every frame is accounted for, then checks that no more frames arrive than were
    /// sent.
    pub(crate) fn settle(&mut self) {
        if self.inexact {
            self.until("the port accounts for what it was given", Session::port_adds_up);
        } else {
            self.until("every frame is accounted for", Session::adds_up);
        }
        for _ in 0..3 {
            self.pump();
            std::thread::park_timeout(POLL);
        }
        let holds = if self.inexact { self.port_adds_up() } else { self.adds_up() };
        assert!(holds, "frames too many: {}", self.accounts());
    }

    /// Waits until every frame that was sent on either side has arrived.
    pub(crate) fn settle_without_loss(&mut self) {
        self.settle();
        let all = self.to_port.arrived == self.peer_sent && self.from_port.arrived == self.offered;
        assert!(all, "frames were lost: {}", self.accounts());
    }

    /// Returns the counters of the port.
    pub(crate) fn counts(&self) -> PortCounts {
        self.opened.monitor.counts()
    }

    /// Returns the frames counted as lost between port and peer since this opening.
    fn between(&mut self) -> LostBetween {
        let now = self.bench.lost_between();
        LostBetween {
            to_port: now.to_port.saturating_sub(self.between_before.to_port),
            from_port: now.from_port.saturating_sub(self.between_before.from_port),
        }
    }

    /// Returns true if the port's own accounts are consistent, independent of the fate of the
    /// frames that it sent.
    fn port_adds_up(&mut self) -> bool {
        let counts = self.counts();
        let after = self.lost_after_sending(&counts);
        self.offered == counts.sent + counts.lost(Way::Transmit) - after
            && counts.received == self.to_port.arrived
            && counts.received_bytes == self.to_port.bytes
            && self.from_port.arrived <= counts.sent
            && counts.received <= self.peer_sent
    }

    /// Returns true if all accounts are consistent; see the description of the crate.
    fn adds_up(&mut self) -> bool {
        let counts = self.counts();
        let after = self.lost_after_sending(&counts);
        let between = self.between();
        self.port_adds_up()
            && counts.sent == self.from_port.arrived + after + between.from_port
            && (counts.sent != self.from_port.arrived || counts.sent_bytes == self.from_port.bytes)
            && self.peer_sent == counts.received + counts.lost(Way::Receive) + between.to_port
    }

    fn lost_after_sending(&self, counts: &PortCounts) -> u64 {
        let reasons = self.promises.lost_after_sending;
        let after = |kind: &PortDrop| kind.way == Way::Transmit && reasons.contains(&kind.why);
        counts.drops.iter().filter(|(kind, _)| after(kind)).map(|(_, count)| count).sum()
    }

    /// Returns a text with all accounts.
    pub(crate) fn accounts(&mut self) -> String {
        let between = self.between();
        format!(
            "offered {}, taken {}, arrived at the peer {} ({} bytes); the peer sent {}, arrived at \
             the port {} ({} bytes); the port counts {:?}; lost between {between:?}; link {:?}; {:?}",
            self.offered,
            self.taken,
            self.from_port.arrived,
            self.from_port.bytes,
            self.peer_sent,
            self.to_port.arrived,
            self.to_port.bytes,
            self.counts(),
            self.opened.monitor.link(),
            self.opened.monitor.facts(),
        )
    }
}

/// Frames sent and received in one direction.
pub(crate) struct Ledger {
    order: Order,
    /// Highest number that arrived, by queue or flow.
    last: HashMap<usize, u64>,
    seen: HashSet<u64>,
    /// Frames in flight that are not the suite's own, with their number of copies.
    wild: HashMap<Vec<u8>, u64>,
    pub(crate) arrived: u64,
    pub(crate) bytes: u64,
}

impl Ledger {
    fn new(order: Order) -> Ledger {
        let (last, seen, wild) = (HashMap::new(), HashSet::new(), HashMap::new());
        Ledger { order, last, seen, wild, arrived: 0, bytes: 0 }
    }

    /// Records a sent frame; frames of the suite identify themselves.
    fn given(&mut self, frame: &[u8]) {
        if recognise(frame).is_none() {
            *self.wild.entry(frame.to_vec()).or_default() += 1;
        }
    }

    /// Records a received frame.
    ///
    /// # Panics
    /// If it is corrupted, duplicated, out of order, or was never sent.
    pub(crate) fn arrived(&mut self, frame: &[u8], queue_of: impl Fn(Found) -> usize) {
        self.arrived += 1;
        self.bytes += frame.len() as u64;
        let Some(found) = recognise(frame) else {
            let count = self.wild.get_mut(frame).filter(|count| **count > 0);
            let shown = &frame[..frame.len().min(80)];
            let Some(count) = count else {
                panic!("torn, foreign or repeated: {} bytes {shown:02x?}", frame.len());
            };
            *count -= 1;
            return;
        };
        assert!(self.seen.insert(found.number), "{found:?} came twice");
        let way = match self.order {
            Order::Queue => queue_of(found),
            Order::Flow => usize::from(found.flow),
            Order::Nothing => return,
        };
        let last = self.last.entry(way).or_default();
        assert!(*last < found.number, "{found:?} came after {last} on {way}");
        *last = found.number;
    }
}

/// Number of flows on which a queue transmits.
const FLOWS_PER_QUEUE: usize = 32;

/// Time limit for a condition; far beyond the need of any port, for busy machines.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval between two polls when no frame arrives.
const POLL: Duration = Duration::from_micros(200);
