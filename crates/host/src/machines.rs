//! Machines without commands and reports, as they are beside functions, on threads that nobody
//! waits for.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use protocol_kit::{Companion, Input, Machine, Output, Time};

use crate::error::SocketError;
use crate::host::Host;

/// Machines that are driven, each on a thread. Dropping them ends them and closes their sockets.
#[derive(Default)]
pub struct Machines {
    stops: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Machines {
    /// Drives machines, and tells what goes wrong with their sockets.
    ///
    /// # Errors
    /// When the kernel has no thread or no room for one more file.
    pub fn start(
        machines: Vec<Companion>,
        tell: impl Fn(&SocketError) + Clone + Send + 'static,
    ) -> io::Result<Machines> {
        let mut all = Machines::default();
        for machine in machines {
            let (host, stops, tell) =
                (Host::new(Driven(machine))?, all.stops.clone(), tell.clone());
            let thread = thread::Builder::new().name("host".to_owned());
            all.threads.push(thread.spawn(move || drive(host, &stops, tell))?);
        }
        Ok(all)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It panics only with a defect, which is told already.
            let _ = thread.join();
        }
    }
}

fn drive(mut host: Host<Driven>, stops: &AtomicBool, tell: impl Fn(&SocketError)) {
    while !stops.load(Ordering::Relaxed) {
        // A kernel that cannot wait for files has none of them left.
        if host.turn(PATIENCE).is_err() {
            thread::park_timeout(PATIENCE);
        }
        host.take_failures().iter().for_each(&tell);
    }
}

/// A machine behind a pointer.
struct Driven(Companion);

impl Machine for Driven {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        self.0.input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        self.0.poll(now)
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

/// How soon it is seen that machines are to end.
const PATIENCE: Duration = Duration::from_millis(50);
