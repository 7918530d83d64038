//! System calls on packet sockets, each behind a safe function.

use std::ffi::{CStr, CString, c_int, c_void};
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Creates a packet socket that does not receive yet.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers; protocol 0 receives nothing until bound.
    owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
}

/// Creates a socket on which the kernel reports changes of interfaces (rtnetlink(7)).
pub(crate) fn link_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers.
    let socket = owned(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
    // SAFETY: all zeroes is a netlink address.
    let mut address: libc::sockaddr_nl = unsafe { zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = libc::RTMGRP_LINK as u32;
    bind_to(&socket, &address)?;
    Ok(socket)
}

/// Binds a socket to an interface; protocol 0 for sending only.
pub(crate) fn bind(socket: &OwnedFd, index: i32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeroes is a link-layer address.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index;
    bind_to(socket, &address)
}

fn bind_to<A>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    let (start, len) = (std::ptr::from_ref(address), size_of::<A>() as libc::socklen_t);
    // SAFETY: the address is a socket address structure of this length.
    check(unsafe { libc::bind(socket.as_raw_fd(), start.cast(), len) }).map(drop)
}

/// Takes a frame from the queue of a socket; returns its length in bytes.
pub(crate) fn receive(socket: &OwnedFd, room: &mut [u8]) -> Option<usize> {
    let (start, len) = (room.as_mut_ptr().cast(), room.len());
    // SAFETY: the kernel writes at most `len` bytes.
    let received = unsafe { libc::recv(socket.as_raw_fd(), start, len, libc::MSG_DONTWAIT) };
    usize::try_from(received).ok().filter(|&len| len > 0)
}

/// Sets a socket option to a value, which must be the structure of the option.
pub(crate) fn set_option<T: Copy>(
    socket: &OwnedFd,
    level: c_int,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let (start, len) = (std::ptr::from_ref(value), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads the value, of this length, and checks it.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, start.cast(), len) })
        .map(drop)
}

/// Returns the fanout group of a socket: mode in the upper half, number in the lower half.
pub(crate) fn fanout_of(socket: &OwnedFd) -> io::Result<u32> {
    get_option::<u32>(socket, libc::PACKET_FANOUT)
}

/// Returns the number of frames that the kernel dropped since the last call because the ring was
/// full.
pub(crate) fn take_drops(socket: &OwnedFd) -> u64 {
    // A ring in frames has a shorter answer, without the count of stops.
    get_option::<[u32; 3]>(socket, libc::PACKET_STATISTICS).map_or(0, |[_, drops, _]| drops.into())
}

/// Reads a socket option; for types of which any bytes are valid: integers and arrays of them.
fn get_option<T: Copy + Default>(socket: &OwnedFd, option: c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut len = size_of::<T>() as libc::socklen_t;
    let start = std::ptr::from_mut(&mut value);
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes of plain numbers.
    check(unsafe { libc::getsockopt(fd, libc::SOL_PACKET, option, start.cast(), &mut len) })?;
    Ok(value)
}

/// Blocks all frames to a socket until `open_gate`.
pub(crate) fn close_gate(socket: &OwnedFd) -> io::Result<()> {
    let mut nothing = libc::sock_filter { code: BPF_RET_K, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &mut nothing };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Lets frames pass to a socket.
pub(crate) fn open_gate(socket: &OwnedFd) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0_i32)
}

/// Returns true if the kernel takes long segments of UDP from a packet socket: from 6.2 on, where
/// `virtio_net_hdr_to_skb` knows of them.
pub(crate) fn takes_long_datagrams() -> bool {
    // SAFETY: all zeroes are texts without characters.
    let mut names: libc::utsname = unsafe { zeroed() };
    // SAFETY: the call writes into the structure, and ends each text with a zero.
    check(unsafe { libc::uname(&mut names) }).is_ok_and(|_| {
        // SAFETY: as above.
        let release = unsafe { CStr::from_ptr(names.release.as_ptr()) };
        is_from(&release.to_string_lossy(), (6, 2))
    })
}

/// Returns true if a kernel with this release is of a version, or a later one.
fn is_from(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|word| word.parse().ok());
    matches!((numbers.next(), numbers.next()), (Some(Some(major)), Some(Some(minor)))
        if (major, minor) >= version)
}

/// Returns the number of an interface; `None` if there is no interface of the name.
pub(crate) fn interface_index(name: &str) -> Option<i32> {
    let name = CString::new(name).ok()?;
    // SAFETY: a string that ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => None,
        index => i32::try_from(index).ok(),
    }
}

/// Returns the names of all interfaces.
pub(crate) fn interface_names() -> Vec<String> {
    // SAFETY: gives null or a list that ends with an entry of number 0.
    let Some(list) = NonNull::new(unsafe { libc::if_nameindex() }) else { return Vec::new() };
    let mut names = Vec::new();
    let mut entry = list.as_ptr();
    // SAFETY: entries before the last have a number and a string; the list is freed once, at the
    // end.
    unsafe {
        while (*entry).if_index != 0 {
            names.push(CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        libc::if_freenameindex(list.as_ptr());
    }
    names
}

/// Returns the flags of an interface (netdevice(7)).
pub(crate) fn interface_flags(socket: &OwnedFd, name: &str) -> io::Result<i32> {
    let request = interface_request(socket, name, libc::SIOCGIFFLAGS)?;
    // SAFETY: the call filled the flags in.
    Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
}

/// Returns the MTU of an interface: the longest packet without Ethernet header, in bytes.
pub(crate) fn interface_mtu(socket: &OwnedFd, name: &str) -> io::Result<i32> {
    let request = interface_request(socket, name, libc::SIOCGIFMTU)?;
    // SAFETY: the call filled it in.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// Returns the link type of an interface (`ARPHRD_`): 1 is Ethernet.
pub(crate) fn interface_kind(socket: &OwnedFd, name: &str) -> io::Result<u16> {
    let request = interface_request(socket, name, libc::SIOCGIFHWADDR)?;
    // SAFETY: the call filled it in.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

fn interface_request(socket: &OwnedFd, name: &str, what: libc::c_ulong) -> io::Result<libc::ifreq> {
    // SAFETY: all zeroes is a request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: these requests read the name and write into the structure.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &mut request) })?;
    Ok(request)
}

/// Waits until the first descriptor can be read or the other end of the second is closed, at most
/// for the given time; returns true if the second is closed. Data of the first descriptor is read
/// and discarded.
pub(crate) fn wait(first: &OwnedFd, second: BorrowedFd<'_>, at_most_ms: i32) -> bool {
    let poll = |fd: c_int| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [poll(first.as_raw_fd()), poll(second.as_raw_fd())];
    // SAFETY: an array of two.
    unsafe { libc::poll(both.as_mut_ptr(), 2, at_most_ms) };
    let mut rest = MaybeUninit::<[u8; 8192]>::uninit();
    // SAFETY: the kernel writes at most as much as there is room; nobody reads it.
    while unsafe { libc::recv(first.as_raw_fd(), rest.as_mut_ptr().cast(), 8192, 0) } > 0 {}
    both[1].revents != 0
}

/// A ring that is shared with the kernel.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to the mapping's owner and the kernel, to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the ring of a socket.
    pub(crate) fn of(socket: &OwnedFd, len: usize) -> io::Result<Mapping> {
        let (rights, fd) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_raw_fd());
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, rights, libc::MAP_SHARED, fd, 0) };
        match NonNull::new(start.cast()) {
            Some(at) if start != libc::MAP_FAILED => Ok(Mapping { start: at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the start of the memory, which has `len` bytes.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which nothing refers any more.
        unsafe { libc::munmap(self.start.as_ptr().cast::<c_void>(), self.len) };
    }
}

fn owned(fd: c_int) -> io::Result<OwnedFd> {
    let fd = check(fd)?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// BPF instruction that returns a constant: the number of bytes of the frame that pass.
const BPF_RET_K: u16 = 0x06;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_numbers() {
        for (release, is_later) in [
            ("6.2.0-rc1", true),
            ("6.18.44-x", true),
            ("7.0", true),
            ("6.1.9", false),
            ("?", false),
        ] {
            assert_eq!(is_from(release, (6, 2)), is_later, "{release}");
        }
    }
}
