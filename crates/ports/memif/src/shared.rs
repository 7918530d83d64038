//! What control thread, queues and monitor share.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::Link;
use rustix::event::EventfdFlags;

use crate::breach::{Breach, Breaches};
use crate::mailbox::Mailbox;

/// State shared by the control thread, the queues and the monitor; see the description of the
/// module.
#[derive(Debug)]
pub struct Shared {
    /// One mailbox per queue.
    pub mailboxes: Vec<Mailbox>,
    /// Wakes the control thread.
    pub wake: Wake,
    /// True when the control thread must end.
    pub stop: AtomicBool,
    /// Number of ended connections by reason.
    pub breaches: Breaches,
    /// Number of connections so far.
    pub connections: AtomicU64,
    link: Mutex<Link>,
}

impl Shared {
    /// Creates the state for this number of queues.
    ///
    /// # Errors
    /// When the kernel provides no eventfd.
    pub fn new(queues: usize) -> io::Result<Shared> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Shared {
            mailboxes: (0..queues).map(|_| Mailbox::default()).collect(),
            wake: Wake { event: rustix::event::eventfd(0, flags)? },
            stop: AtomicBool::new(false),
            breaches: Breaches::default(),
            connections: AtomicU64::new(0),
            link: Mutex::new(Link::Down("no peer has connected".to_owned())),
        })
    }

    /// Returns the state of the link.
    pub fn link(&self) -> Link {
        self.link.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    /// Records that a connection is up.
    pub fn set_up(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        *self.link.lock().unwrap_or_else(|broken| broken.into_inner()) = Link::Up;
    }

    /// Records that there is no connection, with the reason.
    pub fn set_down(&self, why: &str) {
        let down = Link::Down(why.to_owned());
        *self.link.lock().unwrap_or_else(|broken| broken.into_inner()) = down;
    }

    /// Releases rings that queues have returned; returns true if all queues have seen the last
    /// offer.
    pub fn clear(&self) -> bool {
        let behind = self.mailboxes.iter().filter(|mailbox| !mailbox.clear()).count();
        behind == 0
    }

    /// Returns a queue's complaint about the peer.
    pub fn complaint(&self) -> Option<Breach> {
        self.mailboxes.iter().find_map(Mailbox::complaint)
    }
}

/// An eventfd that wakes the control thread.
#[derive(Debug)]
pub struct Wake {
    /// Readable when the thread must check its state.
    pub event: OwnedFd,
}

impl Wake {
    /// Wakes the control thread.
    pub fn wake(&self) {
        // Full means that it will wake anyway.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Resets the event.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}
