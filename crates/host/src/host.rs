//! The loop: what has arrived, then what the machine wants, then sleep.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};

use crate::error::SocketError;
use crate::socket::Kind;
use crate::told::{self, Received, Sent};

/// A machine with its sockets, on the thread that turns it.
pub struct Host<M: Machine> {
    machine: M,
    sockets: BTreeMap<Socket, Kind>,
    epoll: Epoll,
    start: Instant,
    counters: Counters,
    reports: Vec<M::Report>,
    /// Where messages are received.
    buffer: Box<[u8; MESSAGE_MAX]>,
    /// Why sockets could not be opened, the last ones.
    failures: Vec<SocketError>,
}

/// What a host has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams, packets and frames handed to the machine.
    pub received: u64,
    /// Datagrams, packets and frames sent.
    pub sent: u64,
    /// Those that the kernel did not take, or that this host cannot send.
    pub unsent: u64,
    /// Errors of sockets when they were read.
    pub errors: u64,
    /// Turns that began later than the machine's deadline by more than a millisecond.
    pub late: u64,
}

impl<M: Machine> Host<M> {
    /// Creates the host of a machine, whose time begins now.
    ///
    /// # Errors
    /// When the kernel has no room for one more file.
    pub fn new(machine: M) -> io::Result<Host<M>> {
        Ok(Host {
            machine,
            sockets: BTreeMap::new(),
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            start: Instant::now(),
            counters: Counters::default(),
            reports: Vec::new(),
            buffer: Box::new([0; MESSAGE_MAX]),
            failures: Vec::new(),
        })
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes why sockets could not be opened since the last call, at most 64 of them.
    pub fn take_failures(&mut self) -> Vec<SocketError> {
        std::mem::take(&mut self.failures)
    }

    /// Gives the machine a command.
    pub fn command(&mut self, command: M::Command) {
        let now = self.now();
        self.machine.input(now, Input::Command(command));
    }

    /// Waits until something arrives or the machine's deadline, but not longer than `patience`,
    /// lets the machine have it, and returns what it reports.
    ///
    /// # Errors
    /// When the kernel cannot wait.
    pub fn turn(&mut self, patience: Duration) -> io::Result<Vec<M::Report>> {
        // A command may have left something to do.
        self.drain();
        let deadline = self.machine.deadline();
        let until = deadline.map_or(patience, |deadline| deadline.since(self.now()));
        let mut ready = [EpollEvent::empty(); READY_MAX];
        // The kernel counts milliseconds, and is not to be early.
        let millis = until.min(patience).as_nanos().div_ceil(1_000_000).min(60_000) as u16;
        let count = match self.epoll.wait(&mut ready, EpollTimeout::from(millis)) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let is_late = |deadline: Time| self.now().since(deadline) > LATE;
        self.counters.late += u64::from(deadline.is_some_and(is_late));
        for event in &ready[..count] {
            self.receive(Socket(event.data() as u32));
        }
        self.drain();
        Ok(std::mem::take(&mut self.reports))
    }

    /// Hands over what waits at a socket.
    fn receive(&mut self, number: Socket) {
        for _ in 0..MESSAGES_MAX {
            match self.receive_one(number) {
                Ok(true) => self.counters.received += 1,
                Ok(false) => return,
                Err(_) => self.counters.errors += 1,
            }
        }
    }

    /// Hands over the next message of a socket; false if none waits.
    fn receive_one(&mut self, socket: Socket) -> io::Result<bool> {
        let now = self.now();
        let bytes = &mut self.buffer[..];
        let arrival = match self.sockets.get(&socket) {
            None => return Ok(false),
            Some(Kind::Udp(udp)) => {
                let Some(received) = told::receive(udp, bytes)? else { return Ok(false) };
                let Received { len, from, to, interface, ttl } = received;
                let bytes = &bytes[..len];
                Arrival::Datagram { socket, interface, from, to, ttl, bytes }
            }
            Some(Kind::Packets(packets)) => {
                let Some((received, begin)) = packets.receive(bytes)? else { return Ok(false) };
                let Received { len, from, to, interface, ttl } = received;
                let (from, bytes) = (from.ip(), &bytes[begin..len]);
                Arrival::Packet { socket, interface, from, to, ttl, bytes }
            }
            Some(Kind::Frames(frames)) => {
                let Some(len) = frames.receive(bytes)? else { return Ok(false) };
                Arrival::Frame { socket, interface: frames.interface(), bytes: &bytes[..len] }
            }
        };
        self.machine.input(now, Input::Arrival(arrival));
        Ok(true)
    }

    /// Does what the machine wants until it wants nothing more.
    fn drain(&mut self) {
        let now = self.now();
        while let Some(output) = self.machine.poll(now) {
            match output {
                Output::Report(report) => self.reports.push(report),
                Output::Departure(departure) => self.depart(departure, now),
            }
        }
    }

    fn depart(&mut self, departure: Departure, now: Time) {
        match departure {
            Departure::Open { socket, opening } => {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, u64::from(socket.0));
                let opened = Kind::open(&opening).and_then(|kind| {
                    let added = self.epoll.add(&kind, event);
                    let failed = |error: nix::Error| SocketError::opening("a socket", error.into());
                    added.map(|()| kind).map_err(failed)
                });
                match opened {
                    Ok(kind) => drop(self.sockets.insert(socket, kind)),
                    Err(error) => {
                        if self.failures.len() < FAILURES_MAX {
                            self.failures.push(error);
                        }
                        self.machine.input(now, Input::Arrival(Arrival::Failed { socket }));
                    }
                }
            }
            // The kernel forgets what is closed.
            Departure::Close { socket } => drop(self.sockets.remove(&socket)),
            Departure::Datagram { socket, interface, via, from, to, ttl, bytes } => {
                let sent = match self.sockets.get(&socket) {
                    Some(Kind::Udp(udp)) if via.is_none() => {
                        told::send(udp, &bytes, Sent { from, to, interface, ttl }).is_ok()
                    }
                    _ => false,
                };
                self.count_sent(sent);
            }
            Departure::Packet { socket, interface, from, to, ttl, bytes } => {
                let to = SocketAddr::new(to, 0);
                let sent = match self.sockets.get(&socket) {
                    Some(Kind::Packets(packets)) => {
                        told::send(packets, &bytes, Sent { from, to, interface, ttl }).is_ok()
                    }
                    _ => false,
                };
                self.count_sent(sent);
            }
            Departure::Frame { socket, bytes } => {
                let sent = match self.sockets.get(&socket) {
                    Some(Kind::Frames(frames)) => frames.send(&bytes).is_ok(),
                    _ => false,
                };
                self.count_sent(sent);
            }
            _ => self.count_sent(false),
        }
    }

    fn count_sent(&mut self, is_sent: bool) {
        let counter = if is_sent { &mut self.counters.sent } else { &mut self.counters.unsent };
        *counter += 1;
    }

    fn now(&self) -> Time {
        Time::ZERO.after(self.start.elapsed())
    }
}

/// Sockets that are looked at in a turn.
const READY_MAX: usize = 64;

/// Messages that are read from a socket in a turn, so that none keeps the others waiting.
const MESSAGES_MAX: usize = 256;

/// The longest datagram, packet with its header, or frame that is handed over, in bytes.
const MESSAGE_MAX: usize = 9216;

/// Failures that are kept until somebody asks.
const FAILURES_MAX: usize = 64;

/// A turn is late when it begins this much behind the deadline.
const LATE: Duration = Duration::from_millis(1);
