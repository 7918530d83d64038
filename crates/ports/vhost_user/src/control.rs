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

/// Owner of the control thread; when it is dropped, it ends the thread and waits for its end.
#[derive(Debug)]
pub struct Owner {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Request to the control thread to end.
#[derive(Debug)]
pub struct Stop {
    set: AtomicBool,
    /// Wakes a thread that polls.
    event: OwnedFd,
    /// Connection that is shut down to wake a thread that reads from it.
    connection: Mutex<Option<UnixStream>>,
}

impl Owner {
    /// Starts the control thread.
    ///
    /// # Errors
    /// When the kernel provides no thread or no eventfd.
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
    /// Returns true if the thread must end.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Returns a descriptor that becomes readable when the thread must end.
    pub fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Sets the connection whose read must end with the thread; `None` removes it.
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

/// Status that the control thread publishes.
#[derive(Debug)]
pub struct Status {
    known: Mutex<Known>,
    counters: Vec<Arc<QueueCounters>>,
    /// Facts that do not change.
    facts: Vec<(&'static str, String)>,
}

#[derive(Debug)]
struct Known {
    link: Link,
    facts: Vec<(&'static str, String)>,
}

impl Status {
    /// Creates the status of a port that has just been opened.
    pub fn new(
        counters: Vec<Arc<QueueCounters>>,
        facts: Vec<(&'static str, String)>,
    ) -> Arc<Status> {
        let link = Link::Down(NO_PEER.to_owned());
        Arc::new(Status { known: Mutex::new(Known { link, facts: Vec::new() }), counters, facts })
    }

    /// Sets the state of the link.
    pub fn set_link(&self, link: Link) {
        lock(&self.known).link = link;
    }

    /// Adds or changes a fact.
    pub fn set_fact(&self, name: &'static str, value: impl Into<String>) {
        let facts = &mut lock(&self.known).facts;
        match facts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value.into(),
            None => facts.push((name, value.into())),
        }
    }

    /// Records the peer.
    pub fn set_peer(&self, stream: &UnixStream) {
        if let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) {
            self.set_fact("peer-pid", peer.pid.as_raw_nonzero().to_string());
        }
    }

    /// Sets the link down because there is no peer.
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

/// Locks a mutex, even after a panic: values are never half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reason for which the link of most ports is down at first.
pub const NO_PEER: &str = "no peer has connected";
