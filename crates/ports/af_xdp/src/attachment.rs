//! The program on the interface, and the way it is held there.
//!
//! A BPF link ends with its descriptor, so a program that crashes leaves nothing behind. A kernel
//! before 5.9 has none; there the program is attached by netlink and detached when this is dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::bpf;
use crate::config::Mode;
use crate::explain::{Refused, Step};
use crate::netlink::Netlink;
use crate::program;

/// A program on an interface, with its maps.
pub(crate) struct Attachment {
    sockets: OwnedFd,
    passed: Arc<OwnedFd>,
    /// What keeps the program where it is.
    hold: Hold,
    /// Whether it runs in the driver.
    pub in_driver: bool,
    /// Why it does not, where it was tried.
    pub fallback: Option<String>,
}

enum Hold {
    Link { _link: OwnedFd },
    Netlink { index: u32, flags: u32 },
}

impl Attachment {
    /// Loads the program for queues below `queues` and attaches it.
    ///
    /// # Errors
    /// The step that the kernel refused.
    pub fn new(mode: Mode, index: u32, queues: u32) -> Result<Attachment, Refused> {
        let sockets = bpf::socket_map(queues).map_err(|error| Step::Maps.refused(error))?;
        let passed = bpf::count_map().map_err(|error| Step::Maps.refused(error))?;
        let program = program::redirect(sockets.as_fd(), passed.as_fd());
        let program = bpf::load(&program).map_err(|error| Step::Load.refused(error))?;
        let attach = |flags| hold(&program, index, flags);
        let (hold, in_driver, fallback) = match mode {
            Mode::Driver => (attach(bpf::IN_DRIVER)?, true, None),
            Mode::Generic => (attach(bpf::BEHIND_DRIVER)?, false, None),
            Mode::Auto => match attach(bpf::IN_DRIVER) {
                Ok(hold) => (hold, true, None),
                Err(refused) if may_do_behind_driver(&refused) => {
                    (attach(bpf::BEHIND_DRIVER)?, false, Some(refused.error.to_string()))
                }
                Err(refused) => return Err(refused),
            },
        };
        let passed = Arc::new(passed);
        Ok(Attachment { sockets, passed, hold, in_driver, fallback })
    }

    /// Sends the frames of a queue to a socket, which is bound to it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), Refused> {
        bpf::set_socket(&self.sockets, queue, socket)
            .map_err(|error| Step::Insert(queue).refused(error))
    }

    /// The count of frames that went on to the kernel.
    pub fn passed(&self) -> &Arc<OwnedFd> {
        &self.passed
    }

    /// How the program is held, for the record.
    pub fn held_by(&self) -> &'static str {
        match self.hold {
            Hold::Link { .. } => "BPF link",
            Hold::Netlink { .. } => "netlink",
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Hold::Netlink { index, flags } = self.hold {
            // An interface that is gone has no program either.
            let _ = Netlink::open().and_then(|netlink| netlink.detach(index, flags));
        }
    }
}

/// Puts a program where no other is. One that is on its way out is waited for: it goes when the last copy of
/// its descriptor does, and a process that is just being started has one for a moment.
fn hold(program: &OwnedFd, index: u32, flags: u32) -> Result<Hold, Refused> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match try_hold(program, index, flags) {
            Err(refused) if refused.code() == libc::EBUSY && Instant::now() < deadline => {
                thread::park_timeout(POLL);
            }
            held => return held,
        }
    }
}

fn try_hold(program: &OwnedFd, index: u32, flags: u32) -> Result<Hold, Refused> {
    let refused = |error: io::Error| Step::Attach.refused(error);
    match bpf::link(program, index, flags) {
        Ok(link) => Ok(Hold::Link { _link: link }),
        // The kernel knows no such links, or no such flags: the answer of the old way counts.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let netlink = Netlink::open().map_err(refused)?;
            netlink.attach(index, program.as_fd(), flags).map_err(refused)?;
            Ok(Hold::Netlink { index, flags })
        }
        Err(error) => Err(refused(error)),
    }
}

/// Whether a driver refused for reasons that do not hold behind it.
fn may_do_behind_driver(refused: &Refused) -> bool {
    let codes = [libc::EOPNOTSUPP, libc::EINVAL, libc::ERANGE, libc::ENOSPC, libc::E2BIG];
    refused.step == Step::Attach && codes.contains(&refused.code())
}

/// How long another program's end is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(2);
