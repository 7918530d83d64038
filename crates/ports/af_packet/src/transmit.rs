//! Sending: a burst of frames with one system call.
//!
//! Long segments go by a socket of their own, where a header of virtio-net stands before each, so
//! that other frames are sent as if there were none. They never bypass the queueing discipline: the
//! kernel drops those that it would have to cut itself there, for an interface that does not.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use engine::{QueueCounters, Unsent, announced};
use libc::{iovec, mmsghdr};
use offload::HEADER_LEN;
use packet::{Batch, Slot, Slots};

use crate::config::AfPacketConfig;
use crate::drops::{DEVICE_FULL, LINK_DOWN, REFUSED, SENT_SEGMENTS, SENT_TOO_LONG, SENT_TOO_SHORT};
use crate::sys;

/// Transmit side of a queue.
pub(crate) struct Sender {
    socket: OwnedFd,
    /// For long segments.
    socket_long: OwnedFd,
    headers: Vec<[u8; HEADER_LEN]>,
    places: Vec<[iovec; 2]>,
    messages: Vec<mmsghdr>,
}

// SAFETY: the pointers in it are written anew for each call and mean nothing between calls.
unsafe impl Send for Sender {}

impl Sender {
    /// Creates a sender to the interface of this number.
    pub(crate) fn new(config: &AfPacketConfig, index: i32) -> io::Result<Sender> {
        let socket_long = socket(false, index)?;
        sys::set_option(&socket_long, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        let place = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: all zeroes is a message without address and data.
        let message: mmsghdr = unsafe { zeroed() };
        Ok(Sender {
            socket: socket(config.qdisc_bypass, index)?,
            socket_long,
            headers: vec![[0; HEADER_LEN]; BURST],
            places: vec![[place; 2]; BURST],
            messages: vec![message; BURST],
        })
    }

    /// Sends frames in order over an interface of this MTU, and counts sent and unsent frames;
    /// returns the number of sent frames.
    pub(crate) fn send(
        &mut self,
        (batch, slots): (&mut Batch, &[Slot]),
        mtu: usize,
        counters: &QueueCounters,
    ) -> usize {
        if !batch.has_long() {
            return self.send_alike(batch, slots, counters);
        }
        let (mut rest, mut sent) = (slots, 0);
        while let Some(first) = rest.first() {
            let is_long = batch.long(*first).is_some();
            let alike = rest.iter().take_while(|slot| batch.long(**slot).is_some() == is_long);
            let (run, behind) = rest.split_at(alike.count().min(BURST));
            sent += match is_long {
                true => self.send_long((batch, run), mtu, counters),
                false => self.send_alike(batch, run, counters),
            };
            rest = behind;
        }
        sent
    }

    /// Sends long segments, at most [`BURST`].
    fn send_long(
        &mut self,
        (batch, slots): (&mut Batch, &[Slot]),
        mtu: usize,
        counters: &QueueCounters,
    ) -> usize {
        let mut fit = Slots::new();
        for &slot in slots {
            // What the kernel asks of any frame; of a long segment it asks nothing.
            let is_tagged = batch.frame(slot).get(12..14) == Some(&TAGGED);
            let tag_len = if is_tagged { TAG_LEN } else { 0 };
            match announced(batch, slot, mtu + ETHERNET_LEN + tag_len) {
                Ok(header) => {
                    self.headers[fit.len()] = header.bytes();
                    fit.push(slot);
                }
                Err(Unsent::TooLong) => counters.dropped(SENT_TOO_LONG, 1),
                Err(Unsent::Unfit) => counters.dropped(SENT_SEGMENTS, 1),
            }
        }
        self.send_alike(batch, fit.as_slice(), counters)
    }

    /// Sends frames that are all long or all not; the headers of long ones, at most [`BURST`], are
    /// there.
    fn send_alike(&mut self, batch: &Batch, slots: &[Slot], counters: &QueueCounters) -> usize {
        let (mut rest, mut sent) = (slots, 0);
        while !rest.is_empty() {
            let burst = &rest[..rest.len().min(BURST)];
            match self.send_burst(batch, burst, slots.len() - rest.len()) {
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
    fn send_burst(&mut self, batch: &Batch, burst: &[Slot], before: usize) -> io::Result<usize> {
        let is_long = burst.first().is_some_and(|slot| batch.long(*slot).is_some());
        // The kernel only reads it.
        let place = |bytes: &[u8]| iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let own = self.places.iter_mut().zip(&mut self.messages);
        for (number, (slot, (places, message))) in burst.iter().zip(own).enumerate() {
            places[1] = place(batch.frame(*slot));
            if is_long {
                places[0] = place(&self.headers[before + number]);
            }
            let places = if is_long { &mut places[..] } else { &mut places[1..] };
            message.msg_hdr.msg_iov = places.as_mut_ptr();
            message.msg_hdr.msg_iovlen = places.len();
        }
        let socket = if is_long { &self.socket_long } else { &self.socket };
        let (fd, count) = (socket.as_raw_fd(), burst.len().min(BURST));
        let start = self.messages.as_mut_ptr();
        // SAFETY: `count` messages, each with its places within a frame of the batch and a header,
        // all alive.
        let sent = unsafe { libc::sendmmsg(fd, start, count as u32, 0) };
        match usize::try_from(sent) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(sent) => Ok(sent),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

/// Creates a socket that sends to the interface of this number, past the queueing discipline or by
/// it.
fn socket(bypasses: bool, index: i32) -> io::Result<OwnedFd> {
    let socket = sys::packet_socket()?;
    if bypasses {
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
    }
    // A wish, which needs CAP_NET_ADMIN: with less room, slow devices refuse earlier.
    let room = SEND_BUFFER_BYTES;
    let _ = sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room);
    sys::bind(&socket, index, 0)?;
    Ok(socket)
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
const ETHERNET_LEN: usize = 14;
const TAG_LEN: usize = 4;
/// EtherType of a customer VLAN tag (IEEE 802.1Q).
const TAGGED: [u8; 2] = [0x81, 0];
