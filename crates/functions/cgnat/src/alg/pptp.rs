//! PPTP: call identifiers in messages of the control connection (RFC 2637 section 2).
//!
//! Each end names a call by a number of its own, which the other end writes into its GRE packets.
//! Two subscribers behind one address may choose the same, so the inside's numbers are mapped as
//! ports are: its own on the way out, and what the remote says as the peer's on the way in. The
//! remote's numbers stay. No message changes its length.
//!
//! An answer that a call is connected names both numbers, and is what the expectation is made of.

use std::net::SocketAddrV4;

use super::edit::Text;
use super::{Expectation, Mappings, Ports, Protocol, Reason, Side, Work};

/// Finds the call identifiers of the inside, and maps them.
pub(super) fn scan<M: Mappings>(payload: &[u8], work: &mut Work<'_, M>) {
    let mut at = 0;
    while let Some(rest) = payload.get(at..).filter(|rest| !rest.is_empty()) {
        match message_len(rest) {
            Ok(len) => {
                work.unit(at, |work| scan_message(&rest[..len], at, work));
                at += len;
            }
            Err(reason) => return work.fail(reason),
        }
    }
}

/// The length of the message at the beginning, which must be whole.
fn message_len(rest: &[u8]) -> Result<usize, Reason> {
    let len = read(rest, offset::LENGTH).ok_or(Reason::Split)?.into();
    let magic = rest.get(offset::MAGIC..offset::CONTROL_TYPE).ok_or(Reason::Split)?;
    if read(rest, offset::TYPE) != Some(TYPE_CONTROL) || magic != MAGIC_COOKIE {
        return Err(Reason::NoMessage);
    }
    if len < offset::CALL {
        return Err(Reason::Malformed);
    }
    if len > rest.len() { Err(Reason::Split) } else { Ok(len) }
}

/// One message; `at` is where it stands in the payload.
fn scan_message<M: Mappings>(
    message: &[u8],
    at: usize,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let kind = read(message, offset::CONTROL_TYPE).ok_or(Reason::Malformed)?;
    let Some(calls) = Calls::of(kind) else { return Ok(()) };
    let from = work.translation.from;
    let place = if from == Side::Inside { calls.own } else { calls.peer };
    let Some(place) = place else { return Ok(()) };
    let call = read(message, place).ok_or(Reason::Malformed)?;
    let is_refused = matches!(kind, OUTGOING_CALL_REPLY | INCOMING_CALL_REPLY)
        && message.get(offset::RESULT).is_none_or(|&result| result != RESULT_CONNECTED);
    let remote = Some(*work.translation.remote.ip());
    let (inside, outside) = match from {
        Side::Inside => {
            let outside = work.map(Protocol::Gre, call, Ports::Any, remote)?;
            let text = Text::Octets(outside.port().to_be_bytes());
            work.edits.replace(at + place..at + place + 2, text)?;
            (SocketAddrV4::new(*work.translation.inside.ip(), call), outside)
        }
        Side::Outside => {
            // An answer to no call of the inside, or to one that is over.
            let inside = work.look_up(Protocol::Gre, call).ok_or(Reason::NoMapping)?;
            let text = Text::Octets(inside.port().to_be_bytes());
            work.edits.replace(at + place..at + place + 2, text)?;
            (inside, SocketAddrV4::new(*work.translation.outside.ip(), call))
        }
    };
    let remote_place = if from == Side::Inside { calls.peer } else { calls.own };
    let Some(remote_place) = remote_place.filter(|_| !is_refused) else { return Ok(()) };
    let remote_call = read(message, remote_place).ok_or(Reason::Malformed)?;
    work.expect(Expectation {
        protocol: Protocol::Gre,
        inside,
        outside,
        ports: 1,
        remote,
        remote_port: Some(remote_call),
    })
}

/// Where a message tells its sender's identifier of a call, and where the other end's.
#[derive(Clone, Copy)]
struct Calls {
    own: Option<usize>,
    peer: Option<usize>,
}

impl Calls {
    /// RFC 2637 sections 2.7 to 2.15.
    fn of(kind: u16) -> Option<Calls> {
        let (own, peer) = match kind {
            OUTGOING_CALL_REQUEST
            | INCOMING_CALL_REQUEST
            | CALL_CLEAR_REQUEST
            | CALL_DISCONNECT_NOTIFY => (Some(offset::CALL), None),
            OUTGOING_CALL_REPLY | INCOMING_CALL_REPLY => {
                (Some(offset::CALL), Some(offset::PEER_CALL))
            }
            INCOMING_CALL_CONNECTED | WAN_ERROR_NOTIFY | SET_LINK_INFO => {
                (None, Some(offset::CALL))
            }
            _ => return None,
        };
        Some(Calls { own, peer })
    }
}

fn read(message: &[u8], at: usize) -> Option<u16> {
    message.get(at..)?.first_chunk().map(|octets| u16::from_be_bytes(*octets))
}

/// Where fields stand (RFC 2637 section 2).
mod offset {
    /// Octets of the message.
    pub const LENGTH: usize = 0;
    /// Control or management.
    pub const TYPE: usize = 2;
    /// The constant by which a receiver sees that it is in step.
    pub const MAGIC: usize = 4;
    /// Which message.
    pub const CONTROL_TYPE: usize = 8;
    /// The first identifier.
    pub const CALL: usize = 12;
    /// The other one, of answers.
    pub const PEER_CALL: usize = 14;
    /// What became of a call, of answers.
    pub const RESULT: usize = 16;
}

const TYPE_CONTROL: u16 = 1;
const MAGIC_COOKIE: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
const RESULT_CONNECTED: u8 = 1;

const OUTGOING_CALL_REQUEST: u16 = 7;
const OUTGOING_CALL_REPLY: u16 = 8;
const INCOMING_CALL_REQUEST: u16 = 9;
const INCOMING_CALL_REPLY: u16 = 10;
const INCOMING_CALL_CONNECTED: u16 = 11;
const CALL_CLEAR_REQUEST: u16 = 12;
const CALL_DISCONNECT_NOTIFY: u16 = 13;
const WAN_ERROR_NOTIFY: u16 = 14;
const SET_LINK_INFO: u16 = 15;
