//! A stream of TCP or of a Unix socket.
//!
//! What departs waits here until the kernel takes it. A turn reads a bounded number of bytes, so
//! that no stream keeps the others waiting.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use nix::libc;
use nix::sys::epoll::EpollFlags;
use protocol_kit::{Arrival, Endpoint, STREAM_ROOM, StreamOptions};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::options;

/// A stream.
pub(crate) struct Stream {
    number: protocol_kit::Socket,
    socket: Socket,
    /// The far end, for errors.
    pub peer: Box<str>,
    /// False until it is connected.
    stands: bool,
    /// What has departed and the kernel has not taken.
    waiting: VecDeque<u8>,
    departing: Departing,
    is_wanted: bool,
    /// Whether the far end has finished.
    has_ended: bool,
    /// Whether both directions are shut down: the kernel would tell that again and again.
    is_silent: bool,
}

/// Whether bytes depart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departing {
    Yes,
    /// Until those that wait are taken.
    Finishing,
    Finished,
}

/// Why bytes are not accepted for departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The stream does not stand, or has been finished.
    Misdirected,
    /// There is no room for them.
    Overflow,
}

/// What a listener has accepted.
pub(crate) struct Accepted {
    pub socket: Socket,
    pub local: Option<SocketAddr>,
    pub peer: Option<SocketAddr>,
}

/// What hears of arrivals.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(Arrival<'_>);

impl Stream {
    /// Begins to connect a stream that never blocks. A Unix socket stands at once.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn connect(
        number: protocol_kit::Socket,
        from: Option<SocketAddr>,
        to: &Endpoint,
        options: &StreamOptions,
    ) -> io::Result<Stream> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let (socket, address) = match to {
            Endpoint::Tcp(to) => {
                let socket = Socket::new(Domain::for_address(*to), kind, None)?;
                options::apply(&socket, to.is_ipv6(), options)?;
                if let Some(from) = from {
                    socket.set_reuse_address(from.port() != 0)?;
                    socket.bind(&from.into())?;
                }
                (socket, SockAddr::from(*to))
            }
            Endpoint::Unix(path) => (Socket::new(Domain::UNIX, kind, None)?, SockAddr::unix(path)?),
        };
        match socket.connect(&address) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Stream::new(number, socket, to.to_string(), false))
    }

    /// A stream that a listener has accepted.
    pub fn accepted(number: protocol_kit::Socket, accepted: Accepted) -> Stream {
        let peer = accepted.peer.map_or("Unix".into(), |peer| Endpoint::Tcp(peer).to_string());
        Stream::new(number, accepted.socket, peer, true)
    }

    fn new(number: protocol_kit::Socket, socket: Socket, peer: String, stands: bool) -> Stream {
        Stream {
            number,
            socket,
            peer: peer.into(),
            stands,
            waiting: VecDeque::new(),
            departing: Departing::Yes,
            is_wanted: true,
            has_ended: false,
            is_silent: false,
        }
    }

    /// Its ends, the local one first; `None` of a Unix socket.
    pub fn ends(&self) -> Option<[SocketAddr; 2]> {
        let (local, peer) = (self.socket.local_addr().ok()?, self.socket.peer_addr().ok()?);
        Some([plain(&local)?, plain(&peer)?])
    }

    /// What the kernel is to tell; `None` for not even errors.
    pub fn interest(&self) -> Option<EpollFlags> {
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLOUT, !self.stands || !self.waiting.is_empty());
        flags.set(EpollFlags::EPOLLIN, self.stands && self.reads());
        (!flags.is_empty() || !self.is_silent).then_some(flags)
    }

    fn reads(&self) -> bool {
        self.is_wanted && !self.has_ended
    }

    /// Bytes are to depart.
    ///
    /// # Errors
    /// Why they are not accepted.
    pub fn depart(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if !self.stands || self.departing != Departing::Yes {
            return Err(Refused::Misdirected);
        }
        if self.waiting.len() + bytes.len() > STREAM_ROOM {
            return Err(Refused::Overflow);
        }
        self.waiting.extend(bytes);
        Ok(())
    }

    /// No more bytes are to depart. Returns whether some could until now.
    pub fn finish(&mut self) -> bool {
        let could = self.stands && self.departing == Departing::Yes;
        if could {
            self.departing = Departing::Finishing;
        }
        could
    }

    /// Bytes are wanted or are not.
    pub fn read(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
    }

    /// Does what the kernel is ready for.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn ready(
        &mut self,
        events: EpollFlags,
        buffer: &mut [u8],
        tell: Tell<'_>,
    ) -> io::Result<()> {
        if !self.stands {
            return self.stand(tell);
        }
        if events.contains(EpollFlags::EPOLLOUT) {
            self.flush(tell)?;
        }
        if self.reads() {
            // Bytes from before an error are read first; then it is told.
            return self.receive(buffer, tell);
        }
        if events.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
            self.socket.take_error()?.map_or(Ok(()), Err)?;
            self.is_silent = events.contains(EpollFlags::EPOLLHUP);
        }
        Ok(())
    }

    /// Looks whether it is connected.
    fn stand(&mut self, tell: Tell<'_>) -> io::Result<()> {
        self.socket.take_error()?.map_or(Ok(()), Err)?;
        let peer = match self.socket.peer_addr() {
            Ok(peer) => plain(&peer),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(()),
            Err(error) => return Err(error),
        };
        self.stands = true;
        let local = plain(&self.socket.local_addr()?);
        tell(Arrival::Connected { socket: self.number, local, peer });
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], tell: Tell<'_>) -> io::Result<()> {
        let socket = self.number;
        let mut left = TURN_MAX;
        while left > 0 {
            let len = buffer.len().min(left);
            match (&self.socket).read(&mut buffer[..len]) {
                Ok(0) => {
                    self.has_ended = true;
                    tell(Arrival::Finished { socket });
                    return Ok(());
                }
                Ok(count) => {
                    tell(Arrival::Bytes { socket, bytes: &buffer[..count] });
                    left -= count;
                    if count < len {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives the kernel what waits, as much as it takes.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn flush(&mut self, tell: Tell<'_>) -> io::Result<()> {
        let mut count = 0;
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match self.socket.send_with_flags(first, libc::MSG_NOSIGNAL) {
                Ok(taken) => {
                    self.waiting.drain(..taken);
                    count += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.waiting.is_empty() {
            if self.waiting.capacity() > KEPT_MAX {
                self.waiting = VecDeque::new();
            }
            if self.departing == Departing::Finishing {
                self.departing = Departing::Finished;
                self.socket.shutdown(Shutdown::Write)?;
            }
        }
        if count > 0 {
            tell(Arrival::Taken { socket: self.number, count });
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The address and port of an end; `None` for a Unix socket.
pub(crate) fn plain(address: &SockAddr) -> Option<SocketAddr> {
    let address = address.as_socket()?;
    Some(SocketAddr::new(address.ip(), address.port()))
}

/// Bytes that are read from a stream in a turn.
const TURN_MAX: usize = 64 << 10;

/// Room for bytes that wait which a stream keeps when none wait.
const KEPT_MAX: usize = 4 << 10;
