//! A host that asks for a session (the host's side of RFC 2516 section 5).

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Time};
use wire::ethernet::MacAddr;

use crate::packet::{Packet, code};
use crate::tags::{LineIds, Tags, kind, put};

/// What a host looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The service; empty for any.
    pub service: Vec<u8>,
    /// The name of the only access concentrator that is accepted; empty for any.
    pub concentrator: Vec<u8>,
    /// What distinguishes answers to this process of the host from those to others, at most 64
    /// bytes.
    pub host_uniq: Vec<u8>,
    /// Most bytes that PPP may carry here; above 1,492 it is asked for.
    pub max_payload: u16,
    /// What an access node would add of the line (TR-101): circuit and remote identifier.
    pub line: Option<(Vec<u8>, Vec<u8>)>,
    /// Time until a request is sent again; it doubles with each.
    pub retry: Duration,
    /// How often a request is sent without an answer, 1 to 16.
    pub tries: u8,
}

/// What its owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Look for a session, again if there was one.
    Begin,
    /// End the session, and tell the access concentrator.
    End,
}

/// What its owner hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A packet of discovery is to be sent.
    Send {
        /// The destination.
        to: MacAddr,
        /// What follows the EtherType.
        packet: Vec<u8>,
    },
    /// There is a session.
    Opened {
        /// The access concentrator.
        concentrator: MacAddr,
        /// The Session-ID in frames.
        session_id: u16,
        /// Most bytes that PPP may carry behind its Protocol field.
        max_payload: u16,
    },
    /// There is no session, or not any more.
    Closed(Reason),
}

/// Why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No access concentrator has answered.
    Unanswered,
    /// The access concentrator has refused it.
    Refused,
    /// The access concentrator has ended it.
    Terminated,
    /// The owner has ended it.
    Ended,
}

/// A host.
#[derive(Debug)]
pub struct Client {
    wanted: Wanted,
    state: State,
    /// Requests that are still to be sent, when, and the time between two.
    tries: u8,
    timer: Option<Time>,
    retry: Duration,
    reports: VecDeque<Report>,
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    /// It has sent a PADI.
    Looks,
    /// It has sent a PADR to this one, with these tags.
    Asks(MacAddr, Vec<u8>),
    Open(MacAddr, u16),
}

impl Machine for Client {
    type Command = Command;
    type Report = Report;

    /// Takes in a command. Nothing arrives by a socket.
    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Begin) => {
                self.end();
                self.enter(State::Looks, now);
            }
            Input::Command(Command::End) => {
                self.end();
                self.close(Reason::Ended);
            }
            Input::Arrival(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if self.reports.is_empty() && self.timer.is_some_and(|timer| timer <= now) {
            match self.tries {
                0 => self.close(Reason::Unanswered),
                _ => self.say(now),
            }
        }
        self.reports.pop_front().map(Output::Report)
    }

    fn deadline(&self) -> Option<Time> {
        if self.reports.is_empty() { self.timer } else { Some(Time::ZERO) }
    }
}

impl Client {
    /// Creates a host that looks for nothing yet.
    pub fn new(wanted: Wanted) -> Client {
        let retry = wanted.retry;
        let reports = VecDeque::new();
        Client { wanted, state: State::Idle, tries: 0, timer: None, retry, reports }
    }

    /// Takes in a packet of discovery from an address: what follows the EtherType.
    pub fn receive(&mut self, now: Time, from: MacAddr, bytes: &[u8]) {
        let Ok(packet) = Packet::parse(bytes) else { return };
        let Ok(tags) = Tags::parse(packet.payload) else { return };
        let uniq = Some(&self.wanted.host_uniq[..]).filter(|uniq| !uniq.is_empty());
        let is_for_this = tags.get(kind::HOST_UNIQ) == uniq;
        match (packet.code, self.state.clone()) {
            (code::PADO, State::Looks)
                if is_for_this && packet.session_id == 0 && self.is_wanted(tags) =>
            {
                let list = self.request(tags);
                self.enter(State::Asks(from, list), now);
            }
            (code::PADS, State::Asks(concentrator, _)) if is_for_this && from == concentrator => {
                if packet.session_id == 0 {
                    self.close(Reason::Refused);
                    return;
                }
                let (session_id, max_payload) = (packet.session_id, self.max_payload(tags));
                (self.state, self.timer) = (State::Open(from, session_id), None);
                self.reports.push_back(Report::Opened { concentrator, session_id, max_payload });
            }
            (code::PADT, State::Open(concentrator, id))
                if from == concentrator && packet.session_id == id =>
            {
                self.close(Reason::Terminated);
            }
            _ => {}
        }
    }

    fn is_wanted(&self, tags: Tags<'_>) -> bool {
        let Wanted { service, concentrator, .. } = &self.wanted;
        let mut services = tags.iter().filter(|tag| tag.kind == kind::SERVICE_NAME);
        let name = tags.get(kind::AC_NAME);
        let is_it = concentrator.is_empty() || name == Some(concentrator);
        name.is_some() && is_it && services.any(|tag| tag.value == service)
    }

    /// More than usual only if the access concentrator has echoed it (RFC 4638 section 4).
    fn max_payload(&self, tags: Tags<'_>) -> u16 {
        let own = self.wanted.max_payload;
        let is_echoed = tags.get(kind::PPP_MAX_PAYLOAD) == Some(&own.to_be_bytes());
        if is_echoed { own } else { own.min(USUAL_MAX) }
    }

    /// The tags of a PADR that answers an offer.
    fn request(&self, offer: Tags<'_>) -> Vec<u8> {
        let mut list = self.tags();
        for kind in [kind::AC_COOKIE, kind::RELAY_SESSION_ID] {
            if let Some(value) = offer.get(kind) {
                put(&mut list, kind, value);
            }
        }
        list
    }

    fn tags(&self) -> Vec<u8> {
        let Wanted { service, host_uniq, max_payload, line, .. } = &self.wanted;
        let mut list = Vec::new();
        put(&mut list, kind::SERVICE_NAME, service);
        if !host_uniq.is_empty() {
            put(&mut list, kind::HOST_UNIQ, host_uniq);
        }
        if *max_payload > USUAL_MAX {
            put(&mut list, kind::PPP_MAX_PAYLOAD, &max_payload.to_be_bytes());
        }
        if let Some((circuit, remote)) = line {
            LineIds { circuit: Some(circuit), remote: Some(remote) }.put(&mut list);
        }
        list
    }

    fn enter(&mut self, state: State, now: Time) {
        (self.state, self.tries, self.retry) = (state, self.wanted.tries, self.wanted.retry);
        self.say(now);
    }

    fn say(&mut self, now: Time) {
        let (to, code, list) = match &self.state {
            State::Looks => (MacAddr::BROADCAST, code::PADI, self.tags()),
            State::Asks(concentrator, list) => (*concentrator, code::PADR, list.clone()),
            State::Idle | State::Open(..) => return,
        };
        self.tries = self.tries.saturating_sub(1);
        self.timer = Some(now.after(self.retry));
        self.retry *= 2;
        let packet = Packet { code, session_id: 0, payload: &list }.emit();
        self.reports.push_back(Report::Send { to, packet });
    }

    /// Tells the access concentrator that the session ends.
    fn end(&mut self) {
        if let State::Open(to, session_id) = self.state {
            let packet = Packet { code: code::PADT, session_id, payload: &[] }.emit();
            self.reports.push_back(Report::Send { to, packet });
            self.close(Reason::Ended);
        }
    }

    fn close(&mut self, reason: Reason) {
        let was_idle = matches!(std::mem::replace(&mut self.state, State::Idle), State::Idle);
        self.timer = None;
        if !was_idle {
            self.reports.push_back(Report::Closed(reason));
        }
    }
}

/// Most bytes that PPP carries unless more was agreed on (RFC 2516 section 7).
const USUAL_MAX: u16 = 1492;
