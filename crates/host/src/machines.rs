//! Machines without commands and reports, as they are beside functions, on a thread that nobody
//! waits for.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use protocol_kit::{Companion, Several};

use crate::error::SocketError;
use crate::host::Host;
use crate::observer::Observer;
use crate::tls;

/// Machines that are driven together. Dropping them ends them and closes their sockets.
#[derive(Default)]
pub struct Machines {
    stops: Arc<AtomicBool>,
    /// None where there are no machines.
    thread: Option<JoinHandle<()>>,
}

impl Machines {
    /// Drives machines, which an observer sees by a name, and tells what goes wrong with their
    /// sockets.
    ///
    /// # Errors
    /// When the files by which streams are encrypted are of no use, or the kernel has no thread or
    /// no room for one more file.
    pub fn start(
        machines: Vec<Companion>,
        (observer, name): (&Arc<Observer>, &str),
        tell: impl FnMut(&SocketError) + Send + 'static,
    ) -> Result<Machines, SocketError> {
        if machines.is_empty() {
            return Ok(Machines::default());
        }
        for tls in machines.iter().filter_map(|machine| machine.tls()) {
            let what = || "streams of a machine".to_owned();
            tls::check(tls).map_err(|source| SocketError { what: what(), source })?;
        }
        let no_thread = |source| SocketError { what: "no thread for machines".to_owned(), source };
        let host = Host::new(Several::new(machines)).map_err(no_thread)?.seen_by(observer, name);
        let stops = Arc::<AtomicBool>::default();
        let asked = Arc::clone(&stops);
        let thread = thread::Builder::new().name("host".to_owned());
        let thread = thread.spawn(move || drive(host, &asked, tell)).map_err(no_thread)?;
        Ok(Machines { stops, thread: Some(thread) })
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics only with a defect, which is told already.
            let _ = thread.join();
        }
    }
}

fn drive(
    mut host: Host<Several<Infallible, Infallible>>,
    stops: &AtomicBool,
    mut tell: impl FnMut(&SocketError),
) {
    while !stops.load(Ordering::Relaxed) {
        // A kernel that cannot wait for files has none of them left.
        if host.turn(PATIENCE).is_err() {
            thread::park_timeout(PATIENCE);
        }
        host.take_failures().iter().for_each(&mut tell);
    }
}

/// How soon it is seen that machines are to end.
const PATIENCE: Duration = Duration::from_millis(50);
