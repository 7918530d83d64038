//! Devices of VRFs in the kernel: what an interface of the host is put into that is one of a VRF of
//! the function.
//!
//! VRF 7 of the function is the device `vrf7` with the table 1007. One that is there already is
//! taken, and stays when the daemon ends, with whatever an operator has put into it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use protocol_netlink::{acknowledged, links, table_of};

/// Puts an interface into the device of a VRF, which is made if it is not there, in the network
/// namespace of this thread.
///
/// # Errors
/// What the kernel refuses.
pub(super) fn join(interface: &str, vrf: u16) -> io::Result<()> {
    let device = name(vrf);
    let kernel = connect()?;
    match ask(&kernel, &links::add_vrf(&device, table_of(vrf), 1)) {
        Err(error) if error.raw_os_error() != Some(Errno::EEXIST as i32) => return Err(error),
        _ => {}
    }
    let (own, master) = (if_nametoindex(interface)?, if_nametoindex(device.as_str())?);
    ask(&kernel, &links::set_master(own, master, 2))
}

/// The name of the device of a VRF.
pub(super) fn name(vrf: u16) -> String {
    format!("vrf{vrf}")
}

fn connect() -> io::Result<OwnedFd> {
    let (flags, kind) = (SockFlag::SOCK_CLOEXEC, SockType::Raw);
    let socket = socket(AddressFamily::Netlink, kind, flags, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(socket)
}

/// Asks the kernel something, which answers before the question is sent.
fn ask(kernel: &OwnedFd, question: &[u8]) -> io::Result<()> {
    send(kernel.as_raw_fd(), question, MsgFlags::empty())?;
    let mut answer = [0; 4096];
    let len = recv(kernel.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
    match acknowledged(&answer[..len]) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel has not answered what it was asked")),
    }
}
