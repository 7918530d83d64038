//! The loop: what has arrived, then what the machine wants, then sleep.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};

use crate::socket::{Sent, SocketError, Udp};

/// A machine with its sockets, on the thread that turns it.
pub struct Host<M: Machine> {
    machine: M,
    sockets: BTreeMap<Socket, Udp>,
    epoll: Epoll,
    start: Instant,
    counters: Counters,
    reports: Vec<M::Report>,
    /// Why sockets could not be opened, the last ones.
    failures: Vec<SocketError>,
}

/// What a host has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams handed to the machine.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that the kernel did not take, or that this host cannot send.
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

    /// Hands over all that waits at a socket.
    fn receive(&mut self, number: Socket) {
        let mut bytes = [0; DATAGRAM_MAX];
        let now = self.now();
        for _ in 0..DATAGRAMS_MAX {
            let Some(socket) = self.sockets.get(&number) else { return };
            match socket.receive(&mut bytes) {
                Ok(Some(received)) => {
                    self.counters.received += 1;
                    let arrival = Arrival::Datagram {
                        socket: number,
                        interface: received.interface,
                        from: received.from,
                        to: received.to,
                        ttl: received.ttl,
                        bytes: &bytes[..received.len],
                    };
                    self.machine.input(now, Input::Arrival(arrival));
                }
                Ok(None) => return,
                Err(_) => self.counters.errors += 1,
            }
        }
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
            Departure::Open { socket, opening: Opening::Datagrams { local, interface } } => {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, u64::from(socket.0));
                let opened = Udp::open(local, interface).and_then(|udp| {
                    let added = self.epoll.add(udp.as_fd(), event);
                    added.map_err(|error| SocketError { local, source: error.into() })?;
                    Ok(udp)
                });
                match opened {
                    Ok(udp) => drop(self.sockets.insert(socket, udp)),
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
                let sent = Sent { from, to, interface, ttl };
                let done = self.sockets.get(&socket).filter(|_| via.is_none_or(|_: IpAddr| false));
                let done = done.is_some_and(|socket| socket.send(&bytes, sent).is_ok());
                let counter =
                    if done { &mut self.counters.sent } else { &mut self.counters.unsent };
                *counter += 1;
            }
            Departure::Open { socket, .. } => {
                self.machine.input(now, Input::Arrival(Arrival::Failed { socket }));
            }
            _ => self.counters.unsent += 1,
        }
    }

    fn now(&self) -> Time {
        Time::ZERO.after(self.start.elapsed())
    }
}

/// Sockets that are looked at in a turn.
const READY_MAX: usize = 64;

/// Datagrams that are read from a socket in a turn, so that none keeps the others waiting.
const DATAGRAMS_MAX: usize = 256;

/// The longest datagram of a protocol over UDP, in bytes.
const DATAGRAM_MAX: usize = 9216;

/// Failures that are kept until somebody asks.
const FAILURES_MAX: usize = 64;

/// A turn is late when it begins this much behind the deadline.
const LATE: Duration = Duration::from_millis(1);
