//! What the kernel knows of an interface, by rtnetlink (RFC 3549, rtnetlink(7)).
//!
//! Three things only: the interface of a name, the news about interfaces, and a program attached
//! the old way, for kernels without BPF links. Messages are read with every length checked.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

/// State of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interface {
    /// Number of the interface; a new interface of the same name has another number.
    pub index: u32,
    /// True if the interface is administratively up.
    pub is_up: bool,
    /// True if the interface has a carrier.
    pub has_carrier: bool,
    /// MTU of the interface, in bytes.
    pub mtu: u32,
}

/// Notification about interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The interface of this number was deleted.
    Gone(u32),
    /// Something else changed, or notifications were lost: the interface must be queried.
    Changed,
}

/// A route netlink socket, in the network namespace of the thread that opens it.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// Opens a socket for queries.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> io::Result<Netlink> {
        Netlink::with_groups(0)
    }

    /// Opens a socket that receives notifications about interfaces.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn watching() -> io::Result<Netlink> {
        Netlink::with_groups(GROUP_LINK)
    }

    fn with_groups(groups: u32) -> io::Result<Netlink> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups))?;
        Ok(Netlink { socket })
    }

    /// Returns the descriptor to poll for notifications.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Queries the interface of a name; `None` if it does not exist.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn interface(&self, name: &str) -> io::Result<Option<Interface>> {
        let mut request = Message::new(RTM_GETLINK, NLM_F_REQUEST);
        request.interface(0);
        let mut word = name.as_bytes().to_vec();
        word.push(0);
        request.attribute(IFLA_IFNAME, &word);
        match self.ask(request) {
            Ok(answer) => Ok(parse_interface(&answer)),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Attaches a program to an interface without one; it remains until it is detached.
    ///
    /// # Errors
    /// The kernel's error; `EBUSY` if the interface has a program.
    pub fn attach(&self, index: u32, program: BorrowedFd<'_>, flags: u32) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        self.set_program(index, program.as_raw_fd(), flags | XDP_FLAGS_UPDATE_IF_NOEXIST)
    }

    /// Detaches the program of an interface.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn detach(&self, index: u32, flags: u32) -> io::Result<()> {
        self.set_program(index, -1, flags)
    }

    fn set_program(&self, index: u32, program: i32, flags: u32) -> io::Result<()> {
        let mut nested = Vec::new();
        push_attribute(&mut nested, IFLA_XDP_FD, &program.to_ne_bytes());
        push_attribute(&mut nested, IFLA_XDP_FLAGS, &flags.to_ne_bytes());
        let mut request = Message::new(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK);
        request.interface(index);
        request.attribute(IFLA_XDP | NLA_F_NESTED, &nested);
        self.ask(request).map(drop)
    }

    /// Sends a request and returns the payload of the answer; empty for an acknowledgement.
    fn ask(&self, request: Message) -> io::Result<Vec<u8>> {
        send(&self.socket, &request.finish(), SendFlags::empty())?;
        let mut buffer = vec![0; ANSWER_BYTES_MAX];
        let (len, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        let (kind, payload) = messages(&buffer[..len]).next().ok_or(io::ErrorKind::InvalidData)?;
        if kind != NLMSG_ERROR {
            return Ok(payload.to_vec());
        }
        match word(payload, 0).map(|word| word as i32) {
            Some(0) => Ok(Vec::new()),
            Some(error) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Passes all pending notifications to `each`, without waiting.
    pub fn news(&self, mut each: impl FnMut(News)) {
        let mut buffer = vec![0; ANSWER_BYTES_MAX];
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return,
                Ok((len, _)) => messages(&buffer[..len]).for_each(|(kind, payload)| {
                    // One that a bridge sends of its port tells of less (its family is not 0).
                    let gone = kind == RTM_DELLINK && payload.first() == Some(&0);
                    let gone = gone.then(|| word(payload, 4)).flatten();
                    each(gone.map_or(News::Changed, News::Gone));
                }),
                // News were lost because nobody read them: whoever looks knows as much.
                Err(Errno::NOBUFS) => each(News::Changed),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// A request under construction.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16) -> Message {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Message(bytes)
    }

    /// Appends a `struct ifinfomsg` with only the interface number set.
    fn interface(&mut self, index: u32) {
        self.0.extend([0; 4]);
        self.0.extend(index.to_ne_bytes());
        self.0.extend([0; 8]);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        push_attribute(&mut self.0, kind, value);
    }

    fn finish(mut self) -> Vec<u8> {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        self.0
    }
}

fn push_attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((value.len() as u16 + 4).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// Returns the messages of a datagram: type and payload.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = word(bytes, 0)? as usize;
        let kind = half(bytes, 4)?;
        let payload = bytes.get(HEADER_BYTES..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// Returns the attributes of a message or of a nested attribute: type and value.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(half(bytes, 0)?);
        let kind = half(bytes, 2)? & !NLA_F_NESTED;
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn parse_interface(payload: &[u8]) -> Option<Interface> {
    let (index, flags) = (word(payload, 4)?, word(payload, 8)?);
    let mtu = attributes(payload.get(INTERFACE_BYTES..)?)
        .find(|(kind, _)| *kind == IFLA_MTU)
        .and_then(|(_, value)| word(value, 0));
    Some(Interface {
        index,
        is_up: flags & IFF_UP != 0,
        has_carrier: flags & IFF_LOWER_UP != 0,
        mtu: mtu.unwrap_or(0),
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_ne_bytes(*half))
}

/// Sizes of `struct nlmsghdr` and `struct ifinfomsg` in bytes.
const HEADER_BYTES: usize = 16;
const INTERFACE_BYTES: usize = 16;
const ANSWER_BYTES_MAX: usize = 32 << 10;

// `linux/netlink.h`, `linux/rtnetlink.h`, `linux/if_link.h`, `linux/if.h`.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const NLA_F_NESTED: u16 = 1 << 15;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;
const GROUP_LINK: u32 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
const XDP_FLAGS_UPDATE_IF_NOEXIST: u32 = 1;
const IFF_UP: u32 = 1;
const IFF_LOWER_UP: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_and_an_absent_one_is_none() {
        let netlink = Netlink::open().expect("anybody may ask");
        let lo = netlink.interface("lo").expect("an answer").expect("it is everywhere");
        assert!(lo.index > 0 && lo.mtu > 0, "{lo:?}");
        assert_eq!(netlink.interface("no-such-one").expect("an answer"), None);
    }

    #[test]
    fn lengths_that_lie_end_the_reading() {
        let mut request = Message::new(RTM_DELLINK, 0);
        request.interface(7);
        request.attribute(IFLA_MTU, &1500u32.to_ne_bytes());
        let bytes = request.finish();
        let all: Vec<_> = messages(&bytes).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(word(all[0].1, 4), Some(7));
        assert_eq!(parse_interface(all[0].1).map(|found| found.mtu), Some(1500));
        for len in 0..bytes.len() {
            assert_eq!(messages(&bytes[..len]).count(), 0, "cut to {len} bytes");
        }
        for lie in [0u32, 3, 15, 4000, u32::MAX] {
            let mut bytes = bytes.clone();
            bytes[..4].copy_from_slice(&lie.to_ne_bytes());
            assert_eq!(messages(&bytes).count(), 0, "a length of {lie}");
        }
        assert_eq!(attributes(&[0, 0, 4, 0]).count(), 0, "shorter than its own header");
        assert_eq!(parse_interface(&[0; 10]), None);
    }
}
