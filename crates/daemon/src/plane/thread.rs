//! The thread of the host's interfaces: when it works, when it sleeps, and what becomes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use engine::Plane;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;

use super::carrier::Carrier;
use super::counts::{Watch, add};
use super::interface::Interface;
use super::opened::Opened;
use crate::board::Board;
use crate::error::RunError;
use crate::exchange::Exchange;

/// The running thread; dropping it ends it and removes the interfaces.
pub(crate) struct HostThread {
    /// Reads its counters.
    pub watch: Watch,
    alarm: Arc<EventFd>,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<()>>,
}

/// What is asked of the thread.
#[derive(Debug, Default)]
struct Orders {
    stop: AtomicBool,
    /// A test asks for a panic.
    #[cfg(test)]
    panic: AtomicBool,
}

impl HostThread {
    /// Starts the thread with the planes of all workers, the first one first, and that one's
    /// thread; what workers tell goes to the board, and what controllers take of them to the
    /// exchange.
    ///
    /// # Errors
    /// When a thread is not available.
    pub fn start(
        opened: Opened,
        planes: Vec<Plane>,
        worker: Option<Thread>,
        (board, exchange): (&Arc<Board>, &Arc<Exchange>),
    ) -> Result<HostThread, RunError> {
        let Opened { interfaces, joining, names } = opened;
        let failed = |error: std::io::Error| {
            RunError::setup(format!("no thread for the host's interfaces: {error}"), "")
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.map_err(|error| failed(error.into()))?;
        let alarm = joining.alarm;
        epoll.add(&*alarm, event()).map_err(|error| failed(error.into()))?;
        for interface in &interfaces {
            epoll.add(interface.file(), event()).map_err(|error| failed(error.into()))?;
        }
        let readers = planes.iter().map(Plane::reader).collect();
        let mut carrier = Carrier::new(planes, interfaces, Arc::clone(board), Arc::clone(exchange));
        exchange.wakes(&alarm);
        carrier.worker = worker;
        let counted = |one: &Interface| (one.name.clone(), Arc::clone(&one.counts));
        let watch = Watch {
            names,
            planes: readers,
            interfaces: carrier.interfaces.iter().map(counted).collect(),
            thread: Arc::clone(&carrier.counts),
        };
        let orders = Arc::new(Orders::default());
        let (asked, bell) = (Arc::clone(&orders), Arc::clone(&alarm));
        let body = move || {
            let mut told = Told::default();
            while !asked.stop.load(Ordering::Relaxed) {
                let work = || serve(&mut carrier, &epoll, &bell, &asked, &mut told);
                if catch_unwind(AssertUnwindSafe(work)).is_err() {
                    add(&carrier.counts.restarts, 1);
                    tracing::error!("the thread of the host's interfaces panicked, and goes on");
                    // So that one that panics at once does not take its core.
                    thread::park_timeout(PAUSE);
                }
            }
        };
        let thread = thread::Builder::new().name("host".into()).spawn(body).map_err(failed)?;
        Ok(HostThread { watch, alarm, orders, thread: Some(thread) })
    }

    /// Lets the thread panic once.
    #[cfg(test)]
    pub fn panic(&self) {
        self.orders.panic.store(true, Ordering::Relaxed);
        let _ = self.alarm.write(1);
    }
}

impl Drop for HostThread {
    fn drop(&mut self) {
        self.orders.stop.store(true, Ordering::Relaxed);
        let _ = self.alarm.write(1);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// When it was last said that turns are late, and of how many it was said.
#[derive(Default)]
struct Told {
    at: Option<Instant>,
    late: u64,
}

/// Carries frames until told to stop.
fn serve(carrier: &mut Carrier, epoll: &Epoll, alarm: &EventFd, orders: &Orders, told: &mut Told) {
    while !orders.stop.load(Ordering::Relaxed) {
        #[cfg(test)]
        assert!(!orders.panic.swap(false, Ordering::Relaxed), "a test asked for it");
        if carrier.turn() {
            tell_if_late(carrier, told);
            continue;
        }
        if !carrier.goes_to_rest() {
            continue;
        }
        let mut ready = [EpollEvent::empty(); READY_MAX];
        // An error is as good as an event: the next turn looks at everything.
        let _ = epoll.wait(&mut ready, EpollTimeout::from(SLEEP_MS_MAX));
        carrier.is_awake();
        let _ = alarm.read();
        for interface in carrier.interfaces.iter_mut().filter_map(|one| one.mend().then_some(one)) {
            tracing::warn!(name = interface.name, "a host interface was deleted, and made again");
            // Without it, the thread looks every second.
            let _ = epoll.add(interface.file(), event());
        }
    }
}

/// Edges: what is not taken in a turn is taken in the next one, before the thread sleeps.
fn event() -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0)
}

fn tell_if_late(carrier: &Carrier, told: &mut Told) {
    let late = carrier.counts.late.load(Ordering::Relaxed);
    if late > told.late && told.at.is_none_or(|at| at.elapsed() > TOLD_EVERY) {
        let turns = late - told.late;
        tracing::warn!(turns, "the thread of the host's interfaces lags behind");
        *told = Told { at: Some(Instant::now()), late };
    }
}

/// Shortest time between two lines of the log about late turns.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Pause after a panic.
const PAUSE: Duration = Duration::from_millis(10);

/// Events that are taken from the kernel at once.
const READY_MAX: usize = 64;

/// Longest sleep, in milliseconds: nothing hangs for ever.
const SLEEP_MS_MAX: u16 = 1000;
