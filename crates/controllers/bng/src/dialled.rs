//! PPPoE: hosts that dial in, and their negotiations.
//!
//! ```text
//!  PADR --> add-session, applied --> PADS, LCP --> who is it? --> let in, with addresses
//!       --> change-session, applied --> success, IPCP and IPv6CP
//! ```
//! A worker takes packets of PPP of sessions that it has. So the host hears of its session when the
//! gateway has it, and that it is welcome when packets of its addresses pass.

use std::net::Ipv6Addr;

use function_bng::config::Line;
use protocol_kit::{Input, Machine, Output, Time};
use protocol_ppp::{self as ppp, Reason, Report};
use protocol_pppoe::packet::code;
use protocol_pppoe::{self as pppoe, Opened, Origin};
use protocol_radius::Credentials;
use wire::MacAddr;

use crate::core::Core;
use crate::frame::{Heard, Place};
use crate::session::{Link, Session, State, Waiter, Why};

impl Core {
    /// A host looks for an access concentrator, or says something to it.
    pub fn hear_discovery(&mut self, heard: &Heard<'_>, packet: &[u8], now: Time) {
        let Line { outer, inner } = heard.line;
        let line = pppoe::Line { port: 0, outer, inner };
        let is_to_group = heard.to.is_multicast();
        self.pppoe.receive(now, Origin { line, from: heard.from, is_to_group }, packet);
    }

    /// A peer of PPP says something.
    pub fn hear_ppp(&mut self, heard: &Heard<'_>, payload: &[u8], now: Time) -> Option<()> {
        let number = self.sessions.of_link(heard.line, heard.pppoe?)?;
        let session = self.sessions.get(number).filter(|session| session.mac == heard.from)?;
        self.ppp.receive(now, session.pppoe?.number, payload);
        Some(())
    }

    /// What the access concentrator reports.
    pub fn told_by_pppoe(&mut self, output: Output<pppoe::Report>, now: Time) {
        let Output::Report(report) = output else { return };
        match report {
            pppoe::Report::Send { line, to, packet } => self.send_discovery(line, to, packet),
            pppoe::Report::Opened { session, opened } => self.open(session, opened, now),
            pppoe::Report::Closed { session, reason } => {
                let why = match reason {
                    pppoe::Reason::Replaced => Why::Moved,
                    pppoe::Reason::Closed | pppoe::Reason::Terminated => Why::Released,
                };
                if let Some(number) = self.sessions.of_pppoe(session) {
                    let link = self.sessions.get_mut(number).and_then(|it| it.pppoe.as_mut());
                    link.into_iter().for_each(|link| link.is_closed = true);
                    self.end(number, why, now);
                }
            }
            pppoe::Report::Refused { .. } => {}
        }
    }

    /// A packet goes to a host; one that confirms a session waits until the gateway has it.
    fn send_discovery(&mut self, line: pppoe::Line, to: MacAddr, packet: Vec<u8>) {
        let line = Line { outer: line.outer, inner: line.inner };
        let id = match *packet {
            [_, code::PADS, high, low, ..] => u16::from_be_bytes([high, low]),
            _ => 0,
        };
        let waits =
            self.sessions.of_link(line, id).and_then(|number| self.sessions.get_mut(number));
        let is_its = |session: &&mut Session| {
            let mut waiting = session.waiting.iter();
            waiting.any(|(_, waiter)| *waiter == Waiter::Confirmation)
        };
        match waits.filter(is_its) {
            Some(session) => session.confirmation = Some(packet),
            None => {
                let place = Place { line, mac: to, pppoe: None };
                self.notes.inject(self.places.access.discovery(place, &packet));
            }
        }
    }

    /// A session of PPPoE has begun.
    fn open(&mut self, number: u32, opened: Opened, now: Time) {
        let line = Line { outer: opened.line.outer, inner: opened.line.inner };
        let Opened { session_id: id, max_payload: mru, .. } = opened;
        let link = Link { number, id, mru, is_closed: false };
        let mut session = Session::new(line, opened.host, Some(link), now);
        session.circuit = opened.circuit.unwrap_or_default();
        session.remote = opened.remote.unwrap_or_default();
        match self.begin(session) {
            Some(number) => self.settle(number, Some(Waiter::Confirmation), now),
            None => {
                let close = pppoe::Command::Close { session: number, why: b"full".to_vec() };
                self.pppoe.input(now, Input::Command(close));
            }
        }
    }

    /// The gateway has a session: its host hears of it, and negotiation begins.
    pub fn confirm(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let Some(link) = session.pppoe else { return };
        let place = Place { pppoe: None, ..session.place() };
        if let Some(packet) = session.confirmation.take() {
            self.notes.inject(self.places.access.discovery(place, &packet));
        }
        let config = self.ppp_config.clone();
        let open = ppp::Command::Open { session: link.number, config, mru: link.mru };
        self.ppp.input(now, Input::Command(open));
    }

    /// What PPP reports.
    pub fn told_by_ppp(&mut self, output: Output<Report>, now: Time) {
        let Output::Report(report) = output else { return };
        let Some(number) = self.sessions.of_pppoe(report.session()) else { return };
        match report {
            Report::Send { payload, .. } => {
                let Some(session) = self.sessions.get(number) else { return };
                self.notes.inject(self.places.access.ppp(session.place(), &payload));
            }
            Report::Asked { question, link, credentials, .. } => {
                let Some(session) = self.sessions.get_mut(number) else { return };
                session.user = String::from_utf8_lossy(credentials.name()).into_owned();
                if let Some(own) = &mut session.pppoe {
                    own.mru = own.mru.min(link.mtu);
                }
                self.seek(number, Waiter::Question(question), proof(credentials), now);
            }
            Report::V6Up { remote, .. } => {
                if let Some(session) = self.sessions.get_mut(number) {
                    session.host = Ipv6Addr::from(0xfe80 << 112 | u128::from(remote));
                }
            }
            // Whoever negotiates anew would have to prove again who it is: it dials again.
            Report::Down { reason: Reason::Renegotiated, .. } => {
                if self
                    .sessions
                    .get(number)
                    .is_some_and(|it| it.state != State::Asked || !it.asking.is_empty())
                {
                    self.end(number, Why::Lost, now);
                }
            }
            Report::Ended { reason, .. } => self.end(number, why(reason), now),
            Report::V4Up { .. }
            | Report::V4Down { .. }
            | Report::V6Down { .. }
            | Report::Down { .. }
            | Report::Refused { .. } => {}
        }
    }
}

/// How a peer has said who it is, as RADIUS has it.
fn proof(credentials: ppp::Credentials) -> Credentials {
    match credentials {
        ppp::Credentials::None => Credentials::None,
        ppp::Credentials::Pap { password, .. } => Credentials::Password(password),
        ppp::Credentials::Chap { id, challenge, response, .. } => {
            Credentials::Chap { identifier: id, response, challenge: challenge.to_vec() }
        }
    }
}

/// Why a session ends whose negotiation has ended.
fn why(reason: Reason) -> Why {
    match reason {
        Reason::Terminated | Reason::Closed => Why::Released,
        Reason::LinkDown | Reason::Silent | Reason::Renegotiated | Reason::Restless => Why::Lost,
        Reason::Refused | Reason::NotWelcome => Why::Rejected,
        Reason::Unjudged => Why::Unanswered,
        Reason::Unanswered
        | Reason::Diverged
        | Reason::Looped
        | Reason::Rejected
        | Reason::Unproven
        | Reason::Unauthenticated
        | Reason::NoNetwork => Why::NotTaken,
    }
}
