//! The session with a collector: a stream that the router begins, and begins again.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Bytes, Departure, Endpoint, Neighbour, Opening, Random, STREAM_ROOM, Socket, StreamOptions,
    Time,
};

/// A collector, as an operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where it listens.
    pub to: SocketAddr,
    /// The own address; `None` for that of the route.
    pub local: Option<IpAddr>,
    /// For how long it may take nothing while something is on its way.
    pub patience: Duration,
    /// What holds for the stream.
    pub options: StreamOptions,
}

/// What has become of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It stands, and nothing was said yet.
    Up,
    /// It is over, and begins anew in a while.
    Down,
}

/// The session with a collector.
#[derive(Debug)]
pub struct Collector {
    config: Config,
    socket: Socket,
    random: Random,
    state: State,
    /// How often in a row there was no session that stood for a while.
    failures: u32,
    departures: VecDeque<Departure>,
    /// Bytes that have departed and were not taken.
    on_way: usize,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is tried again then.
    Waits(Time),
    /// It is given up then.
    Connects(Time),
    /// It stands since then, and something was taken last, or nothing was on its way, then.
    Stands(Time, Time),
    /// It was told the last word, and is closed then.
    Ends(Time),
    /// It is not looked for.
    Over,
}

/// What has happened with a collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sessions.
    pub established: u64,
    /// Sessions that have ended, those that have stalled among them.
    pub lost: u64,
    /// Sessions that have ended because the collector took nothing.
    pub stalled: u64,
    /// Connections that did not come about.
    pub failed: u64,
    /// Bytes that it has taken.
    pub bytes: u64,
}

impl Collector {
    /// A collector whose connections have this number.
    pub fn new(config: Config, socket: Socket, seed: u64) -> Collector {
        Collector {
            config,
            socket,
            random: Random::new(seed),
            state: State::Waits(Time::ZERO),
            failures: 0,
            departures: VecDeque::new(),
            on_way: 0,
            counters: Counters::default(),
        }
    }

    /// Returns how it is configured.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the number of its connections.
    pub fn socket(&self) -> Socket {
        self.socket
    }

    /// Returns what has happened with it.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns whether it is told.
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Stands(..))
    }

    /// Returns how many bytes may depart to it now.
    pub fn room(&self) -> usize {
        if self.is_up() { STREAM_ROOM - self.on_way } else { 0 }
    }

    /// Bytes depart to it, at most as many as there is room for.
    pub fn send(&mut self, bytes: Bytes, now: Time) {
        debug_assert!(bytes.len() <= self.room());
        if let State::Stands(_, moved) = &mut self.state
            && !bytes.is_empty()
        {
            if self.on_way == 0 {
                *moved = now;
            }
            self.on_way += bytes.len();
            self.departures.push_back(Departure::Bytes { socket: self.socket, bytes });
        }
    }

    /// The connection stands.
    pub fn connected(&mut self, now: Time) -> Option<Event> {
        let State::Connects(_) = self.state else { return None };
        self.state = State::Stands(now, now);
        self.counters.established += 1;
        Some(Event::Up)
    }

    /// It has taken bytes.
    pub fn taken(&mut self, count: usize, now: Time) {
        if let State::Stands(_, moved) = &mut self.state {
            *moved = now;
            self.on_way = self.on_way.saturating_sub(count);
            self.counters.bytes += count as u64;
        }
    }

    /// It says that it sends nothing more: it wants no more either.
    pub fn finished(&mut self, now: Time) -> Option<Event> {
        self.departures.push_back(Departure::Close { socket: self.socket });
        self.over(now)
    }

    /// It takes less than there is to tell, and is told everything anew.
    pub fn stalled(&mut self, now: Time) -> Option<Event> {
        self.counters.stalled += u64::from(self.is_up());
        self.finished(now)
    }

    /// It is told nothing more than the rest of what is on its way and last words, if those have
    /// room, and is not looked for any more. Nothing is told of that.
    pub fn end(&mut self, last: Bytes, now: Time) {
        let socket = self.socket;
        match self.state {
            State::Stands(..) if last.len() <= self.room() => {
                self.departures.push_back(Departure::Bytes { socket, bytes: last });
                self.departures.push_back(Departure::Finish { socket });
                self.counters.lost += 1;
                self.state = State::Ends(now.after(LINGER));
            }
            State::Waits(_) | State::Over | State::Ends(_) => self.state = State::Over,
            State::Connects(_) | State::Stands(..) => {
                self.departures.push_back(Departure::Close { socket });
                self.counters.lost += u64::from(self.is_up());
                self.state = State::Over;
            }
        }
    }

    /// One that is ended and has yet to close its connection does not.
    pub fn abandon(&mut self) {
        if matches!(self.state, State::Ends(_)) {
            self.departures.push_back(Departure::Close { socket: self.socket });
            self.state = State::Over;
        }
    }

    /// Returns whether it is ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ends(_) | State::Over)
    }

    /// Returns whether it is ended, and nothing more departs.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.departures.is_empty()
    }

    /// The connection is gone, or did not come about.
    pub fn failed(&mut self, now: Time) -> Option<Event> {
        self.over(now)
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) -> Option<Event> {
        match self.state {
            State::Waits(at) if at <= now => {
                let from = self.config.local.map(|local| SocketAddr::new(local, 0));
                let (to, options) = (Endpoint::Tcp(self.config.to), self.config.options.clone());
                let opening = Opening::Stream { from, to, options };
                self.departures.push_back(Departure::Open { socket: self.socket, opening });
                self.state = State::Connects(now.after(CONNECT));
                None
            }
            State::Connects(until) if until <= now => {
                self.departures.push_back(Departure::Close { socket: self.socket });
                self.over(now)
            }
            State::Stands(_, moved)
                if self.on_way > 0 && moved.after(self.config.patience) <= now =>
            {
                self.stalled(now)
            }
            State::Ends(until) if until <= now => self.finished(now),
            _ => None,
        }
    }

    /// Returns what is wanted of the network next.
    pub fn poll(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Returns when there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        if !self.departures.is_empty() {
            return Some(Time::ZERO);
        }
        match self.state {
            State::Waits(at) | State::Connects(at) | State::Ends(at) => Some(at),
            State::Stands(_, moved) if self.on_way > 0 => Some(moved.after(self.config.patience)),
            State::Stands(..) | State::Over => None,
        }
    }

    /// Returns what a person sees.
    pub fn neighbour(&self, now: Time) -> Neighbour {
        let (state, since) = match self.state {
            State::Waits(_) => ("waits", None),
            State::Connects(_) => ("connects", None),
            State::Stands(since, _) => ("up", Some(now.since(since))),
            State::Ends(_) | State::Over => ("ends", None),
        };
        let Counters { lost, stalled, .. } = self.counters;
        Neighbour {
            protocol: "bmp",
            interface: String::new(),
            address: self.config.to.to_string(),
            state: state.to_owned(),
            since,
            detail: format!("{lost} sessions lost, {stalled} of them stalled"),
        }
    }

    /// The session or connection is over.
    fn over(&mut self, now: Time) -> Option<Event> {
        // What was to depart has nowhere to go.
        self.departures.retain(|one| !matches!(one, Departure::Bytes { .. }));
        self.on_way = 0;
        let was_up = match self.state {
            State::Waits(_) | State::Over => return None,
            State::Ends(_) => {
                self.state = State::Over;
                return None;
            }
            State::Connects(_) => false,
            State::Stands(since, _) => {
                if now.since(since) >= SOUND {
                    self.failures = 0;
                }
                true
            }
        };
        *if was_up { &mut self.counters.lost } else { &mut self.counters.failed } += 1;
        let wait = RETRY_MIN.saturating_mul(1 << self.failures.min(6)).min(RETRY_MAX);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Waits(now.after(self.random.shortened(wait, 0, 25)));
        was_up.then_some(Event::Down)
    }
}

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How long it may take to close a connection that is over.
const LINGER: Duration = Duration::from_secs(3);

/// A session that has stood for this long was sound.
const SOUND: Duration = Duration::from_secs(60);

/// The shortest and the longest time until a collector is tried again, which doubles.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
