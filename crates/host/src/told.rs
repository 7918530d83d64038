//! Messages of UDP and of raw sockets, with the addresses, interfaces and Times To Live that the
//! kernel tells and is told.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use nix::libc;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use protocol_kit::Interface;

/// What is told of a received message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub len: usize,
    /// Its source; the port means something in UDP alone.
    pub from: SocketAddr,
    pub to: IpAddr,
    pub interface: Interface,
    pub ttl: u8,
}

/// What is told of a message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub from: IpAddr,
    pub to: SocketAddr,
    pub interface: Option<Interface>,
    pub ttl: u8,
}

/// Lets the kernel tell destination, interface and Time To Live of what is received.
pub(crate) fn ask(socket: &impl AsFd, is_v6: bool) -> nix::Result<()> {
    if is_v6 {
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        setsockopt(socket, sockopt::Ipv6RecvHopLimit, &true)
    } else {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?;
        setsockopt(socket, sockopt::Ipv4RecvTtl, &true)
    }
}

/// Binds a socket to an interface.
pub(crate) fn bind_to(socket: &impl AsFd, interface: Interface) -> nix::Result<()> {
    setsockopt(socket, sockopt::BindToDevice, &name_of(interface)?)
}

/// Returns the name of an interface.
pub(crate) fn name_of(interface: Interface) -> nix::Result<OsString> {
    Ok(OsString::from(if_indextoname(interface.0)?.to_string_lossy().into_owned()))
}

/// Receives a message; `None` if none waits.
///
/// # Errors
/// What the kernel says, an error of an earlier message that could not be delivered included.
pub(crate) fn receive(socket: &impl AsFd, bytes: &mut [u8]) -> io::Result<Option<Received>> {
    let mut space = nix::cmsg_space!(libc::in6_pktinfo, libc::c_int);
    let mut parts = [IoSliceMut::new(bytes)];
    let fd = socket.as_fd().as_raw_fd();
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
        return Err(io::Error::other("the kernel tells no address of a message"));
    };
    Ok(Some(Received { len: message.bytes, from, to, interface: Interface(interface), ttl }))
}

/// Sends a message.
///
/// # Errors
/// What the kernel says: no route, no such address, no room.
pub(crate) fn send(socket: &impl AsFd, bytes: &[u8], sent: Sent) -> io::Result<()> {
    let interface = sent.interface.map_or(0, |interface| interface.0);
    let ttl = libc::c_int::from(sent.ttl);
    let to = SockaddrStorage::from(sent.to);
    let parts = [IoSlice::new(bytes)];
    let fd = socket.as_fd().as_raw_fd();
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
    sendmsg(fd, &parts, &told, MsgFlags::MSG_DONTWAIT, Some(&to))?;
    Ok(())
}

fn address_of(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = address.as_sockaddr_in() {
        return Some(SocketAddr::from((address.ip(), address.port())));
    }
    let address = address.as_sockaddr_in6()?;
    Some(SocketAddr::from((address.ip(), address.port())))
}
