//! What the driver of an interface says of itself, by ethtool's `ioctl` (`linux/ethtool.h`).

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Returns the name of the driver: `veth`, `ice` …; `None` if it is unknown.
pub(crate) fn driver(interface: &str) -> Option<String> {
    let mut info = Info { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
    // SAFETY: `Info` is `struct ethtool_drvinfo`, which this command fills.
    unsafe { ask(interface, &mut info) }.ok()?;
    let end = info.driver.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&info.driver[..end]).into_owned()).filter(|name| !name.is_empty())
}

/// Returns the present number of receive queues; `None` if it is unknown.
pub(crate) fn receive_queues(interface: &str) -> Option<u32> {
    let mut channels = Channels { command: GET_CHANNELS, most: [0; 4], now: [0; 4] };
    // SAFETY: `Channels` is `struct ethtool_channels`, which this command fills.
    unsafe { ask(interface, &mut channels) }.ok()?;
    let [receive, _, _, combined] = channels.now;
    receive.checked_add(combined).filter(|count| *count > 0)
}

/// Sends an ethtool command to an interface.
///
/// # Safety
/// `question` is the structure that its command reads and writes.
unsafe fn ask<T>(interface: &str, question: &mut T) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let mut request =
        Request { name: [0; 16], question: std::ptr::from_mut(question), pad: [0; 2] };
    let len = interface.len().min(request.name.len() - 1);
    request.name[..len].copy_from_slice(&interface.as_bytes()[..len]);
    // SAFETY: the request is as long as `struct ifreq` and lives to the end of the call, as does
    // what it points to.
    let result = unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, std::ptr::from_mut(&mut request))
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `struct ifreq` with a pointer.
#[repr(C)]
struct Request<T> {
    name: [u8; 16],
    question: *mut T,
    pad: [u64; 2],
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Info {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_channels`: receive, transmit, other, combined.
#[repr(C)]
struct Channels {
    command: u32,
    most: [u32; 4],
    now: [u32; 4],
}

const GET_DRIVER: u32 = 3;
const GET_CHANNELS: u32 = 0x3c;

const _: () = assert!(size_of::<Request<Info>>() == size_of::<libc::ifreq>());
const _: () = assert!(size_of::<Info>() == 196);
const _: () = assert!(size_of::<Channels>() == 36);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_interface_tells_nothing() {
        assert_eq!(driver("no-such-one"), None);
        assert_eq!(receive_queues("no-such-one"), None);
    }
}
