//! Keeps the port at its interface: holds the program there, watches the link, and comes back when
//! the interface was deleted and made again.
//!
//! The keeper is a thread, because the network namespace of a thread is where it looks, and a
//! worker may run in another one; it waits for the kernel's news and uses no time otherwise. It
//! ends, and takes the program from the interface, when the last queue is dropped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{Link, PortError};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::attachment::Attachment;
use crate::config::{Config, ZeroCopy};
use crate::counts::KernelCounts;
use crate::ethtool;
use crate::explain::{Refused, Step};
use crate::mailbox::Mailbox;
use crate::netlink::{Interface, Netlink, News};
use crate::socket::{Socket, Wanted};

/// State shared by queues, keeper and monitor.
pub(crate) struct Shared {
    pub config: Config,
    pub chunk_bytes: u32,
    /// One mailbox per queue.
    pub mail: Vec<Mailbox>,
    pub kernel: KernelCounts,
    up: AtomicBool,
    link: Mutex<Link>,
    facts: Mutex<Vec<(&'static str, String)>>,
}

/// The thread that watches the interface, and the handle that ends it.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// An interface with the port's program and sockets.
struct Opened {
    attachment: Attachment,
    interface: Interface,
    sockets: Vec<Socket>,
}

impl Shared {
    /// Creates the shared state of this number of queues.
    pub fn new(config: Config, chunk_bytes: u32, queues: usize) -> Shared {
        Shared {
            config,
            chunk_bytes,
            mail: (0..queues).map(|_| Mailbox::default()).collect(),
            kernel: KernelCounts::default(),
            up: AtomicBool::new(false),
            link: Mutex::new(Link::Down("not open".into())),
            facts: Mutex::default(),
        }
    }

    /// Returns true if frames can pass.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Returns the state of the link, with a reason if it is down.
    pub fn link(&self) -> Link {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns facts about how the port runs, or ran before its interface was lost.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_link(&self, link: Link) {
        self.up.store(link == Link::Up, Ordering::Release);
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
    }

    fn see(&self, interface: &Interface) {
        let name = &self.config.interface;
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        let mtu = facts.iter_mut().find(|(name, _)| *name == MTU);
        mtu.into_iter().for_each(|(_, fact)| *fact = interface.mtu.to_string());
        drop(facts);
        self.set_link(match interface {
            Interface { is_up: false, .. } => {
                Link::Down(format!("{name} is administratively down"))
            }
            Interface { has_carrier: false, .. } => Link::Down(format!("{name} has no carrier")),
            _ => Link::Up,
        });
    }

    /// Opens the present interface.
    fn open(&self, interface: Interface) -> Result<Opened, Refused> {
        let Config { mode, first_queue, ring_frames, .. } = self.config;
        let end = first_queue + self.mail.len() as u32;
        let attachment = Attachment::new(mode, interface.index, end)?;
        let zero_copy = match self.config.zero_copy {
            ZeroCopy::Auto if !attachment.in_driver => ZeroCopy::No,
            wanted => wanted,
        };
        let has_begun = may_leave_checksums(&attachment, &self.config.interface);
        let mut sockets = Vec::new();
        for queue in first_queue..end {
            let chunk_bytes = self.chunk_bytes;
            let index = interface.index;
            let wanted = Wanted { index, queue, ring_frames, chunk_bytes, zero_copy, has_begun };
            let socket = open_when_free(wanted)?;
            attachment.insert(queue, socket.as_fd())?;
            sockets.push(socket);
        }
        let zero_copy = sockets.iter().all(Socket::is_zero_copy);
        let live = sockets.iter().map(Socket::handle).collect();
        self.kernel.follow(live, Arc::downgrade(attachment.passed()), zero_copy);
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) =
            self.describe(&attachment, (zero_copy, has_begun), interface.mtu);
        Ok(Opened { attachment, interface, sockets })
    }

    fn describe(
        &self,
        attachment: &Attachment,
        (zero_copy, has_begun): (bool, bool),
        mtu: u32,
    ) -> Vec<(&'static str, String)> {
        let Config { interface, first_queue, ring_frames, .. } = &self.config;
        let last = *first_queue as usize + self.mail.len() - 1;
        let of = ethtool::receive_queues(interface);
        let of = of.map_or(String::new(), |count| format!(" of {count}"));
        let queues = if last == *first_queue as usize {
            format!("{last}{of}")
        } else {
            format!("{first_queue}-{last}{of}")
        };
        let mode = if attachment.in_driver { "driver" } else { "generic" };
        let mut facts = vec![
            ("interface", interface.clone()),
            ("driver", ethtool::driver(interface).unwrap_or_else(|| "unknown".into())),
            ("mode", mode.into()),
            ("zero-copy", if zero_copy { "yes" } else { "no" }.into()),
            ("begun-checksums", if has_begun { "completed" } else { "none" }.into()),
            ("queues", queues),
            (MTU, mtu.to_string()),
            ("chunk-bytes", self.chunk_bytes.to_string()),
            ("ring-frames", ring_frames.to_string()),
            ("program-held-by", attachment.held_by().into()),
        ];
        facts.extend(attachment.fallback.clone().map(|why| ("driver-mode-refused", why)));
        facts
    }
}

/// Whether frames may come whose sender left the checksum to a card: those of this machine's kernel
/// or of another guest, by an interface that is none. What the program of XDP sees does not say so.
fn may_leave_checksums(attachment: &Attachment, interface: &str) -> bool {
    let driver = ethtool::driver(interface);
    !attachment.in_driver || driver.is_none_or(|driver| WITHOUT_CARD.contains(&driver.as_str()))
}

/// Opens a socket; an earlier socket may need a moment to release the queue.
fn open_when_free(wanted: Wanted) -> Result<Socket, Refused> {
    let start = Instant::now();
    loop {
        match Socket::open(wanted) {
            Err(refused) if refused.is_busy_queue() && start.elapsed() < PATIENCE => {
                thread::park_timeout(LOOK_AGAIN);
            }
            result => return result,
        }
    }
}

impl Keeper {
    /// Opens the port; returns the sockets of the queues in order, and the keeper.
    ///
    /// # Errors
    /// Why the interface cannot be used, and the remedy.
    pub fn start(shared: Shared) -> Result<(Vec<Socket>, Arc<Keeper>), PortError> {
        let name = shared.config.interface.clone();
        let explain = |refused: Refused| refused.explain(&name);
        let asked = |error: io::Error| Step::Ask.refused(error).explain(&name);
        let watch = Netlink::watching().map_err(asked)?;
        let ask = Netlink::open().map_err(asked)?;
        let absent = || Step::Ask.refused(io::Error::from_raw_os_error(libc::ENODEV));
        let interface = ask.interface(&name).map_err(asked)?;
        let interface = interface.ok_or_else(absent).map_err(explain)?;
        let Opened { attachment, interface, sockets } = shared.open(interface).map_err(explain)?;

        shared.see(&interface);
        let watched = |error: io::Error| Step::Watch.refused(error).explain(&name);
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| watched(error.into()))?;
        let stop = Arc::new(stop);
        let shared = Arc::new(shared);
        let watcher = Watcher {
            shared: shared.clone(),
            stop: stop.clone(),
            watch,
            ask,
            held: Some((attachment, interface.index)),
        };
        let thread = thread::Builder::new().name(format!("xdp-{name}"));
        let thread = thread.spawn(move || watcher.run()).map_err(watched)?;
        Ok((sockets, Arc::new(Keeper { shared, stop, thread: Some(thread) })))
    }

    /// Returns the shared state.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the watching thread.
struct Watcher {
    shared: Arc<Shared>,
    stop: Arc<OwnedFd>,
    watch: Netlink,
    ask: Netlink,
    /// The program, and the number of the interface to which it is attached.
    held: Option<(Attachment, u32)>,
}

impl Watcher {
    fn run(mut self) {
        // What changed while the port was opened is told by the news that wait already.
        while self.wait() {
            self.look();
        }
        self.shared.kernel.leave();
        self.shared.set_link(Link::Down("closed".into()));
    }

    /// Waits for a notification; returns false when the port is closed.
    fn wait(&self) -> bool {
        let mut both = [
            PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.watch.as_fd(), PollFlags::IN),
        ];
        // Without an interface the next try must not hang on news that may not come.
        let again = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AGAIN_ABSENT.subsec_nanos()) };
        let _ = poll(&mut both, self.held.is_none().then_some(&again));
        both[0].revents().is_empty()
    }

    fn look(&mut self) {
        let held = self.held.as_ref().map(|(_, index)| *index);
        let mut is_gone = false;
        self.watch.news(|news| is_gone |= held.is_some_and(|index| news == News::Gone(index)));
        let name = &self.shared.config.interface;
        let now = match self.ask.interface(name) {
            Ok(now) => now,
            Err(error) => return self.shared.set_link(Link::Down(error.to_string())),
        };
        let same = now.as_ref().filter(|now| held == Some(now.index) && !is_gone);
        if let Some(same) = same {
            return self.shared.see(same);
        }
        if self.held.take().is_some() {
            self.shared.kernel.leave();
        }
        match now {
            None => self.shared.set_link(Link::Down(format!("there is no interface {name}"))),
            Some(now) => self.reopen(now),
        }
    }

    fn reopen(&mut self, interface: Interface) {
        self.shared.mail.iter().for_each(Mailbox::clear);
        match self.shared.open(interface) {
            Ok(opened) => {
                let sockets = self.shared.mail.iter().zip(opened.sockets);
                sockets.for_each(|(mailbox, socket)| mailbox.put(socket));
                // Only now: who sees the link up finds the new socket.
                self.shared.see(&opened.interface);
                self.held = Some((opened.attachment, opened.interface.index));
            }
            Err(refused) => {
                let why = refused.explain(&self.shared.config.interface);
                self.shared.set_link(Link::Down(why.what));
            }
        }
    }
}

/// The fact that changes while the port is open.
const MTU: &str = "mtu-bytes";
/// Time limit for a queue to be released by an earlier socket.
const PATIENCE: Duration = Duration::from_secs(3);
/// Drivers that run the program of XDP in the driver, and have no card.
const WITHOUT_CARD: [&str; 6] = ["veth", "netkit", "tun", "virtio_net", "xennet", "vmxnet3"];
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOK_AGAIN_ABSENT: Duration = Duration::from_millis(200);
