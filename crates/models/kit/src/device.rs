//! A function on a worker between ports that a test fills and empties: the engine's own loop at
//! times that the test chooses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Counts, Function, Names, Order, Port, Tap, Worker, WorkerHandle};
use machine::clock::Ticks;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};

use crate::check::{Expected, became};

/// A frame and the port at which it enters or leaves.
pub type Frame = (PortId, Vec<u8>);

/// A function under test.
pub struct Device<F: Function> {
    worker: Worker<F>,
    handle: WorkerHandle<F::Update>,
    links: Vec<Link>,
    longest: usize,
    /// The counts before changes after which nothing was asked yet.
    before: Option<Counts>,
}

/// Sees that functions leave frames the ports at which they came in, and give those that they make
/// one that there is.
struct Ports {
    count: usize,
    came: Vec<PortId>,
}

impl Tap for Ports {
    fn received(&mut self, batch: &Batch, _: Ticks) {
        self.came = batch.slots().map(|slot| batch.port(slot)).collect();
    }

    fn decided(&mut self, batch: &Batch, _: Ticks) {
        let now: Vec<PortId> = batch.slots().map(|slot| batch.port(slot)).collect();
        assert_eq!(now, self.came, "the ports of frames");
    }

    fn made(&mut self, batch: &Batch, _: Ticks) {
        for slot in batch.slots() {
            let port = batch.port(slot);
            assert!(usize::from(port.0) < self.count, "a made frame has the port {port:?}");
        }
    }
}

/// What became of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It left as this, by this port.
    Left(PortId, Vec<u8>),
    /// It was dropped for the reason of this name.
    Dropped(&'static str),
    /// The control plane got it.
    Punted,
}

/// What became of many frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    /// Frames that left, by port and in order.
    pub left: Vec<Vec<Vec<u8>>>,
    /// What was counted meanwhile.
    pub counts: Counts,
}

impl Outcomes {
    /// Frames that left with their ports, by port and in order.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let ports = self.left.iter().enumerate();
        ports.flat_map(|(port, left)| left.iter().map(move |one| (PortId(port as u8), one.clone())))
    }
}

impl<F: Function> Device<F> {
    /// A worker for the function with so many ports and the usual room for frames.
    ///
    /// # Panics
    /// When there is no memory for a batch.
    pub fn new(function: F, ports: usize) -> Device<F> {
        Device::with_room(function, ports, Room::default())
    }

    /// The same with another room for frames, a function's own included.
    ///
    /// # Panics
    /// When there is no memory for a batch.
    pub fn with_room(function: F, ports: usize, room: Room) -> Device<F> {
        let links: Vec<Link> = (0..ports).map(|_| Link::default()).collect();
        let ends = links.iter().enumerate().map(|(index, link)| {
            let end = ScriptPort { id: PortId(index as u8), link: link.clone() };
            Box::new(end) as Box<dyn Port>
        });
        let (mut worker, handle) = Worker::new(function, ends.collect(), BATCH_MAX, room)
            .expect("a batch is half a megabyte");
        let mut supervisor = worker.supervise();
        let tap = Box::new(Ports { count: ports, came: Vec::new() });
        assert!(supervisor.order(Order::Tap(Some(tap))).is_ok(), "it is the first");
        Device { worker, handle, links, longest: room.frame, before: None }
    }

    /// Sends one frame through, beside which none is made.
    ///
    /// # Panics
    /// When not exactly one thing became of it: that is the first law.
    pub fn pass(&mut self, port: PortId, frame: &[u8], now: Ticks) -> Outcome {
        let mut all = self.exchange(port, frame, now);
        match all.pop() {
            Some(Expected::Forward { port, frame }) if all.is_empty() => Outcome::Left(port, frame),
            Some(Expected::Drop(reason)) if all.is_empty() => Outcome::Dropped(reason),
            Some(Expected::Punt) if all.is_empty() => Outcome::Punted,
            last => panic!("{all:?} and {last:?} of one frame: {frame:02x?}"),
        }
    }

    /// The names of what is counted.
    pub fn names(&self) -> Names {
        self.worker.names()
    }

    /// Sends one frame through that may have others made beside it: what became of all of them, in
    /// the order of [`became`].
    pub fn exchange(&mut self, port: PortId, frame: &[u8], now: Ticks) -> Vec<Expected> {
        let outcomes = self.pass_all(port, [frame], now);
        became(outcomes.frames().collect(), &outcomes.counts, self.names().drops)
    }

    /// Lets the worker go round without a frame: what became of the frames that the function made
    /// because of the time, or of changes before.
    pub fn rest(&mut self, now: Ticks) -> Vec<Expected> {
        let outcomes = self.pass_all(PortId(0), [], now);
        became(outcomes.frames().collect(), &outcomes.counts, self.names().drops)
    }

    /// Sends frames through that come in at one port, in batches as large as can be.
    ///
    /// # Panics
    /// When a frame is longer than the room for it.
    pub fn pass_all<'a>(
        &mut self,
        port: PortId,
        frames: impl IntoIterator<Item = &'a [u8]>,
        now: Ticks,
    ) -> Outcomes {
        let before = self.before.take().unwrap_or_else(|| self.worker.counts());
        let link = &self.links[usize::from(port.0)];
        for frame in frames {
            assert!(frame.len() <= self.longest, "a frame of {} bytes", frame.len());
            link.lock().coming.push_back(frame.to_vec());
        }
        while self.worker.poll(now) > 0 {
            // The stage clock reads real time, which has nothing to do with the test's.
            self.worker.take_stages();
        }
        let left = self.links.iter().map(|link| std::mem::take(&mut link.lock().left));
        Outcomes { left: left.collect(), counts: self.worker.counts().since(&before) }
    }

    /// Asks for a change and lets the worker apply it; whether it was possible.
    ///
    /// # Panics
    /// When it is not acknowledged.
    pub fn update(&mut self, update: F::Update, now: Ticks) -> bool {
        let queued = self.handle.controller.request(update).is_ok();
        assert!(queued, "the control queue is empty between two updates");
        // What the change makes leaves in the same round, and shows in what is asked next.
        self.before.get_or_insert_with(|| self.worker.counts());
        self.worker.poll(now);
        let acknowledgement = self.handle.controller.acknowledged();
        acknowledgement.expect("an update is acknowledged in the same round").outcome.is_ok()
    }

    /// Everything counted so far.
    pub fn counts(&self) -> Counts {
        self.worker.counts()
    }

    /// The function itself.
    pub fn function_mut(&mut self) -> &mut F {
        self.worker.function_mut()
    }
}

/// A port whose frames stand in lists.
struct ScriptPort {
    id: PortId,
    link: Link,
}

#[derive(Clone, Default)]
struct Link(Arc<Mutex<Lists>>);

#[derive(Default)]
struct Lists {
    coming: VecDeque<Vec<u8>>,
    left: Vec<Vec<u8>>,
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Port for ScriptPort {
    fn receive(&mut self, batch: &mut Batch, limit: usize, _: Ticks) -> usize {
        let mut lists = self.link.lock();
        let count = limit.min(lists.coming.len());
        for frame in lists.coming.drain(..count) {
            if let Some(place) = batch.append(self.id, frame.len()) {
                place.copy_from_slice(&frame);
            }
        }
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let frames = slots.iter().map(|&slot| batch.frame(slot).to_vec());
        self.link.lock().left.extend(frames);
        slots.len()
    }
}
