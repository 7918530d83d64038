//! A UDP socket of the kernel.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};
use protocol_kit::Interface;

use crate::error::SocketError;
use crate::told;

/// A socket for datagrams.
pub(crate) struct Udp(UdpSocket);

impl Udp {
    /// Opens a socket that never blocks.
    pub fn open(local: SocketAddr, interface: Option<Interface>) -> Result<Udp, SocketError> {
        open(local, interface)
            .map_err(|error| SocketError::opening(format_args!("UDP {local}"), error.into()))
    }
}

impl Udp {
    /// Its local port; 0 if the kernel does not tell it.
    pub fn port(&self) -> u16 {
        self.0.local_addr().map_or(0, |address| address.port())
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open(local: SocketAddr, interface: Option<Interface>) -> nix::Result<Udp> {
    let is_v6 = local.is_ipv6();
    let family = if is_v6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Datagram, flags, None)?;
    if is_v6 {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
    }
    told::ask(&fd, is_v6)?;
    if let Some(interface) = interface {
        told::bind_to(&fd, interface)?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(Udp(UdpSocket::from(fd)))
}
