//! Sending: a burst of frames with one system call.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use engine::QueueCounters;
use libc::{iovec, mmsghdr};
use packet::{Batch, Slot};

use crate::config::AfPacketConfig;
use crate::drops::{DEVICE_FULL, LINK_DOWN, REFUSED, SENT_TOO_LONG, SENT_TOO_SHORT};
use crate::sys;

/// Transmit side of a queue.
pub(crate) struct Sender {
    socket: OwnedFd,
    places: Vec<iovec>,
    messages: Vec<mmsghdr>,
}

// SAFETY: the pointers in it are written anew for each call and mean nothing between calls.
unsafe impl Send for Sender {}

impl Sender {
    /// Creates a sender to the interface of this number.
    pub(crate) fn new(config: &AfPacketConfig, index: i32) -> io::Result<Sender> {
        let socket = sys::packet_socket()?;
        if config.qdisc_bypass {
            sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        }
        // A wish, which needs CAP_NET_ADMIN: with less room, slow devices refuse earlier.
        let room = SEND_BUFFER_BYTES;
        let _ = sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room);
        sys::bind(&socket, index, 0)?;
        let place = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: all zeroes is a message without address and data.
        let message: mmsghdr = unsafe { zeroed() };
        Ok(Sender { socket, places: vec![place; BURST], messages: vec![message; BURST] })
    }

    /// Sends frames in order, and counts sent and unsent frames; returns the number of sent frames.
    pub(crate) fn send(
        &mut self,
        batch: &Batch,
        slots: &[Slot],
        counters: &QueueCounters,
    ) -> usize {
        let (mut rest, mut sent) = (slots, 0);
        while !rest.is_empty() {
            let burst = &rest[..rest.len().min(BURST)];
            match self.send_burst(batch, burst) {
                Ok(count) => {
                    let bytes = burst[..count].iter().map(|slot| batch.frame_len(*slot)).sum();
                    counters.sent(count, bytes);
                    sent += count;
                    rest = &rest[count..];
                }
                Err(error) => {
                    // The first one is what the kernel did not want.
                    let reason = reason(&error);
                    let hopeless = reason == LINK_DOWN || error.kind() == io::ErrorKind::WouldBlock;
                    let lost = if hopeless { rest.len() } else { 1 };
                    counters.dropped(reason, lost as u64);
                    rest = &rest[lost..];
                }
            }
        }
        sent
    }

    /// Sends at most [`BURST`] frames with one system call; returns the number of sent frames, at
    /// least one.
    fn send_burst(&mut self, batch: &Batch, burst: &[Slot]) -> io::Result<usize> {
        for ((slot, place), message) in burst.iter().zip(&mut self.places).zip(&mut self.messages) {
            let frame = batch.frame(*slot);
            // The kernel only reads it.
            *place = iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = place;
            message.msg_hdr.msg_iovlen = 1;
        }
        let (fd, count) = (self.socket.as_raw_fd(), burst.len().min(BURST));
        let start = self.messages.as_mut_ptr();
        // SAFETY: `count` messages, each with one place within a frame of the batch, all alive.
        let sent = unsafe { libc::sendmmsg(fd, start, count as u32, 0) };
        match usize::try_from(sent) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(sent) => Ok(sent),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

/// Returns the drop reason of a refused frame.
fn reason(error: &io::Error) -> usize {
    match error.raw_os_error() {
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => LINK_DOWN,
        Some(libc::EMSGSIZE) => SENT_TOO_LONG,
        // Less than a header.
        Some(libc::EINVAL) => SENT_TOO_SHORT,
        Some(libc::ENOBUFS | libc::EAGAIN) | None => DEVICE_FULL,
        Some(_) => REFUSED,
    }
}

/// Number of frames per system call.
const BURST: usize = 64;
const SEND_BUFFER_BYTES: i32 = 4 << 20;
