//! A worker with its thread, and how its answers are waited for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{Done, Idle, Order, Plane, Port, Supervisor, Worker, WorkerHandle};
use functions::{AnyUpdate, Running};
use machine::cpu::pin_current_thread;

use crate::error::RunError;
use crate::unit::{Launch, Refused};

/// A worker with its thread.
pub(crate) struct Member {
    pub(crate) core: usize,
    pub(crate) pinned: bool,
    pub(crate) handle: WorkerHandle<AnyUpdate>,
    pub(crate) supervisor: Supervisor<Box<dyn Running>>,
    pub(crate) thread: Option<JoinHandle<()>>,
    /// The other end of its plane, until somebody takes it.
    pub(crate) plane: Option<Plane>,
}

impl Member {
    pub(crate) fn start(
        function: Box<dyn Running>,
        queues: Vec<Box<dyn Port>>,
        core: usize,
        launch: &Launch,
        stop: &Arc<AtomicBool>,
    ) -> Result<Member, RunError> {
        let no_memory = |error| RunError::setup(format!("no memory for a batch: {error}"), "");
        let (mut worker, handle) =
            Worker::new(function, queues, launch.batch, launch.room).map_err(no_memory)?;
        let supervisor = worker.supervise();
        let plane = launch.joining.as_ref().map(|joining| joining.join(&mut worker));
        let (stop, idle) = (Arc::clone(stop), Idle::from(launch.rest));
        let (tell, told) = mpsc::sync_channel(1);
        let body = move || {
            let _ = tell.send(pin_current_thread(core));
            worker.run_resting(&stop, idle);
        };
        let thread =
            thread::Builder::new().name(format!("worker-{core}")).spawn(body).map_err(|error| {
                RunError::setup(format!("cannot create a thread for a worker: {error}"), "")
            })?;
        let pinned = told.recv().unwrap_or(false);
        if !pinned {
            tracing::warn!(core, "a worker could not be pinned to its core");
        }
        Ok(Member { core, pinned, handle, supervisor, thread: Some(thread), plane })
    }

    /// Sends changes to a worker, and wakes it if it sleeps.
    pub(crate) fn request(&mut self, mut updates: Vec<AnyUpdate>) -> Result<(), Refused> {
        let mut patience = Patience::new();
        if updates.is_empty() {
            return Ok(());
        }
        while let Err(back) = self.handle.controller.request_bulk(updates) {
            updates = back;
            patience.wait(self.core, self.thread.as_ref())?;
        }
        self.wake();
        Ok(())
    }

    /// Ends the rest of a worker that sleeps while no packet comes.
    fn wake(&self) {
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }

    /// Sends an order to a worker and waits for the result.
    pub(crate) fn carry_out(
        &mut self,
        order: Order<Box<dyn Running>>,
    ) -> Result<Done<Box<dyn Running>>, Refused> {
        self.supervisor.order(order).map_err(|_| silent(self.core))?;
        self.wake();
        let mut patience = Patience::new();
        loop {
            match self.supervisor.done() {
                Some(done) => return Ok(done),
                None => patience.wait(self.core, self.thread.as_ref())?,
            }
        }
    }

    /// Runs a closure on the worker's function and returns the result.
    pub(crate) fn look<T: Send + 'static>(
        &mut self,
        mut look: impl FnMut(&mut Box<dyn Running>) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let (tell, told) = mpsc::sync_channel(1);
        let look = move |function: &mut Box<dyn Running>| {
            let _ = tell.try_send(look(function));
        };
        self.carry_out(Order::Look(Box::new(look)))?;
        told.try_recv().map_err(|_| silent(self.core))
    }
}

/// A wait for a worker's answer, with a time limit.
pub(crate) struct Patience {
    since: Instant,
    turns: u32,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { since: Instant::now(), turns: 0 }
    }

    /// Waits for a moment; returns an error if the time limit is exceeded or the worker has ended.
    pub(crate) fn wait(
        &mut self,
        core: usize,
        thread: Option<&JoinHandle<()>>,
    ) -> Result<(), Refused> {
        self.turns += 1;
        if self.turns < 64 || self.since.elapsed() < SOON {
            thread::yield_now();
            return Ok(());
        }
        if self.since.elapsed() > PATIENCE || thread.is_none_or(JoinHandle::is_finished) {
            return Err(silent(core));
        }
        thread::park_timeout(Duration::from_micros(50));
        Ok(())
    }
}

pub(crate) fn silent(core: usize) -> Refused {
    Refused::new(format!("the worker on core {core} does not answer"), "see the log")
}

/// For how long a wait gives way and nothing else: a worker that sleeps needs about as long to
/// wake, and a parked thread as long again.
const SOON: Duration = Duration::from_micros(150);

/// Time limit for a worker's answer, much longer than the longest request takes.
const PATIENCE: Duration = Duration::from_secs(30);
