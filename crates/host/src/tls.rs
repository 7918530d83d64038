//! TLS of a stream (RFC 8446), version 1.3 alone, where each end shows a certificate.
//!
//! What a stream does is the same with and without it; here is what stands between its bytes and
//! those of the kernel. A session keeps at most [`ROOM`] bytes that the kernel has not taken, and
//! nothing that the machine has not got.
//!
//! **Not supported:** lists of what was revoked: an authority of these devices alone is replaced.
//! Sessions that are resumed, and certificates without the version 3 that names need.

mod files;

mod trouble;

mod verifier;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use nix::libc;
use protocol_kit::Tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConfig, ServerConnection};
use socket2::Socket;

pub use files::check;
pub(crate) use files::{Accepting, FILES_AGE_MAX};
pub(crate) use trouble::Failure;
pub use trouble::{TlsCounters, TlsTrouble};

/// A session of TLS over a socket that never blocks.
pub(crate) struct Session {
    connection: Connection,
    /// Bytes that have arrived and were not read.
    held: usize,
}

/// How a session goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    Done,
    /// The kernel tells when.
    Waiting,
}

impl Session {
    /// The side that has connected.
    ///
    /// # Errors
    /// When the files are of no use.
    pub fn connecting(tls: &Tls) -> io::Result<Session> {
        // The verifier has the name, and no other one is said.
        let name = ServerName::from(IpAddr::from(Ipv4Addr::UNSPECIFIED));
        let connection = ClientConnection::new(files::client(tls)?, name);
        Ok(Session::new(connection.map_err(trouble::of)?.into()))
    }

    /// The side that has accepted.
    ///
    /// # Errors
    /// When what is in the files is of no use.
    pub fn accepted(config: Arc<ServerConfig>) -> io::Result<Session> {
        let connection = ServerConnection::new(config);
        Ok(Session::new(connection.map_err(trouble::of)?.into()))
    }

    fn new(mut connection: Connection) -> Session {
        connection.set_buffer_limit(Some(ROOM));
        Session { connection, held: 0 }
    }

    /// Whether bytes wait for the kernel to take them.
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Whether bytes have arrived of which the kernel tells no more.
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// Goes on with the handshake.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn shake_hands(&mut self, socket: &Socket) -> io::Result<Handshake> {
        loop {
            self.push(socket)?;
            if !self.connection.is_handshaking() {
                return Ok(Handshake::Done);
            }
            match self.fill(socket) {
                Ok(0) => return Err(Failure::new(TlsTrouble::NotSpoken).into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Handshake::Waiting);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what has arrived; 0 when the far end has said that this was all.
    ///
    /// # Errors
    /// That nothing has arrived (`WouldBlock`), or why the stream has failed.
    pub fn read(&mut self, socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(count) => {
                    self.held -= count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(Failure::new(TlsTrouble::CutOff).into()),
            }
            self.fill(socket)?;
        }
    }

    /// Encrypts as many bytes as there is room for, gives them to the kernel, and returns their
    /// number.
    ///
    /// # Errors
    /// That the kernel has not taken those before (`WouldBlock`), or why the stream has failed.
    pub fn write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        if !self.push(socket)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.connection.writer().write(bytes)?;
        self.push(socket)?;
        Ok(count)
    }

    /// Says that this was all; returns whether the kernel has taken it.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn end(&mut self, socket: &Socket) -> io::Result<bool> {
        self.connection.send_close_notify();
        self.push(socket)
    }

    /// Gives the kernel what waits; returns whether it has taken all.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn push(&mut self, socket: &Socket) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Taking(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes in what the kernel has, once; 0 at its end.
    fn fill(&mut self, mut socket: &Socket) -> io::Result<usize> {
        let count = self.connection.read_tls(&mut socket)?;
        match self.connection.process_new_packets() {
            Ok(state) => self.held = state.plaintext_bytes_to_read(),
            Err(error) => {
                // The far end is told why, if it hears that.
                let _ = self.push(socket);
                return Err(trouble::of(error));
            }
        }
        // Keys may be renewed, which is answered.
        self.push(socket)?;
        Ok(count)
    }
}

/// A socket that writes without a signal where nobody reads.
struct Taking<'a>(&'a Socket);

impl Write for Taking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_with_flags(bytes, libc::MSG_NOSIGNAL)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.send_vectored_with_flags(pieces, libc::MSG_NOSIGNAL)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that are encrypted at once, before the kernel takes them.
const ROOM: usize = 64 << 10;
