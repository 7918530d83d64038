//! Frames between workers and controllers, without the kernel: punted ones up, injected ones down.
//!
//! ```text
//!  thread `host` --punted, a box for each reason--> thread of the controller that takes it
//!  thread `host` <--injected, one queue for all---- threads of controllers
//! ```
//! Each reason has a box of its own, so that a flood of one takes nothing from another. Nothing
//! here waits: what has no room is counted by whoever brought it, and gone. What a worker punts for
//! a reason that no controller takes goes to the kernel, as everything does without controllers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use controller_kit::Injection;
use engine::{Context, Punted};
use machine::clock::Ticks;
use nix::sys::eventfd::EventFd;
use packet::Reason;
use protocol_kit::Bytes;

/// The boxes of all reasons, and what controllers have injected.
#[derive(Debug, Default)]
pub struct Exchange {
    boxes: Mutex<Vec<Arc<PuntBox>>>,
    down: Mutex<Queue<Injection>>,
    /// Wakes the thread of the host.
    host: OnceLock<Arc<EventFd>>,
    /// Injected frames for which there was no room.
    pub down_full: AtomicU64,
}

/// Punted frames of one reason that wait for a controller.
#[derive(Debug)]
pub struct PuntBox {
    /// The reason, and its name.
    pub reason: (Reason, &'static str),
    waiting: Mutex<Queue<Raised>>,
    /// Set when something is put into an empty box.
    bell: Arc<EventFd>,
}

/// A punted frame on its way to a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The worker's number.
    pub worker: u16,
    /// The port at which it came in.
    pub port: u8,
    /// What the function knows of it.
    pub context: Context,
    /// When it was punted.
    pub at: Ticks,
    /// The frame as the function left it.
    pub frame: Bytes,
}

/// Frames in the order in which they came, with their bytes.
#[derive(Debug)]
struct Queue<T> {
    frames: VecDeque<T>,
    bytes: usize,
}

impl Exchange {
    /// The controller of a bell takes these reasons and no others from here on, in place of whoever
    /// took them before.
    pub fn take(
        &self,
        reasons: &[(Reason, &'static str)],
        bell: &Arc<EventFd>,
    ) -> Vec<Arc<PuntBox>> {
        let own = reasons.iter().map(|&reason| {
            let bell = Arc::clone(bell);
            Arc::new(PuntBox { reason, waiting: Mutex::default(), bell })
        });
        let own: Vec<_> = own.collect();
        let mut boxes = locked(&self.boxes);
        boxes.retain(|one| {
            !Arc::ptr_eq(&one.bell, bell)
                && reasons.iter().all(|(reason, _)| *reason != one.reason.0)
        });
        boxes.extend(own.iter().cloned());
        own
    }

    /// Returns the box of a reason; `None` where no controller takes it.
    pub fn box_of(&self, reason: Reason) -> Option<Arc<PuntBox>> {
        locked(&self.boxes).iter().find(|one| one.reason.0 == reason).cloned()
    }

    /// What is injected from here on wakes the thread of the host by this.
    pub fn wakes(&self, host: &Arc<EventFd>) {
        let _ = self.host.set(Arc::clone(host));
    }

    /// A controller wants a frame sent.
    pub fn inject(&self, injection: Injection) {
        let (mut down, len) = (locked(&self.down), injection.frame.len());
        match down.put(len, || injection) {
            // A counter at its end wakes as well.
            Some(true) => drop(self.host.get().map(|host| host.write(1))),
            Some(false) => {}
            None => drop(self.down_full.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Takes the next frame that a controller wants sent.
    pub fn injected(&self) -> Option<Injection> {
        locked(&self.down).next(|one| one.frame.len())
    }

    /// Returns whether a frame waits to be sent.
    pub fn has_injected(&self) -> bool {
        !locked(&self.down).frames.is_empty()
    }
}

impl PuntBox {
    /// Puts a frame in; false if there is no room for it.
    pub fn put(&self, worker: u16, punted: &Punted<'_>) -> bool {
        let Punted { port, context, at, frame, .. } = *punted;
        let raised = || {
            let frame = Bytes::copy_from_slice(frame);
            Raised { worker, port: port.0, context, at, frame }
        };
        let put = locked(&self.waiting).put(frame.len(), raised);
        if put == Some(true) {
            let _ = self.bell.write(1);
        }
        put.is_some()
    }

    /// Takes the next frame out.
    pub fn next(&self) -> Option<Raised> {
        locked(&self.waiting).next(|one| one.frame.len())
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { frames: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Queue<T> {
    /// Puts a frame of a length in; whether it is the first one, or `None` if there is no room.
    /// It is made only if there is: a flood costs no copies.
    fn put(&mut self, len: usize, frame: impl FnOnce() -> T) -> Option<bool> {
        if self.bytes + len > BYTES || self.frames.len() == FRAMES {
            return None;
        }
        self.bytes += len;
        self.frames.push_back(frame());
        Some(self.frames.len() == 1)
    }

    fn next(&mut self, len: impl Fn(&T) -> usize) -> Option<T> {
        let frame = self.frames.pop_front()?;
        self.bytes -= len(&frame);
        Some(frame)
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of frames that wait in a box, or to be sent.
const BYTES: usize = 4 << 20;

/// Frames that wait in a box, or to be sent.
const FRAMES: usize = 16_384;

#[cfg(test)]
mod tests {
    use nix::sys::eventfd::EfdFlags;
    use packet::PortId;

    use super::*;

    fn bell() -> Arc<EventFd> {
        Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK).expect("a counter"))
    }

    fn punted(reason: u8, frame: &[u8]) -> Punted<'_> {
        let context = Context { session: 7, ..Context::default() };
        Punted { reason: Reason(reason), port: PortId(1), at: 9, context, frame }
    }

    #[test]
    fn each_reason_has_a_box_and_a_flood_of_one_takes_nothing_from_another() {
        let (exchange, bell) = (Exchange::default(), bell());
        let taken = exchange.take(&[(Reason(2), "one"), (Reason(5), "two")], &bell);
        assert!(exchange.box_of(Reason(3)).is_none());
        let [one, two] = [2, 5].map(|reason| exchange.box_of(Reason(reason)).expect("a box"));
        let frame = vec![3; 1500];
        let room = (0..).take_while(|_| one.put(4, &punted(2, &frame))).count();
        assert_eq!(room, BYTES / 1500);
        assert!(two.put(4, &punted(5, &[1, 2])));
        // Each box rang once.
        assert_eq!(bell.read(), Ok(2));
        let context = Context { session: 7, ..Context::default() };
        let raised =
            Raised { worker: 4, port: 1, context, at: 9, frame: Bytes::from_static(&[1, 2]) };
        assert_eq!((taken[1].next(), taken[1].next()), (Some(raised), None));
        assert!(taken[0].next().is_some() && one.put(4, &punted(2, &frame)));
        let small = (0..).take_while(|_| two.put(4, &punted(5, &[]))).count();
        assert_eq!(small, FRAMES);
    }

    #[test]
    fn what_has_no_room_is_not_made() {
        let mut queue = Queue::default();
        assert_eq!(queue.put(BYTES, || 1), Some(true));
        assert_eq!(queue.put(1, || panic!("it is made")), None);
    }

    #[test]
    fn one_that_begins_again_takes_its_reasons_over_with_empty_boxes() {
        let (exchange, bell) = (Exchange::default(), bell());
        let before = exchange.take(&[(Reason(2), "one")], &bell);
        assert!(before[0].put(0, &punted(2, &[1])));
        let now = exchange.take(&[(Reason(2), "one")], &bell);
        assert!(exchange.box_of(Reason(2)).expect("a box").put(0, &punted(2, &[2])));
        let frame = |of: &Arc<PuntBox>| of.next().map(|raised| raised.frame);
        assert_eq!(frame(&now[0]), Some(Bytes::from_static(&[2])));
        assert_eq!((frame(&now[0]), frame(&before[0])), (None, Some(Bytes::from_static(&[1]))));
    }

    #[test]
    fn what_is_injected_comes_out_in_order_and_wakes_once() {
        let (exchange, host) = (Exchange::default(), bell());
        exchange.wakes(&host);
        let injection = |frame| Injection { interface: 3, frame: Bytes::from_static(frame) };
        exchange.inject(injection(&[1]));
        exchange.inject(injection(&[2]));
        assert_eq!(host.read(), Ok(1));
        assert!(exchange.has_injected());
        assert_eq!(exchange.injected(), Some(injection(&[1])));
        assert_eq!(exchange.injected(), Some(injection(&[2])));
        assert_eq!((exchange.injected(), exchange.has_injected()), (None, false));
        for _ in 0..=FRAMES {
            exchange.inject(injection(&[]));
        }
        assert_eq!(exchange.down_full.load(Ordering::Relaxed), 1);
    }
}
