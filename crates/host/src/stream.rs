//! A stream of TCP or of a Unix socket, plain or by TLS.
//!
//! What departs waits here until the kernel takes it. A turn reads a bounded number of bytes, so
//! that no stream keeps the others waiting.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::{Buf, Bytes};
use nix::libc;
use nix::sys::epoll::EpollFlags;
use protocol_kit::{Arrival, Endpoint, STREAM_ROOM, StreamOptions};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::options;
use crate::tls::{Handshake, Session};

/// A stream.
pub(crate) struct Stream {
    number: protocol_kit::Socket,
    socket: Socket,
    /// The far end, for errors.
    pub peer: Box<str>,
    /// False until the kernel has connected it.
    is_connected: bool,
    /// False until it is connected, and the handshake of TLS done. The machine hears of it then.
    stands: bool,
    tls: Option<Box<Session>>,
    /// What has departed and the kernel has not taken.
    waiting: VecDeque<Bytes>,
    /// Bytes of that.
    waiting_len: usize,
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

impl Accepted {
    /// The far end, for errors.
    pub fn peer(&self) -> String {
        self.peer.map_or("Unix".into(), |peer| Endpoint::Tcp(peer).to_string())
    }
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
        let tls = options.tls.as_ref().map(|tls| Session::connecting(tls)).transpose()?;
        match socket.connect(&address) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Stream::new(number, socket, to.to_string(), tls))
    }

    /// A stream that a listener has accepted, and that stands.
    pub fn accepted(
        number: protocol_kit::Socket,
        accepted: Accepted,
        tls: Option<Session>,
    ) -> Stream {
        let peer = accepted.peer();
        let stream = Stream::new(number, accepted.socket, peer, tls);
        Stream { is_connected: true, stands: true, ..stream }
    }

    fn new(
        number: protocol_kit::Socket,
        socket: Socket,
        peer: String,
        tls: Option<Session>,
    ) -> Stream {
        Stream {
            number,
            socket,
            peer: peer.into(),
            is_connected: false,
            stands: false,
            tls: tls.map(Box::new),
            waiting: VecDeque::new(),
            waiting_len: 0,
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
        let has_more = !self.waiting.is_empty() || self.encrypted_wait();
        flags.set(EpollFlags::EPOLLOUT, !self.is_connected || has_more);
        flags.set(EpollFlags::EPOLLIN, self.is_connected && self.reads());
        (!flags.is_empty() || !self.is_silent).then_some(flags)
    }

    fn encrypted_wait(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.wants_write())
    }

    fn reads(&self) -> bool {
        self.is_wanted && !self.has_ended
    }

    /// Bytes are to depart.
    ///
    /// # Errors
    /// Why they are not accepted.
    pub fn depart(&mut self, bytes: Bytes) -> Result<(), Refused> {
        if !self.stands || self.departing != Departing::Yes {
            return Err(Refused::Misdirected);
        }
        if self.waiting_len + bytes.len() > STREAM_ROOM {
            return Err(Refused::Overflow);
        }
        self.waiting_len += bytes.len();
        self.waiting.push_back(bytes);
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
        if !self.stands && !self.stand(tell)? {
            return Ok(());
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

    /// Looks whether it stands now.
    fn stand(&mut self, tell: Tell<'_>) -> io::Result<bool> {
        if !self.is_connected {
            self.socket.take_error()?.map_or(Ok(()), Err)?;
        }
        let peer = match self.socket.peer_addr() {
            Ok(peer) => plain(&peer),
            // It is not yet, or no longer: then what it has says more.
            Err(error) if error.kind() == io::ErrorKind::NotConnected && !self.is_connected => {
                return Ok(false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => None,
            Err(error) => return Err(error),
        };
        self.is_connected = true;
        if let Some(session) = &mut self.tls
            && session.shake_hands(&self.socket)? == Handshake::Waiting
        {
            return Ok(false);
        }
        self.stands = true;
        let local = plain(&self.socket.local_addr()?);
        tell(Arrival::Connected { socket: self.number, local, peer });
        Ok(true)
    }

    fn receive(&mut self, buffer: &mut [u8], tell: Tell<'_>) -> io::Result<()> {
        let socket = self.number;
        let mut left = TURN_MAX;
        // Of what a session holds the kernel would tell nothing.
        while left > 0 || self.tls.as_ref().is_some_and(|session| session.holds()) {
            let read = match &mut self.tls {
                None => (&self.socket).read(buffer),
                Some(session) => session.read(&self.socket, buffer),
            };
            match read {
                Ok(0) => {
                    self.has_ended = true;
                    tell(Arrival::Finished { socket });
                    return Ok(());
                }
                Ok(count) => {
                    tell(Arrival::Bytes { socket, bytes: &buffer[..count] });
                    left = left.saturating_sub(count);
                    if count < buffer.len() && self.tls.is_none() {
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
            match self.send() {
                Ok(taken) => {
                    self.drop_first(taken);
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
            self.flush_last()?;
        }
        if count > 0 {
            tell(Arrival::Taken { socket: self.number, count });
        }
        Ok(())
    }

    /// Gives the kernel some of what waits; returns how many bytes it has taken.
    fn send(&mut self) -> io::Result<usize> {
        let mut waiting = self.waiting.iter();
        match &mut self.tls {
            None => {
                let mut slices = [IoSlice::new(&[]); PIECES_MAX];
                let mut count = 0;
                for (slice, bytes) in slices.iter_mut().zip(waiting) {
                    *slice = IoSlice::new(bytes);
                    count += 1;
                }
                self.socket.send_vectored_with_flags(&slices[..count], libc::MSG_NOSIGNAL)
            }
            Some(session) => session.write(&self.socket, waiting.next().map_or(&[], |one| one)),
        }
    }

    /// The first bytes do not wait any more.
    fn drop_first(&mut self, mut count: usize) {
        self.waiting_len -= count;
        while let Some(first) = self.waiting.front_mut() {
            if first.len() > count {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.waiting.pop_front();
        }
    }

    /// Gives the kernel what is encrypted, and the end where there is one.
    fn flush_last(&mut self) -> io::Result<()> {
        let is_finishing = self.departing == Departing::Finishing;
        let is_empty = match &mut self.tls {
            None => true,
            Some(session) if is_finishing => session.end(&self.socket)?,
            Some(session) => session.push(&self.socket)?,
        };
        if is_finishing && is_empty {
            self.departing = Departing::Finished;
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// It is closed: the far end of a session is told, or it would take that for a cut. What waits
    /// is dropped.
    pub fn close(&mut self) {
        if let (Some(session), true) = (&mut self.tls, self.stands) {
            // Whatever the kernel says, this was all.
            let _ = session.end(&self.socket);
        }
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

/// Pieces that the kernel is given at once.
const PIECES_MAX: usize = 16;

/// Room for pieces that wait which a stream keeps when none wait.
const KEPT_MAX: usize = 64;
