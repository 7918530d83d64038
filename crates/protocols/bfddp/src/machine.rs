//! The connection with bfdd, and when sessions end that it does not repeat.

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, STREAM_ROOM, Socket,
    StreamOptions, Time, Trace,
};

use crate::message::{Echo, Malformed, Message, message_len};
use crate::session::{Change, Session, SessionCounters};
use crate::sessions::{Sessions, Wanted};
use crate::shown;

/// Where bfdd is, and for how much there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where bfdd listens, which its `--dplaneaddr` says.
    pub to: Endpoint,
    /// Most sessions.
    pub sessions_max: u32,
    /// Reports that may wait; while there are more, nothing is read of the connection.
    pub waiting_max: usize,
    /// Time after which bfdd is tried again.
    pub again: Duration,
    /// In a new connection, what was wanted in an earlier one and not again is removed this long
    /// after the last session that was wanted again.
    pub settle: Duration,
    /// Without a connection, all sessions are removed after this time.
    pub keep: Duration,
}

/// The machine of the BFD data plane protocol. Its memory follows from its configuration and from
/// how many bytes a driver hands over at once.
#[derive(Debug)]
pub struct BfdDataPlane {
    config: Config,
    sessions: Sessions,
    stream: Stream,
    /// Whether the stream is to be closed before anything else.
    is_closing: bool,
    /// Bytes of the stream that are no whole message yet.
    partial: Vec<u8>,
    reports: VecDeque<Report>,
    /// Answers that bfdd waits for.
    answers: VecDeque<Vec<u8>>,
    /// Sessions whose state bfdd is to be told, each once.
    due: VecDeque<u32>,
    /// Bytes that have departed and were not taken.
    on_way: usize,
    is_read: bool,
    sweep_at: Time,
    is_settling: bool,
    swept: u64,
    /// Whether the want of room was said in this connection.
    is_full: bool,
    counters: Counters,
}

/// The connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    /// It is to be opened at this time.
    Closed(Time),
    Opening,
    Open,
}

/// What a controller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The state of the session with a discriminator has changed. It is told again whenever bfdd
    /// wants the session anew, because bfdd takes it for down then.
    Change(u32, Change),
    /// The counters of the session with a discriminator, with which bfdd is answered from now on.
    Counters(u32, SessionCounters),
}

/// What the machine says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Bfdd is connected. It wants all its sessions again; until then those before stay.
    Connected,
    /// The connection is gone. Sessions stay for a time.
    Lost {
        /// Why.
        why: Lost,
    },
    /// A session is wanted.
    Added(Session),
    /// A session is wanted otherwise.
    Changed {
        /// Its discriminator before: another one if bfdd was born again.
        before: u32,
        /// The session; its addresses are those before, and so is its interface if it was known.
        session: Session,
    },
    /// A session is not wanted any more.
    Removed {
        /// Its discriminator.
        discriminator: u32,
    },
    /// There is no room for a session, and for more that may follow. It is said once in a
    /// connection.
    Full,
    /// Bfdd has repeated all sessions that it still wants.
    Settled {
        /// Sessions that were removed because it has not.
        swept: u64,
    },
}

/// Why a connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Bfdd has closed it, or has ended.
    Closed,
    /// It was closed because of what came: another version, or a length that cannot be.
    Malformed,
}

/// Messages and connections by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections with bfdd.
    pub connections: u64,
    /// Attempts to connect that failed.
    pub failed: u64,
    /// Connections closed because of what came.
    pub malformed_header: u64,
    /// Messages that are too short, or say what cannot be.
    pub malformed: u64,
    /// Messages of a type that is not known, or that only bfdd has a use for.
    pub other: u64,
    /// Messages by which a session is wanted.
    pub wanted: u64,
    /// Messages by which a session is not wanted any more.
    pub unwanted: u64,
    /// Sessions that were not repeated and were removed for it.
    pub swept: u64,
    /// Sessions refused for want of room.
    pub refused: u64,
    /// Messages and commands about sessions that there are not.
    pub unknown: u64,
    /// States told to bfdd.
    pub told: u64,
    /// Requests of bfdd that were answered.
    pub answered: u64,
    /// Requests of bfdd that were not, because too many answers waited.
    pub unanswered: u64,
}

impl Config {
    /// The configuration for bfdd at an endpoint.
    pub fn new(to: Endpoint) -> Config {
        Config {
            to,
            sessions_max: 4_096,
            waiting_max: 4_096,
            again: Duration::from_secs(1),
            settle: Duration::from_secs(60),
            keep: Duration::from_secs(300),
        }
    }
}

impl Machine for BfdDataPlane {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(command) => self.obey(command),
            // Nothing of a stream that is to be closed matters any more.
            Input::Arrival(Arrival::Failed { socket: STREAM }) if self.is_closing => {
                self.is_closing = false;
            }
            Input::Arrival(_) if self.is_closing => {}
            Input::Arrival(Arrival::Connected { socket: STREAM, .. }) => self.connected(now),
            Input::Arrival(Arrival::Bytes { socket: STREAM, bytes }) => self.receive(bytes, now),
            Input::Arrival(Arrival::Taken { socket: STREAM, count }) => {
                self.on_way = self.on_way.saturating_sub(count);
            }
            Input::Arrival(Arrival::Finished { socket: STREAM }) => {
                self.is_closing = true;
                self.lose(Lost::Closed, now);
            }
            Input::Arrival(Arrival::Failed { socket: STREAM }) => match self.stream {
                Stream::Open => self.lose(Lost::Closed, now),
                _ => {
                    self.counters.failed += 1;
                    self.stream = Stream::Closed(now.after(self.config.again));
                }
            },
            Input::Arrival(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let Some(departure) = self.depart(now) {
            return Some(Output::Departure(departure));
        }
        if let Some(report) = self.reports.pop_front() {
            return Some(Output::Report(report));
        }
        if self.sweep_at <= now
            && let Some(discriminator) = self.sessions.sweep()
        {
            self.swept += 1;
            self.counters.swept += 1;
            return Some(Output::Report(Report::Removed { discriminator }));
        }
        if self.is_settling && self.sessions.stale() == 0 {
            self.is_settling = false;
            return Some(Output::Report(Report::Settled { swept: self.swept }));
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        let is_waiting = self.is_closing
            || !self.reports.is_empty()
            || self.may_send()
            || self.is_settling && self.sessions.stale() == 0;
        if is_waiting {
            return Some(Time::ZERO);
        }
        let open_at = match self.stream {
            Stream::Closed(until) => Some(until),
            _ => None,
        };
        let sweep_at = (self.sessions.stale() > 0).then_some(self.sweep_at);
        [open_at, sweep_at].into_iter().flatten().min()
    }

    fn neighbours(&self, _: Time) -> Vec<Neighbour> {
        vec![shown::neighbour(&self.config.to, self.is_connected(), self.sessions.len())]
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(shown::TRACE)
    }
}

impl BfdDataPlane {
    /// Creates a machine, which connects when it is polled first.
    pub fn new(config: Config) -> BfdDataPlane {
        BfdDataPlane {
            sessions: Sessions::new(config.sessions_max),
            config,
            stream: Stream::Closed(Time::ZERO),
            is_closing: false,
            partial: Vec::new(),
            reports: VecDeque::new(),
            answers: VecDeque::new(),
            due: VecDeque::new(),
            on_way: 0,
            is_read: true,
            sweep_at: Time::ZERO,
            is_settling: false,
            swept: 0,
            is_full: false,
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns whether bfdd is connected.
    pub fn is_connected(&self) -> bool {
        self.stream == Stream::Open
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Change(discriminator, change) => {
                let Some(held) = self.sessions.get_mut(discriminator) else {
                    self.counters.unknown += 1;
                    return;
                };
                // Of what bfdd was not told yet it has to hear that the session was down.
                if held.is_due && !change.state.is_down() {
                    held.down = held.change.filter(|before| before.state.is_down()).or(held.down);
                }
                held.change = Some(change);
                self.settle(discriminator);
            }
            Command::Counters(discriminator, counters) => {
                match self.sessions.get_mut(discriminator) {
                    Some(held) => held.counters = counters,
                    None => self.counters.unknown += 1,
                }
            }
        }
    }

    /// Notes that bfdd is to be told what is known of a session, unless it does not know it yet.
    fn settle(&mut self, discriminator: u32) {
        if self.sessions.is_stale(discriminator) {
            return;
        }
        let Some(held) = self.sessions.get_mut(discriminator) else { return };
        if self.stream == Stream::Open && held.change.is_some() && !held.is_due {
            held.is_due = true;
            self.due.push_back(discriminator);
        }
    }

    fn connected(&mut self, now: Time) {
        self.stream = Stream::Open;
        self.counters.connections += 1;
        self.reports.push_back(Report::Connected);
        self.is_settling = self.sessions.stale() > 0;
        self.sweep_at = now.after(self.config.settle);
        self.swept = 0;
    }

    fn receive(&mut self, bytes: &[u8], now: Time) {
        self.partial.extend_from_slice(bytes);
        let partial = std::mem::take(&mut self.partial);
        let mut rest = &partial[..];
        loop {
            match message_len(rest) {
                Ok(Some(len)) if len <= rest.len() => {
                    let (message, behind) = rest.split_at(len);
                    rest = behind;
                    self.take(message, now);
                }
                Ok(_) => break,
                Err(_) => {
                    self.counters.malformed_header += 1;
                    self.is_closing = true;
                    return self.lose(Lost::Malformed, now);
                }
            }
        }
        self.partial = rest.to_vec();
    }

    fn take(&mut self, bytes: &[u8], now: Time) {
        match Message::parse(bytes) {
            Ok((_, Message::AddSession(session))) => {
                self.counters.wanted += 1;
                self.want(session, now);
            }
            Ok((_, Message::DeleteSession(session))) => {
                self.counters.unwanted += 1;
                self.remove(session.discriminator);
            }
            Ok((identifier, Message::RequestCounters(discriminator))) => {
                // Bfdd does nothing else until it has an answer: it gets one in any case.
                let held = self.sessions.get_mut(discriminator);
                let counters = held.map(|held| held.counters).unwrap_or_default();
                self.answer(&Message::Counters(discriminator, counters), identifier);
            }
            Ok((identifier, Message::EchoRequest(echo))) => {
                let echo = Echo { data_plane_time_us: now.0 / 1_000, ..echo };
                self.answer(&Message::EchoReply(echo), identifier);
            }
            Ok((_, Message::EchoReply(_) | Message::StateChange(..) | Message::Counters(..)))
            | Err(Malformed::Type) => self.counters.other += 1,
            Err(Malformed::Header | Malformed::Body) => self.counters.malformed += 1,
        }
    }

    fn want(&mut self, session: Session, now: Time) {
        let discriminator = session.discriminator;
        if self.sessions.is_elsewhere(&session) {
            self.remove(discriminator);
        }
        let stale = self.sessions.stale();
        match self.sessions.want(&session) {
            Wanted::Added => self.reports.push_back(Report::Added(session)),
            Wanted::Changed(before) => self.reports.push_back(Report::Changed { before, session }),
            Wanted::Unchanged => {}
            Wanted::Refused => {
                self.counters.refused += 1;
                if !std::mem::replace(&mut self.is_full, true) {
                    self.reports.push_back(Report::Full);
                }
            }
        }
        if self.sessions.stale() < stale {
            self.sweep_at = now.after(self.config.settle);
        }
        self.settle(discriminator);
    }

    fn remove(&mut self, discriminator: u32) {
        let is_due = self.sessions.get_mut(discriminator).is_some_and(|held| held.is_due);
        if is_due {
            self.due.retain(|due| *due != discriminator);
        }
        match self.sessions.remove(discriminator) {
            true => self.reports.push_back(Report::Removed { discriminator }),
            false => self.counters.unknown += 1,
        }
    }

    fn answer(&mut self, message: &Message, identifier: u16) {
        if self.answers.len() == ANSWERS_MAX {
            self.counters.unanswered += 1;
            return;
        }
        self.counters.answered += 1;
        self.answers.push_back(message.emit(identifier));
    }

    fn lose(&mut self, why: Lost, now: Time) {
        self.stream = Stream::Closed(now.after(self.config.again));
        self.sessions.age();
        self.partial.clear();
        self.answers.clear();
        self.due.clear();
        (self.on_way, self.is_read, self.is_full) = (0, true, false);
        self.is_settling = false;
        self.sweep_at = now.after(self.config.keep);
        self.reports.push_back(Report::Lost { why });
    }

    fn depart(&mut self, now: Time) -> Option<Departure> {
        if std::mem::take(&mut self.is_closing) {
            return Some(Departure::Close { socket: STREAM });
        }
        match self.stream {
            Stream::Closed(until) if until <= now => {
                self.stream = Stream::Opening;
                let (to, options) = (self.config.to.clone(), StreamOptions::default());
                let opening = Opening::Stream { from: None, to, options };
                Some(Departure::Open { socket: STREAM, opening })
            }
            Stream::Open => self.read(now).or_else(|| self.send()),
            _ => None,
        }
    }

    /// Whether the stream is to be read, when that has changed.
    fn read(&mut self, now: Time) -> Option<Departure> {
        let limit =
            if self.is_read { self.config.waiting_max } else { self.config.waiting_max / 2 };
        let is_wanted = self.reports.len() <= limit;
        if is_wanted == self.is_read {
            return None;
        }
        self.is_read = is_wanted;
        if is_wanted {
            // What was kept waiting may repeat everything that seems stale.
            self.sweep_at = self.sweep_at.max(now.after(self.config.settle));
        }
        Some(Departure::Read { socket: STREAM, is_wanted })
    }

    fn may_send(&self) -> bool {
        let has_room = self.on_way + SENT_MAX <= STREAM_ROOM;
        self.stream == Stream::Open && has_room && !(self.answers.is_empty() && self.due.is_empty())
    }

    fn send(&mut self) -> Option<Departure> {
        if !self.may_send() {
            return None;
        }
        let bytes = self.answers.pop_front().or_else(|| self.next_told())?;
        self.on_way += bytes.len();
        Some(Departure::Bytes { socket: STREAM, bytes: bytes.into() })
    }

    /// What is to be told of the next session.
    fn next_told(&mut self) -> Option<Vec<u8>> {
        let discriminator = *self.due.front()?;
        let held = self.sessions.get_mut(discriminator)?;
        let change = held.down.take().or_else(|| {
            self.due.pop_front();
            held.is_due = false;
            held.change
        })?;
        self.counters.told += 1;
        Some(Message::StateChange(discriminator, change).emit(0))
    }
}

/// The port on which bfdd listens unless it is told another one.
pub const PORT: u16 = 50_700;

const STREAM: Socket = Socket(0);

/// Most answers that wait; bfdd asks for one after the other.
const ANSWERS_MAX: usize = 64;

/// Bytes of the longest message that is sent.
const SENT_MAX: usize = 80;
