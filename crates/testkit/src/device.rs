//! A function on a worker between ports that a test fills and empties: the engine's own loop at
//! times that the test chooses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Counts, Function, Port, Worker, WorkerHandle};
use machine::clock::Ticks;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};

/// A frame and the port at which it enters or leaves.
pub type Frame = (PortId, Vec<u8>);

/// A function under test.
pub struct Device<F: Function> {
    worker: Worker<F>,
    handle: WorkerHandle<F::Update>,
    links: Vec<Link>,
    longest: usize,
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

impl<F: Function> Device<F> {
    /// A worker for the function with so many ports and the usual room for frames.
    ///
    /// # Panics
    /// When there is no memory for a batch.
    pub fn new(function: F, ports: usize) -> Device<F> {
        Device::with_room(function, ports, Room::default())
    }

    /// The same with another room for frames.
    ///
    /// # Panics
    /// When there is no memory for a batch.
    pub fn with_room(function: F, ports: usize, room: Room) -> Device<F> {
        let links: Vec<Link> = (0..ports).map(|_| Link::default()).collect();
        let ends = links.iter().enumerate().map(|(index, link)| {
            let end = ScriptPort { id: PortId(index as u8), link: link.clone() };
            Box::new(end) as Box<dyn Port>
        });
        let (worker, handle) = Worker::new(function, ends.collect(), BATCH_MAX, room)
            .expect("a batch is half a megabyte");
        Device { worker, handle, links, longest: room.frame }
    }

    /// Sends one frame through.
    ///
    /// # Panics
    /// When not exactly one thing became of it: that is the first law.
    pub fn pass(&mut self, port: PortId, frame: &[u8], now: Ticks) -> Outcome {
        let Outcomes { left, counts } = self.pass_all(port, [frame], now);
        let mut left = left.into_iter().enumerate().flat_map(|(index, frames)| {
            frames.into_iter().map(move |frame| (PortId(index as u8), frame))
        });
        let dropped = counts.dropped.iter().position(|&count| count > 0);
        let total = (counts.forwarded, counts.dropped_total(), counts.punted);
        match (left.next(), dropped, total) {
            (Some((port, frame)), None, (1, 0, 0)) => Outcome::Left(port, frame),
            (None, Some(reason), (0, 1, 0)) => Outcome::Dropped(F::DROPS.0[reason]),
            (None, None, (0, 0, 1)) => Outcome::Punted,
            (_, _, (forwarded, dropped, punted)) => {
                panic!("{forwarded} forwarded, {dropped} dropped, {punted} punted: {frame:02x?}")
            }
        }
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
        let before = self.worker.counts();
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
