//! What workers tell, on its way to the controllers: each has a box of its own, so that one that is
//! slow takes nothing from another.
//!
//! Of each thing that a worker watches, the board keeps whether it was said last to work, and
//! whether it was said last to be synchronised, for a controller that begins later.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Event, EventKind};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// What a worker told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The worker's number.
    pub worker: u16,
    /// What it told.
    pub event: Event,
}

/// The boxes of all controllers.
#[derive(Debug, Default)]
pub struct Board(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    /// What was told last of each thing in each respect, by the worker that did.
    latest: BTreeMap<(u16, u64, Respect), Event>,
    boxes: Vec<Arc<EventBox>>,
}

/// In what respect something is one way or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Respect {
    Works,
    IsSynchronised,
}

/// What was told to a controller and not taken yet.
#[derive(Debug)]
pub struct EventBox {
    waiting: Mutex<Waiting>,
    /// Set when something is put in.
    pub bell: Arc<EventFd>,
}

/// What waits in a box.
#[derive(Debug, Default)]
pub struct Waiting {
    /// In the order in which it was told.
    pub told: VecDeque<Told>,
    /// How often there was no room.
    pub missed: u64,
}

impl Board {
    /// A worker tells something.
    pub fn tell(&self, told: Told) {
        let mut inside = self.inside();
        let mut missed = 0;
        if let Some(respect) = Respect::of(told.event.kind) {
            let key = (told.worker, told.event.subject, respect);
            match inside.latest.len() < ROOM || inside.latest.contains_key(&key) {
                true => drop(inside.latest.insert(key, told.event)),
                false => missed = 1,
            }
        }
        // Nobody watches it any more.
        if told.event.kind == EventKind::Expired {
            inside.latest.remove(&(told.worker, told.event.subject, Respect::Works));
        }
        inside.boxes.iter().for_each(|to| to.put([told], missed));
    }

    /// Something was told that did not come this far.
    pub fn miss(&self, count: u64) {
        self.inside().boxes.iter().for_each(|to| to.put([], count));
    }

    /// A controller begins: its box has what was told last of each thing, and what follows.
    pub fn begin(&self, own: &Arc<EventBox>) {
        let mut inside = self.inside();
        if !inside.boxes.iter().any(|one| Arc::ptr_eq(one, own)) {
            inside.boxes.push(Arc::clone(own));
        }
        drop(own.take());
        let latest = inside.latest.iter();
        own.put(latest.map(|((worker, ..), event)| Told { worker: *worker, event: *event }), 0);
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Respect {
    /// None where what was told does not last.
    fn of(kind: EventKind) -> Option<Respect> {
        match kind {
            EventKind::Up | EventKind::Down => Some(Respect::Works),
            EventKind::Synchronised | EventKind::Unsynchronised => Some(Respect::IsSynchronised),
            _ => None,
        }
    }
}

impl EventBox {
    /// An empty box.
    ///
    /// # Errors
    /// When the kernel has no room for its bell.
    pub fn new() -> io::Result<EventBox> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let bell = Arc::new(EventFd::from_flags(flags)?);
        Ok(EventBox { waiting: Mutex::default(), bell })
    }

    /// Takes everything out.
    pub fn take(&self) -> Waiting {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, all: impl IntoIterator<Item = Told>, missed: u64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.missed += missed;
        for told in all {
            match waiting.told.len() < ROOM {
                true => waiting.told.push_back(told),
                false => waiting.missed += 1,
            }
        }
        // A counter at its end rings as well.
        let _ = self.bell.write(1);
    }
}

/// How much waits in a box, and of how many things the board knows.
const ROOM: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(subject: u64, kind: EventKind) -> Told {
        Told { worker: 1, event: Event { kind, subject, detail: [0; 5], at: subject } }
    }

    fn subjects(waiting: &Waiting) -> Vec<(u64, EventKind)> {
        waiting.told.iter().map(|told| (told.event.subject, told.event.kind)).collect()
    }

    #[test]
    fn every_controller_has_everything_and_one_that_begins_what_was_said_last() {
        let board = Board::default();
        let boxes = [(); 2].map(|()| Arc::new(EventBox::new().expect("a box")));
        board.tell(told(3, EventKind::Up));
        board.begin(&boxes[0]);
        board.tell(told(4, EventKind::Up));
        board.tell(told(3, EventKind::Down));
        board.tell(told(5, EventKind::Idle));
        board.miss(7);
        let first = boxes[0].take();
        let all = [(3, EventKind::Up), (4, EventKind::Up), (3, EventKind::Down)];
        assert_eq!(subjects(&first), [&all[..], &[(5, EventKind::Idle)]].concat());
        assert_eq!((first.missed, boxes[0].bell.read()), (7, Ok(5)));
        board.begin(&boxes[1]);
        assert_eq!(subjects(&boxes[1].take()), [(3, EventKind::Down), (4, EventKind::Up)]);
        // Whether it is synchronised is another thing than whether it works.
        board.tell(told(3, EventKind::Unsynchronised));
        board.tell(told(3, EventKind::Synchronised));
        board.begin(&boxes[1]);
        let kinds = [EventKind::Down, EventKind::Synchronised, EventKind::Up];
        let all: Vec<_> = [3, 3, 4].into_iter().zip(kinds).collect();
        assert_eq!(subjects(&boxes[1].take()), all);
        board.tell(told(3, EventKind::Up));
        // One that begins again has nothing twice.
        board.tell(told(4, EventKind::Down));
        board.begin(&boxes[0]);
        let kinds = [EventKind::Up, EventKind::Synchronised, EventKind::Down];
        let all: Vec<_> = [3, 3, 4].into_iter().zip(kinds).collect();
        assert_eq!(subjects(&boxes[0].take()), all);
        // One that is gone is not told of later.
        board.tell(told(4, EventKind::Expired));
        board.begin(&boxes[0]);
        assert_eq!(subjects(&boxes[0].take()), all[..2]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let board = Board::default();
        let own = Arc::new(EventBox::new().expect("a box"));
        board.begin(&own);
        for subject in 0..ROOM as u64 + 3 {
            board.tell(told(subject, EventKind::Up));
        }
        let waiting = own.take();
        // Three have no room in the box, and the board does not know of three for later.
        assert_eq!((waiting.told.len(), waiting.missed), (ROOM, 6));
        board.tell(told(0, EventKind::Down));
        assert_eq!(subjects(&own.take()), [(0, EventKind::Down)]);
    }
}
