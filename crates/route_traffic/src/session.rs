//! One session: a socket, what is to be written to it, and its state.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol_bgp::Notification;
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{Kind, LEN_MAX, write_keepalive};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, send, socket_with,
    sockopt,
};

use crate::speaking::{Speaker, Speaking};

/// A session with the device.
#[derive(Debug)]
pub(crate) struct Session {
    pub speaker: Speaker,
    pub state: State,
    pub socket: Option<OwnedFd>,
    framing: Framing,
    /// What goes out, in this order.
    out: VecDeque<Piece>,
    /// How much of the first of it was written.
    written: usize,
    /// Whether what it is told is read; a slow client does not.
    pub is_reading: bool,
    /// For how long nothing may be heard of the device; zero for ever.
    hold: Duration,
    heard: Instant,
    sent: Instant,
    /// When to connect, and until when to try.
    pub retry: Option<(Instant, Instant)>,
    /// Why it is over, or did not come about the last time.
    pub why: String,
}

/// Whole messages.
#[derive(Debug)]
enum Piece {
    /// A table of a feeder.
    Table(Arc<Vec<u8>>),
    /// Others.
    Messages(Vec<u8>),
}

/// The state of a session (RFC 4271 section 8.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Idle,
    Connecting,
    OpenSent,
    OpenConfirm,
    Established,
}

impl Session {
    pub fn new(speaker: Speaker, now: Instant) -> Session {
        Session {
            speaker,
            state: State::Idle,
            socket: None,
            framing: Framing::default(),
            out: VecDeque::new(),
            written: 0,
            is_reading: true,
            hold: Duration::ZERO,
            heard: now,
            sent: now,
            retry: None,
            why: String::new(),
        }
    }

    /// Begins to connect.
    ///
    /// # Errors
    /// In words, if that fails at once.
    pub fn connect(&mut self, device: SocketAddr, now: Instant) -> Result<(), String> {
        let family = match device {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(|errno| format!("no socket: {errno}"))?;
        let local = SocketAddr::new(self.speaker.local, 0);
        bind(&socket, &local)
            .map_err(|errno| format!("the address {} cannot be used: {errno}", local.ip()))?;
        // Changes of single routes go out at once.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        match connect(&socket, &device) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(format!("no connection with {device}: {errno}")),
        }
        *self = Session {
            state: State::Connecting,
            socket: Some(socket),
            retry: self.retry,
            ..Session::new(self.speaker, now)
        };
        Ok(())
    }

    /// The connection stands, or does not.
    ///
    /// # Errors
    /// In words, if it does not.
    pub fn connected(&mut self, speaking: &Speaking, now: Instant) -> Result<(), String> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let outcome = sockopt::socket_error(socket).and_then(|outcome| outcome);
        outcome.map_err(|errno| format!("no connection with the device: {errno}"))?;
        self.state = State::OpenSent;
        (self.heard, self.sent) = (now, now);
        self.hold = OPEN_PATIENCE;
        let mut open = Vec::new();
        speaking.write_open(&self.speaker, &mut open);
        self.queue(&open);
        Ok(())
    }

    /// Notes that something was heard.
    pub fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Takes bytes of the handshake; what is behind it remains.
    ///
    /// # Errors
    /// In words, if there can be no session.
    pub fn greet(&mut self, bytes: &mut &[u8], speaking: &Speaking) -> Result<(), String> {
        while self.state != State::Established {
            let message = self.framing.next(bytes, LEN_MAX);
            let message = message.map_err(|why| format!("the device sends no messages: {why}"))?;
            let Some(message) = message else { break };
            match (self.state, message.kind) {
                (_, Kind::Notification) => return Err(notified(message.body)),
                (State::OpenSent, Kind::Open) => {
                    let hold_time_s = speaking.read_open(message.body)?;
                    self.hold = Duration::from_secs(hold_time_s.into());
                    self.state = State::OpenConfirm;
                    let mut keepalive = Vec::new();
                    write_keepalive(&mut keepalive);
                    self.queue(&keepalive);
                }
                (State::OpenConfirm, Kind::Keepalive) => self.state = State::Established,
                (state, kind) => {
                    return Err(format!("the device sends {kind:?} to a session in {state:?}"));
                }
            }
        }
        Ok(())
    }

    /// Takes bytes of a session whose routes nobody looks at.
    ///
    /// # Errors
    /// In words, if the device ends it or sends what are no messages.
    pub fn ignore(&mut self, mut bytes: &[u8], len_max: usize) -> Result<(), String> {
        while let Some(message) = self
            .framing
            .next(&mut bytes, len_max)
            .map_err(|why| format!("the device sends no messages: {why}"))?
        {
            if message.kind == Kind::Notification {
                return Err(notified(message.body));
            }
        }
        Ok(())
    }

    /// Has a table told behind what there is.
    pub fn feed(&mut self, table: Arc<Vec<u8>>) {
        if !table.is_empty() {
            self.out.push_back(Piece::Table(table));
        }
    }

    /// Has whole messages sent behind what there is.
    pub fn queue(&mut self, messages: &[u8]) {
        match self.out.back_mut() {
            _ if messages.is_empty() => {}
            Some(Piece::Messages(last)) => last.extend(messages),
            _ => self.out.push_back(Piece::Messages(messages.to_vec())),
        }
    }

    /// Whether there is something to write.
    pub fn has_more(&self) -> bool {
        !self.out.is_empty()
    }

    /// Whether a table is not written to its end.
    pub fn is_feeding(&self) -> bool {
        self.out.iter().any(|piece| matches!(piece, Piece::Table(_)))
    }

    /// Writes as much as the socket takes, and of a table at most a share; returns the bytes of the
    /// table that it has taken.
    ///
    /// # Errors
    /// In words, if the connection is lost.
    pub fn write(&mut self, now: Instant) -> Result<usize, String> {
        let Some(socket) = &self.socket else { return Ok(0) };
        let mut fed = 0;
        while let Some(piece) = self.out.front() {
            let (bytes, is_table) = match piece {
                Piece::Table(table) => (&table[..], true),
                Piece::Messages(messages) => (&messages[..], false),
            };
            let left = &bytes[self.written..];
            let share = &left[..left.len().min(WRITTEN_MAX - fed)];
            if share.is_empty() {
                return Ok(fed);
            }
            match send(socket, share, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.sent = now;
                    self.written += count;
                    fed += if is_table { count } else { 0 };
                    if self.written == bytes.len() {
                        self.out.pop_front();
                        self.written = 0;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(format!("the connection is lost: {errno}")),
            }
        }
        Ok(fed)
    }

    /// Looks at the time: a KEEPALIVE may be due.
    ///
    /// # Errors
    /// In words, if nothing was heard for too long.
    pub fn tick(&mut self, now: Instant) -> Result<(), String> {
        if self.hold.is_zero() || self.state == State::Idle {
            return Ok(());
        }
        if self.is_reading && now.duration_since(self.heard) > self.hold {
            let seconds = self.hold.as_secs();
            return Err(format!("nothing was heard of the device for {seconds} s"));
        }
        // UPDATEs are signs of life, too.
        if self.state == State::Established
            && !self.has_more()
            && now.duration_since(self.sent) >= self.hold / 3
        {
            let mut keepalive = Vec::new();
            write_keepalive(&mut keepalive);
            self.queue(&keepalive);
        }
        Ok(())
    }

    /// Closes it.
    pub fn close(&mut self, why: String) {
        self.socket = None;
        self.state = State::Idle;
        self.out.clear();
        self.written = 0;
        self.framing = Framing::default();
        self.why = why;
    }
}

/// A NOTIFICATION in words.
fn notified(body: &[u8]) -> String {
    let said = Notification::read(body).map_or_else(|| "nothing".into(), |said| said.to_string());
    format!("the device says: {said}")
}

/// For how long an OPEN is waited for.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of a table in one turn.
const WRITTEN_MAX: usize = 1 << 20;
