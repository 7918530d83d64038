//! The way out of a socket: chunks are filled, described in the transmit ring, and come back by the
//! completion ring.
//!
//! The kernel is told of new frames by a system call where it asks for it (need-wakeup); a driver
//! that copies always asks, sends a part of the ring within the call, and answers `EBUSY` for each
//! frame that the device would not have. A frame counts as sent when the kernel has taken it from
//! the ring.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::xdp::{XdpDesc, XdpDescOptions};
use rustix::net::{SendFlags, send};

use crate::memory::Umem;
use crate::ring::{Consumer, Producer};

/// Transmit side of a socket.
pub(crate) struct Transmitter {
    fd: Arc<OwnedFd>,
    ring: Producer<XdpDesc>,
    completed: Consumer<u64>,
    /// Chunks that belong to this process.
    free: Vec<u64>,
    /// Position up to which frames were counted.
    settled: u32,
    /// Frames that the device refused and that are not counted as refused yet.
    refused: u32,
    zero_copy: bool,
}

/// Frames that left the ring since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Frames that the device accepted.
    pub sent: usize,
    /// Bytes of the accepted frames.
    pub sent_bytes: usize,
    /// Frames that the device refused.
    pub refused: usize,
}

impl Transmitter {
    /// Creates the transmit side with these chunks.
    pub fn new(
        fd: Arc<OwnedFd>,
        ring: Producer<XdpDesc>,
        completed: Consumer<u64>,
        free: Vec<u64>,
        zero_copy: bool,
    ) -> Transmitter {
        let settled = ring.head();
        Transmitter { fd, ring, completed, free, settled, refused: 0, zero_copy }
    }

    /// Copies a frame, of 1 byte to the size of a chunk, into the ring; returns false if the ring
    /// is full.
    #[inline(always)]
    pub fn push(&mut self, umem: &mut Umem, frame: &[u8]) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        let Some(chunk) = self.free.pop() else { return false };
        let options = XdpDescOptions::empty();
        let descriptor = XdpDesc { addr: chunk, len: frame.len() as u32, options };
        let fits = umem.write(chunk, frame) && self.ring.push(descriptor);
        if !fits {
            self.free.push(chunk);
        }
        fits
    }

    /// Makes the pushed frames visible to the kernel and has them sent; returns the frames that
    /// left the ring.
    pub fn flush(&mut self) -> Settled {
        self.ring.publish();
        // A call takes at least 16 frames, except when a frame is refused.
        let mut calls = self.waiting() / 16 + 2;
        while calls > 0 && self.waiting() > 0 && self.ring.needs_wakeup() {
            calls -= 1;
            match send(&self.fd, &[], SendFlags::DONTWAIT) {
                // With zero copy the call only starts the sending, and so it does here on success:
                // all there was is on its way.
                Ok(_) => break,
                Err(Errno::BUSY) if !self.zero_copy => {
                    self.refused += 1;
                    calls += 1;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The link is down or has no memory: what is in the ring waits there.
                Err(_) => break,
            }
        }
        self.settle()
    }

    /// Returns true if the ring has frames that the kernel has not read.
    #[inline(always)]
    pub fn is_waiting(&self) -> bool {
        self.settled != self.ring.head()
    }

    /// Returns the number of frames in the ring that the kernel has not read, or that were not seen
    /// as read.
    pub fn unsettled(&self) -> u32 {
        self.ring.head().wrapping_sub(self.settled)
    }

    fn waiting(&self) -> u32 {
        self.ring.head().wrapping_sub(self.ring.consumed())
    }

    /// Counts the frames that the kernel has read from the ring.
    fn settle(&mut self) -> Settled {
        let mut settled = Settled::default();
        let consumed = self.ring.consumed();
        while self.settled != consumed {
            let descriptor = self.ring.written(self.settled);
            if self.refused > 0 {
                self.refused -= 1;
                settled.refused += 1;
            } else {
                settled.sent += 1;
                settled.sent_bytes += descriptor.len as usize;
            }
            self.settled = self.settled.wrapping_add(1);
        }
        settled
    }

    /// Takes back the chunks of sent frames.
    fn reclaim(&mut self) {
        while let Some(chunk) = self.completed.next() {
            self.free.push(chunk);
        }
        self.completed.release();
    }
}
