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
    /// Attachment of the program to the interface.
    hold: Hold,
    /// True if the program runs in the driver.
    pub in_driver: bool,
    /// Why the program does not run in the driver, if that was tried.
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

    /// Directs the frames of a queue to a socket that is bound to it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), Refused> {
        bpf::set_socket(&self.sockets, queue, socket)
            .map_err(|error| Step::Insert(queue).refused(error))
    }

    /// Returns the counter of frames that were passed to the kernel.
    pub fn passed(&self) -> &Arc<OwnedFd> {
        &self.passed
    }

    /// Returns the type of attachment, for the record.
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

/// Attaches a program to an interface without one. It waits for a program that is being removed:
/// the program ends when the last copy of its descriptor is closed, and a process that is being
/// started has a copy for a moment.
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

/// Returns true if a driver refused for reasons that do not apply to the generic hook.
fn may_do_behind_driver(refused: &Refused) -> bool {
    let codes = [libc::EOPNOTSUPP, libc::EINVAL, libc::ERANGE, libc::ENOSPC, libc::E2BIG];
    refused.step == Step::Attach && codes.contains(&refused.code())
}

/// Time limit for another program's end.
const PATIENCE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(2);
