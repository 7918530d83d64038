//! Requests that wait or are on their way.

use std::time::Duration;

use protocol_kit::{Random, Secret, Time};

use crate::control::Request;
use crate::packet::Code;
use crate::seal::{self, Authenticator, Unwritable};

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
#[derive(Debug)]
pub(crate) struct Way {
    pub server: usize,
    /// Socket and identifier.
    pub at: (u32, u8),
    pub authenticator: Authenticator,
    pub bytes: Vec<u8>,
    pub tries: u8,
    pub timeout: Duration,
    /// When it was sent first and last.
    pub sent: [Time; 2],
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
