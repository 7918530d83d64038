//! The steps of a peer's connections from one state to the next.

use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{Departure, Endpoint, Opening, Socket, Time};

use super::{Event, Peer, Sink};
use crate::connection::{Connection, Phase};
use crate::ended::Ended;
use crate::message::{Kind, Message, begin, end};
use crate::negotiated::negotiate;
use crate::notification::{
    BAD_REFRESH_LENGTH, COLLISION, HOLD_TIMER_EXPIRED, Notification, SEND_HOLD_TIMER_EXPIRED,
    UNEXPECTED_IN_ESTABLISHED, UNEXPECTED_IN_OPEN_CONFIRM, UNEXPECTED_IN_OPEN_SENT,
};
use crate::open::Open;
use crate::refresh::Refresh;

impl Peer {
    pub(super) fn slot_of(&self, socket: Socket) -> Option<usize> {
        let is_it =
            |one: &Option<Box<Connection>>| one.as_ref().is_some_and(|one| one.socket == socket);
        self.connections.iter().position(is_it)
    }

    pub(super) fn phase(&self, slot: usize) -> Option<Phase> {
        self.connections[slot].as_ref().map(|connection| connection.phase)
    }

    pub(super) fn session(&self) -> Option<&Connection> {
        let mut connections = self.connections.iter().flatten();
        connections.find(|one| one.phase == Phase::Established).map(|one| &**one)
    }

    /// The longest message of a connection, if that still is in this slot and is read.
    pub(super) fn reads(&self, slot: usize, socket: Socket) -> Option<usize> {
        let connection = self.connections[slot].as_ref()?;
        let is_read = (Phase::OpenSent..=Phase::Established).contains(&connection.phase);
        (is_read && connection.socket == socket).then(|| connection.len_max())
    }

    pub(super) fn wants_to_connect(&self) -> bool {
        // One that is being closed still has the number.
        let is_in_the_way = |one: &Connection| {
            one.is_outgoing || matches!(one.phase, Phase::OpenConfirm | Phase::Established)
        };
        let has_slot = self.connections.iter().any(Option::is_none);
        let is_free = !self.connections.iter().flatten().any(|one| is_in_the_way(one));
        self.is_started && !self.config.is_passive && has_slot && is_free
    }

    pub(super) fn connect(&mut self, now: Time) {
        let Some(slot) = self.connections.iter().position(Option::is_none) else { return };
        let mut connection = Connection::new(self.socket, true, now);
        connection.enter(Phase::Opening, now, Some(self.config.connect_retry));
        self.connections[slot] = Some(Box::new(connection));
        let opening = Opening::Stream {
            from: self.config.local.map(|local| SocketAddr::new(local, 0)),
            to: Endpoint::Tcp(SocketAddr::new(self.config.peer, self.config.port)),
            options: self.config.options.clone(),
        };
        self.departures.push_back(Departure::Open { socket: self.socket, opening });
    }

    /// Says the first word on a connection that stands.
    pub(super) fn greet(&mut self, slot: usize, now: Time) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let mut bytes = Vec::new();
        self.config.open().write(&mut bytes);
        connection.open.clone_from(&bytes);
        connection.enter(Phase::OpenSent, now, Some(OPEN_SENT_HOLD));
        self.departures.push_back(connection.send(bytes, now));
    }

    /// Takes a message of a connection that is read.
    ///
    /// # Errors
    /// With what the peer is told, if that is the end.
    pub(super) fn take(
        &mut self,
        slot: usize,
        message: Message<'_>,
        now: Time,
        sink: &mut Sink<'_>,
    ) -> Result<(), Notification> {
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        let phase = connection.phase;
        if message.kind == Kind::Update {
            self.counters.updates += 1;
        } else {
            self.counters.others += 1;
        }
        match (phase, message.kind) {
            (_, Kind::Notification) => {
                if let Some(what) = Notification::read(message.body) {
                    self.lose(slot, Ended::Received(what), now, sink);
                }
                Ok(())
            }
            (Phase::Established, Kind::Update) => {
                connection.heard(now);
                sink(Event::Update(message.body))
            }
            (Phase::Established, Kind::Keepalive) => {
                connection.heard(now);
                Ok(())
            }
            (Phase::Established, Kind::RouteRefresh) => self.refresh(slot, message.body, sink),
            (Phase::OpenSent, Kind::Open) => self.open(slot, message.body, now, sink),
            (Phase::OpenConfirm, Kind::Keepalive) => self.establish(slot, now, sink),
            (_, kind) => {
                let cause = match phase {
                    Phase::OpenConfirm => UNEXPECTED_IN_OPEN_CONFIRM,
                    Phase::Established => UNEXPECTED_IN_ESTABLISHED,
                    _ => UNEXPECTED_IN_OPEN_SENT,
                };
                Err(Notification::with(cause, &[kind as u8]))
            }
        }
    }

    fn refresh(
        &mut self,
        slot: usize,
        body: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<(), Notification> {
        let connection = self.connections[slot].as_ref();
        let Some(agreed) = connection.and_then(|one| one.negotiated.as_ref()) else {
            return Ok(());
        };
        match Refresh::read(body) {
            Some((Some(family), Some(what))) => {
                let is_agreed = what == Refresh::Wanted || agreed.has_enhanced_refresh;
                match is_agreed && agreed.reading.families.contains(family) {
                    true => sink(Event::Refresh(family, what)),
                    false => Ok(()),
                }
            }
            None if agreed.has_enhanced_refresh => {
                let mut message = Vec::new();
                let start = begin(Kind::RouteRefresh, &mut message);
                message.extend(body);
                end(start, &mut message);
                Err(Notification::with(BAD_REFRESH_LENGTH, &message))
            }
            // What is not known means nothing.
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        slot: usize,
        body: &[u8],
        now: Time,
        sink: &mut Sink<'_>,
    ) -> Result<(), Notification> {
        let open = Open::read(body)?;
        let mut negotiated = negotiate(&self.config, &open)?;
        let other = 1 - slot;
        let is_outgoing =
            |slot: usize| self.connections[slot].as_ref().is_some_and(|one| one.is_outgoing);
        match self.phase(other) {
            Some(Phase::Established) => {
                let before = self.session().and_then(|one| one.negotiated.as_ref());
                if before.is_none_or(|before| before.restart.is_none()) {
                    return Err(Notification::new(COLLISION));
                }
                // It has lost the other one and does not say so (RFC 4724 section 4.2).
                self.lose(other, Ended::Replaced, now, sink);
            }
            Some(Phase::OpenConfirm) => {
                let own = (self.config.identifier, self.config.local_as);
                let keeps_own = own > (open.identifier, open.asn);
                if is_outgoing(slot) != keeps_own {
                    return Err(Notification::new(COLLISION));
                }
                self.fail(other, Ended::Sent(Notification::new(COLLISION)), now, sink);
            }
            _ => {}
        }
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        let mut received = Vec::new();
        let start = begin(Kind::Open, &mut received);
        received.extend(body);
        end(start, &mut received);
        negotiated.opens = [std::mem::take(&mut connection.open), received];
        connection.negotiated = Some(Box::new(negotiated));
        connection.enter(Phase::OpenConfirm, now, connection.hold());
        let keepalive = connection.send_keepalive(now, &mut self.random);
        self.departures.extend(keepalive);
        Ok(())
    }

    fn establish(
        &mut self,
        slot: usize,
        now: Time,
        sink: &mut Sink<'_>,
    ) -> Result<(), Notification> {
        self.fail(1 - slot, Ended::Sent(Notification::new(COLLISION)), now, sink);
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        connection.enter(Phase::Established, now, connection.hold());
        self.counters.established += 1;
        match &connection.negotiated {
            Some(negotiated) => sink(Event::Established(negotiated)),
            None => Ok(()),
        }
    }

    /// Ends the connection of a slot with a word to the peer, if it is said yet.
    pub(super) fn fail(&mut self, slot: usize, why: Ended, now: Time, sink: &mut Sink<'_>) {
        match self.phase(slot) {
            None | Some(Phase::Closing) => return,
            Some(Phase::Opening) => return self.close(slot),
            Some(_) => {}
        }
        let Some(mut connection) = self.connections[slot].take() else { return };
        let socket = connection.socket;
        if let Ended::Sent(what) = &why {
            let mut bytes = Vec::new();
            what.write(&mut bytes);
            self.departures.push_back(connection.send(bytes, now));
        }
        // Closed at once, the last word might not arrive.
        self.departures.push_back(Departure::Finish { socket });
        let mut closing = Connection::new(socket, connection.is_outgoing, now);
        closing.enter(Phase::Closing, now, Some(LINGER));
        self.connections[slot] = Some(Box::new(closing));
        self.over(Some(connection), why, now, sink);
    }

    /// Ends the connection of a slot without a word.
    pub(super) fn lose(&mut self, slot: usize, why: Ended, now: Time, sink: &mut Sink<'_>) {
        let Some(connection) = self.connections[slot].take() else { return };
        self.departures.push_back(Departure::Close { socket: connection.socket });
        self.over(Some(connection), why, now, sink);
    }

    /// Forgets the connection of a slot.
    pub(super) fn close(&mut self, slot: usize) {
        if let Some(connection) = self.connections[slot].take() {
            self.departures.push_back(Departure::Close { socket: connection.socket });
        }
    }

    /// Forgets what was wanted of a connection that is no more; true if its number was to be that
    /// of another one.
    pub(super) fn forget(&mut self, socket: Socket) -> bool {
        let opens =
            |one: &Departure| matches!(one, Departure::Open { socket: of, .. } if *of == socket);
        let renewed_at = self.departures.iter().position(opens);
        let mut at = 0;
        self.departures.retain(|departure| {
            let is_of_it = match departure {
                Departure::Bytes { socket: of, .. }
                | Departure::Finish { socket: of }
                | Departure::Read { socket: of, .. }
                | Departure::Close { socket: of } => *of == socket,
                _ => false,
            };
            at += 1;
            !is_of_it || renewed_at.is_some_and(|renewed| at > renewed)
        });
        renewed_at.is_some()
    }

    /// A connection is over: what follows from it.
    pub(super) fn over(
        &mut self,
        ended: Option<Box<Connection>>,
        why: Ended,
        now: Time,
        sink: &mut Sink<'_>,
    ) {
        let Some(ended) = ended else { return };
        let was_session = ended.phase == Phase::Established;
        let said = match &why {
            Ended::Sent(what) | Ended::Received(what) => Some(what.cause),
            _ => None,
        };
        if was_session && now.since(ended.since) >= STABLE {
            self.failures = 0;
        }
        let pause = RETRY_MIN * (1 << self.failures.min(DOUBLINGS_MAX));
        let pause = self.random.shortened(pause.min(self.config.connect_retry), 0, 25);
        self.connect_at = now.after(pause);
        self.since = now;
        if was_session {
            self.counters.lost += 1;
        } else {
            self.counters.failed += 1;
        }
        // Of two connections one ends in good order.
        if said != Some(COLLISION) || was_session {
            self.failures += 1;
            if said.is_some() {
                self.idle_until = self.connect_at;
            }
            self.last = Some(why.clone());
        }
        if let Some(negotiated) = ended.negotiated.filter(|_| was_session) {
            let is_graceful = why.is_graceful(&negotiated);
            // There is nobody left to be told what the answer is.
            let _ = sink(Event::Down { why: &why, is_graceful });
        }
    }

    pub(super) fn tick_connection(&mut self, slot: usize, now: Time, sink: &mut Sink<'_>) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let tell = |cause| Ended::Sent(Notification::new(cause));
        if is_due(connection.hold_at) {
            match connection.phase {
                Phase::Opening => self.lose(slot, Ended::Unreachable, now, sink),
                Phase::Closing => self.close(slot),
                _ => self.fail(slot, tell(HOLD_TIMER_EXPIRED), now, sink),
            }
        } else if is_due(connection.send_hold_at) {
            self.fail(slot, tell(SEND_HOLD_TIMER_EXPIRED), now, sink);
        } else if connection.owes_keepalive(now) {
            let keepalive = connection.send_keepalive(now, &mut self.random);
            self.departures.extend(keepalive);
        }
    }
}

/// For how long an OPEN is waited for (RFC 4271 section 8.2.2).
const OPEN_SENT_HOLD: Duration = Duration::from_secs(240);

/// For how long a peer may take to close a connection on which it was told why.
const LINGER: Duration = Duration::from_secs(3);

/// After this time a connection that has ended is tried again for the first time.
const RETRY_MIN: Duration = Duration::from_secs(1);

/// How often that time is doubled at most.
const DOUBLINGS_MAX: u32 = 10;

/// A session that has stood for this long counts as one that works.
const STABLE: Duration = Duration::from_secs(60);
