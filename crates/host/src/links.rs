//! Which links are up, as the kernel tells it (rtnetlink).
//!
//! What is needed of a message lies at fixed places in its first 32 bytes, so no library reads it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use protocol_kit::Interface;

/// The links of the network namespace.
pub(crate) struct Links {
    socket: OwnedFd,
    /// Whether the links that are known are up.
    known: BTreeMap<u32, bool>,
    /// The links of a list that is being read; `None` at other times.
    list: Option<BTreeMap<u32, bool>>,
    /// Whether messages were lost while it was read.
    is_incomplete: bool,
    /// Whether no list was read to its end: until then all links count as up.
    is_new: bool,
}

impl Links {
    /// Asks for the links there are and for every change.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Links> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let kind = SockType::Raw;
        let socket = socket(AddressFamily::Netlink, kind, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, libc::RTMGRP_LINK as u32))?;
        let (known, list) = (BTreeMap::new(), None);
        let mut links = Links { socket, known, list, is_incomplete: false, is_new: true };
        links.ask()?;
        Ok(links)
    }

    /// Reads what the kernel tells, and tells changes.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ready(
        &mut self,
        buffer: &mut [u8],
        tell: &mut dyn FnMut(Interface, bool),
    ) -> io::Result<()> {
        for _ in 0..MESSAGES_MAX {
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(len) => self.read(&buffer[..len], tell)?,
                Err(nix::Error::EAGAIN) => break,
                // Some were lost: all are asked for.
                Err(nix::Error::ENOBUFS) if self.list.is_some() => self.is_incomplete = true,
                Err(nix::Error::ENOBUFS) => self.ask()?,
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Asks for a list of all.
    fn ask(&mut self) -> io::Result<()> {
        let mut request = [0; HEADER_LEN + LINK_LEN];
        request[..4].copy_from_slice(&((HEADER_LEN + LINK_LEN) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        send(self.socket.as_raw_fd(), &request, MsgFlags::MSG_DONTWAIT)?;
        (self.list, self.is_incomplete) = (Some(BTreeMap::new()), false);
        Ok(())
    }

    fn read(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Interface, bool)) -> io::Result<()> {
        while let Some(header) = bytes.first_chunk::<HEADER_LEN>() {
            let [a, b, c, d, e, f, ..] = *header;
            let len = u32::from_ne_bytes([a, b, c, d]) as usize;
            let Some(message) = bytes.get(..len).filter(|_| len >= HEADER_LEN) else { break };
            let kind = u16::from_ne_bytes([e, f]);
            let body = message[HEADER_LEN..].first_chunk::<LINK_LEN>();
            match (kind, body) {
                (libc::RTM_NEWLINK | libc::RTM_DELLINK, Some(link)) => {
                    self.read_link(kind == libc::RTM_NEWLINK, link, tell);
                }
                (DONE, _) if self.is_incomplete => self.ask()?,
                (DONE, _) => self.compare(tell),
                _ => {}
            }
            bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(())
    }

    fn read_link(
        &mut self,
        is_there: bool,
        link: &[u8; LINK_LEN],
        tell: &mut dyn FnMut(Interface, bool),
    ) {
        let [family, _, _, _, a, b, c, d, e, f, g, h, ..] = *link;
        // A bridge also tells of its ports.
        if libc::c_int::from(family) != libc::AF_UNSPEC {
            return;
        }
        let number = u32::from_ne_bytes([a, b, c, d]);
        let flags = u32::from_ne_bytes([e, f, g, h]) as libc::c_int;
        let is_up = flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0;
        if let Some(list) = &mut self.list {
            // A change meanwhile is later than what the list says of it.
            list.insert(number, is_there && is_up);
            return;
        }
        let before =
            if is_there { self.known.insert(number, is_up) } else { self.known.remove(&number) };
        let is_up = is_there && is_up;
        if before != Some(is_up) {
            tell(Interface(number), is_up);
        }
    }

    /// The list has ended.
    fn compare(&mut self, tell: &mut dyn FnMut(Interface, bool)) {
        let Some(list) = self.list.take() else { return };
        for (number, is_up) in &list {
            let before = self.known.get(number).copied().or(self.is_new.then_some(true));
            if before != Some(*is_up) {
                tell(Interface(*number), *is_up);
            }
        }
        for number in self.known.keys().filter(|number| !list.contains_key(number)) {
            tell(Interface(*number), false);
        }
        (self.known, self.is_new) = (list, false);
    }
}

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Bytes of the header of a message: length, type, flags, sequence, port.
const HEADER_LEN: usize = 16;

/// Bytes of the header of a link behind it: family, type, number, flags, change.
const LINK_LEN: usize = 16;

/// The end of a list.
const DONE: u16 = libc::NLMSG_DONE as u16;

/// Times that the socket is read in a turn.
const MESSAGES_MAX: usize = 64;
