//! The loop: what has arrived, then what the machine wants, then sleep.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};

use crate::counters::Counters;
use crate::error::SocketError;
use crate::files::Files;
use crate::greetings::{self, Greetings};
use crate::links::Links;
use crate::observed::Observed;
use crate::observer::Observer;
use crate::socket::{Held, Kind};
use crate::stream::{Refused, Stream};
use crate::told::{self, Sent};

mod accepting;

mod writing;

/// A machine with its sockets, on the thread that turns it.
pub struct Host<M: Machine> {
    machine: M,
    sockets: BTreeMap<Socket, Held>,
    listeners: BTreeSet<Socket>,
    /// Listeners for whose streams the kernel has no room, and when they try again.
    resting: BTreeMap<Socket, Time>,
    greetings: Greetings,
    /// Streams with bytes or an end that departed and were not given to the kernel.
    departing: BTreeSet<Socket>,
    links: Links,
    files: Files,
    observed: Observed,
    epoll: Epoll,
    /// What ends a turn that waits.
    wake: Option<Arc<EventFd>>,
    start: Instant,
    counters: Counters,
    reports: Vec<M::Report>,
    /// Where messages and bytes are received.
    buffer: Box<[u8; BUFFER_LEN]>,
    /// Why sockets are not there, the first ones since somebody asked.
    failures: Vec<SocketError>,
    /// Whether the machine still wanted something at the end of the last turn.
    is_restless: bool,
}

impl<M: Machine> Host<M> {
    /// Creates the host of a machine, whose time begins now, in the network namespace of this
    /// thread.
    ///
    /// # Errors
    /// When the kernel has no room for more files, or tells nothing of links.
    pub fn new(machine: M) -> io::Result<Host<M>> {
        let (links, epoll) = (Links::open()?, Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
        epoll.add(&links, EpollEvent::new(EpollFlags::EPOLLIN, LINKS))?;
        Ok(Host {
            machine,
            sockets: BTreeMap::new(),
            listeners: BTreeSet::new(),
            resting: BTreeMap::new(),
            greetings: Greetings::default(),
            departing: BTreeSet::new(),
            links,
            files: Files::default(),
            observed: Observed::new(&Arc::default(), ""),
            epoll,
            wake: None,
            start: Instant::now(),
            counters: Counters::default(),
            reports: Vec::new(),
            buffer: Box::new([0; BUFFER_LEN]),
            failures: Vec::new(),
            is_restless: false,
        })
    }

    /// Lets an observer see the host, by a name.
    #[must_use]
    pub fn seen_by(self, observer: &Arc<Observer>, name: &str) -> Host<M> {
        Host { observed: Observed::new(observer, name), ..self }
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Returns the machine, for what is no input of it.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Ends a turn that waits whenever this event is set, from any thread.
    ///
    /// # Errors
    /// When the kernel has no room for it.
    pub fn wake_by(&mut self, event: &Arc<EventFd>) -> io::Result<()> {
        self.epoll.add(&**event, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        self.wake = Some(Arc::clone(event));
        Ok(())
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes why sockets could not be opened or were closed since the last call, at most 64 of
    /// them.
    pub fn take_failures(&mut self) -> Vec<SocketError> {
        std::mem::take(&mut self.failures)
    }

    /// Returns the machine's time.
    pub fn now(&self) -> Time {
        Time::ZERO.after(self.start.elapsed())
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
        self.observed.begins(self.now());
        // A command may have left something to do.
        self.drain();
        let now = self.now();
        // One that is past stands for at once.
        let deadline = self.machine.deadline().map(|deadline| deadline.max(now));
        let waits = deadline.iter().chain(self.resting.values()).copied();
        let waits = waits.chain(self.greetings.until()).map(|time| time.since(now));
        let wait = waits
            .fold(if self.is_restless { Duration::ZERO } else { patience }, Ord::min)
            .min(WAIT_MAX);
        if !wait.is_zero() {
            // This wait has nanoseconds, that of `epoll` milliseconds.
            let mut descriptors = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut descriptors, Some(TimeSpec::from_duration(wait)), None) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut ready = [EpollEvent::empty(); READY_MAX];
        let count = match self.epoll.wait(&mut ready, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let is_late = self.observed.waited(deadline, self.now());
        self.counters.late += u64::from(is_late);
        for event in &ready[..count] {
            match event.data() {
                LINKS => self.links_ready(),
                FILES => self.files_ready(),
                WAKE => drop(self.wake.as_ref().map(|event| event.read())),
                number @ greetings::BASE.. => self.greet(number - greetings::BASE),
                number => self.ready(Socket(number as u32), event.events()),
            }
        }
        self.wake_listeners();
        self.end_greetings();
        self.drain();
        let now = self.now();
        self.observed.ends((&self.machine, now), self.counters, &self.sockets);
        Ok(std::mem::take(&mut self.reports))
    }

    /// Does what a socket is ready for.
    fn ready(&mut self, number: Socket, events: EpollFlags) {
        let now = self.now();
        match self.sockets.get_mut(&number).map(|held| &mut held.kind) {
            None => {}
            Some(Kind::Listener(_)) => self.accept(number),
            Some(Kind::Stream(stream)) => {
                let (machine, counters) = (&mut self.machine, &mut self.counters);
                let observed = &mut self.observed;
                observed.follow(number, stream);
                let done = stream.ready(events, &mut self.buffer[..], &mut |arrival| {
                    counters.note(&arrival);
                    observed.hears(&arrival, &*machine, None);
                    machine.input(now, Input::Arrival(arrival));
                });
                self.go_on(number, done, now);
            }
            Some(Kind::Udp(_) | Kind::Packets(_) | Kind::Frames(_) | Kind::Netlink(_)) => {
                for _ in 0..MESSAGES_MAX {
                    match self.receive(number, now) {
                        Ok(true) => {}
                        Ok(false) => return,
                        Err(_) => self.counters.errors += 1,
                    }
                }
            }
        }
    }

    /// Hands over which links have come up or gone down.
    fn links_ready(&mut self) {
        let now = self.now();
        let machine = &mut self.machine;
        let done = self.links.ready(&mut self.buffer[..], &mut |interface, is_up| {
            machine.input(now, Input::Arrival(Arrival::Link { interface, is_up }));
        });
        self.counters.errors += u64::from(done.is_err());
    }

    /// Hands over the next message of a socket; false if none waits.
    fn receive(&mut self, socket: Socket, now: Time) -> io::Result<bool> {
        let Some(held) = self.sockets.get(&socket) else { return Ok(false) };
        let arrival = held.kind.receive(socket, &mut self.buffer[..])?;
        let Some(arrival) = arrival else { return Ok(false) };
        self.counters.note(&arrival);
        self.observed.hears(&arrival, &self.machine, Some(&held.kind));
        self.machine.input(now, Input::Arrival(arrival));
        Ok(true)
    }

    /// Does what the machine wants until it wants nothing more.
    fn drain(&mut self) {
        self.is_restless = false;
        let mut left = OUTPUTS_MAX;
        loop {
            let now = self.now();
            while let Some(output) = self.machine.poll(now) {
                match output {
                    Output::Report(report) => self.reports.push(report),
                    Output::Departure(departure) => self.depart(departure, now),
                }
                left -= 1;
                if left == 0 {
                    self.counters.restless += 1;
                    self.is_restless = true;
                    break;
                }
            }
            let departing = std::mem::take(&mut self.departing);
            if departing.is_empty() {
                return;
            }
            departing.into_iter().for_each(|number| self.flush(number, now));
            if self.is_restless {
                return;
            }
        }
    }

    fn depart(&mut self, departure: Departure, now: Time) {
        self.observed.sends(&departure, &self.machine, &self.sockets);
        match departure {
            Departure::Open { socket, opening } => self.open(socket, &opening, now),
            Departure::Close { socket } if self.files.close(socket) => {}
            Departure::Close { socket } => match self.remove(socket) {
                // The kernel forgets what is closed.
                Some(mut held) => drop(held.kind.stream().map(Stream::close)),
                None => self.counters.misdirected += 1,
            },
            Departure::Datagram { socket, interface, via, from, to, ttl, bytes } => {
                let Some(udp) = self.find(socket, Kind::udp) else { return };
                // The kernel keeps what is addressed to itself.
                let is_sent = via.is_none()
                    && told::send(udp, &bytes, Sent { from, to, interface, ttl }).is_ok();
                self.counters.note_sent(is_sent);
            }
            Departure::Packet { socket, interface, from, to, ttl, bytes } => {
                let Some(packets) = self.find(socket, Kind::packets) else { return };
                let to = SocketAddr::new(to, 0);
                let sent = told::send(packets, &bytes, Sent { from, to, interface, ttl });
                self.counters.note_sent(sent.is_ok());
            }
            Departure::Frame { socket, bytes } => {
                let Some(frames) = self.find(socket, Kind::frames) else { return };
                let is_sent = frames.send(&bytes).is_ok();
                self.counters.note_sent(is_sent);
            }
            Departure::Netlink { socket, bytes } => {
                let Some(netlink) = self.find(socket, Kind::netlink) else { return };
                let is_sent = netlink.send(&bytes).is_ok();
                self.counters.note_sent(is_sent);
            }
            Departure::Bytes { socket, bytes } if self.files.has(socket) => {
                match self.files.depart(socket, bytes) {
                    Ok(true) => {}
                    Ok(false) => self.counters.misdirected += 1,
                    Err(error) => {
                        self.counters.overflows += 1;
                        self.fail_file(socket, error, now);
                    }
                }
            }
            Departure::Finish { socket } if self.files.has(socket) => {
                self.counters.misdirected += u64::from(!self.files.finish(socket));
            }
            Departure::Bytes { socket, bytes } => {
                let Some(stream) = self.find(socket, Kind::stream) else { return };
                match stream.depart(bytes) {
                    Ok(()) => drop(self.departing.insert(socket)),
                    Err(Refused::Misdirected) => self.counters.misdirected += 1,
                    Err(Refused::Overflow) => {
                        self.counters.overflows += 1;
                        let why = io::Error::other("more bytes depart than there is room for");
                        self.go_on(socket, Err(why), now);
                    }
                }
            }
            Departure::Finish { socket } => {
                let Some(stream) = self.find(socket, Kind::stream) else { return };
                match stream.finish() {
                    true => drop(self.departing.insert(socket)),
                    false => self.counters.misdirected += 1,
                }
            }
            Departure::Read { socket, is_wanted } => {
                match self.find(socket, |kind| Some(kind)) {
                    Some(Kind::Stream(stream)) => stream.read(is_wanted),
                    Some(Kind::Netlink(netlink)) => netlink.is_wanted = is_wanted,
                    Some(_) => self.counters.misdirected += 1,
                    None => return,
                }
                self.go_on(socket, Ok(()), now);
            }
        }
    }

    /// Returns the open socket of a departure; that there is none of its kind is counted.
    fn find<T>(
        &mut self,
        number: Socket,
        of_kind: fn(&mut Kind) -> Option<&mut T>,
    ) -> Option<&mut T> {
        let found = self.sockets.get_mut(&number).and_then(|held| of_kind(&mut held.kind));
        self.counters.misdirected += u64::from(found.is_none());
        found
    }

    fn open(&mut self, number: Socket, opening: &Opening, now: Time) {
        if self.sockets.contains_key(&number) || self.files.has(number) {
            self.counters.opened_twice += 1;
            return;
        }
        if let Opening::File(opening) = opening {
            return self.open_file(number, opening, now);
        }
        match Held::open(number, opening) {
            Ok(held) => {
                self.observed.opened(number, &self.machine);
                self.hold(number, held);
                if matches!(opening, Opening::Listener { .. }) {
                    self.listeners.insert(number);
                }
            }
            Err(error) => self.fail(number, error, now),
        }
    }

    /// Keeps a socket, and lets the kernel tell of it.
    fn hold(&mut self, number: Socket, held: Held) {
        let held = self.sockets.entry(number).or_insert(held);
        let watched = held.watch(number, &self.epoll);
        let now = self.now();
        self.go_on(number, watched.map_err(io::Error::from), now);
    }

    /// Gives the kernel what departs on a stream.
    fn flush(&mut self, number: Socket, now: Time) {
        let Some(held) = self.sockets.get_mut(&number) else { return };
        let Kind::Stream(stream) = &mut held.kind else { return };
        let (machine, counters) = (&mut self.machine, &mut self.counters);
        let done = stream.flush(&mut |arrival| {
            counters.note(&arrival);
            machine.input(now, Input::Arrival(arrival));
        });
        self.go_on(number, done, now);
    }

    /// Goes on with a socket after something was done with it, or ends it if that failed.
    fn go_on(&mut self, number: Socket, done: io::Result<()>, now: Time) {
        let Some(held) = self.sockets.get_mut(&number) else { return };
        let done = done.and_then(|()| Ok(held.watch(number, &self.epoll)?));
        if let Err(error) = done {
            self.counters.failed += 1;
            let error = SocketError { what: held.kind.name(), source: error };
            self.fail(number, error, now);
        }
    }

    /// A socket is not there, or no longer.
    fn fail(&mut self, socket: Socket, error: SocketError, now: Time) {
        drop(self.remove(socket));
        self.note_failure(error);
        self.tell(now, Arrival::Failed { socket });
    }

    fn note_failure(&mut self, error: SocketError) {
        self.counters.tls.note(&error.source);
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(error);
        }
    }

    fn remove(&mut self, number: Socket) -> Option<Held> {
        let held = self.sockets.remove(&number)?;
        self.departing.remove(&number);
        self.observed.closed(number);
        self.resting.remove(&number);
        if self.listeners.remove(&number) {
            self.greetings.end_of(number);
        }
        // Its number may be one that a listener waits for.
        let waits = |one: &Socket| match self.sockets.get_mut(one).map(|held| &mut held.kind) {
            Some(Kind::Listener(listener)) if listener.streams.contains(&number.0) => {
                listener.lowest = listener.lowest.min(number.0);
                listener.rests && !self.resting.contains_key(one)
            }
            _ => false,
        };
        let waiting: Vec<Socket> = self.listeners.iter().copied().filter(waits).collect();
        waiting.into_iter().for_each(|listener| self.set_rest(listener, false));
        Some(held)
    }

    fn tell(&mut self, now: Time, arrival: Arrival<'_>) {
        self.machine.input(now, Input::Arrival(arrival));
    }
}

/// What the kernel calls the links; sockets and greetings have numbers, which are smaller.
const LINKS: u64 = u64::MAX;

/// What the kernel calls the event that ends a turn.
const WAKE: u64 = LINKS - 1;

/// What the kernel calls the event of files.
const FILES: u64 = WAKE - 1;

/// Sockets that are looked at in a turn.
const READY_MAX: usize = 64;

/// Messages that are read from a socket in a turn, so that none keeps the others waiting.
const MESSAGES_MAX: usize = 256;

/// Outputs of a machine in a turn; one that wants more is not at rest, and has to wait for what
/// arrives meanwhile.
const OUTPUTS_MAX: usize = 100_000;

/// Bytes of a stream that are read at once, and room for what the kernel tells at once, which is
/// 32 KiB at most (`netlink(7)`).
const BUFFER_LEN: usize = 32 << 10;

/// Failures that are kept until somebody asks.
const FAILURES_MAX: usize = 64;

/// The longest turn, as the kernel takes no time of any length.
const WAIT_MAX: Duration = Duration::from_secs(3600);
