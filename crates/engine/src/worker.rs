//! THE loop: apply control, receive, process, transmit. It allocates nothing.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::clock::{self, Ticks};
use offload::Kinds;
use packet::{Batch, Joins, PortId, Room, Slots, Verdict};

use crate::control::{ControlEnd, Controller, control};
use crate::counters::{CounterReader, CounterWriter, Counts, counters};
use crate::function::{Function, Names};
use crate::gaps::{GAP_TICKS_MIN, Gaps};
use crate::idle::Idle;
use crate::long::{self, Cutting, Sent};
use crate::plane::{Plane, PlaneEnd, PlaneSetup, plane};
use crate::port::Port;
use crate::stages::StageTotals;
use crate::supervision::{Done, Order, Supervised, Supervisor, supervision};
use crate::tap::Tap;

/// A function on one core with its ports.
pub struct Worker<F: Function> {
    function: F,
    names: Names,
    ports: Vec<Box<dyn Port>>,
    /// Whether the function knows the link of each port to be up, and when that was looked at.
    links: (Vec<bool>, Ticks),
    batch: Batch,
    leaving: Vec<Slots>,
    /// Where the worker takes long segments: cuts them for ports that do not.
    cutting: Option<Box<Cutting>>,
    control: ControlEnd<F::Update>,
    counts: Counts,
    publisher: CounterWriter,
    stages: StageTotals,
    gaps: Gaps,
    last_round: Ticks,
    supervised: Option<Supervised<F>>,
    tap: Option<Box<dyn Tap>>,
    plane: Option<PlaneEnd>,
    /// Rounds in which frames that waited during a stall may still come.
    catching_up: u32,
    /// Whether the last round applied changes.
    has_changed: bool,
}

/// Handle to a worker for the thread that started it.
pub struct WorkerHandle<U> {
    /// Requests changes of the function at run time.
    pub controller: Controller<U>,
    /// Reads the worker's counters.
    pub counters: CounterReader,
}

impl<F: Function> Worker<F> {
    /// Creates a worker for `function` with its ports in order, and a handle to it.
    ///
    /// # Errors
    /// When there is no memory for its batch, or for frames that the function generates.
    pub fn new(
        mut function: F,
        ports: Vec<Box<dyn Port>>,
        batch_size: usize,
        room: Room,
    ) -> io::Result<(Worker<F>, WorkerHandle<F::Update>)> {
        let (controller, control) = control(CONTROL_QUEUE);
        let names = function.names();
        let (publisher, reader) = counters(names.drops.0.len(), names.tallies.len());
        function.make_room(room)?;
        let mut worker = Worker {
            leaving: vec![Slots::new(); ports.len()],
            links: (vec![true; ports.len()], clock::now()),
            batch: Batch::new(batch_size, room)?,
            cutting: if room.long > 0 { Some(Box::new(Cutting::new(room)?)) } else { None },
            counts: Counts::zero(names.drops, names.tallies.len()),
            stages: StageTotals::default(),
            gaps: Gaps::default(),
            last_round: clock::now(),
            supervised: None,
            tap: None,
            plane: None,
            catching_up: 0,
            has_changed: false,
            function,
            names,
            ports,
            control,
            publisher,
        };
        worker.look_at_ports();
        Ok((worker, WorkerHandle { controller, counters: reader }))
    }

    /// Runs until told to stop, then leaves the queues as they are; returns the number of processed
    /// packets.
    pub fn run(&mut self, stop: &AtomicBool) -> u64 {
        self.run_resting(stop, Idle::Poll)
    }

    /// Runs like [`Worker::run`], with a behaviour for times without packets.
    pub fn run_resting(&mut self, stop: &AtomicBool, idle: Idle) -> u64 {
        self.last_round = clock::now();
        let (mut packets, mut empty_rounds) = (0, 0_u32);
        while !stop.load(Ordering::Relaxed) {
            let handled = self.round().1;
            packets += handled as u64;
            // Behind changes others may wait, of which a round applies a number only.
            if handled > 0 || self.has_changed {
                empty_rounds = 0;
                continue;
            }
            empty_rounds = empty_rounds.saturating_add(1);
            if idle.rest(empty_rounds) {
                let now = clock::now();
                self.note_stall(now.wrapping_sub(self.last_round));
                self.last_round = now;
            }
        }
        packets
    }

    /// Lets the worker accept orders and publish its times; a later supervisor replaces an earlier
    /// one.
    pub fn supervise(&mut self) -> Supervisor<F> {
        let (supervisor, supervised) = supervision(self.names.stages.len());
        self.supervised = Some(supervised);
        supervisor
    }

    /// Lets the function hand packets and events to a control plane, and take frames from it. A
    /// later plane replaces an earlier one.
    pub fn join_plane(&mut self, setup: PlaneSetup<'_>) -> Plane {
        debug_assert!(
            [0, self.names.punts.len()].contains(&setup.limits.len()),
            "a limit for each reason, or none"
        );
        let (plane, end) = plane(setup);
        self.plane = Some(end);
        plane
    }

    /// After a stall, frames that have waited come first, then the function judges time.
    #[inline]
    fn note_stall(&mut self, gap: Ticks) {
        if gap > STALL_TICKS {
            self.catching_up = CATCH_UP_ROUNDS;
        }
    }

    /// Runs one round at the present time, and records the gap since the previous round; returns
    /// the time and the number of processed packets.
    #[inline]
    pub fn round(&mut self) -> (Ticks, usize) {
        let now = clock::now();
        let gap = now.wrapping_sub(self.last_round);
        if gap > GAP_TICKS_MIN {
            self.note_stall(gap);
            self.gaps.note(gap);
            self.supervised.iter().for_each(|supervised| supervised.publish_gaps(self.gaps));
        }
        self.last_round = now;
        (now, self.poll(now))
    }

    /// Runs one round at time `now`; returns the number of processed packets, including generated
    /// ones.
    #[inline]
    pub fn poll(&mut self, now: Ticks) -> usize {
        let function = &mut self.function;
        let changes =
            self.control.apply(CONTROL_PER_ROUND, clock::now, |update| function.apply(update, now));
        self.has_changed = changes > 0;
        if let Some(supervised) = &mut self.supervised
            && let Some(order) = supervised.next()
        {
            self.obey(order);
        }
        if now.wrapping_sub(self.links.1) > LOOK_TICKS {
            self.look_at_links(now);
        }

        self.batch.clear();
        // Those towards other workers stand last: what they do not need of their share is there for
        // the first ones.
        for (before, port) in self.ports.iter_mut().enumerate().rev() {
            let fair_share = self.batch.remaining() / (before + 1);
            port.receive(&mut self.batch, fair_share, now);
        }
        if let Some(plane) = &mut self.plane {
            plane.receive(&mut self.batch);
        }
        let received = self.batch.len();
        self.catching_up = if received == 0 { 0 } else { self.catching_up.saturating_sub(1) };
        if received == 0 {
            tick(&mut self.function, &mut self.plane, now);
            let (ports, cutting) = (&mut self.ports[..], &mut self.cutting);
            let out = (ports, &mut self.leaving[..], cutting, &mut self.counts);
            let made = send_made(&mut self.function, &mut self.tap, out, now);
            if changes > 0 || made > 0 {
                self.publisher.publish(&self.counts, self.function.tallies());
            }
            return made;
        }
        if let Some(tap) = &mut self.tap {
            tap.received(&self.batch, now);
        }
        let mut stages = self.stages.start(now);
        stages.lap_raw(0, received);
        // What the function waits for its frames is its own time.
        self.batch.look_at_first();
        self.function.process(&mut self.batch, now, &mut stages);
        if let Some(tap) = &mut self.tap {
            tap.decided(&self.batch, now);
        }

        let (ports, cutting) = (&mut self.ports[..], &mut self.cutting);
        send(&mut self.batch, (ports, &mut self.leaving, cutting, &mut self.counts), now);
        self.counts.received += received as u64;
        if let Some(plane) = &mut self.plane {
            punt(plane, &self.function, &self.batch, now);
        }
        stages.lap_raw(self.names.stages.len() + 1, received);
        if self.catching_up == 0 {
            tick(&mut self.function, &mut self.plane, now);
        }
        stages.lap_raw(self.names.stages.len() + 2, received);
        let (ports, cutting) = (&mut self.ports[..], &mut self.cutting);
        let out = (ports, &mut self.leaving[..], cutting, &mut self.counts);
        let made = send_made(&mut self.function, &mut self.tap, out, now);
        self.publisher.publish(&self.counts, self.function.tallies());
        stages.lap_raw(self.names.stages.len() + 1, 0);
        drop(stages);
        if let Some(supervised) = &self.supervised {
            supervised.publish_stages(&self.stages);
        }
        received + made
    }

    /// Tells the function of links that have come up or gone down.
    #[cold]
    fn look_at_links(&mut self, now: Ticks) {
        self.links.1 = now;
        let links = self.ports.iter_mut().zip(&mut self.links.0).enumerate();
        for (number, (port, known)) in links {
            let is_up = port.is_up();
            if is_up != std::mem::replace(known, is_up) {
                self.function.link(PortId(number as u8), is_up);
            }
        }
        self.look_at_ports();
    }

    /// Takes note of what all ports have in common.
    fn look_at_ports(&mut self) {
        let all_take =
            |has: fn(Kinds) -> bool| self.ports.iter().all(|port| has(port.takes_long()));
        let (segments, datagrams) = (all_take(Kinds::have_tcp), all_take(|kinds| kinds.udp));
        let except = self.function.reads_datagrams();
        self.batch.set_joins(Joins { segments, datagrams, except });
        self.batch.set_cold(self.ports.iter().any(|port| port.leaves_cold()));
    }

    /// Executes one order, between two batches.
    #[cold]
    fn obey(&mut self, order: Order<F>) {
        let done = match order {
            Order::Swap(index, mut port) => {
                if let Some(present) = self.ports.get_mut(index) {
                    std::mem::swap(present, &mut port);
                }
                self.look_at_ports();
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

    /// Replaces the ports, in the order of their numbers.
    pub fn connect(&mut self, ports: Vec<Box<dyn Port>>) {
        self.leaving = vec![Slots::new(); ports.len()];
        self.links.0.resize(ports.len(), true);
        self.ports = ports;
        self.look_at_ports();
        self.last_round = clock::now();
    }

    /// Returns the names of the counters.
    pub fn names(&self) -> Names {
        self.names
    }

    /// Returns the function, to read or change it while the worker does not run.
    pub fn function_mut(&mut self) -> &mut F {
        &mut self.function
    }

    /// Returns ticks and packets by stage since the last call.
    pub fn take_stages(&mut self) -> StageTotals {
        std::mem::take(&mut self.stages)
    }

    /// Returns the gaps in the loop's time since the last call.
    pub fn take_gaps(&mut self) -> Gaps {
        std::mem::take(&mut self.gaps)
    }

    /// Returns the counters so far.
    pub fn counts(&self) -> Counts {
        Counts { tallies: self.function.tallies().to_vec(), ..self.counts.clone() }
    }
}

/// Hands the packets that the function has punted to the control plane, long segments in pieces.
#[inline]
fn punt<F: Function>(plane: &mut PlaneEnd, function: &F, batch: &Batch, now: Ticks) {
    for slot in batch.slots() {
        if let Verdict::Punt(reason) = batch.verdict(slot) {
            let (port, frame) = (batch.port(slot), batch.frame(slot));
            let mut up = |parts: [&[u8]; 2]| {
                plane.punt((port, parts), reason, function.context(batch, slot), now);
            };
            match batch.long(slot) {
                None => up([frame, &[]]),
                Some(long) => long::pieces(frame, long, up),
            }
        }
    }
    plane.wake();
}

/// Lets the function do what is due, and hands on what it says.
#[inline]
fn tick<F: Function>(function: &mut F, plane: &mut Option<PlaneEnd>, now: Ticks) {
    function.tick(now);
    if let Some(plane) = plane {
        for _ in 0..EVENTS_PER_ROUND {
            if !plane.has_event_room() {
                break;
            }
            let Some(event) = function.event() else { break };
            plane.tell(event);
        }
        plane.wake();
    }
}

/// Sends the frames that the function generated; returns their number.
#[inline]
fn send_made<F: Function>(
    function: &mut F,
    tap: &mut Option<Box<dyn Tap>>,
    out: Out<'_>,
    now: Ticks,
) -> usize {
    let Some(made) = function.made(now).filter(|made| !made.is_empty()) else { return 0 };
    if let Some(tap) = tap {
        tap.made(made, now);
    }
    let count = made.len();
    out.3.made += count as u64;
    send(made, out, now);
    made.clear();
    count
}

/// Makes each port transmit its frames, and counts the result of every frame of the batch.
#[inline]
fn send(batch: &mut Batch, (ports, leaving, cutting, counts): Out<'_>, now: Ticks) {
    sort_by_verdict(batch, leaving, counts);
    for (port, slots) in ports.iter_mut().zip(leaving) {
        let (slots, has_long) = (slots.as_slice(), batch.has_long());
        let kinds = if has_long { port.takes_long() } else { Kinds::ALL };
        let sent = match cutting {
            Some(cutting) if kinds != Kinds::ALL => {
                cutting.transmit((&mut **port, kinds), batch, slots, now)
            }
            _ => Sent { accepted: port.transmit(batch, slots, now), unfit: 0 },
        };
        if let Some(unhandled) = counts.dropped.first_mut() {
            *unhandled += sent.unfit as u64;
        }
        counts.transmit_full += (slots.len() - sent.accepted - sent.unfit) as u64;
        counts.forwarded += sent.accepted as u64;
    }
}

/// Ports, the lists of frames for each port, what cuts long segments, and the counters.
type Out<'a> =
    (&'a mut [Box<dyn Port>], &'a mut [Slots], &'a mut Option<Box<Cutting>>, &'a mut Counts);

/// Fills a list for each port and counts frames that are not forwarded.
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
            Verdict::Punt(_) => counts.punted += 1,
        }
    }
}

/// Largest number of pending updates.
const CONTROL_QUEUE: usize = 4096;

/// Largest number of updates applied between two batches, so that control cannot starve forwarding.
const CONTROL_PER_ROUND: usize = 32;

/// Largest number of events between two batches.
const EVENTS_PER_ROUND: usize = 64;

/// A gap of this many ticks, about 2 ms, is a stall.
const STALL_TICKS: Ticks = 20 * GAP_TICKS_MIN;

/// Time between two looks at the links of the ports, about 1 ms.
const LOOK_TICKS: Ticks = 10 * GAP_TICKS_MIN;

/// Rounds after a stall in which frames that had waited come: a ring of 16,384 in full batches. A
/// round without frames ends it.
const CATCH_UP_ROUNDS: u32 = 64;

#[cfg(test)]
mod tests;
