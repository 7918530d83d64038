//! The control socket: messages of 128 bytes, at most one descriptor with each.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::breach::Breach;
use crate::config::Address;
use crate::message::{MESSAGE_BYTES, Message};

/// A connection to a peer.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// Result of reading from a connection.
#[derive(Debug)]
pub enum Heard {
    /// No message yet.
    Nothing,
    /// A message, with its descriptor if it has one.
    Message(Message, Option<OwnedFd>),
}

impl Channel {
    /// Connects to a master.
    ///
    /// # Errors
    /// The kernel's error, usually because nobody listens.
    pub fn connect(address: &Address) -> io::Result<Channel> {
        let socket = socket()?;
        rustix::net::connect(&socket, &name(address)?)?;
        Ok(Channel(socket))
    }

    /// Sends a message; the kernel passes the descriptor to the peer.
    ///
    /// # Errors
    /// When the peer has ended, or does not read.
    pub fn say(&self, message: &Message, handed: Option<BorrowedFd<'_>>) -> Result<(), Breach> {
        let bytes = message.emit();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let handed = handed.as_slice();
        if !handed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(handed));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, flags) {
            Ok(MESSAGE_BYTES) => Ok(()),
            _ => Err(Breach::PeerClosed),
        }
    }

    /// Returns the next message, if there is one.
    ///
    /// # Errors
    /// When the peer has ended, or sent an invalid message.
    pub fn hear(&self) -> Result<Heard, Breach> {
        let mut bytes = [0; MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let got = match rustix::net::recvmsg(&self.0, into, &mut control, flags) {
            Ok(got) => got,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Heard::Nothing),
            Err(_) => return Err(Breach::PeerClosed),
        };
        // All that came are taken over here, so that those not wanted are closed.
        let mut handed: Vec<OwnedFd> = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                handed.extend(descriptors);
            }
        }
        if got.bytes == 0 {
            return Err(Breach::PeerClosed);
        }
        let cut = got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        if got.bytes != MESSAGE_BYTES || cut || handed.len() > 1 {
            return Err(Breach::MessageSize);
        }
        let message = Message::parse(&bytes).ok_or(Breach::UnknownMessage)?;
        Ok(Heard::Message(message, handed.pop()))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Listening socket of a master; the file is removed with it.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    address: Address,
    /// Device and inode number of the file, so that no other file is removed.
    file: Option<(u64, u64)>,
}

impl Listener {
    /// Listens on an address; a file of an ended process is replaced.
    ///
    /// # Errors
    /// The kernel's error; `AddrInUse` if another process listens.
    pub fn bind(address: Address) -> io::Result<Listener> {
        let socket = socket()?;
        let name = name(&address)?;
        match (rustix::net::bind(&socket, &name), &address) {
            (Err(Errno::ADDRINUSE), Address::File(path)) if is_left_over(path, &address) => {
                std::fs::remove_file(path)?;
                rustix::net::bind(&socket, &name)?;
            }
            (result, _) => result?,
        }
        rustix::net::listen(&socket, BACKLOG)?;
        let file = match &address {
            Address::File(path) => identity(path),
            Address::Abstract(_) => None,
        };
        Ok(Listener { socket, address, file })
    }

    /// Accepts the next waiting slave.
    pub fn accept(&self) -> Option<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::accept_with(&self.socket, flags).ok().map(Channel)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::File(path) = &self.address
            && self.file.is_some()
            && identity(path) == self.file
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

fn name(address: &Address) -> io::Result<SocketAddrUnix> {
    Ok(match address {
        Address::File(path) => SocketAddrUnix::new(path)?,
        Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    })
}

/// Returns true if the file is a socket on which nobody listens.
fn is_left_over(path: &Path, address: &Address) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|at| at.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && Channel::connect(address).is_err_and(refused)
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|at| (at.dev(), at.ino()))
}

/// Number of slaves that may wait to be accepted.
const BACKLOG: i32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_left_over_is_replaced_and_removed_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let address = Address::File(path.clone());
        let left = socket().expect("a socket");
        rustix::net::bind(&left, &name(&address).expect("a name")).expect("the name is free");
        drop(left);
        assert!(path.exists(), "a socket's file outlives it");
        let listener = Listener::bind(address.clone()).expect("nobody listens there");
        let taken = Listener::bind(address.clone()).expect_err("somebody listens there");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(Channel::connect(&address).is_ok() && listener.accept().is_some());
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "not a socket").expect("writable");
        assert!(Listener::bind(address).is_err(), "another file is left alone");
        assert!(path.exists());
    }

    #[test]
    fn messages_cross_with_their_descriptor_and_others_are_told() {
        let address = Address::Abstract(format!("plumbline-socket-{}", std::process::id()));
        let listener = Listener::bind(address.clone()).expect("a free name");
        let slave = Channel::connect(&address).expect("somebody listens");
        let master = listener.accept().expect("a slave waits");
        assert!(matches!(master.hear(), Ok(Heard::Nothing)));
        let message = Message::AddRegion { index: 0, size: 1 };
        slave.say(&message, Some(slave.as_fd())).expect("room");
        match master.hear() {
            Ok(Heard::Message(heard, Some(_))) => assert_eq!(heard, message),
            other => panic!("{other:?}"),
        }
        for wrong in [&[0u8; 127][..], &[0; 129]] {
            rustix::net::send(&slave.0, wrong, SendFlags::empty()).expect("room");
            assert_eq!(master.hear().expect_err("wrong length"), Breach::MessageSize);
        }
        rustix::net::send(&slave.0, &[0xff; 128], SendFlags::empty()).expect("room");
        assert_eq!(master.hear().expect_err("no such type"), Breach::UnknownMessage);
        drop(slave);
        assert_eq!(master.hear().expect_err("gone"), Breach::PeerClosed);
        assert_eq!(master.say(&Message::Ack, None), Err(Breach::PeerClosed));
    }
}
