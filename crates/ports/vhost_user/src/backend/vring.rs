//! One ring of the driver, as its messages describe it, and whether a worker has it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::device::{DeviceRing, Terms};
use crate::drops::Broken;
use crate::exchange::Lender;
use crate::features::{EVENT_IDX, INDIRECT_DESC, Offloads};
use crate::header::Header;
use crate::layout::{Addresses, Layout, LayoutError};
use crate::memory::Memory;
use crate::queue::Stops;

/// A ring of the driver.
pub struct Vring {
    lender: Lender<DeviceRing>,
    size: u32,
    base: u16,
    at: Option<Addresses>,
    /// True from the message with the kick descriptor until the message that requests the base.
    started: bool,
    enabled: bool,
    call: Option<Arc<File>>,
    error: Option<Arc<File>>,
}

/// Error of a ring that is ready but cannot be lent.
#[derive(Debug, thiserror::Error)]
pub enum RefusedRing {
    /// The driver's description of the ring is invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The worker has too many unread commands.
    #[error("its worker does not poll")]
    Worker,
}

impl Vring {
    /// Creates a ring without a driver.
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

    /// Resets the driver's settings; the ring must have been recalled.
    pub fn forget(&mut self) {
        (self.size, self.base, self.at) = (0, 0, None);
        (self.started, self.enabled) = (false, false);
        (self.call, self.error) = (None, None);
    }

    /// Returns true if a worker has the ring.
    pub fn is_lent(&self) -> bool {
        self.lender.is_lent()
    }

    /// Recalls the ring; returns the reason if it was stopped.
    pub fn recall(&mut self) -> Option<Broken> {
        if !self.lender.is_lent() {
            return None;
        }
        let ring = self.lender.recall(PATIENCE)?;
        self.base = ring.next();
        ring.broken()
    }

    /// Lends the ring if it is ready and not lent, and recalls it if it is no longer ready.
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
            receives: Offloads::to_device(features),
            sends: Offloads::to_driver(features),
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

    /// Sets the number of descriptors.
    pub fn set_size(&mut self, size: u32) {
        self.recall();
        self.size = size;
    }

    /// Sets the addresses of the ring's parts.
    pub fn set_addresses(&mut self, at: Addresses) {
        self.recall();
        self.at = Some(at);
    }

    /// Sets the index of the next buffer according to the driver; the ring's own memory takes
    /// precedence.
    pub fn set_base(&mut self, base: u16) {
        self.recall();
        self.base = base;
    }

    /// Starts the ring.
    pub fn start(&mut self) {
        self.recall();
        self.started = true;
    }

    /// Stops the ring; returns the index of the next buffer.
    pub fn stop(&mut self) -> u16 {
        self.recall();
        self.started = false;
        self.base
    }

    /// Enables or disables the ring for a worker.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Sets the descriptor by which the driver is notified; returns false if it is not usable.
    pub fn set_call(&mut self, call: Option<File>) -> bool {
        self.recall();
        let usable = call.as_ref().is_none_or(is_event_counter);
        self.call = call.filter(|_| usable).map(Arc::new);
        usable
    }

    /// Sets the descriptor by which a stop of the ring is reported; returns false if it is not
    /// usable.
    pub fn set_error(&mut self, error: Option<File>) -> bool {
        self.recall();
        let usable = error.as_ref().is_none_or(is_event_counter);
        self.error = error.filter(|_| usable).map(Arc::new);
        usable
    }
}

/// Returns true if a worker can write to the descriptor without being blocked: it is an eventfd,
/// made non-blocking here.
fn is_event_counter(file: &File) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let is_one = fs::read_link(path).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventfd]");
    let flags = fcntl_getfl(file).map(|flags| flags | OFlags::NONBLOCK);
    is_one && flags.and_then(|flags| fcntl_setfl(file, flags)).is_ok()
}

/// Time limit for a worker to return a ring; a polling worker needs the time of a burst.
const PATIENCE: Duration = Duration::from_secs(1);
