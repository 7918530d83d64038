//! A peer: the connections with it, of which one becomes the session (RFC 4271 section 8).
//!
//! ```text
//!  Idle --start--> Active ---connected, accepted---> OpenSent --OPEN--> OpenConfirm
//!    ^   Connect <--'  ^                                |                  | KEEPALIVE
//!    |                 '------ wait a while <-----------+--- ended --------+--> Established
//!    '-- stop
//! ```
//! Both sides may connect at once: then there are two connections for a while, and of those that
//! have seen an OPEN the one is kept that the side with the higher identifier has begun (section
//! 6.8). A connection that ends is tried again after a time that doubles until a session has stood
//! for a while, and when a NOTIFICATION was the reason, the peer is not accepted before that
//! either.
//!
//! It is no machine by itself: whoever has many of them hands each what arrives at its sockets,
//! lets time pass, and takes its departures. What it has to say goes to a [`Sink`] at once, so that
//! an UPDATE is read where it lies.

use std::collections::VecDeque;

use protocol_kit::{Bytes, Departure, Random, Socket, Time};

use crate::config::Config;
use crate::connection::{Connection, Phase};
use crate::ended::Ended;
use crate::families::{Family, FamilySet};
use crate::negotiated::Negotiated;
use crate::notification::{
    ADMINISTRATIVE_RESET, ADMINISTRATIVE_SHUTDOWN, DECONFIGURED, Notification,
};
use crate::refresh::Refresh;

mod steps;

/// A peer and the connections with it.
#[derive(Debug)]
pub struct Peer {
    config: Config,
    /// The number of the connection that this speaker begins.
    socket: Socket,
    random: Random,
    is_started: bool,
    connections: [Option<Box<Connection>>; 2],
    /// When a connection is begun again.
    connect_at: Time,
    /// Until when none is accepted.
    idle_until: Time,
    /// Connections in a row that have ended without a session that stood for a while.
    failures: u32,
    departures: VecDeque<Departure>,
    last: Option<Ended>,
    since: Time,
    counters: Counters,
}

/// Who hears what a peer does. To an UPDATE that is the end of the session the answer is what the
/// peer is told; the answer to [`Event::Down`] does not count.
pub type Sink<'a> = dyn FnMut(Event<'_>) -> Result<(), Notification> + 'a;

/// What a peer does.
#[derive(Debug)]
pub enum Event<'a> {
    /// The session stands.
    Established(&'a Negotiated),
    /// The session has ended.
    Down {
        /// Why.
        why: &'a Ended,
        /// Whether the peer's routes are kept for a while (RFC 4724, RFC 8538).
        is_graceful: bool,
    },
    /// The peer asks for the routes of a family, or says where those told again begin or end.
    Refresh(Family, Refresh),
    /// The body of an UPDATE.
    Update(&'a [u8]),
}

/// The state of a peer (RFC 4271 section 8.2.2): that of the connection which is furthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of the standard")]
pub enum State {
    Idle,
    Connect,
    Active,
    OpenSent,
    OpenConfirm,
    Established,
}

/// What has happened with a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sessions so far.
    pub established: u64,
    /// Sessions that have ended.
    pub lost: u64,
    /// Connections that have ended before there was a session.
    pub failed: u64,
    /// Connections of the peer that were not accepted.
    pub rejected: u64,
    /// UPDATEs received.
    pub updates: u64,
    /// Other messages received.
    pub others: u64,
}

impl Peer {
    /// A peer that is stopped, with the number of the connection that this speaker begins, and a
    /// seed for jitter.
    pub fn new(config: Config, socket: Socket, seed: u64) -> Peer {
        Peer {
            config,
            socket,
            random: Random::new(seed),
            is_started: false,
            connections: [None, None],
            connect_at: Time::ZERO,
            idle_until: Time::ZERO,
            failures: 0,
            departures: VecDeque::new(),
            last: None,
            since: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// Returns its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns its configuration to be changed, which counts from the next connection on.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Returns its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns why the last connection that mattered has ended.
    pub fn last(&self) -> Option<&Ended> {
        self.last.as_ref()
    }

    /// Returns its state, and since when it is in it.
    pub fn state(&self) -> (State, Time) {
        let furthest = self.connections.iter().flatten().filter(|one| one.phase != Phase::Closing);
        match furthest.max_by_key(|connection| connection.phase) {
            Some(connection) => {
                let state = match connection.phase {
                    Phase::Opening => State::Connect,
                    Phase::OpenSent => State::OpenSent,
                    Phase::OpenConfirm => State::OpenConfirm,
                    Phase::Established | Phase::Closing => State::Established,
                };
                (state, connection.since)
            }
            None if self.is_started => (State::Active, self.since),
            None => (State::Idle, self.since),
        }
    }

    /// Returns what was agreed on in the session, if there is one.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.session()?.negotiated.as_deref()
    }

    /// Returns the connection of the session, if there is one.
    pub fn session_socket(&self) -> Option<Socket> {
        self.session().map(|connection| connection.socket)
    }

    /// Returns how many bytes of UPDATEs may be sent now.
    pub fn room(&self) -> usize {
        self.session().map_or(0, Connection::room)
    }

    /// Sends whole messages in a session, at most as many bytes as there is room for.
    ///
    /// # Panics
    /// If there is no session, or no room.
    pub fn send(&mut self, bytes: impl Into<Bytes>, now: Time) {
        let bytes: Bytes = bytes.into();
        assert!(bytes.len() <= self.room(), "{} bytes have room: {}", self.room(), bytes.len());
        let mut all = self.connections.iter_mut().flatten();
        let session = all.find(|one| one.phase == Phase::Established);
        if let Some(connection) = session.filter(|_| !bytes.is_empty()) {
            connection.spoke(now, &mut self.random);
            self.departures.push_back(connection.send(bytes, now));
        }
    }

    /// Has what the peer sends in a session read, or not: then it has to wait, and is not missed.
    pub fn read(&mut self, is_wanted: bool, now: Time) {
        let mut all = self.connections.iter_mut().flatten();
        if let Some(session) = all.find(|one| one.phase == Phase::Established) {
            self.departures.extend(session.read(is_wanted, now));
        }
    }

    /// Begins to look for the peer.
    pub fn start(&mut self, now: Time) {
        if !std::mem::replace(&mut self.is_started, true) {
            (self.failures, self.since) = (0, now);
            (self.connect_at, self.idle_until) = (now, now);
        }
    }

    /// Ends whatever there is with the peer, which is told an operator's text and keeps nothing.
    pub fn stop(&mut self, text: &str, now: Time, sink: &mut Sink<'_>) {
        self.quit(&Notification::with_text(ADMINISTRATIVE_SHUTDOWN, text), now, sink);
    }

    /// The same of a peer that is configured no more.
    pub fn remove(&mut self, now: Time, sink: &mut Sink<'_>) {
        self.quit(&Notification::new(DECONFIGURED), now, sink);
    }

    fn quit(&mut self, what: &Notification, now: Time, sink: &mut Sink<'_>) {
        self.is_started = false;
        let keeps =
            |negotiated: &Negotiated| negotiated.restart.is_some_and(|it| it.has_notification);
        match self.negotiated().is_some_and(keeps) {
            true => self.end(&what.hard(), now, sink),
            false => self.end(what, now, sink),
        }
        self.since = now;
    }

    /// Ends a session, which begins anew.
    pub fn reset(&mut self, text: &str, now: Time, sink: &mut Sink<'_>) {
        self.end(&Notification::with_text(ADMINISTRATIVE_RESET, text), now, sink);
    }

    /// Ends whatever there is with the peer, which is told an operator's text and keeps nothing
    /// (RFC 8538 section 3), and looks for it at once, however often that was in vain.
    pub fn renew(&mut self, text: &str, now: Time, sink: &mut Sink<'_>) {
        self.quit(&Notification::with_text(ADMINISTRATIVE_RESET, text), now, sink);
        self.start(now);
    }

    /// Asks the peer for all its routes of some families again (RFC 2918 section 3), which was
    /// agreed on. Returns false if there is no room for that: the peer takes nothing.
    pub fn ask(&mut self, families: FamilySet, now: Time) -> bool {
        let mut bytes = Vec::new();
        families.iter().for_each(|family| Refresh::Wanted.write(family, &mut bytes));
        let mut all = self.connections.iter_mut().flatten();
        let session = all.find(|one| one.phase == Phase::Established);
        let departure = session.and_then(|one| one.send_word(bytes, now));
        let is_sent = departure.is_some();
        self.departures.extend(departure);
        is_sent
    }

    /// Ends whatever there is with the peer as a restart does: one that has agreed on that keeps
    /// what it was told (RFC 4724 section 4.2). Where a NOTIFICATION would take that away, it is
    /// told none (RFC 8538 section 4).
    pub fn leave(&mut self, text: &str, now: Time, sink: &mut Sink<'_>) {
        self.is_started = false;
        let restart = self.negotiated().and_then(|agreed| agreed.restart);
        let is_silent = restart.is_some_and(|it| !it.has_notification);
        let is_session = |slot: &usize| self.phase(*slot) == Some(Phase::Established);
        if let Some(slot) = (0..2).find(is_session).filter(|_| is_silent) {
            self.lose(slot, Ended::Closed, now, sink);
        }
        self.end(&Notification::with_text(ADMINISTRATIVE_SHUTDOWN, text), now, sink);
        self.since = now;
    }

    /// Nothing comes about with the peer before a time: it is neither connected to nor accepted.
    pub fn wait(&mut self, until: Time) {
        self.connect_at = self.connect_at.max(until);
        self.idle_until = self.idle_until.max(until);
    }

    /// Ends whatever there is with the peer, which is told this.
    pub fn end(&mut self, what: &Notification, now: Time, sink: &mut Sink<'_>) {
        for slot in 0..2 {
            self.fail(slot, Ended::Sent(what.clone()), now, sink);
        }
    }

    /// Takes a connection that the peer has begun and that stands; an unwanted one is closed.
    pub fn accept(&mut self, socket: Socket, now: Time) {
        let has = |wanted: fn(&Connection) -> bool| {
            self.connections.iter().position(|one| one.as_deref().is_some_and(wanted))
        };
        // The peer begins one at a time: an earlier one is forgotten.
        let earlier = has(|one| !one.is_outgoing && one.phase != Phase::Established);
        let free = self.connections.iter().position(Option::is_none);
        let slot = earlier.or(free).or_else(|| has(|one| one.phase == Phase::Closing));
        let is_wanted = self.is_started && self.idle_until <= now;
        let Some(slot) = slot.filter(|_| is_wanted) else {
            self.counters.rejected += 1;
            return self.departures.push_back(Departure::Close { socket });
        };
        self.close(slot);
        self.connections[slot] = Some(Box::new(Connection::new(socket, false, now)));
        self.greet(slot, now);
    }

    /// The connection that this speaker has begun stands.
    pub fn connected(&mut self, socket: Socket, now: Time) {
        if let Some(slot) = self.slot_of(socket)
            && self.phase(slot) == Some(Phase::Opening)
        {
            self.greet(slot, now);
        }
    }

    /// Bytes of a connection have arrived.
    pub fn bytes(&mut self, socket: Socket, mut bytes: &[u8], now: Time, sink: &mut Sink<'_>) {
        let Some(slot) = self.slot_of(socket) else { return };
        let Some(connection) = &mut self.connections[slot] else { return };
        let mut framing = std::mem::take(&mut connection.framing);
        // A message may end this connection, and no more of it is read then.
        while let Some(len_max) = self.reads(slot, socket) {
            let taken = match framing.next(&mut bytes, len_max) {
                Ok(None) => break,
                Ok(Some(message)) => self.take(slot, message, now, sink),
                Err(what) => Err(what),
            };
            if let Err(what) = taken {
                self.fail(slot, Ended::Sent(what), now, sink);
            }
        }
        if self.reads(slot, socket).is_some()
            && let Some(connection) = &mut self.connections[slot]
        {
            connection.framing = framing;
        }
    }

    /// The transport has taken bytes of a connection.
    pub fn taken(&mut self, socket: Socket, count: usize, now: Time) {
        if let Some(slot) = self.slot_of(socket)
            && let Some(connection) = &mut self.connections[slot]
        {
            connection.taken(count, now);
        }
    }

    /// The peer sends no more on a connection.
    pub fn finished(&mut self, socket: Socket, now: Time, sink: &mut Sink<'_>) {
        let Some(slot) = self.slot_of(socket) else { return };
        match self.phase(slot) {
            Some(Phase::Closing) => self.close(slot),
            _ => self.lose(slot, Ended::Closed, now, sink),
        }
    }

    /// A connection has failed and is closed.
    pub fn failed(&mut self, socket: Socket, now: Time, sink: &mut Sink<'_>) {
        let is_renewed = self.forget(socket);
        let Some(slot) = self.slot_of(socket).filter(|_| !is_renewed) else { return };
        let why = match self.phase(slot) {
            Some(Phase::Opening) => Ended::Unreachable,
            Some(Phase::Closing) | None => {
                self.connections[slot] = None;
                return;
            }
            Some(_) => Ended::Failed,
        };
        let ended = self.connections[slot].take();
        self.over(ended, why, now, sink);
    }

    /// Judges time: to be called when everything that has arrived was handed over.
    pub fn tick(&mut self, now: Time, sink: &mut Sink<'_>) {
        for slot in 0..2 {
            self.tick_connection(slot, now, sink);
        }
        if self.wants_to_connect() && self.connect_at <= now {
            self.connect(now);
        }
    }

    /// Returns the next thing that it wants of the network.
    pub fn poll(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Returns when it has something to do.
    pub fn deadline(&self) -> Option<Time> {
        if !self.departures.is_empty() {
            return Some(Time::ZERO);
        }
        let connect_at = self.wants_to_connect().then_some(self.connect_at);
        let connections = self.connections.iter().flatten().filter_map(|one| one.deadline());
        connections.chain(connect_at).min()
    }
}
