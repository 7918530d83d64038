//! The control thread: its beginning and end, and what others may know of it.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use engine::{Link, Monitor, PortCounts, QueueCounters};
use rustix::event::{EventfdFlags, eventfd};

/// Keeps the control thread running; ends it when dropped, and waits for its end.
#[derive(Debug)]
pub struct Owner {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// How the control thread is told to end.
#[derive(Debug)]
pub struct Stop {
    set: AtomicBool,
    /// Wakes who polls.
    event: OwnedFd,
    /// Shut down in order to wake who reads.
    connection: Mutex<Option<UnixStream>>,
}

impl Owner {
    /// Starts the control thread.
    ///
    /// # Errors
    /// When the kernel has no thread or no event counter.
    pub fn start(work: impl FnOnce(&Stop) + Send + 'static) -> io::Result<Owner> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let stop = Stop { set: AtomicBool::new(false), event, connection: Mutex::new(None) };
        let stop = Arc::new(stop);
        let for_thread = stop.clone();
        let thread =
            thread::Builder::new().name("vhost-user".into()).spawn(move || work(&for_thread))?;
        Ok(Owner { stop, thread: Some(thread) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.stop.set.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.stop.event, &1u64.to_ne_bytes());
        if let Some(connection) = &*lock(&self.stop.connection) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Whether it is time to end.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Readable from when it is time to end.
    pub fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Makes a connection known, so that reading from it ends when it is time; None forgets it.
    pub fn watch(&self, connection: Option<UnixStream>) {
        let mut watched = lock(&self.connection);
        if let Some(connection) = &connection
            && self.is_set()
        {
            let _ = connection.shutdown(Shutdown::Both);
        }
        *watched = connection;
    }
}

/// What the control thread makes known.
#[derive(Debug)]
pub struct Status {
    known: Mutex<Known>,
    counters: Vec<Arc<QueueCounters>>,
    /// That never change.
    facts: Vec<(&'static str, String)>,
}

#[derive(Debug)]
struct Known {
    link: Link,
    facts: Vec<(&'static str, String)>,
}

impl Status {
    /// Of a port that has just been opened.
    pub fn new(
        counters: Vec<Arc<QueueCounters>>,
        facts: Vec<(&'static str, String)>,
    ) -> Arc<Status> {
        let link = Link::Down(NO_PEER.to_owned());
        Arc::new(Status { known: Mutex::new(Known { link, facts: Vec::new() }), counters, facts })
    }

    /// Makes the link known.
    pub fn set_link(&self, link: Link) {
        lock(&self.known).link = link;
    }

    /// Makes a fact known, or changes it.
    pub fn set_fact(&self, name: &'static str, value: impl Into<String>) {
        let facts = &mut lock(&self.known).facts;
        match facts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value.into(),
            None => facts.push((name, value.into())),
        }
    }

    /// Tells who has connected.
    pub fn set_peer(&self, stream: &UnixStream) {
        if let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) {
            self.set_fact("peer-pid", peer.pid.as_raw_nonzero().to_string());
        }
    }

    /// The link is down because nobody is there.
    pub fn set_alone(&self, why: &str) {
        self.set_link(Link::Down(why.to_owned()));
    }
}

impl Monitor for Status {
    fn counts(&self) -> PortCounts {
        PortCounts::sum(&self.counters)
    }

    fn link(&self) -> Link {
        lock(&self.known).link.clone()
    }

    fn shares_rings(&self) -> bool {
        true
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let known = lock(&self.known);
        self.facts.iter().chain(&known.facts).cloned().collect()
    }
}

/// Nothing is left half done under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reason for which most ports begin down.
pub const NO_PEER: &str = "no peer has connected";
