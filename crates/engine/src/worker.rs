//! THE loop: apply control, receive, process, transmit. It allocates nothing.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::clock::{self, Ticks};
use packet::{Batch, Room, Slots, Verdict};

use crate::control::{ControlEnd, Controller, control};
use crate::counters::{CounterReader, CounterWriter, Counts, counters};
use crate::function::Function;
use crate::idle::Idle;
use crate::port::Port;
use crate::stages::StageTotals;
use crate::supervision::{Done, Order, Supervised, Supervisor, supervision};
use crate::tap::Tap;

/// One function on one core with its ports.
pub struct Worker<F: Function> {
    function: F,
    ports: Vec<Box<dyn Port>>,
    batch: Batch,
    leaving: Vec<Slots>,
    control: ControlEnd<F::Update>,
    counts: Counts,
    publisher: CounterWriter,
    stages: StageTotals,
    gaps: Gaps,
    last_round: Ticks,
    supervised: Option<Supervised<F>>,
    tap: Option<Box<dyn Tap>>,
}

/// Gaps in the loop's own time: another program, the hypervisor or an interrupt had the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Gaps over [`GAP_TICKS_MIN`].
    pub count: u64,
    /// Their sum.
    pub total_ticks: Ticks,
    /// The longest.
    pub longest_ticks: Ticks,
}

/// What of a worker stays with the one who started it.
pub struct WorkerHandle<U> {
    /// Changes the function while it runs.
    pub controller: Controller<U>,
    /// Reads its counters.
    pub counters: CounterReader,
}

impl<F: Function> Worker<F> {
    /// A worker for `function` with its ports in their order, and the handle to it.
    ///
    /// # Errors
    /// When there is no memory for its batch.
    pub fn new(
        function: F,
        ports: Vec<Box<dyn Port>>,
        batch_size: usize,
        room: Room,
    ) -> io::Result<(Worker<F>, WorkerHandle<F::Update>)> {
        let (controller, control) = control(CONTROL_QUEUE);
        let (publisher, reader) = counters(F::DROPS.0.len(), F::TALLIES.len());
        let worker = Worker {
            leaving: vec![Slots::new(); ports.len()],
            batch: Batch::new(batch_size, room)?,
            counts: Counts::zero(F::DROPS, F::TALLIES.len()),
            stages: StageTotals::default(),
            gaps: Gaps::default(),
            last_round: clock::now(),
            supervised: None,
            tap: None,
            function,
            ports,
            control,
            publisher,
        };
        Ok((worker, WorkerHandle { controller, counters: reader }))
    }

    /// Runs until told to stop, then leaves the queues as they are; tells how many packets it
    /// handled.
    pub fn run(&mut self, stop: &AtomicBool) -> u64 {
        self.run_resting(stop, Idle::Poll)
    }

    /// The same, with what to do while no packet comes.
    pub fn run_resting(&mut self, stop: &AtomicBool, idle: Idle) -> u64 {
        self.last_round = clock::now();
        let (mut packets, mut empty_rounds) = (0, 0_u32);
        while !stop.load(Ordering::Relaxed) {
            let handled = self.round().1;
            packets += handled as u64;
            if handled > 0 {
                empty_rounds = 0;
                continue;
            }
            empty_rounds = empty_rounds.saturating_add(1);
            if idle.rest(empty_rounds) {
                self.last_round = clock::now();
            }
        }
        packets
    }

    /// Lets the worker take orders and publish what its time goes into; a later supervisor takes the
    /// place of an earlier one.
    pub fn supervise(&mut self) -> Supervisor<F> {
        let (supervisor, supervised) = supervision(F::STAGES.len());
        self.supervised = Some(supervised);
        supervisor
    }

    /// One round at the present time, which it tells with the number of packets handled; notes the
    /// gap to the round before.
    #[inline]
    pub fn round(&mut self) -> (Ticks, usize) {
        let now = clock::now();
        let gap = now.wrapping_sub(self.last_round);
        if gap > GAP_TICKS_MIN {
            self.gaps.note(gap);
            self.supervised.iter().for_each(|supervised| supervised.publish_gaps(self.gaps));
        }
        self.last_round = now;
        (now, self.poll(now))
    }

    /// One round at time `now`; tells how many packets it handled.
    #[inline]
    pub fn poll(&mut self, now: Ticks) -> usize {
        let function = &mut self.function;
        let changes =
            self.control.apply(CONTROL_PER_ROUND, clock::now, |update| function.apply(update, now));
        if let Some(supervised) = &mut self.supervised
            && let Some(order) = supervised.next()
        {
            self.obey(order);
        }

        self.batch.clear();
        let ports = self.ports.len();
        for (index, port) in self.ports.iter_mut().enumerate() {
            let fair_share = self.batch.remaining() / (ports - index);
            port.receive(&mut self.batch, fair_share, now);
        }
        let received = self.batch.len();
        if received == 0 {
            if changes > 0 {
                self.publisher.publish(&self.counts, self.function.tallies());
            }
            return 0;
        }
        if let Some(tap) = &mut self.tap {
            tap.received(&self.batch, now);
        }
        let mut stages = self.stages.start(now);
        stages.lap_raw(0, received);

        self.function.process(&mut self.batch, now, &mut stages);
        if let Some(tap) = &mut self.tap {
            tap.decided(&self.batch, now);
        }

        sort_by_verdict(&self.batch, &mut self.leaving, &mut self.counts);
        let mut forwarded = 0;
        for (port, slots) in self.ports.iter_mut().zip(&self.leaving) {
            let sent = port.transmit(&mut self.batch, slots.as_slice(), now);
            self.counts.transmit_full += (slots.len() - sent) as u64;
            forwarded += sent;
        }
        self.counts.received += received as u64;
        self.counts.forwarded += forwarded as u64;
        self.publisher.publish(&self.counts, self.function.tallies());
        stages.lap_raw(F::STAGES.len() + 1, received);
        if let Some(supervised) = &self.supervised {
            supervised.publish_stages(&self.stages);
        }
        received
    }

    /// Carries out one order, between two batches.
    #[cold]
    fn obey(&mut self, order: Order<F>) {
        let done = match order {
            Order::Swap(index, mut port) => {
                if let Some(present) = self.ports.get_mut(index) {
                    std::mem::swap(present, &mut port);
                }
                Done::Swapped(port)
            }
            Order::Tap(tap) => Done::Untapped(std::mem::replace(&mut self.tap, tap)),
            Order::Look(mut look) => {
                look(&mut self.function);
                Done::Looked(look)
            }
        };
        if let Some(supervised) = &mut self.supervised {
            supervised.give_back(done);
        }
        // What an order took is no gap of another's making.
        self.last_round = clock::now();
    }

    /// Gives the worker other ports, in the order of their numbers; takes the old ones away.
    pub fn connect(&mut self, ports: Vec<Box<dyn Port>>) {
        self.leaving = vec![Slots::new(); ports.len()];
        self.ports = ports;
        self.last_round = clock::now();
    }

    /// The function, to look at or to load while the worker does not run.
    pub fn function_mut(&mut self) -> &mut F {
        &mut self.function
    }

    /// Ticks and packets by stage since the last call.
    pub fn take_stages(&mut self) -> StageTotals {
        std::mem::take(&mut self.stages)
    }

    /// Gaps in the loop's time since the last call.
    pub fn take_gaps(&mut self) -> Gaps {
        std::mem::take(&mut self.gaps)
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        Counts { tallies: self.function.tallies().to_vec(), ..self.counts.clone() }
    }
}

/// Fills a list for each port and counts what does not leave.
#[inline]
fn sort_by_verdict(batch: &Batch, leaving: &mut [Slots], counts: &mut Counts) {
    leaving.iter_mut().for_each(Slots::clear);
    for slot in batch.slots() {
        match batch.verdict(slot) {
            Verdict::Forward(port) => match leaving.get_mut(usize::from(port.0)) {
                Some(list) => list.push(slot),
                None => counts.transmit_full += 1,
            },
            Verdict::Drop(reason) => {
                if let Some(count) = counts.dropped.get_mut(usize::from(reason.0)) {
                    *count += 1;
                }
            }
            Verdict::Punt => counts.punted += 1,
        }
    }
}

impl Gaps {
    /// Notes the time between two rounds of a loop.
    #[inline(always)]
    pub fn note(&mut self, gap: Ticks) {
        if gap > GAP_TICKS_MIN {
            self.count += 1;
            self.total_ticks += gap;
            self.longest_ticks = self.longest_ticks.max(gap);
        }
    }
}

/// A round takes some 10 us with a full batch; ten times that is not the loop's own doing.
pub const GAP_TICKS_MIN: Ticks = 260_000;

/// Updates in flight at most.
const CONTROL_QUEUE: usize = 4096;

/// Updates applied between two batches at most, so that control cannot starve forwarding.
const CONTROL_PER_ROUND: usize = 32;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use packet::{PortId, Reason, Slot};

    use super::*;
    use crate::control::Refusal;
    use crate::function::Drops;
    use crate::stages::StageClock;

    /// Forwards odd first bytes to the other port, drops zero, punts the rest.
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
                    _ => Verdict::Punt,
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

    /// Offers some bytes, each as a frame, and keeps up to three of what it is given.
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
        let room = Room { headroom: 0, frame: 64 };
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

    /// Counts what it is shown.
    struct Seen(Arc<Mutex<(usize, usize)>>);

    impl Tap for Seen {
        fn received(&mut self, batch: &Batch, _: Ticks) {
            self.0.lock().expect("no test panicked").0 += batch.len();
        }

        fn decided(&mut self, batch: &Batch, _: Ticks) {
            let dropped =
                batch.slots().filter(|&slot| matches!(batch.verdict(slot), Verdict::Drop(_)));
            self.0.lock().expect("no test panicked").1 += dropped.count();
        }
    }

    fn script(offered: &[u8]) -> Box<dyn Port> {
        Box::new(Script { id: PortId(0), offered: offered.to_vec(), kept: Arc::default() })
    }

    #[test]
    fn orders_are_carried_out_and_leave_nothing_behind() {
        let room = Room { headroom: 0, frame: 64 };
        let ports = vec![script(&[0, 2])];
        let (mut worker, mut handle) =
            Worker::new(Odd { tally: [0] }, ports, 4, room).expect("memory");
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
        assert_eq!(packets, [5, 5, 5]);

        let found = Arc::new(Mutex::new(0));
        let told = Arc::clone(&found);
        let look = move |odd: &mut Odd| *told.lock().expect("lock") = odd.tally[0];
        assert!(supervisor.order(Order::Look(Box::new(look))).is_ok());
        handle.controller.request(5).expect("room");
        for _ in 0..3 {
            worker.poll(clock::now());
        }
        assert!(
            matches!(supervisor.done(), Some(Done::Swapped(_))),
            "back, for there is no port 7"
        );
        assert!(matches!(supervisor.done(), Some(Done::Untapped(Some(_)))));
        assert!(matches!(supervisor.done(), Some(Done::Looked(_))));
        assert_eq!(*found.lock().expect("lock"), 5);
        assert_eq!(handle.counters.read().tallies, [5], "a change shows without a packet");
        assert_eq!(seen.lock().expect("lock").0, 5, "until the tap was taken away");
    }

    #[test]
    fn orders_wait_while_nobody_takes_what_they_left() {
        let room = Room { headroom: 0, frame: 64 };
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
        let room = Room { headroom: 0, frame: 64 };
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
        let room = Room { headroom: 0, frame: 64 };
        let (mut worker, _) = Worker::new(Odd { tally: [0] }, vec![], 4, room).expect("memory");
        worker.run(&AtomicBool::new(true));
        assert_eq!(worker.counts().received, 0);
    }
}
