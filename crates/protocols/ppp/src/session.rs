//! A session: LCP, then authentication, then network protocols; and its end (RFC 1661 section 3).

use std::sync::Arc;

use protocol_kit::Time;

use crate::authenticator::Authenticator;
use crate::automaton::State;
use crate::config::{Config, Network, Unusable};
use crate::control::{Answer, Credentials, Phase, Reason, Report, View};
use crate::ipcp::Ipcp;
use crate::ipv6cp::Ipv6cp;
use crate::lcp::Lcp;
use crate::negotiation::{Negotiation, Signals};
use crate::outbox::Outbox;
use crate::packet::{self, Packet, REJECTED_MAX, code, protocol};
use crate::prover::{Heard, Prover};

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub config: Arc<Config>,
    pub phase: Phase,
    pub lcp: Negotiation<Lcp>,
    /// The side that asks the peer to authenticate.
    pub authenticator: Option<Box<Authenticator>>,
    /// The side that the peer asks.
    pub prover: Option<Box<Prover>>,
    pub v4: Option<Negotiation<Ipcp>>,
    pub v6: Option<Negotiation<Ipv6cp>>,
    /// What the owner has answered.
    pub network: Option<Network>,
    /// The question that the owner has not answered.
    pub question: Option<u32>,
    /// Whether the owner was asked, or told that something is up.
    pub is_told: bool,
    /// Why it ends, if it does.
    pub reason: Option<Reason>,
    /// Until when a network protocol has to be open.
    pub until: Option<Time>,
    /// When the next Echo-Request is sent, and how many were not answered.
    pub echo: Option<Time>,
    pub unanswered: u8,
    /// Times that something was renegotiated.
    pub reopenings: u8,
    /// Whether it is over.
    pub is_over: bool,
}

impl Session {
    pub fn begin(config: Arc<Config>, mru: u16, out: &mut Outbox<'_>) -> Session {
        let lcp = Lcp::new(config.clone(), mru, out.draws);
        let mut this = Session {
            phase: Phase::Establish,
            lcp: Negotiation::new(lcp),
            authenticator: None,
            prover: None,
            v4: None,
            v6: None,
            network: None,
            question: None,
            is_told: false,
            reason: None,
            until: Some(out.now.after(config.setup_time)),
            echo: None,
            unanswered: 0,
            reopenings: 0,
            is_over: false,
            config,
        };
        this.lcp.begin(out);
        this
    }

    pub fn view(&self) -> View {
        let link = self.lcp.layer.link();
        View { phase: self.phase, link, is_v4_up: self.is_v4_up(), is_v6_up: self.is_v6_up() }
    }

    pub fn restart(&self) -> std::time::Duration {
        self.config.restart
    }

    pub fn deadline(&self) -> Option<Time> {
        [
            self.lcp.deadline(),
            self.v4.as_ref().and_then(Negotiation::deadline),
            self.v6.as_ref().and_then(Negotiation::deadline),
            self.authenticator.as_ref().and_then(|one| one.deadline()),
            self.prover.as_ref().and_then(|one| one.deadline()),
            self.until,
            self.echo,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Takes in a payload.
    pub fn receive(&mut self, payload: &[u8], out: &mut Outbox<'_>) {
        let Ok((number, bytes)) = packet::split(payload) else {
            out.counters.malformed += 1;
            return;
        };
        out.counters.received += 1;
        let is_open = self.lcp.state() == State::Opened;
        match number {
            protocol::LCP => self.receive_link(bytes, out),
            _ if !is_open => out.counters.early += 1,
            protocol::PAP | protocol::CHAP => self.receive_authentication(number, bytes, out),
            protocol::IPCP | protocol::IPV6CP if self.phase != Phase::Network => {
                out.counters.early += 1;
            }
            protocol::IPCP if self.v4.is_some() => {
                let Some(packet) = read(bytes, out) else { return };
                let signals = self.v4.as_mut().map(|v4| v4.receive(packet, out));
                self.hear_v4(signals.unwrap_or_default(), out);
            }
            protocol::IPV6CP if self.v6.is_some() => {
                let Some(packet) = read(bytes, out) else { return };
                let signals = self.v6.as_mut().map(|v6| v6.receive(packet, out));
                self.hear_v6(signals.unwrap_or_default(), out);
            }
            // The owner forwards data itself; what arrives here is too early or too late.
            protocol::IPV4 | protocol::IPV6 => out.counters.early += 1,
            _ => self.reject(payload, out),
        }
    }

    /// Does what is due by now.
    pub fn expire(&mut self, out: &mut Outbox<'_>) {
        let signals = self.lcp.expire(out);
        self.hear_link(signals, out);
        if let Some(signals) = self.v4.as_mut().map(|v4| v4.expire(out)) {
            self.hear_v4(signals, out);
        }
        if let Some(signals) = self.v6.as_mut().map(|v6| v6.expire(out)) {
            self.hear_v6(signals, out);
        }
        if !self.authenticator.as_mut().is_none_or(|one| one.expire(out)) {
            self.close(Reason::Unauthenticated, out);
        }
        if !self.prover.as_mut().is_none_or(|one| one.expire(out)) {
            self.close(Reason::NotWelcome, out);
        }
        if self.until.take_if(|until| *until <= out.now).is_some() {
            let reason = self.missing();
            self.close(reason, out);
        }
        if self.echo.take_if(|echo| *echo <= out.now).is_some() {
            self.watch(out);
        }
    }

    /// The owner answers.
    ///
    /// # Errors
    /// [`Unusable::Question`] if it was not asked that; [`Unusable::Identifier`] if both sides
    /// would have the same one: then the question stays open.
    pub fn answer(
        &mut self,
        question: u32,
        answer: Answer,
        out: &mut Outbox<'_>,
    ) -> Result<(), Unusable> {
        if self.question != Some(question) {
            return Err(Unusable::Question);
        }
        if let Answer::Accept(network) = &answer {
            network.check()?;
        }
        self.question = None;
        match answer {
            Answer::Accept(network) => {
                self.network = Some(network);
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.judge(true, Vec::new(), out);
                }
                self.begin_network(out);
            }
            Answer::Reject { message } => {
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.judge(false, message, out);
                }
                self.close(Reason::Refused, out);
            }
        }
        Ok(())
    }

    /// Ends it, and tells the peer.
    pub fn close(&mut self, reason: Reason, out: &mut Outbox<'_>) {
        if self.phase != Phase::Terminate && !self.is_over {
            let signals = self.lcp.close(reason, out);
            self.hear_link(signals, out);
        }
    }

    /// The link is gone: it is over at once.
    pub fn drop_link(&mut self, out: &mut Outbox<'_>) {
        self.finish(Reason::LinkDown, out);
    }

    fn receive_link(&mut self, bytes: &[u8], out: &mut Outbox<'_>) {
        let Some(packet) = read(bytes, out) else { return };
        let is_open = self.lcp.state() == State::Opened;
        let own = self.lcp.layer.magic;
        let magic = packet.data.first_chunk().map(|magic| u32::from_be_bytes(*magic));
        match packet.code {
            code::PROTOCOL_REJECT => match packet::split(packet.data) {
                Ok((number, _)) if is_open => self.lose_protocol(number, out),
                Ok(_) => out.counters.early += 1,
                Err(_) => out.counters.malformed += 1,
            },
            code::ECHO_REQUEST | code::ECHO_REPLY if !is_open => out.counters.early += 1,
            code::ECHO_REQUEST | code::ECHO_REPLY if magic.is_none() => {
                out.counters.malformed += 1;
            }
            code::ECHO_REQUEST if own != 0 && magic == Some(own) => {
                out.counters.looped += 1;
                self.close(Reason::Looped, out);
            }
            code::ECHO_REQUEST => {
                let mut data = [&own.to_be_bytes()[..], &packet.data[4..]].concat();
                let mtu = usize::from(self.lcp.layer.link().mtu);
                data.truncate(mtu - packet::HEADER_LEN);
                self.lcp.echo(packet.id, &data, out);
            }
            // Some peers copy the number of the request: that proves neither a loop nor a peer.
            code::ECHO_REPLY if own != 0 && magic == Some(own) => out.counters.looped += 1,
            code::ECHO_REPLY => self.unanswered = 0,
            code::DISCARD_REQUEST | code::IDENTIFICATION | code::TIME_REMAINING => {
                out.counters.ignored += 1;
            }
            _ => {
                let signals = self.lcp.receive(packet, out);
                self.hear_link(signals, out);
            }
        }
    }

    fn receive_authentication(&mut self, number: u16, bytes: &[u8], out: &mut Outbox<'_>) {
        let is_of = |method: crate::config::Method| method.protocol() == number;
        // Both sides may use the same protocol: codes say who speaks to whom, and in both of them
        // the one that proves itself does not hear what it says itself.
        let is_to_prover = match number {
            protocol::PAP => bytes.first().is_some_and(|code| *code != packet::pap::REQUEST),
            _ => bytes.first().is_some_and(|code| *code != packet::chap::RESPONSE),
        };
        if is_to_prover {
            let prover = self.prover.as_mut().filter(|one| is_of(one.method()));
            let (Some(prover), Some(identity)) = (prover, &self.config.identity) else {
                out.counters.early += 1;
                return;
            };
            match prover.receive(bytes, identity, out) {
                Heard::Welcome => self.ask_or_begin(out),
                Heard::Refusal => self.close(Reason::NotWelcome, out),
                Heard::Nothing => {}
            }
            return;
        }
        match self.authenticator.as_mut().filter(|one| is_of(one.method())) {
            Some(authenticator) => {
                if let Some(credentials) = authenticator.receive(bytes, out) {
                    self.ask(credentials, out);
                }
            }
            None => out.counters.early += 1,
        }
    }

    pub fn hear_link(&mut self, signals: Signals, out: &mut Outbox<'_>) {
        let Signals { is_up, is_down, is_finished, reason } = signals;
        self.reason = self.reason.or(reason);
        if is_down {
            self.leave(out);
        }
        if is_finished {
            let reason = self.reason.unwrap_or(Reason::Terminated);
            self.finish(reason, out);
            return;
        }
        if let Some(reason) = self.reason {
            // What was answered counts no more, even while LCP itself was not open.
            self.phase = Phase::Terminate;
            (self.until, self.echo) = (None, None);
            if self.lcp.deadline().is_none() {
                self.finish(reason, out);
            }
            return;
        }
        if is_up {
            self.authenticate(out);
        }
    }

    /// LCP was open, and is not any more.
    fn leave(&mut self, out: &mut Outbox<'_>) {
        let reason = self.reason.unwrap_or(Reason::Renegotiated);
        self.forget(reason, out);
        self.phase = Phase::Establish;
        if self.reason.is_none() {
            self.until = Some(out.now.after(self.config.setup_time));
            self.count_reopening(out);
        }
    }

    pub fn count_reopening(&mut self, out: &mut Outbox<'_>) {
        self.reopenings += 1;
        if self.reopenings > REOPENINGS_MAX {
            self.close(Reason::Restless, out);
        }
    }

    /// Tells the owner that nothing passes any more, and forgets everything behind LCP.
    fn forget(&mut self, reason: Reason, out: &mut Outbox<'_>) {
        let session = out.session;
        for (is_up, report) in [
            (self.is_v4_up(), Report::V4Down { session }),
            (self.is_v6_up(), Report::V6Down { session }),
        ] {
            if is_up {
                out.reports.push_back(report);
            }
        }
        if std::mem::take(&mut self.is_told) {
            out.reports.push_back(Report::Down { session, reason });
        }
        (self.v4, self.v6, self.network, self.question) = (None, None, None, None);
        (self.authenticator, self.prover) = (None, None);
        (self.echo, self.unanswered) = (None, 0);
    }

    fn finish(&mut self, reason: Reason, out: &mut Outbox<'_>) {
        self.forget(reason, out);
        (self.phase, self.until, self.is_over) = (Phase::Terminate, None, true);
        out.reports.push_back(Report::Ended { session: out.session, reason });
    }

    /// LCP is open: both sides authenticate, where that was agreed on.
    fn authenticate(&mut self, out: &mut Outbox<'_>) {
        self.phase = Phase::Authenticate;
        if let Some(keepalive) = self.config.keepalive {
            self.echo = Some(out.now.after(keepalive.interval));
        }
        let Lcp { asks, .. } = self.lcp.layer;
        self.authenticator =
            asks.map(|method| Box::new(Authenticator::begin(method, &self.config.name, out)));
        let asked = self.lcp.layer.is_asked().zip(self.config.identity.as_ref());
        self.prover =
            asked.map(|(method, identity)| Box::new(Prover::begin(method, identity, out)));
        self.ask_or_begin(out);
    }

    /// Goes on if this side has authenticated or need not: asks the owner, if nobody has yet.
    fn ask_or_begin(&mut self, out: &mut Outbox<'_>) {
        if self.prover.as_ref().is_some_and(|one| !one.is_done()) {
            return;
        }
        let is_asked = self.authenticator.is_some() || self.question.is_some();
        match self.config.network {
            Some(network) => self.network = Some(network),
            None if !is_asked && self.network.is_none() => {
                self.ask(Credentials::None, out);
                return;
            }
            None => {}
        }
        self.begin_network(out);
    }

    fn ask(&mut self, credentials: Credentials, out: &mut Outbox<'_>) {
        *out.question = out.question.wrapping_add(1);
        out.counters.asked += 1;
        (self.question, self.is_told) = (Some(*out.question), true);
        let (session, question, link) = (out.session, *out.question, self.lcp.layer.link());
        out.reports.push_back(Report::Asked { session, question, link, credentials });
    }

    /// Tells the peer that its protocol is unknown.
    fn reject(&mut self, payload: &[u8], out: &mut Outbox<'_>) {
        out.counters.protocols += 1;
        let data = &payload[..payload.len().min(REJECTED_MAX)];
        self.lcp.send(code::PROTOCOL_REJECT, data, out);
    }

    /// Asks the peer whether it is there.
    fn watch(&mut self, out: &mut Outbox<'_>) {
        let Some(keepalive) = self.config.keepalive else { return };
        if self.unanswered >= keepalive.failures {
            self.close(Reason::Silent, out);
            return;
        }
        self.unanswered += 1;
        self.echo = Some(out.now.after(keepalive.interval));
        let magic = self.lcp.layer.magic.to_be_bytes();
        self.lcp.send(code::ECHO_REQUEST, &magic, out);
    }

    /// What was not done in time.
    fn missing(&self) -> Reason {
        let is_unproven = self.prover.as_ref().is_some_and(|one| !one.is_done());
        match self.phase {
            Phase::Establish | Phase::Terminate => Reason::Unanswered,
            Phase::Authenticate if self.question.is_some() => Reason::Unjudged,
            Phase::Authenticate if is_unproven => Reason::NotWelcome,
            Phase::Authenticate => Reason::Unauthenticated,
            Phase::Network => Reason::NoNetwork,
        }
    }

    pub fn is_v4_up(&self) -> bool {
        self.v4.as_ref().is_some_and(|v4| v4.state() == State::Opened)
    }

    pub fn is_v6_up(&self) -> bool {
        self.v6.as_ref().is_some_and(|v6| v6.state() == State::Opened)
    }
}

fn read<'a>(bytes: &'a [u8], out: &mut Outbox<'_>) -> Option<Packet<'a>> {
    let packet = Packet::parse(bytes).ok();
    out.counters.malformed += u64::from(packet.is_none());
    packet
}

/// Times that a session may renegotiate something.
pub(crate) const REOPENINGS_MAX: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_half_a_kibibyte_at_most() {
        assert!(size_of::<Session>() <= 512, "{} bytes", size_of::<Session>());
    }
}
