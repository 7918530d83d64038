//! One ring of the driver, as its messages describe it, and whether a worker has it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::device::{DeviceRing, Terms};
use crate::drops::Broken;
use crate::exchange::Lender;
use crate::features::{EVENT_IDX, INDIRECT_DESC};
use crate::header::Header;
use crate::layout::{Addresses, Layout, LayoutError};
use crate::memory::Memory;
use crate::queue::Stops;

/// One ring of the driver.
pub struct Vring {
    lender: Lender<DeviceRing>,
    size: u32,
    base: u16,
    at: Option<Addresses>,
    /// Begins with the message that brings a way to kick, ends with the one that asks for the base.
    started: bool,
    enabled: bool,
    call: Option<Arc<File>>,
    error: Option<Arc<File>>,
}

/// A ring that is ready and cannot be lent.
#[derive(Debug, thiserror::Error)]
pub enum RefusedRing {
    /// As the driver describes it.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The worker has left too much unread.
    #[error("its worker does not poll")]
    Worker,
}

impl Vring {
    /// Of no driver yet.
    pub fn new(lender: Lender<DeviceRing>) -> Vring {
        Vring {
            lender,
            size: 0,
            base: 0,
            at: None,
            started: false,
            enabled: false,
            call: None,
            error: None,
        }
    }

    /// Forgets the driver; the ring is back.
    pub fn forget(&mut self) {
        (self.size, self.base, self.at) = (0, 0, None);
        (self.started, self.enabled) = (false, false);
        (self.call, self.error) = (None, None);
    }

    /// Whether a worker has it.
    pub fn is_lent(&self) -> bool {
        self.lender.is_lent()
    }

    /// Has the ring back; tells why it was stopped, if it was.
    pub fn recall(&mut self) -> Option<Broken> {
        if !self.lender.is_lent() {
            return None;
        }
        let ring = self.lender.recall(PATIENCE)?;
        self.base = ring.next();
        ring.broken()
    }

    /// Lends the ring if it is ready and at home, has it back if it is not ready any more.
    ///
    /// # Errors
    /// When it is ready and cannot be lent.
    pub fn update(
        &mut self,
        memory: Option<&Arc<Memory>>,
        (features, frame_bytes_max): (u64, usize),
    ) -> Result<(), RefusedRing> {
        let (Some(at), Some(memory)) = (self.at, memory) else { return Ok(()) };
        if !self.started || !self.enabled {
            self.recall();
            return Ok(());
        }
        if self.is_lent() {
            return Ok(());
        }
        let layout = Layout::new(memory, self.size, at)?;
        let terms = Terms {
            header: Header::new(features),
            event_index: features & EVENT_IDX != 0,
            indirect: features & INDIRECT_DESC != 0,
            call: self.call.clone(),
            error: self.error.clone(),
            frame_bytes_max,
        };
        let ring = Box::new(DeviceRing::new(layout, terms));
        self.base = ring.next();
        self.lender.lend(ring).map_err(|_| RefusedRing::Worker)
    }

    /// The number of descriptors.
    pub fn set_size(&mut self, size: u32) {
        self.recall();
        self.size = size;
    }

    /// Where its parts are.
    pub fn set_addresses(&mut self, at: Addresses) {
        self.recall();
        self.at = Some(at);
    }

    /// The buffer that comes next, as the driver remembers it; the ring's own memory decides.
    pub fn set_base(&mut self, base: u16) {
        self.recall();
        self.base = base;
    }

    /// Lets it begin.
    pub fn start(&mut self) {
        self.recall();
        self.started = true;
    }

    /// Ends it; gives the buffer that would have come next.
    pub fn stop(&mut self) -> u16 {
        self.recall();
        self.started = false;
        self.base
    }

    /// Lets a worker have it, or not.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// How to wake the driver.
    pub fn set_call(&mut self, call: Option<File>) -> bool {
        self.recall();
        let usable = call.as_ref().is_none_or(is_event_counter);
        self.call = call.filter(|_| usable).map(Arc::new);
        usable
    }

    /// How to tell that the ring was stopped.
    pub fn set_error(&mut self, error: Option<File>) -> bool {
        self.recall();
        let usable = error.as_ref().is_none_or(is_event_counter);
        self.error = error.filter(|_| usable).map(Arc::new);
        usable
    }
}

/// Whether a worker may write to it without being kept: an event counter, made not to block.
fn is_event_counter(file: &File) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let is_one = fs::read_link(path).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventfd]");
    let flags = fcntl_getfl(file).map(|flags| flags | OFlags::NONBLOCK);
    is_one && flags.and_then(|flags| fcntl_setfl(file, flags)).is_ok()
}

/// How long a worker may take to let go of a ring. One that polls takes a burst.
const PATIENCE: Duration = Duration::from_secs(1);
