//! A UDP socket of the kernel, with the addresses, interfaces and Times To Live of its datagrams.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::libc;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    SockaddrStorage, bind, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use protocol_kit::Interface;

/// Why a socket cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open UDP {local}: {source}")]
pub struct SocketError {
    /// Its local address and port.
    pub local: SocketAddr,
    /// What the kernel says.
    pub source: io::Error,
}

/// A socket.
pub(crate) struct Udp {
    socket: UdpSocket,
    is_v6: bool,
}

/// What is told of a received datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub len: usize,
    pub from: SocketAddr,
    pub to: IpAddr,
    pub interface: Interface,
    pub ttl: u8,
}

/// What is told of a datagram to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub from: IpAddr,
    pub to: SocketAddr,
    pub interface: Option<Interface>,
    pub ttl: u8,
}

impl Udp {
    /// Opens a socket that never blocks.
    pub fn open(local: SocketAddr, interface: Option<Interface>) -> Result<Udp, SocketError> {
        open(local, interface)
            .map_err(|error| SocketError { local, source: io::Error::from(error) })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives a datagram; `None` if none waits.
    ///
    /// # Errors
    /// What the kernel says, an error of an earlier datagram that could not be delivered included.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<Received>> {
        let mut space = nix::cmsg_space!(libc::in6_pktinfo, libc::c_int);
        let mut parts = [IoSliceMut::new(bytes)];
        let fd = self.socket.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut space), flags) {
            Ok(message) => message,
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let from = message.address.as_ref().and_then(address_of);
        let (mut to, mut interface, mut ttl) = (None, 0, 0);
        for told in message.cmsgs()? {
            match told {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    to = Some(IpAddr::from(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr))));
                    interface = info.ipi_ifindex as u32;
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    to = Some(IpAddr::from(Ipv6Addr::from(info.ipi6_addr.s6_addr)));
                    interface = info.ipi6_ifindex;
                }
                ControlMessageOwned::Ipv4Ttl(count) | ControlMessageOwned::Ipv6HopLimit(count) => {
                    ttl = count as u8;
                }
                _ => {}
            }
        }
        let (Some(from), Some(to)) = (from, to) else {
            return Err(io::Error::other("the kernel tells no address of a datagram"));
        };
        Ok(Some(Received { len: message.bytes, from, to, interface: Interface(interface), ttl }))
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// What the kernel says: no route, no such address, no room.
    pub fn send(&self, bytes: &[u8], sent: Sent) -> io::Result<()> {
        let interface = sent.interface.map_or(0, |interface| interface.0);
        let ttl = libc::c_int::from(sent.ttl);
        let to = SockaddrStorage::from(sent.to);
        let parts = [IoSlice::new(bytes)];
        let fd = self.socket.as_raw_fd();
        let told: [ControlMessage<'_>; 2];
        let (v4, v6);
        match sent.from {
            IpAddr::V4(from) => {
                v4 = libc::in_pktinfo {
                    ipi_ifindex: interface as i32,
                    ipi_spec_dst: libc::in_addr { s_addr: u32::from(from).to_be() },
                    ipi_addr: libc::in_addr { s_addr: 0 },
                };
                told = [ControlMessage::Ipv4PacketInfo(&v4), ControlMessage::Ipv4Ttl(&ttl)];
            }
            IpAddr::V6(from) => {
                v6 = libc::in6_pktinfo {
                    ipi6_ifindex: interface,
                    ipi6_addr: libc::in6_addr { s6_addr: from.octets() },
                };
                told = [ControlMessage::Ipv6PacketInfo(&v6), ControlMessage::Ipv6HopLimit(&ttl)];
            }
        }
        debug_assert_eq!(sent.from.is_ipv6(), self.is_v6, "a socket has one family");
        sendmsg(fd, &parts, &told, MsgFlags::MSG_DONTWAIT, Some(&to))?;
        Ok(())
    }
}

fn open(local: SocketAddr, interface: Option<Interface>) -> nix::Result<Udp> {
    let is_v6 = local.is_ipv6();
    let family = if is_v6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Datagram, flags, None)?;
    if is_v6 {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
        setsockopt(&fd, sockopt::Ipv6RecvPacketInfo, &true)?;
        setsockopt(&fd, sockopt::Ipv6RecvHopLimit, &true)?;
    } else {
        setsockopt(&fd, sockopt::Ipv4PacketInfo, &true)?;
        setsockopt(&fd, sockopt::Ipv4RecvTtl, &true)?;
    }
    if let Some(Interface(number)) = interface {
        let name = if_indextoname(number)?;
        let name = OsString::from(name.to_string_lossy().into_owned());
        setsockopt(&fd, sockopt::BindToDevice, &name)?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(Udp { socket: UdpSocket::from(fd), is_v6 })
}

fn address_of(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = address.as_sockaddr_in() {
        return Some(SocketAddr::from((address.ip(), address.port())));
    }
    let address = address.as_sockaddr_in6()?;
    Some(SocketAddr::from((address.ip(), address.port())))
}
