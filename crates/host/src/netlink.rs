//! A socket of the kernel's netlink of routing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::sockopt::RcvBuf;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recvfrom, send,
    setsockopt, socket,
};

use crate::error::SocketError;

/// A socket of netlink.
pub(crate) struct Netlink {
    socket: OwnedFd,
    /// Whether what the kernel tells is wanted.
    pub is_wanted: bool,
}

/// What the kernel has told.
pub(crate) enum Told {
    /// Messages of so many bytes.
    Messages(usize),
    /// Some were lost.
    Overrun,
    /// Nothing.
    Nothing,
}

impl Netlink {
    /// Opens a socket that never blocks, and hears of groups.
    pub fn open(groups: u32) -> Result<Netlink, SocketError> {
        open(groups)
            .map(|socket| Netlink { socket, is_wanted: true })
            .map_err(|error| SocketError::opening(format_args!("netlink"), error.into()))
    }

    /// Receives messages of the kernel. Those of somebody else are nothing, and so are those that
    /// are longer than there is room for, which the kernel never sends.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<Told> {
        match recvfrom::<NetlinkAddr>(self.socket.as_raw_fd(), bytes) {
            Ok((len, Some(from))) if from.pid() == KERNEL => Ok(Told::Messages(len)),
            Ok(_) => Ok(Told::Messages(0)),
            Err(nix::Error::EAGAIN) => Ok(Told::Nothing),
            Err(nix::Error::ENOBUFS) => Ok(Told::Overrun),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the kernel something.
    ///
    /// # Errors
    /// What it says.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(groups: u32) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let protocol = SockProtocol::NetlinkRoute;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
    // The kernel gives less where it may not give so much.
    setsockopt(&socket, RcvBuf, &ROOM)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(socket)
}

/// The kernel, among those who send.
const KERNEL: u32 = 0;

/// Bytes that may wait, as the kernel counts them.
const ROOM: usize = 4 << 20;
