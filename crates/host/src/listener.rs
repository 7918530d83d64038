//! A listener for streams of TCP or of a Unix socket.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

use nix::libc;
use nix::sys::epoll::EpollFlags;
use protocol_kit::{Endpoint, StreamOptions, Time};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::options;
use crate::stream::{Accepted, plain};
use crate::tls::{self, Session};

/// A listener.
pub(crate) struct Listener {
    socket: Socket,
    /// Where it listens.
    pub at: Endpoint,
    /// The numbers of its streams.
    pub streams: Range<u32>,
    /// All numbers of its streams below are in use.
    pub lowest: u32,
    /// While it accepts nothing: all numbers are in use, or the kernel has no room.
    pub rests: bool,
    /// The file of a Unix socket.
    file: Option<Metadata>,
    /// By what its streams are encrypted.
    tls: Option<tls::Accepting>,
}

impl Listener {
    /// Opens a listener that never blocks.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(
        at: &Endpoint,
        options: &StreamOptions,
        streams: &Range<u32>,
    ) -> io::Result<Listener> {
        options.tls.as_ref().map_or(Ok(()), |tls| tls::check(tls))?;
        let kind = Type::STREAM.nonblocking().cloexec();
        let (socket, file) = match at {
            Endpoint::Tcp(local) => {
                let socket = Socket::new(Domain::for_address(*local), kind, None)?;
                options::apply(&socket, local.is_ipv6(), options)?;
                socket.set_reuse_address(true)?;
                socket.bind(&SockAddr::from(*local))?;
                (socket, None)
            }
            Endpoint::Unix(path) => {
                remove_stale(path)?;
                // The file gets the mode that the socket has.
                let socket = File::from(OwnedFd::from(Socket::new(Domain::UNIX, kind, None)?));
                socket.set_permissions(Permissions::from_mode(0o600))?;
                let socket = Socket::from(OwnedFd::from(socket));
                socket.bind(&SockAddr::unix(path)?)?;
                (socket, Some(fs::symlink_metadata(path)?))
            }
        };
        socket.listen(BACKLOG)?;
        let (at, streams, lowest) = (at.clone(), streams.clone(), streams.start);
        let tls = options.tls.clone().map(tls::Accepting::new);
        Ok(Listener { socket, at, streams, lowest, rests: false, file, tls })
    }

    /// What the kernel is to tell.
    pub fn interest(&self) -> Option<EpollFlags> {
        (!self.rests).then_some(EpollFlags::EPOLLIN)
    }

    /// Accepts a stream; `None` if none waits.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn accept(&self) -> io::Result<Option<Accepted>> {
        match self.socket.accept4(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
            Ok((socket, peer)) => {
                let (local, peer) = (plain(&socket.local_addr()?), plain(&peer));
                Ok(Some(Accepted { socket, local, peer }))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins the session of an accepted stream; `None` of a plain one.
    ///
    /// # Errors
    /// When the files are of no use any more.
    pub fn session(&mut self, now: Time) -> io::Result<Option<Session>> {
        self.tls.as_mut().map(|tls| Session::accepted(tls.config(now)?)).transpose()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let (Endpoint::Unix(path), Some(own)) = (&self.at, &self.file) else { return };
        // Somebody may have put another one there.
        let is_own = |file: Metadata| (file.dev(), file.ino()) == (own.dev(), own.ino());
        if fs::symlink_metadata(path).is_ok_and(is_own) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the file of a Unix socket that nobody serves.
fn remove_stale(path: &str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        // Binding tells what else is there.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        // Served, or nothing that this one may remove.
        _ => Ok(()),
    }
}

/// Streams that wait in the kernel to be accepted.
const BACKLOG: i32 = 1024;
