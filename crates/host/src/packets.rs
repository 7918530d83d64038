//! A raw socket of the kernel, for packets of an IP protocol.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use protocol_kit::Interface;
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::SocketError;
use crate::told::{self, Received};

/// A socket for packets.
pub(crate) struct Packets {
    socket: Socket,
    is_v6: bool,
    /// The number of their protocol.
    pub protocol: u8,
}

impl Packets {
    /// Opens a socket that never blocks.
    pub fn open(
        protocol: u8,
        local: IpAddr,
        interface: Option<Interface>,
    ) -> Result<Packets, SocketError> {
        open(protocol, local, interface).map_err(|error| {
            SocketError::opening(format_args!("IP protocol {protocol} at {local}"), error)
        })
    }

    /// Receives a packet; `None` if none waits. Returns what is told of it, and where in `bytes`
    /// its payload begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<(Received, usize)>> {
        let Some(received) = told::receive(&self.socket, bytes)? else { return Ok(None) };
        // The kernel gives the header of IPv4 along, and of IPv6 none (RFC 3542, section 3).
        let header = bytes[..received.len].first().map_or(0, |first| usize::from(first & 15) * 4);
        Ok(Some((received, if self.is_v6 { 0 } else { header.min(received.len) })))
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(protocol: u8, local: IpAddr, interface: Option<Interface>) -> io::Result<Packets> {
    let is_v6 = local.is_ipv6();
    let domain = if is_v6 { Domain::IPV6 } else { Domain::IPV4 };
    let kind = Type::RAW.nonblocking().cloexec();
    let socket = Socket::new_raw(domain, kind, Some(Protocol::from(i32::from(protocol))))?;
    told::ask(&socket, is_v6)?;
    if let Some(interface) = interface {
        told::bind_to(&socket, interface)?;
    }
    socket.bind(&SocketAddr::new(local, 0).into())?;
    Ok(Packets { socket, is_v6, protocol })
}
