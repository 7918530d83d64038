//! The one negotiation of LCP, IPCP and IPv6CP: the automaton with its timer, its counters and its
//! packets.

use std::hash::{DefaultHasher, Hash, Hasher};

use protocol_kit::Time;

use crate::automaton::{Actions, Event, State, next};
use crate::control::Reason;
use crate::layer::Layer;
use crate::options::{Options, Verdict};
use crate::outbox::Outbox;
use crate::packet::{Packet, REJECTED_MAX, code};

/// A protocol that is negotiated.
#[derive(Debug)]
pub(crate) struct Negotiation<L> {
    pub layer: L,
    state: State,
    timer: Option<Time>,
    /// The restart counter (RFC 1661 section 4.6).
    restarts: u8,
    /// Naks sent since the last Ack.
    naks: u8,
    /// Requests and answers heard since it was open last.
    rounds: u8,
    /// The identifier that was used last.
    id: u8,
    /// The identifier of the own request while that waits for an answer.
    request: Option<u8>,
    /// The peer's request that was accepted last: its identifier and a hash of its options.
    accepted: Option<(u8, u64)>,
    /// Times that it was accepted again since it is open.
    repeats: u8,
}

/// What the layers around have to hear of what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    /// It is open.
    pub is_up: bool,
    /// It was open, and is not any more.
    pub is_down: bool,
    /// It is over.
    pub is_finished: bool,
    /// Why it has given up, or was told to.
    pub reason: Option<Reason>,
}

/// What may be sent in answer to a packet.
struct Reply<'a> {
    code: u8,
    id: u8,
    data: &'a [u8],
}

const NOTHING: Reply<'static> = Reply { code: 0, id: 0, data: &[] };

impl<L: Layer> Negotiation<L> {
    pub fn new(layer: L) -> Negotiation<L> {
        Negotiation {
            layer,
            state: State::Initial,
            timer: None,
            restarts: 0,
            naks: 0,
            rounds: 0,
            id: 0,
            request: None,
            accepted: None,
            repeats: 0,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// The layer below is up, and this one is to open.
    pub fn begin(&mut self, out: &mut Outbox<'_>) -> Signals {
        let opened = self.happen(Event::Open, NOTHING, out);
        opened.and(self.happen(Event::Up, NOTHING, out))
    }

    /// This layer is to close.
    pub fn close(&mut self, reason: Reason, out: &mut Outbox<'_>) -> Signals {
        let closed = self.happen(Event::Close, NOTHING, out);
        Signals { reason: Some(reason), ..closed }
    }

    /// Does what is due by now. One that was not answered, while the session goes on without it,
    /// begins anew after a pause: the peer's may have ended alike, and then each would wait for the
    /// other one's request (RFC 1661 section 4.2, Stopped).
    pub fn expire(&mut self, out: &mut Outbox<'_>) -> Signals {
        if self.timer.take_if(|timer| *timer <= out.now).is_none() {
            return Signals::default();
        }
        if self.state == State::Stopped {
            // The restart option of the event Open (section 4.3).
            (self.rounds, self.naks) = (0, 0);
            let ended = self.happen(Event::Down, NOTHING, out);
            return ended.and(self.happen(Event::Up, NOTHING, out));
        }
        if self.restarts > 0 {
            return self.happen(Event::Timeout, NOTHING, out);
        }
        let is_asking = self.state >= State::ReqSent;
        let signals = self.happen(Event::LastTimeout, NOTHING, out);
        self.timer = is_asking.then(|| out.now.after(out.restart * u32::from(REQUESTS_MAX)));
        Signals { reason: is_asking.then_some(Reason::Unanswered), ..signals }
    }

    /// Takes in a packet, except those that LCP alone has.
    pub fn receive(&mut self, packet: Packet<'_>, out: &mut Outbox<'_>) -> Signals {
        if self.state <= State::Starting {
            out.counters.early += 1;
            return Signals::default();
        }
        let Packet { code, id, data } = packet;
        let terminated = Reply { code: code::TERMINATE_ACK, id, data: &[] };
        match code {
            code::CONFIGURE_REQUEST => self.requested(id, data, out),
            code::CONFIGURE_ACK => self.acked(id, data, out),
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT => self.refused(packet, out),
            code::TERMINATE_REQUEST => {
                let signals = self.happen(Event::TerminateRequest, terminated, out);
                let reason = signals.is_down.then_some(Reason::Terminated);
                Signals { reason, ..signals }
            }
            code::TERMINATE_ACK => self.happen(Event::TerminateAck, terminated, out),
            code::CODE_REJECT => {
                let Ok(rejected) = Packet::parse(data) else {
                    out.counters.malformed += 1;
                    return Signals::default();
                };
                let is_fatal = rejected.code <= code::CODE_REJECT;
                self.is_rejected(is_fatal, out)
            }
            _ => {
                out.counters.codes += 1;
                let id = self.next_id();
                let whole = packet.emit(L::PROTOCOL);
                let data = &whole[2..whole.len().min(2 + REJECTED_MAX)];
                self.happen(Event::UnknownCode, Reply { code: code::CODE_REJECT, id, data }, out)
            }
        }
    }

    /// The peer has rejected a code or protocol; `is_fatal` if the negotiation needs it.
    pub fn is_rejected(&mut self, is_fatal: bool, out: &mut Outbox<'_>) -> Signals {
        let event = if is_fatal { Event::FatallyRejected } else { Event::Rejected };
        let signals = self.happen(event, NOTHING, out);
        Signals { reason: is_fatal.then_some(Reason::Rejected), ..signals }
    }

    /// Answers an Echo-Request, where it may.
    pub fn echo(&mut self, id: u8, data: &[u8], out: &mut Outbox<'_>) {
        self.happen(Event::Echo, Reply { code: code::ECHO_REPLY, id, data }, out);
    }

    /// Sends a packet that answers none.
    pub fn send(&mut self, code: u8, data: &[u8], out: &mut Outbox<'_>) -> u8 {
        let id = self.next_id();
        out.send(L::PROTOCOL, Packet { code, id, data });
        id
    }

    fn requested(&mut self, id: u8, data: &[u8], out: &mut Outbox<'_>) -> Signals {
        let Ok(options) = Options::parse(data) else {
            out.counters.malformed += 1;
            return Signals::default();
        };
        let this = (id, hash(data));
        let ack = Reply { code: code::CONFIGURE_ACK, id, data };
        let is_repeated = self.state == State::Opened && self.accepted == Some(this);
        if is_repeated && self.repeats < REPEATS_MAX {
            // The network has repeated it, or has lost the Ack: no renegotiation.
            self.repeats += 1;
            out.counters.repeated += 1;
            out.send(L::PROTOCOL, Packet { code: ack.code, id, data });
            return Signals::default();
        }
        if matches!(self.state, State::Closed | State::Closing | State::Stopping) {
            return self.happen(Event::GoodRequest, Reply { id, ..NOTHING }, out);
        }
        if let Some(signals) = self.count_round(out) {
            return signals;
        }
        let is_last = self.naks >= FAILURES_MAX;
        match self.layer.judge(options, is_last, out.draws) {
            Err(reason) => self.close(reason, out),
            Ok(Verdict::Ack) => {
                (self.naks, self.accepted, self.repeats) = (0, Some(this), 0);
                self.happen(Event::GoodRequest, ack, out)
            }
            Ok(Verdict::Nak(data)) => {
                self.naks += 1;
                let reply = Reply { code: code::CONFIGURE_NAK, id, data: &data };
                self.happen(Event::BadRequest, reply, out)
            }
            Ok(Verdict::Reject(data)) => {
                let reply = Reply { code: code::CONFIGURE_REJECT, id, data: &data };
                self.happen(Event::BadRequest, reply, out)
            }
        }
    }

    fn acked(&mut self, id: u8, data: &[u8], out: &mut Outbox<'_>) -> Signals {
        if !self.is_asked(id, out) {
            return Signals::default();
        }
        if data != self.own_options() {
            out.counters.mismatched += 1;
            return Signals::default();
        }
        self.request = None;
        // A peer that accepts every request and never sends its own would be asked without end.
        if let Some(signals) = self.count_round(out) {
            return signals;
        }
        match self.layer.accepted() {
            Err(reason) => self.close(reason, out),
            Ok(()) => self.happen(Event::Ack, Reply { id, ..NOTHING }, out),
        }
    }

    fn refused(&mut self, packet: Packet<'_>, out: &mut Outbox<'_>) -> Signals {
        if !self.is_asked(packet.id, out) {
            return Signals::default();
        }
        let Ok(options) = Options::parse(packet.data) else {
            out.counters.malformed += 1;
            return Signals::default();
        };
        let is_rejected = packet.code == code::CONFIGURE_REJECT;
        let own = self.own_options();
        let is_own = Options::parse(&own).is_ok_and(|own| options.are_among(own));
        if is_rejected && (!is_own || options.bytes().is_empty()) {
            out.counters.mismatched += 1;
            return Signals::default();
        }
        self.request = None;
        if let Some(signals) = self.count_round(out) {
            return signals;
        }
        let refused = match is_rejected {
            true => self.layer.rejected(options),
            false => self.layer.nakked(options, out.draws),
        };
        match refused {
            Err(reason) => self.close(reason, out),
            Ok(()) => self.happen(Event::Nak, Reply { id: packet.id, ..NOTHING }, out),
        }
    }

    /// Whether an answer is one to the own request, and the first one. In states without a request
    /// the automaton answers it.
    fn is_asked(&mut self, id: u8, out: &mut Outbox<'_>) -> bool {
        if matches!(self.state, State::Closed | State::Stopped) {
            self.happen(Event::Ack, Reply { id, ..NOTHING }, out);
            return false;
        }
        let is_asked = self.request == Some(id);
        out.counters.stale += u64::from(!is_asked);
        is_asked
    }

    /// Counts what was heard, and gives up if both sides never agree.
    fn count_round(&mut self, out: &mut Outbox<'_>) -> Option<Signals> {
        self.rounds += 1;
        (self.rounds > ROUNDS_MAX).then(|| self.close(Reason::Diverged, out))
    }

    fn happen(&mut self, event: Event, reply: Reply<'_>, out: &mut Outbox<'_>) -> Signals {
        let Some((actions, state)) = next(self.state, event) else { return Signals::default() };
        let before = std::mem::replace(&mut self.state, state);
        if actions.have(Actions::IRC) {
            let is_end = actions.have(Actions::STR);
            self.restarts = if is_end { TERMINATIONS_MAX } else { REQUESTS_MAX };
        }
        if actions.have(Actions::ZRC) {
            self.restarts = 0;
        }
        if actions.have(Actions::SCR) {
            self.send_request(event == Event::Timeout, out);
        }
        if actions.have(Actions::STR) {
            self.restarts = self.restarts.saturating_sub(1);
            self.send(code::TERMINATE_REQUEST, &[], out);
        }
        if actions.have(Actions::STA) {
            let packet = Packet { code: code::TERMINATE_ACK, id: reply.id, data: &[] };
            out.send(L::PROTOCOL, packet);
        }
        if [Actions::SCA, Actions::SCN, Actions::SCJ, Actions::SER]
            .iter()
            .any(|one| actions.have(*one))
        {
            let Reply { code, id, data } = reply;
            out.send(L::PROTOCOL, Packet { code, id, data });
        }
        let has_begun =
            [Actions::SCR, Actions::STR, Actions::ZRC].iter().any(|one| actions.have(*one));
        self.timer = match state.is_timed() {
            true if has_begun || self.timer.is_none() => Some(out.again()),
            true => self.timer,
            // It goes on waiting until it begins anew.
            false => self.timer.filter(|_| state == before),
        };
        if !matches!(state, State::ReqSent | State::AckSent) {
            self.request = None;
        }
        let is_up = actions.have(Actions::TLU);
        if is_up {
            (self.rounds, self.naks, self.repeats) = (0, 0, 0);
        }
        Signals {
            is_up,
            is_down: actions.have(Actions::TLD),
            is_finished: actions.have(Actions::TLF),
            reason: None,
        }
    }

    /// Sends the own request; the same one has the same identifier.
    fn send_request(&mut self, is_again: bool, out: &mut Outbox<'_>) {
        self.restarts = self.restarts.saturating_sub(1);
        let id = self.request.filter(|_| is_again).unwrap_or_else(|| self.next_id());
        self.request = Some(id);
        let data = &self.own_options();
        out.send(L::PROTOCOL, Packet { code: code::CONFIGURE_REQUEST, id, data });
    }

    fn own_options(&self) -> Vec<u8> {
        let mut options = Vec::with_capacity(24);
        self.layer.request(&mut options);
        options
    }

    fn next_id(&mut self) -> u8 {
        self.id = self.id.wrapping_add(1);
        self.id
    }
}

impl Signals {
    /// Both, one after the other.
    fn and(self, later: Signals) -> Signals {
        Signals {
            is_up: self.is_up || later.is_up,
            is_down: self.is_down || later.is_down,
            is_finished: self.is_finished || later.is_finished,
            reason: later.reason.or(self.reason),
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Configure-Requests without an answer (`Max-Configure`).
pub(crate) const REQUESTS_MAX: u8 = 10;

/// Terminate-Requests without an answer (`Max-Terminate`).
pub(crate) const TERMINATIONS_MAX: u8 = 2;

/// Naks sent until options are rejected instead (`Max-Failure`).
pub(crate) const FAILURES_MAX: u8 = 5;

/// Requests and answers heard until both sides count as unable to agree.
pub(crate) const ROUNDS_MAX: u8 = 30;

/// Times that an accepted request is accepted again without renegotiation.
const REPEATS_MAX: u8 = 3;
