//! System calls on tap interfaces, each behind a safe function.

use std::ffi::{c_int, c_uint};
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::zeroed;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Opens a queue of the tap interface of this name, which is created if it does not exist, with
/// further flags of the kernel.
pub(crate) fn open_queue(name: &str, flags: c_int) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | flags) as i16;
    // SAFETY: the call reads and writes the structure.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })?;
    Ok(file)
}

/// Lets the kernel leave checksums and the cutting of long segments to this side, and write the
/// numbers of the header before a frame in little-endian order. Returns whether it knows long
/// segments of UDP, which it does from 6.2 on.
pub(crate) fn set_offloads(file: &File) -> io::Result<bool> {
    let is_little: c_int = 1;
    // SAFETY: the call reads a number.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETVNETLE as _, &is_little) })?;
    let set = |offloads: c_uint| {
        let offloads = libc::c_ulong::from(offloads);
        // SAFETY: the argument is a number, not an address.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD as _, offloads) })
    };
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    match set(tcp | UDP_SEGMENTS) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(tcp).map(|_| false),
        done => done.map(|_| true),
    }
}

/// Long segments of UDP over IPv4 and IPv6 (`TUN_F_USO4`, `TUN_F_USO6`).
const UDP_SEGMENTS: c_uint = 0x20 | 0x40;

/// Creates a socket for interface requests of an address family.
pub(crate) fn request_socket(family: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the flags of an interface (netdevice(7)).
pub(crate) fn flags(socket: &OwnedFd, name: &str) -> io::Result<i32> {
    let mut request = named(name);
    ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: the call filled the flags in.
    Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
}

/// Sets an interface up.
pub(crate) fn set_up(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = (flags(socket, name)? | libc::IFF_UP) as i16;
    ask(socket, libc::SIOCSIFFLAGS, &mut request)
}

/// Returns the MTU of an interface, in bytes.
pub(crate) fn mtu(socket: &OwnedFd, name: &str) -> io::Result<i32> {
    let mut request = named(name);
    ask(socket, libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: the call filled the MTU in.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// Sets the MTU of an interface, in bytes.
pub(crate) fn set_mtu(socket: &OwnedFd, name: &str, bytes: u32) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_mtu = bytes as c_int;
    ask(socket, libc::SIOCSIFMTU, &mut request)
}

/// Sets the Ethernet address of an interface.
pub(crate) fn set_mac(socket: &OwnedFd, name: &str, mac: [u8; 6]) -> io::Result<()> {
    let mut request = named(name);
    // SAFETY: all zeroes is an address.
    let mut address: libc::sockaddr = unsafe { zeroed() };
    address.sa_family = libc::ARPHRD_ETHER;
    for (place, byte) in address.sa_data.iter_mut().zip(mac) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_hwaddr = address;
    ask(socket, libc::SIOCSIFHWADDR, &mut request)
}

/// Adds an address to an interface; an existing one is no error.
pub(crate) fn add_address(name: &str, address: IpAddr, prefix_len: u8) -> io::Result<()> {
    let result = match address {
        IpAddr::V4(address) => {
            let socket = request_socket(libc::AF_INET)?;
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix_len)).unwrap_or(0);
            let mut request = named(name);
            request.ifr_ifru.ifru_addr = inet(u32::from(address));
            ask(&socket, libc::SIOCSIFADDR, &mut request)?;
            request.ifr_ifru.ifru_netmask = inet(mask);
            ask(&socket, libc::SIOCSIFNETMASK, &mut request)
        }
        IpAddr::V6(address) => {
            let socket = request_socket(libc::AF_INET6)?;
            let mut request = named(name);
            ask(&socket, libc::SIOCGIFINDEX, &mut request)?;
            let request = Inet6Request {
                address: address.octets(),
                prefix_len: u32::from(prefix_len),
                // SAFETY: the call filled it in.
                index: unsafe { request.ifr_ifru.ifru_ifindex },
            };
            let (fd, what) = (socket.as_raw_fd(), libc::SIOCSIFADDR);
            // SAFETY: for IPv6 sockets the call reads this structure.
            check(unsafe { libc::ioctl(fd, what as _, &request) }).map(drop)
        }
    };
    result.or_else(|error| match error.raw_os_error() {
        Some(libc::EEXIST) => Ok(()),
        _ => Err(error),
    })
}

/// `struct in6_ifreq` of linux/ipv6.h.
#[repr(C)]
struct Inet6Request {
    address: [u8; 16],
    prefix_len: u32,
    index: c_int,
}

/// Converts an IPv4 socket address to a generic one.
fn inet(address: u32) -> libc::sockaddr {
    // SAFETY: all zeroes is an address; both structures have 16 bytes and begin with the family.
    let mut general: libc::sockaddr = unsafe { zeroed() };
    general.sa_family = libc::AF_INET as u16;
    for (place, byte) in general.sa_data[2..6].iter_mut().zip(address.to_be_bytes()) {
        *place = byte as libc::c_char;
    }
    general
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: all zeroes is a request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

fn ask(socket: &OwnedFd, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: these requests read and write the structure.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, request) }).map(drop)
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

const DEVICE: &str = "/dev/net/tun";
