//! What both directions have of a ring.

use vmm_sys_util::eventfd::EventFd;

use crate::drops::Broken;
use crate::features::Offloads;
use crate::header::Header;
use crate::layout::{Descriptor, Layout};

/// Negotiated features, and descriptors of a ring.
#[derive(Debug)]
pub struct Terms {
    /// Form of a frame's header.
    pub header: Header,
    /// What the device's frames may lack.
    pub receives: Offloads,
    /// What frames for the device may lack.
    pub sends: Offloads,
    /// True if notifications are by index instead of by flag.
    pub event_index: bool,
    /// Descriptor that notifies the device.
    pub kick: EventFd,
    /// Longest frame in bytes, without its header.
    pub frame_bytes_max: usize,
}

/// State of a ring in either direction: descriptor `n` always belongs to buffer `n`.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) layout: Layout,
    /// Address of the first buffer.
    pub(super) buffers: *mut u8,
    /// Guest address of the first buffer.
    pub(super) guest: u64,
    pub(super) stride: usize,
    /// True for each buffer that the device has.
    pub(super) given: Vec<bool>,
    /// Number of buffers that were returned.
    pub(super) used: u16,
    /// Number of buffers that were made available.
    pub(super) available: u16,
    pub(super) terms: Terms,
    pub(super) broken: Option<Broken>,
}

// SAFETY: the buffers are part of the memory in which the layout has its share; whoever has the
// ring may touch those that are not given.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn size(&self) -> u16 {
        self.layout.size()
    }

    /// Returns the address of a buffer.
    #[inline(always)]
    pub(super) fn buffer(&self, index: u16) -> *mut u8 {
        self.buffers.wrapping_add(usize::from(index) * self.stride)
    }

    #[inline(always)]
    pub(super) fn describe(&self, index: u16, len: usize, flags: u16) {
        self.describe_linked(index, len, (flags, 0));
    }

    /// Describes a buffer that continues in another one, if the flags say so.
    #[inline(always)]
    pub(super) fn describe_linked(&self, index: u16, len: usize, (flags, next): (u16, u16)) {
        let addr = self.guest + u64::from(index) * self.stride as u64;
        self.layout.set_descriptor(index, Descriptor { addr, len: len as u32, flags, next });
    }

    /// Makes a buffer available; the device sees it after [`Ring::publish`].
    #[inline(always)]
    pub(super) fn give(&mut self, index: u16) {
        self.given[usize::from(index)] = true;
        self.layout.set_available(self.available, index);
        self.available = self.available.wrapping_add(1);
    }

    /// Returns the number of buffers that the device has returned by now.
    #[inline(always)]
    pub(super) fn returned(&self) -> Result<u16, Broken> {
        let count = self.layout.used_index().wrapping_sub(self.used);
        let given = self.available.wrapping_sub(self.used);
        if count > given { Err(Broken::Index) } else { Ok(count) }
    }

    /// Takes the next returned buffer: its index, and the number of bytes according to the device.
    #[inline(always)]
    pub(super) fn take_back(&mut self) -> Result<(u16, u32), Broken> {
        let (id, written) = self.layout.used(self.used);
        match self.given.get_mut(id as usize) {
            Some(given) if *given => *given = false,
            _ => return Err(Broken::Head),
        }
        self.used = self.used.wrapping_add(1);
        Ok((id as u16, written))
    }

    /// Makes the buffers available since `old` visible to the device, and notifies it if requested.
    #[inline]
    pub(super) fn publish(&self, old: u16) {
        if self.available == old {
            return;
        }
        self.layout.publish_available(self.available);
        if self.layout.device_listens(self.terms.event_index, old, self.available) {
            // A counter that cannot be raised is high already.
            let _ = self.terms.kick.write(1);
        }
    }
}
