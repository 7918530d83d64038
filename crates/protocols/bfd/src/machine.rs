//! All sessions of a node: which one a packet is for, and when each wants something.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Random, Socket, Time,
};
use tables::wheel::Wheel;

use crate::config::{Config, Path, Reach, Unusable};
use crate::echo::{Echo, Returned};
use crate::packet::{Diagnostic, Packet, State};
use crate::session::{Session, Times};
use crate::sockets::{CONTROL, ECHO, Kind, MULTIHOP, PORTS_FROM, SHARED, shared_by};
use crate::view::View;

/// The machine of BFD. Its memory follows from the number of sessions that it was made for.
#[derive(Debug)]
pub struct Bfd {
    places: Vec<Place>,
    /// Sessions by their own discriminators.
    discriminators: BTreeMap<u32, u32>,
    /// Sessions by their paths, for packets of peers that do not know our discriminator yet.
    paths: BTreeMap<Path, u32>,
    /// Timers of all sessions, [`TIMERS`] each.
    wheel: Wheel,
    /// Places that want something now; each is there once.
    ready: VecDeque<u32>,
    listeners: [Listener; SHARED.len()],
    refused: VecDeque<(u32, Unusable)>,
    counters: Counters,
    random: Random,
}

/// Room for a session.
#[derive(Debug, Default)]
struct Place {
    session: Option<Session>,
    /// The source port of its packets while their socket is open.
    port: Option<u16>,
    is_ready: bool,
    /// Times that the wheel has.
    timed: Times,
    echo: Echo,
}

/// A socket that sessions share.
#[derive(Clone, Copy, Debug, Default)]
struct Listener {
    users: usize,
    is_open: bool,
}

/// What a controller says. Sessions have numbers of its choice, below the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Adds a session.
    Add(u32, Config),
    /// Changes a session; its path and its discriminator stay.
    Change(u32, Config),
    /// Removes a session. The peer notices by time.
    Remove(u32),
    /// Holds a session down for this reason, or lets it come up again.
    Hold(u32, Option<Diagnostic>),
}

/// What the machine says of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has changed its state.
    Changed {
        /// Its number.
        session: u32,
        /// Its state now.
        state: State,
        /// Why it has left the state before.
        diagnostic: Diagnostic,
        /// The code in the peer's last packet.
        peer_diagnostic: Diagnostic,
    },
    /// A command was refused; nothing has changed.
    Refused {
        /// The number in the command.
        session: u32,
        /// Why.
        why: Unusable,
    },
}

/// Packets by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Control packets that a session accepted.
    pub received: u64,
    /// Control packets sent.
    pub sent: u64,
    /// Echo packets sent.
    pub echo_sent: u64,
    /// Echo packets that came back.
    pub echo_returned: u64,
    /// Dropped: bytes that are no packet (RFC 5880 section 6.8.6).
    pub malformed: u64,
    /// Dropped: the Time To Live says that it came from farther away (RFC 5881 section 5).
    pub ttl: u64,
    /// Dropped: no session has this discriminator or path.
    pub no_session: u64,
    /// Dropped: not authentic.
    pub authentication: u64,
    /// Dropped: an Echo packet that was not sent, or came back before.
    pub echo: u64,
}

impl Machine for Bfd {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Arrival(Arrival::Datagram { socket, interface, from, to, ttl, bytes }) => {
                let path = |reach| Path { reach, local: to, peer: from.ip() };
                match SHARED.get(socket.0 as usize).map(|listener| listener.kind) {
                    Some(Kind::SingleHop) => {
                        self.receive(path(Reach::SingleHop(interface)), ttl, bytes, now);
                    }
                    Some(Kind::MultiHop) => self.receive(path(Reach::MultiHop(0)), ttl, bytes, now),
                    Some(Kind::Echo) => self.echo_returned(bytes, now),
                    None => self.counters.no_session += 1,
                }
            }
            Input::Arrival(Arrival::Failed { socket }) => self.failed(socket),
            // It has opened nothing for what else arrives.
            Input::Arrival(_) => {}
            Input::Command(command) => self.obey(command, now),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let Some((session, why)) = self.refused.pop_front() {
            return Some(Output::Report(Report::Refused { session, why }));
        }
        if let Some(departure) = self.listen() {
            return Some(Output::Departure(departure));
        }
        while let Some(timer) = self.wheel.due(now.0) {
            self.expire(timer / TIMERS, now);
        }
        while let Some(&number) = self.ready.front() {
            if let Some(output) = self.next_of(number, now) {
                return Some(output);
            }
            self.ready.pop_front();
            self.places[number as usize].is_ready = false;
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        let is_waiting = !self.ready.is_empty() || !self.refused.is_empty();
        if is_waiting { Some(Time::ZERO) } else { self.wheel.deadline().map(Time) }
    }
}

impl Bfd {
    /// Creates a machine for sessions with numbers below `limit`, and random numbers of a seed that
    /// nobody else knows.
    pub fn new(limit: u32, seed: u64) -> Bfd {
        Bfd {
            places: (0..limit).map(|_| Place::default()).collect(),
            discriminators: BTreeMap::new(),
            paths: BTreeMap::new(),
            wheel: Wheel::new((limit * TIMERS) as usize, STEP_BITS),
            ready: VecDeque::with_capacity(limit as usize),
            listeners: Default::default(),
            refused: VecDeque::with_capacity(REFUSED_MAX),
            counters: Counters::default(),
            random: Random::new(seed),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns what a person sees of a session; `None` of one that does not exist.
    pub fn view(&self, number: u32) -> Option<View> {
        let session = self.places.get(number as usize)?.session.as_ref()?;
        Some(View::of(session))
    }

    fn receive(&mut self, path: Path, ttl: u8, bytes: &[u8], now: Time) {
        let is_neighbour = matches!(path.reach, Reach::SingleHop(_));
        if is_neighbour && ttl != TTL_MAX {
            self.counters.ttl += 1;
            return;
        }
        let Ok(packet) = Packet::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        // Once the peer knows our discriminator, that alone decides (RFC 5880 section 6.3).
        let number = match packet.your_discriminator {
            0 => self.paths.get(&path),
            discriminator => self.discriminators.get(&discriminator),
        };
        let place = number.and_then(|number| self.places.get_mut(*number as usize));
        let session = place.and_then(|place| place.session.as_mut()).filter(|session| {
            matches!(session.config.path.reach, Reach::SingleHop(_)) == is_neighbour
        });
        let (Some(&number), Some(session)) = (number, session) else {
            self.counters.no_session += 1;
            return;
        };
        if matches!(session.config.path.reach, Reach::MultiHop(least) if ttl < least) {
            self.counters.ttl += 1;
            return;
        }
        if session.receive(&packet, bytes, &mut self.random, now) {
            self.counters.received += 1;
            self.settle(number, now);
        } else {
            self.counters.authentication += 1;
        }
    }

    fn echo_returned(&mut self, bytes: &[u8], now: Time) {
        let returned = Returned::parse(bytes);
        let number = returned.and_then(|one| self.discriminators.get(&one.discriminator).copied());
        let place = number.and_then(|number| self.places.get_mut(number as usize));
        let (Some(returned), Some(number), Some(place)) = (returned, number, place) else {
            self.counters.echo += 1;
            return;
        };
        if !place.echo.take(returned) {
            self.counters.echo += 1;
            return;
        }
        if let Some(session) = &mut place.session {
            session.echo_returned(now);
        }
        self.counters.echo_returned += 1;
        self.settle(number, now);
    }

    fn obey(&mut self, command: Command, now: Time) {
        let (number, done) = match command {
            Command::Add(number, config) => (number, self.add(number, config, now)),
            Command::Change(number, config) => (number, self.change(number, config, now)),
            Command::Remove(number) => (number, self.remove(number)),
            Command::Hold(number, down) => (number, self.hold(number, down, now)),
        };
        match done {
            Ok(()) => self.settle(number, now),
            Err(why) => {
                // A driver that does not poll hears of the last ones.
                if self.refused.len() == REFUSED_MAX {
                    self.refused.pop_front();
                }
                self.refused.push_back((number, why));
            }
        }
    }

    fn add(&mut self, number: u32, config: Config, now: Time) -> Result<(), Unusable> {
        config.check()?;
        let path = key_of(config.path);
        let place = self.places.get_mut(number as usize).ok_or(Unusable::Session)?;
        if place.session.is_some() || self.paths.contains_key(&path) {
            return Err(Unusable::Session);
        }
        let is_free = |one: &u32| *one != 0 && !self.discriminators.contains_key(one);
        let discriminator = match config.discriminator {
            Some(wanted) => Some(wanted).filter(is_free).ok_or(Unusable::Session)?,
            None => loop {
                let drawn = self.random.bits() as u32;
                if is_free(&drawn) {
                    break drawn;
                }
            },
        };
        place.echo = Echo::new(self.random.bits());
        shared_by(&config).for_each(|listener| self.listeners[listener].users += 1);
        place.session = Some(Session::new(config, discriminator, &mut self.random, now));
        self.paths.insert(path, number);
        self.discriminators.insert(discriminator, number);
        Ok(())
    }

    fn change(&mut self, number: u32, config: Config, now: Time) -> Result<(), Unusable> {
        config.check()?;
        let session = self.session(number)?;
        if session.config.path != config.path {
            return Err(Unusable::Session);
        }
        let listeners = [shared_by(&session.config), shared_by(&config)];
        let [before, after] = listeners.map(Iterator::collect::<Vec<_>>);
        after.into_iter().for_each(|listener| self.listeners[listener].users += 1);
        before.into_iter().for_each(|listener| self.listeners[listener].users -= 1);
        let session = self.places[number as usize].session.as_mut().ok_or(Unusable::Session)?;
        session.configure(config, &mut self.random, now);
        Ok(())
    }

    fn remove(&mut self, number: u32) -> Result<(), Unusable> {
        self.session(number)?;
        let session = self.places[number as usize].session.take().ok_or(Unusable::Session)?;
        shared_by(&session.config).for_each(|listener| self.listeners[listener].users -= 1);
        self.paths.remove(&key_of(session.config.path));
        self.discriminators.remove(&session.discriminator);
        Ok(())
    }

    fn hold(&mut self, number: u32, down: Option<Diagnostic>, now: Time) -> Result<(), Unusable> {
        self.session(number)?;
        if let Some(session) = &mut self.places[number as usize].session {
            session.hold(down, &mut self.random, now);
        }
        Ok(())
    }

    fn session(&self, number: u32) -> Result<&Session, Unusable> {
        let place = self.places.get(number as usize);
        place.and_then(|place| place.session.as_ref()).ok_or(Unusable::Session)
    }

    fn expire(&mut self, number: u32, now: Time) {
        let place = &mut self.places[number as usize];
        if let Some(session) = &mut place.session {
            session.expire(&mut self.random, now);
        }
        // The wheel has forgotten what was due.
        place.timed = Times::default();
        self.settle(number, now);
    }

    /// Sets the timers of a session anew where they have changed, and notes that it wants
    /// something.
    fn settle(&mut self, number: u32, now: Time) {
        let place = &mut self.places[number as usize];
        let times = place.session.as_ref().map_or(Times::default(), |session| session.times);
        // What is to be sent now needs no timer.
        let later = |time: Option<Time>| time.filter(|time| *time > now);
        let wanted = Times { transmit: later(times.transmit), echo: later(times.echo), ..times };
        for (timer, (wanted, timed)) in wanted.all().into_iter().zip(place.timed.all()).enumerate()
        {
            let timer = number * TIMERS + timer as u32;
            match wanted {
                Some(time) if wanted != timed => self.wheel.set(timer, time.0),
                None => {
                    self.wheel.cancel(timer);
                }
                Some(_) => {}
            }
        }
        place.timed = wanted;
        let is_due = match &place.session {
            Some(session) => session.is_due(now),
            None => place.port.is_some(),
        };
        if is_due && !place.is_ready {
            place.is_ready = true;
            self.ready.push_back(number);
        }
    }

    /// The next output of a session, or of a place that has lost its one.
    fn next_of(&mut self, number: u32, now: Time) -> Option<Output<Report>> {
        let place = &mut self.places[number as usize];
        let socket = Socket(SHARED.len() as u32 + number);
        let Some(session) = &mut place.session else {
            place.port.take()?;
            return Some(Output::Departure(Departure::Close { socket }));
        };
        let Path { reach, local, peer } = session.config.path;
        let interface = match reach {
            Reach::SingleHop(interface) => Some(interface),
            Reach::MultiHop(_) => None,
        };
        if place.port.is_none() {
            // RFC 5881 section 4: a port of this range for each session.
            let port = PORTS_FROM + self.random.below(u64::from(u16::MAX - PORTS_FROM) + 1) as u16;
            place.port = Some(port);
            let local = SocketAddr::new(local, port);
            let opening = Opening::Datagrams { local, interface };
            return Some(Output::Departure(Departure::Open { socket, opening }));
        }
        if let Some(bytes) = session.transmit(&mut self.random, now) {
            self.counters.sent += 1;
            let to = SocketAddr::new(peer, if interface.is_some() { CONTROL } else { MULTIHOP });
            let departure = Departure::Datagram {
                socket,
                interface,
                via: None,
                from: local,
                to,
                ttl: TTL_MAX,
                bytes,
            };
            self.settle(number, now);
            return Some(Output::Departure(departure));
        }
        if session.transmit_echo(&mut self.random, now) {
            self.counters.echo_sent += 1;
            let bytes = place.echo.send(session.discriminator);
            let to = SocketAddr::new(local, ECHO);
            let departure = Departure::Datagram {
                socket,
                interface,
                via: Some(peer),
                from: local,
                to,
                ttl: TTL_MAX,
                bytes,
            };
            self.settle(number, now);
            return Some(Output::Departure(departure));
        }
        let report = Report::Changed {
            session: number,
            state: session.state,
            diagnostic: session.diagnostic,
            peer_diagnostic: session.peer.diagnostic,
        };
        std::mem::take(&mut session.is_report_due).then_some(Output::Report(report))
    }

    /// Opens or closes a socket that sessions share.
    fn listen(&mut self) -> Option<Departure> {
        for (number, (listener, of)) in self.listeners.iter_mut().zip(SHARED).enumerate() {
            let (socket, is_wanted) = (Socket(number as u32), listener.users > 0);
            if is_wanted == listener.is_open {
                continue;
            }
            listener.is_open = is_wanted;
            let opening = Opening::Datagrams { local: of.local(), interface: None };
            return Some(match is_wanted {
                true => Departure::Open { socket, opening },
                false => Departure::Close { socket },
            });
        }
        None
    }

    /// A socket is closed. That of a session is opened again for its next packet, by another port.
    fn failed(&mut self, socket: Socket) {
        let number = socket.0 as usize;
        if let Some(listener) = self.listeners.get_mut(number) {
            listener.is_open = false;
        } else if let Some(place) = self.places.get_mut(number - SHARED.len()) {
            place.port = None;
        }
    }
}

/// A path as it is looked up: a packet does not tell the least Time To Live of a session.
fn key_of(path: Path) -> Path {
    match path.reach {
        Reach::SingleHop(Interface(_)) => path,
        Reach::MultiHop(_) => Path { reach: Reach::MultiHop(0), ..path },
    }
}

/// Time To Live of every packet that is sent, and of packets from neighbours (RFC 5881 section 5).
const TTL_MAX: u8 = 255;

/// Timers of a session: the fields of [`Times`].
const TIMERS: u32 = 4;

/// Timers are exact to 2^16 ns, 66 us.
const STEP_BITS: u32 = 16;

/// Most refusals that wait to be reported.
const REFUSED_MAX: usize = 64;
