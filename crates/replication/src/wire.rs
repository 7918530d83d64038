//! A TCP connection on which messages pass, used by one thread that does other things, too: nothing
//! here waits, and nothing grows.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::change::{Change, Malformed};
use crate::link::Link;
use crate::message::{Cause, Inbox, Message, len_max};

/// A connection.
pub struct Wire {
    stream: TcpStream,
    inbox: Inbox,
    outbox: Vec<u8>,
    /// Bytes of `outbox` that were sent.
    written: usize,
    heard: Instant,
    said: Instant,
}

/// Why a connection is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It could not be made.
    #[error("no connection: {0}")]
    NoConnection(io::Error),
    /// It broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// The other side closed it.
    #[error("the other side closed the connection")]
    Closed,
    /// It says what makes no sense.
    #[error("the other side speaks otherwise: {0}")]
    Malformed(#[from] Malformed),
    /// It says nothing.
    #[error("the other side is silent")]
    Silent,
    /// It does not want this one.
    #[error("refused: {}", .0.text())]
    Refused(Cause),
    /// This side ends.
    #[error("ended")]
    Stopped,
}

impl Wire {
    /// A connection that was just made.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new<C: Change>(stream: TcpStream) -> io::Result<Wire> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let now = Instant::now();
        let outbox = Vec::with_capacity(2 * len_max::<C>());
        Ok(Wire { stream, inbox: Inbox::new::<C>(), outbox, written: 0, heard: now, said: now })
    }

    /// Says something, as soon as what was said before is sent.
    pub fn say<C: Change>(&mut self, message: &Message, changes: &[C]) {
        self.said = Instant::now();
        message.write(changes, &mut self.outbox);
    }

    /// Sends what it can; tells whether that was all.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn flush(&mut self) -> Result<bool, Trouble> {
        while self.written < self.outbox.len() {
            match self.stream.write(&self.outbox[self.written..]) {
                Ok(0) => return Err(Trouble::Closed),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.outbox.clear();
        self.written = 0;
        Ok(true)
    }

    /// The next message, if one is there; its changes replace those in `changes`.
    ///
    /// # Errors
    /// When the connection is broken, closed, silent for long, or says what makes no sense.
    pub fn hear<C: Change>(&mut self, changes: &mut Vec<C>) -> Result<Option<Message>, Trouble> {
        loop {
            if let Some(message) = self.inbox.next(changes)? {
                self.heard = Instant::now();
                return Ok(Some(message));
            }
            match self.stream.read(self.inbox.room()) {
                Ok(0) => return Err(Trouble::Closed),
                Ok(count) => self.inbox.filled(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Bytes that never become a message are no sign of life.
                    let is_silent = self.heard.elapsed() > SILENCE_MAX;
                    return if is_silent { Err(Trouble::Silent) } else { Ok(None) };
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether it is time to show that this side lives.
    pub fn is_quiet(&self) -> bool {
        self.said.elapsed() > QUIET_MAX
    }

    /// Sends all that was said, and waits for the next message.
    ///
    /// # Errors
    /// As [`Self::hear`], and when this side ends.
    pub fn exchange<C: Change>(&mut self, link: &Link) -> Result<Message, Trouble> {
        let mut none = Vec::<C>::new();
        let mut rest = Rest::default();
        loop {
            self.flush()?;
            if let Some(message) = self.hear(&mut none)? {
                return Ok(message);
            }
            if link.stops() {
                return Err(Trouble::Stopped);
            }
            rest.a_while();
        }
    }
}

/// How long a thread with nothing to do waits: longer from time to time, until there is something
/// again. The worker on the other side makes no system call, so nobody wakes it.
pub struct Rest(Duration);

impl Default for Rest {
    fn default() -> Rest {
        Rest(REST_MIN)
    }
}

impl Rest {
    /// Waits, or until the thread is unparked.
    pub fn a_while(&mut self) {
        std::thread::park_timeout(self.0);
        self.0 = (self.0 * 2).min(REST_MAX);
    }

    /// There was something to do.
    pub fn is_over(&mut self) {
        self.0 = REST_MIN;
    }
}

/// The shortest wait of a thread that has nothing to do.
const REST_MIN: Duration = Duration::from_micros(500);

/// The longest.
const REST_MAX: Duration = Duration::from_millis(16);

/// After such a time without a message a connection is given up.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// After such a time one side shows that it lives.
const QUIET_MAX: Duration = Duration::from_secs(1);
