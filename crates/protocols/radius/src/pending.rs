//! Requests that wait or are on their way.

use std::time::Duration;

use protocol_kit::{Random, Secret, Time};

use crate::attributes::{Attributes, List};
use crate::control::{Answer, Request};
use crate::packet::{Code, Packet};
use crate::seal::{self, Authenticator, Credentials, Unwritable};

/// A request.
#[derive(Debug)]
pub(crate) struct Pending {
    pub wants: Wants,
    /// When it ends without answer.
    pub end: Time,
    /// Servers that have not answered it, a bit each.
    pub tried: u32,
    pub way: Option<Way>,
}

/// What it is.
#[derive(Debug)]
pub(crate) enum Wants {
    /// Somebody's request.
    Ask { token: u64, request: Request },
    /// Whether a server is there.
    Status,
}

/// What is on its way.
pub(crate) struct Way {
    pub server: usize,
    /// Socket and identifier.
    pub at: (u32, u8),
    pub authenticator: Authenticator,
    pub bytes: Vec<u8>,
    pub tries: u8,
    pub timeout: Duration,
    /// When it was sent for the first time.
    pub since: Time,
    /// When it was sent for the last time.
    pub sent: Time,
}

impl Wants {
    /// Writes it.
    pub fn write(
        &self,
        identifier: u8,
        authenticator: &Authenticator,
        secret: &Secret,
        wall_s: u64,
    ) -> Result<Vec<u8>, Unwritable> {
        match self {
            Wants::Ask { request, .. } => write(request, identifier, authenticator, secret, wall_s),
            Wants::Status => {
                let (code, none) = ((Code::StatusServer, identifier), Attributes::NONE);
                seal::access_request(code, authenticator, secret, none, &Credentials::None)
            }
        }
    }

    /// What a packet says to it; `None` of a packet whose code answers no such thing.
    pub fn answer(&self, packet: &Packet<'_>) -> Option<Answer> {
        let is_accounting = matches!(self, Wants::Ask { request: Request::Accounting { .. }, .. });
        let list = || List::from(packet.attributes);
        match (packet.code, is_accounting, self) {
            (Code::AccountingResponse, _, Wants::Status) => Some(Answer::Recorded),
            (Code::AccountingResponse, true, _) => Some(Answer::Recorded),
            (Code::AccessAccept, false, _) => Some(Answer::Accept(list())),
            (Code::AccessReject, false, Wants::Ask { .. }) => Some(Answer::Reject(list())),
            (Code::AccessChallenge, false, Wants::Ask { .. }) => Some(Answer::Challenge(list())),
            _ => None,
        }
    }
}

impl Way {
    /// Whether the server had enough time, so that no answer says that it is not there: all tries,
    /// or half of a request's patience. A request that had waited for long had neither.
    pub fn had_time(&self, tries: u8, patience: Duration, now: Time) -> bool {
        self.tries >= tries || now.since(self.since) >= patience / 2
    }
}

impl std::fmt::Debug for Way {
    /// Its bytes and its authenticator may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Way { server, at, tries, .. } = self;
        f.debug_struct("Way").field("server", server).field("at", at).field("tries", tries).finish()
    }
}

/// Writes a request.
pub(crate) fn write(
    request: &Request,
    identifier: u8,
    authenticator: &Authenticator,
    secret: &Secret,
    wall_s: u64,
) -> Result<Vec<u8>, Unwritable> {
    match request {
        Request::Access { credentials, attributes } => {
            let code = (Code::AccessRequest, identifier);
            let attributes = attributes.attributes();
            seal::access_request(code, authenticator, secret, attributes, credentials)
        }
        Request::Accounting { attributes, event_s } => {
            let delay_s = u32::try_from(wall_s.saturating_sub(*event_s)).unwrap_or(u32::MAX);
            seal::accounting_request(identifier, secret, attributes.attributes(), delay_s)
        }
    }
}

/// A time that is up to a tenth longer or shorter (RFC 5080 section 2.2.1).
pub(crate) fn jittered(time: Duration, random: &mut Random) -> Duration {
    random.shortened(time * 11 / 10, 0, 18)
}
