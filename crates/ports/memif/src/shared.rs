//! What control thread, queues and monitor share.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::Link;
use rustix::event::EventfdFlags;

use crate::breach::{Breach, Breaches};
use crate::mailbox::Mailbox;

/// See the module's text.
#[derive(Debug)]
pub struct Shared {
    /// One for each queue.
    pub mailboxes: Vec<Mailbox>,
    /// Wakes the control thread.
    pub wake: Wake,
    /// The control thread is to end.
    pub stop: AtomicBool,
    /// How connections ended.
    pub breaches: Breaches,
    /// How many connections there were.
    pub connections: AtomicU64,
    link: Mutex<Link>,
}

impl Shared {
    /// For so many queues.
    ///
    /// # Errors
    /// When the kernel gives no eventfd.
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

    /// Whether frames can pass.
    pub fn link(&self) -> Link {
        self.link.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    /// A connection was made.
    pub fn set_up(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        *self.link.lock().unwrap_or_else(|broken| broken.into_inner()) = Link::Up;
    }

    /// There is no connection, for this reason.
    pub fn set_down(&self, why: &str) {
        let down = Link::Down(why.to_owned());
        *self.link.lock().unwrap_or_else(|broken| broken.into_inner()) = down;
    }

    /// Lets go of rings that queues have put away; tells whether all queues follow.
    pub fn clear(&self) -> bool {
        let behind = self.mailboxes.iter().filter(|mailbox| !mailbox.clear()).count();
        behind == 0
    }

    /// What a queue has against the peer.
    pub fn complaint(&self) -> Option<Breach> {
        self.mailboxes.iter().find_map(Mailbox::complaint)
    }
}

/// An eventfd of our own.
#[derive(Debug)]
pub struct Wake {
    /// Readable when the thread is to look around.
    pub event: OwnedFd,
}

impl Wake {
    /// Wakes the control thread.
    pub fn wake(&self) {
        // Full means that it will wake anyway.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Until the next time.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}
