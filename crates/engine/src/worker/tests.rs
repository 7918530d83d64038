//! The loop with ports and functions of a few lines: what it counts, sends and obeys.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use packet::{Made, PortId, Reason, Slot};

use super::*;
use crate::control::Refusal;
use crate::function::Drops;
use crate::plane::{Context, Event, EventKind, PuntLimit, split};
use crate::stages::StageClock;

/// A function that forwards odd first bytes to the other port, drops zero, and punts the rest.
struct Odd {
    tally: [u64; 1],
}

impl Function for Odd {
    type Update = u64;
    const STAGES: &'static [&'static str] = &["odd"];
    const DROPS: Drops = Drops(&["unhandled", "zero"]);
    const TALLIES: &'static [&'static str] = &["sum-of-updates"];

    fn process(&mut self, batch: &mut Batch, _: Ticks, stages: &mut StageClock<'_>) {
        for slot in batch.slots() {
            let verdict = match batch.frame(slot)[0] {
                0 => Verdict::Drop(Reason(1)),
                byte if byte % 2 == 1 => Verdict::Forward(PortId(1 - batch.port(slot).0)),
                _ => Verdict::Punt(Reason(0)),
            };
            batch.set_verdict(slot, verdict);
        }
        stages.lap(0, batch.len());
    }

    fn apply(&mut self, update: u64, _: Ticks) -> Result<(), Refusal> {
        self.tally[0] += update;
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &self.tally
    }

    fn state_bytes(&self) -> usize {
        8
    }
}

/// A port that receives given bytes, each as a frame, and accepts up to three frames.
struct Script {
    id: PortId,
    offered: Vec<u8>,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Port for Script {
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let count = limit.min(self.offered.len());
        for byte in self.offered.drain(..count) {
            batch.append(self.id, 1).expect("within the limit")[0] = byte;
        }
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let mut kept = self.kept.lock().expect("no test panicked");
        let room = 3 - kept.len();
        let taken = room.min(slots.len());
        kept.extend(slots[..taken].iter().map(|&slot| batch.frame(slot)[0]));
        taken
    }
}

#[test]
fn every_packet_is_accounted_for() {
    let kept: [Arc<Mutex<Vec<u8>>>; 2] = Default::default();
    let offered = [vec![0, 1, 2, 3, 5, 7, 9], vec![11, 0, 4]];
    let ports = (0..2).map(|index| {
        Box::new(Script {
            id: PortId(index),
            offered: offered[usize::from(index)].clone(),
            kept: kept[usize::from(index)].clone(),
        }) as Box<dyn Port>
    });
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let (mut worker, mut handle) =
        Worker::new(Odd { tally: [0] }, ports.collect(), 4, room).expect("memory");
    handle.controller.request(5).expect("room in the queue");
    while worker.poll(clock::now()) > 0 {}

    assert_eq!(*kept[1].lock().expect("lock"), [1, 3, 5], "in order, and full after three");
    assert_eq!(*kept[0].lock().expect("lock"), [11]);
    let counts = handle.counters.read();
    assert_eq!(counts.received, 10);
    assert_eq!(counts.forwarded, 4);
    assert_eq!(counts.transmit_full, 2);
    assert_eq!(counts.punted, 2);
    assert_eq!(counts.dropped, [0, 2]);
    assert_eq!(counts.tallies, [5]);
    assert_eq!(counts, worker.counts());
    assert!(handle.controller.acknowledged().is_some_and(|ack| ack.outcome.is_ok()));
    assert_eq!(worker.take_stages().packets[..3], [10, 10, 10]);
}

/// A function that sends received frames back, and a copy of every odd byte to both ports; later it
/// also sends given frames.
struct Echo {
    made: Option<Made>,
    waiting: Vec<(Ticks, u8)>,
}

impl Function for Echo {
    type Update = (Ticks, u8);
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&["unhandled", "nine"]);
    const TALLIES: &'static [&'static str] = &[];

    fn process(&mut self, batch: &mut Batch, _: Ticks, _: &mut StageClock<'_>) {
        for slot in batch.slots() {
            batch.set_verdict(slot, Verdict::Forward(batch.port(slot)));
            if batch.frame(slot)[0] % 2 == 1 {
                let made = self.made.as_mut().expect("the worker told its room");
                (0..2).for_each(|port| _ = made.copy(batch, slot, PortId(port)));
            }
        }
    }

    fn apply(&mut self, update: Self::Update, _: Ticks) -> Result<(), Refusal> {
        self.waiting.push(update);
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.made = Some(Made::new(room)?);
        Ok(())
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        let made = self.made.as_mut()?;
        for (_, byte) in self.waiting.extract_if(.., |(due, _)| *due <= now) {
            let verdict = match byte {
                9 => Verdict::Drop(Reason(1)),
                8 => Verdict::Punt(Reason(0)),
                _ => Verdict::Forward(PortId(1)),
            };
            made.push(PortId(0), &[byte], verdict);
        }
        made.lend()
    }
}

#[test]
fn made_frames_leave_behind_those_that_came_in_and_are_counted() {
    let [near, far]: [Arc<Mutex<Vec<u8>>>; 2] = Default::default();
    let port = |id, offered: &[u8], kept: &Arc<Mutex<Vec<u8>>>| {
        let kept = Arc::clone(kept);
        Box::new(Script { id: PortId(id), offered: offered.to_vec(), kept }) as Box<dyn Port>
    };
    let ports = vec![port(0, &[1, 2], &near), port(1, &[], &far)];
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let echo = Echo { made: None, waiting: Vec::new() };
    let (mut worker, mut handle) = Worker::new(echo, ports, 4, room).expect("memory");
    let seen = Arc::new(Mutex::new((0, 0)));
    let mut supervisor = worker.supervise();
    assert!(supervisor.order(Order::Tap(Some(Box::new(Seen(Arc::clone(&seen)))))).is_ok());
    assert_eq!(worker.poll(1), 4, "two came in and two were made");
    assert_eq!(*near.lock().expect("lock"), [1, 2, 1]);
    assert_eq!(*far.lock().expect("lock"), [1]);

    for update in [(7, 3), (5, 9), (5, 8), (6, 5), (6, 7)] {
        handle.controller.request(update).expect("room in the queue");
    }
    assert_eq!([4, 5, 6, 6, 7, 8].map(|now| worker.poll(now)), [0, 2, 2, 0, 1, 0]);
    assert_eq!(*far.lock().expect("lock"), [1, 5, 7], "full after three");
    let counts = handle.counters.read();
    assert_eq!((counts.received, counts.made), (2, 7), "published without a frame");
    assert_eq!((counts.forwarded, counts.transmit_full), (6, 1));
    assert_eq!((counts.punted, counts.dropped[1]), (1, 1));
    assert_eq!(counts.accounted_total(), counts.received + counts.made);
    assert_eq!(*seen.lock().expect("lock"), (2, 8), "the tap saw all of them");
}

/// A tap that counts received frames, and dropped or generated ones.
struct Seen(Arc<Mutex<(usize, usize)>>);

impl Tap for Seen {
    fn received(&mut self, batch: &Batch, _: Ticks) {
        self.0.lock().expect("no test panicked").0 += batch.len();
    }

    fn decided(&mut self, batch: &Batch, _: Ticks) {
        let dropped = batch.slots().filter(|&slot| matches!(batch.verdict(slot), Verdict::Drop(_)));
        self.0.lock().expect("no test panicked").1 += dropped.count();
    }

    fn made(&mut self, batch: &Batch, now: Ticks) {
        self.decided(batch, now);
        self.0.lock().expect("no test panicked").1 += batch.len();
    }
}

fn script(offered: &[u8]) -> Box<dyn Port> {
    Box::new(Script { id: PortId(0), offered: offered.to_vec(), kept: Arc::default() })
}

#[test]
fn orders_are_carried_out_and_leave_nothing_behind() {
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let ports = vec![script(&[0, 2])];
    let (mut worker, mut handle) = Worker::new(Odd { tally: [0] }, ports, 4, room).expect("memory");
    let mut supervisor = worker.supervise();
    let seen = Arc::new(Mutex::new((0, 0)));
    let tap: Box<dyn Tap> = Box::new(Seen(Arc::clone(&seen)));
    assert!(supervisor.order(Order::Tap(Some(tap))).is_ok());
    assert_eq!(worker.poll(clock::now()), 2);
    assert_eq!(*seen.lock().expect("lock"), (2, 1), "before the first batch");
    assert!(matches!(supervisor.done(), Some(Done::Untapped(None))));

    assert!(supervisor.order(Order::Swap(0, script(&[0, 0, 0]))).is_ok());
    assert!(supervisor.order(Order::Swap(7, script(&[]))).is_ok());
    assert!(supervisor.order(Order::Tap(None)).is_ok());
    assert_eq!(worker.poll(clock::now()), 3, "from the other port");
    assert!(matches!(supervisor.done(), Some(Done::Swapped(_))));
    let packets: Vec<u64> = supervisor.totals.stages().iter().map(|stage| stage.1).collect();
    assert_eq!(packets, [5, 5, 5, 5]);

    let found = Arc::new(Mutex::new(0));
    let told = Arc::clone(&found);
    let look = move |odd: &mut Odd| *told.lock().expect("lock") = odd.tally[0];
    assert!(supervisor.order(Order::Look(Box::new(look))).is_ok());
    handle.controller.request(5).expect("room");
    for _ in 0..3 {
        worker.poll(clock::now());
    }
    assert!(matches!(supervisor.done(), Some(Done::Swapped(_))), "back, for there is no port 7");
    assert!(matches!(supervisor.done(), Some(Done::Untapped(Some(_)))));
    assert!(matches!(supervisor.done(), Some(Done::Looked(_))));
    assert_eq!(*found.lock().expect("lock"), 5);
    assert_eq!(handle.counters.read().tallies, [5], "a change shows without a packet");
    assert_eq!(seen.lock().expect("lock").0, 5, "until the tap was taken away");
}

#[test]
fn orders_wait_while_nobody_takes_what_they_left() {
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let (mut worker, _) = Worker::new(Odd { tally: [0] }, vec![], 4, room).expect("memory");
    let mut supervisor = worker.supervise();
    for _ in 0..3 {
        while supervisor.order(Order::Tap(None)).is_ok() {}
        for _ in 0..100 {
            worker.poll(clock::now());
        }
    }
    let done = std::iter::from_fn(|| supervisor.done()).count();
    assert_eq!(done, 16);
}

#[test]
fn a_resting_worker_sees_packets_and_the_wish_to_stop() {
    let room = Room { headroom: 0, frame: 64, long: 0 };
    for idle in [Idle::Yield, Idle::Sleep] {
        let (mut worker, handle) =
            Worker::new(Odd { tally: [0] }, vec![script(&[])], 4, room).expect("memory");
        let mut supervisor = worker.supervise();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| worker.run_resting(&stop, idle));
            assert!(supervisor.order(Order::Swap(0, script(&[0; 9]))).is_ok());
            while handle.counters.read().received < 9 {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(worker.counts().dropped_total(), 9);
    }
}

#[test]
fn a_worker_stops_when_told() {
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let (mut worker, _) = Worker::new(Odd { tally: [0] }, vec![], 4, room).expect("memory");
    worker.run(&AtomicBool::new(true));
    assert_eq!(worker.counts().received, 0);
}

/// A function that counts its ticks, tells of each, and punts everything with its first byte as the
/// session.
#[derive(Default)]
struct Ticking {
    ticks: u64,
    told: u64,
    sessions: Vec<u64>,
}

impl Function for Ticking {
    type Update = ();
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&["unhandled"]);
    const TALLIES: &'static [&'static str] = &[];
    const PUNTS: &'static [&'static str] = &["odd", "even"];

    fn process(&mut self, batch: &mut Batch, _: Ticks, _: &mut StageClock<'_>) {
        self.sessions.clear();
        for slot in batch.slots() {
            // A frame of the host is behind its interface.
            let interface = match batch.port(slot) == PortId::HOST {
                true => split(batch, slot).expect("an interface"),
                false => 0,
            };
            self.sessions.push(u64::from(batch.frame(slot)[0]) + 1000 * u64::from(interface));
            let is_even = batch.frame(slot)[0].is_multiple_of(2);
            batch.set_verdict(slot, Verdict::Punt(Reason(is_even.into())));
        }
    }

    fn context(&self, _: &Batch, slot: Slot) -> Context {
        Context { session: self.sessions[usize::from(slot)], ..Context::default() }
    }

    fn tick(&mut self, _: Ticks) {
        self.ticks += 1;
    }

    fn event(&mut self) -> Option<Event> {
        let is_new = self.told < self.ticks;
        self.told = self.ticks;
        is_new.then_some(Event {
            kind: EventKind::Idle,
            subject: self.ticks,
            detail: [0; 5],
            at: 0,
        })
    }

    fn apply(&mut self, (): (), _: Ticks) -> Result<(), Refusal> {
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }
}

#[test]
fn packets_events_and_frames_of_the_host_pass_between_worker_and_plane() {
    let ports = vec![script(&[1, 2, 3])];
    let (mut worker, handle) =
        Worker::new(Ticking::default(), ports, 256, Room::default()).expect("memory");
    let limits = &[PuntLimit::default(); 2];
    let wake = Box::new(|| {});
    let mut plane =
        worker.join_plane(PlaneSetup { limits, ticks_per_s: 1e9, secret: [1, 2], wake });
    assert!(plane.inject(5, &[4]));
    assert_eq!(worker.poll(7), 4);
    let mut sessions = |reason| {
        let mut all = Vec::new();
        while let Some(punted) = plane.next(Reason(reason)) {
            assert_eq!(punted.at, 7);
            all.push((punted.port.0, punted.context.session));
        }
        all
    };
    assert_eq!(sessions(0), [(0, 1), (0, 3)]);
    assert_eq!(sessions(1), [(0, 2), (u8::MAX, 5004)]);
    assert_eq!(plane.event().map(|event| event.subject), Some(1));
    let counts = handle.counters.read();
    assert_eq!((counts.received, counts.punted), (4, 4));
}

#[test]
fn time_is_judged_when_what_waited_during_a_stall_is_processed() {
    let ports = vec![script(&[1; 10])];
    let (mut worker, _handle) =
        Worker::new(Ticking::default(), ports, 4, Room::default()).expect("memory");
    worker.note_stall(STALL_TICKS + 1);
    let mut after = Vec::new();
    while worker.poll(0) > 0 {
        after.push(worker.function_mut().ticks);
    }
    assert!(after.len() >= 3 && after.iter().all(|ticks| *ticks == 0), "{after:?}");
    assert_eq!(worker.function_mut().ticks, 1, "nothing waits any more");
    // An endless load holds it up for so many rounds and no longer.
    worker.note_stall(STALL_TICKS + 1);
    worker.connect(vec![script(&[1; 10_000])]);
    for _ in 0..CATCH_UP_ROUNDS {
        assert!(worker.poll(0) > 0);
    }
    assert_eq!(worker.function_mut().ticks, 2);
}

/// A port whose link goes up and down, and a function that hears of it.
struct Flapping(Arc<AtomicBool>);

impl Port for Flapping {
    fn receive(&mut self, _: &mut Batch, _: usize, _: Ticks) -> usize {
        0
    }

    fn transmit(&mut self, _: &mut Batch, _: &[Slot], _: Ticks) -> usize {
        0
    }

    fn is_up(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Listening(Vec<(PortId, bool)>);

impl Function for Listening {
    type Update = ();
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&["unhandled"]);
    const TALLIES: &'static [&'static str] = &[];

    fn process(&mut self, _: &mut Batch, _: Ticks, _: &mut StageClock<'_>) {}

    fn apply(&mut self, (): (), _: Ticks) -> Result<(), Refusal> {
        Ok(())
    }

    fn link(&mut self, port: PortId, is_up: bool) {
        self.0.push((port, is_up));
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }
}

#[test]
fn a_function_hears_of_links_once_and_not_in_every_round() {
    let states = [true, false].map(|is_up| Arc::new(AtomicBool::new(is_up)));
    let ports = states.iter().map(|state| Box::new(Flapping(state.clone())) as Box<dyn Port>);
    let room = Room { headroom: 0, frame: 64, long: 0 };
    let (mut worker, _handle) =
        Worker::new(Listening::default(), ports.collect(), 4, room).expect("memory");
    let begin = clock::now();
    let mut heard = |now: Ticks| {
        worker.poll(begin + now);
        std::mem::take(&mut worker.function_mut().0)
    };
    // The worker may have been made a moment later than it seems here.
    let first = 2 * LOOK_TICKS;
    assert_eq!(heard(first), [(PortId(1), false)], "up until it is said otherwise");
    assert_eq!(heard(first + 2 * LOOK_TICKS), []);
    states[0].store(false, Ordering::Relaxed);
    states[1].store(true, Ordering::Relaxed);
    assert_eq!(heard(first + 3 * LOOK_TICKS), [], "it was looked at just now");
    let both = [(PortId(0), false), (PortId(1), true)];
    assert_eq!(heard(first + 4 * LOOK_TICKS), both);
}
