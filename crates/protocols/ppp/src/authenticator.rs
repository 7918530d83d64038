//! The side that asks the peer to authenticate, of PAP (RFC 1334 section 2) and CHAP (RFC 1994).
//!
//! ```text
//!  PAP    | peer id length | peer id | password length | password |   1, Authenticate-Request
//!         | message length | message |                                2 Ack, 3 Nak
//!  CHAP   | value size | value | name |                               1 Challenge, 2 Response
//!         | message |                                                 3 Success, 4 Failure
//! ```

use std::fmt;

use protocol_kit::{Secret, Time};

use crate::config::{Method, NAME_MAX};
use crate::control::Credentials;
use crate::outbox::Outbox;
use crate::packet::{Packet, chap, counted, pap};

/// The side that asks.
pub(crate) struct Authenticator {
    method: Method,
    stage: Stage,
    /// The name in challenges.
    name: Vec<u8>,
    /// The identifier of the challenge, or of the peer's last request.
    id: u8,
    challenge: [u8; 16],
    /// Challenges that are still to be sent.
    tries: u8,
    timer: Option<Time>,
}

#[derive(Debug)]
enum Stage {
    /// It waits for the peer.
    Waits,
    /// It waits for the owner.
    Asked,
    /// The owner has decided; a peer that asks again gets the same answer.
    Judged { is_welcome: bool, message: Vec<u8> },
}

impl Authenticator {
    /// Begins: by CHAP the peer is challenged.
    pub fn begin(method: Method, name: &[u8], out: &mut Outbox<'_>) -> Authenticator {
        let mut this = Authenticator {
            method,
            stage: Stage::Waits,
            name: name.to_vec(),
            id: out.draws.bytes::<1>()[0],
            challenge: out.draws.bytes(),
            tries: CHALLENGES_MAX,
            timer: None,
        };
        if method == Method::ChapMd5 {
            this.send_challenge(out);
        }
        this
    }

    pub fn method(&self) -> Method {
        self.method
    }

    pub fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// Whether the owner has accepted the peer.
    pub fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Judged { is_welcome: true, .. })
    }

    /// Challenges again if it is time to; false if the peer was challenged often enough.
    pub fn expire(&mut self, out: &mut Outbox<'_>) -> bool {
        if self.timer.take_if(|timer| *timer <= out.now).is_some() {
            if self.tries == 0 {
                return false;
            }
            self.send_challenge(out);
        }
        true
    }

    /// Takes in what the peer says; returns what the owner is to judge.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Outbox<'_>) -> Option<Credentials> {
        let found = Packet::parse(bytes).ok().map(|packet| (packet.id, self.credentials(packet)));
        let Some((id, Said::Credentials(credentials))) = found else {
            let is_malformed = matches!(found, None | Some((_, Said::Malformed)));
            out.counters.malformed += u64::from(is_malformed);
            out.counters.stale += u64::from(!is_malformed);
            return None;
        };
        self.id = id;
        match self.stage {
            Stage::Waits => {
                (self.stage, self.timer) = (Stage::Asked, None);
                Some(credentials)
            }
            Stage::Asked => None,
            Stage::Judged { .. } => {
                self.tell(out);
                None
            }
        }
    }

    /// The owner has judged.
    pub fn judge(&mut self, is_welcome: bool, mut message: Vec<u8>, out: &mut Outbox<'_>) {
        message.truncate(NAME_MAX);
        self.stage = Stage::Judged { is_welcome, message };
        self.tell(out);
    }

    fn tell(&self, out: &mut Outbox<'_>) {
        let Stage::Judged { is_welcome, ref message } = self.stage else { return };
        let (code, data) = match self.method {
            Method::Pap => {
                let code = if is_welcome { pap::ACK } else { pap::NAK };
                (code, [&[message.len() as u8][..], message].concat())
            }
            Method::ChapMd5 => {
                let code = if is_welcome { chap::SUCCESS } else { chap::FAILURE };
                (code, message.clone())
            }
        };
        out.send(self.method.protocol(), Packet { code, id: self.id, data: &data });
    }

    fn send_challenge(&mut self, out: &mut Outbox<'_>) {
        self.tries -= 1;
        self.timer = Some(out.again());
        let data = [&[CHALLENGE_LEN][..], &self.challenge, &self.name].concat();
        let packet = Packet { code: chap::CHALLENGE, id: self.id, data: &data };
        out.send(self.method.protocol(), packet);
    }

    fn credentials(&self, packet: Packet<'_>) -> Said {
        let Packet { code, id, data } = packet;
        match self.method {
            Method::Pap if code == pap::REQUEST => {
                let read = counted(data).and_then(|(name, rest)| Some((name, counted(rest)?.0)));
                let Some((name, password)) = read else { return Said::Malformed };
                let password = Secret(password.to_vec());
                Said::Credentials(Credentials::Pap { name: name.to_vec(), password })
            }
            Method::ChapMd5 if code == chap::RESPONSE && id == self.id => {
                let read =
                    counted(data).and_then(|(value, name)| Some((value.try_into().ok()?, name)));
                let Some((response, name)) = read.filter(|(_, name)| name.len() <= 255) else {
                    return Said::Malformed;
                };
                let (name, challenge) = (name.to_vec(), self.challenge);
                Said::Credentials(Credentials::Chap { name, id, challenge, response })
            }
            _ => Said::Other,
        }
    }
}

impl fmt::Debug for Authenticator {
    /// The challenge is not shown: with a response it is as good as a weak secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Authenticator { method, stage, id, tries, timer, .. } = self;
        let mut shown = f.debug_struct("Authenticator");
        shown.field("method", method).field("stage", stage).field("id", id);
        shown.field("tries", tries).field("timer", timer).finish_non_exhaustive()
    }
}

/// What a packet of the peer says.
enum Said {
    Credentials(Credentials),
    Malformed,
    /// It is no answer.
    Other,
}

const CHALLENGE_LEN: u8 = 16;

/// Challenges that are sent.
pub(crate) const CHALLENGES_MAX: u8 = 10;
