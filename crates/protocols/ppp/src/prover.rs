//! The side that is asked to authenticate, of PAP (RFC 1334 section 2) and CHAP (RFC
//! 1994).

use protocol_kit::{Secret, Time};

use crate::config::{Identity, Method};
use crate::control::chap_response;
use crate::outbox::Outbox;
use crate::packet::{Packet, chap, counted, pap};

/// The side that is asked.
#[derive(Debug)]
pub(crate) struct Prover {
    method: Method,
    /// The identifier of what was said last.
    id: u8,
    /// That of the first request of PAP: each has another one (RFC 1334 section 2.2.1), and an
    /// answer to any of them counts, because all say the same. By CHAP it is that of the response.
    first: u8,
    /// What was said last, to be said again: a request of PAP, a response of CHAP.
    said: Secret,
    tries: u8,
    timer: Option<Time>,
    is_done: bool,
}

/// What the other side says to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// That this side is welcome, for the first time.
    Welcome,
    /// That it is not.
    Refusal,
    /// Nothing that changes anything.
    Nothing,
}

impl Prover {
    /// Begins: by PAP this side sends name and password.
    pub fn begin(method: Method, identity: &Identity, out: &mut Outbox<'_>) -> Prover {
        // A late answer to a request from before a renegotiation must not count.
        let id: u8 = out.draws.bytes::<1>()[0];
        let mut this = Prover {
            method,
            id,
            first: id.wrapping_add(1),
            said: Secret(Vec::new()),
            tries: TRIES_MAX,
            timer: None,
            is_done: false,
        };
        if method == Method::Pap {
            let Identity { name, secret, .. } = identity;
            let (name_len, secret_len) = ([name.len() as u8], [secret.0.len() as u8]);
            this.said = Secret([&name_len[..], name, &secret_len, &secret.0].concat());
            this.say(out);
        }
        this
    }

    pub fn method(&self) -> Method {
        self.method
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    pub fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// Sends it again if it is time to; false if it was sent often enough.
    pub fn expire(&mut self, out: &mut Outbox<'_>) -> bool {
        if self.timer.take_if(|timer| *timer <= out.now).is_some() {
            if self.tries == 0 {
                return false;
            }
            self.say(out);
        }
        true
    }

    /// Takes in what the other side says. It may challenge at any time.
    pub fn receive(&mut self, bytes: &[u8], identity: &Identity, out: &mut Outbox<'_>) -> Heard {
        let Ok(Packet { code, id, data }) = Packet::parse(bytes) else {
            out.counters.malformed += 1;
            return Heard::Nothing;
        };
        let is_of_those = id.wrapping_sub(self.first) <= self.id.wrapping_sub(self.first);
        let has_said = !self.said.0.is_empty() && is_of_those;
        match (self.method, code) {
            (Method::ChapMd5, chap::CHALLENGE) => {
                let Some((challenge, _)) = counted(data).filter(|(value, _)| !value.is_empty())
                else {
                    out.counters.malformed += 1;
                    return Heard::Nothing;
                };
                let response = chap_response(id, &identity.secret.0, challenge);
                self.said = Secret([&[16][..], &response, &identity.name].concat());
                (self.first, self.id, self.tries) = (id, id, TRIES_MAX);
                self.say(out);
                Heard::Nothing
            }
            (Method::ChapMd5, chap::SUCCESS) | (Method::Pap, pap::ACK) if has_said => {
                self.timer = None;
                match std::mem::replace(&mut self.is_done, true) {
                    true => Heard::Nothing,
                    false => Heard::Welcome,
                }
            }
            (Method::ChapMd5, chap::FAILURE) | (Method::Pap, pap::NAK) if has_said => {
                self.timer = None;
                Heard::Refusal
            }
            _ => {
                out.counters.stale += 1;
                Heard::Nothing
            }
        }
    }

    fn say(&mut self, out: &mut Outbox<'_>) {
        self.tries = self.tries.saturating_sub(1);
        self.timer = Some(out.again());
        let code = match self.method {
            Method::Pap => {
                self.id = self.id.wrapping_add(1);
                pap::REQUEST
            }
            Method::ChapMd5 => chap::RESPONSE,
        };
        out.send(self.method.protocol(), Packet { code, id: self.id, data: &self.said.0 });
    }
}

/// Times that something is said without an answer.
pub(crate) const TRIES_MAX: u8 = 10;
