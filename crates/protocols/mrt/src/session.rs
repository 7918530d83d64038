//! Records of sessions: messages and changes of state (RFC 6396 section 4.4, RFC 8050 section 3).
//!
//! ```text
//!  | AS of the peer | own AS | interface u16 | AFI u16 | address of the peer | own address | ...
//!   MESSAGE       ... | message of BGP with its header |
//!   STATE_CHANGE  ... | state before u16 | state after u16 |
//! ```
//! ASes have 2 bytes, or 4 where the name of the subtype has AS4.

use std::fmt;
use std::net::IpAddr;

use protocol_bgp::bytes::Reader;

use crate::bytes::{address, number};
use crate::header::Malformed;

/// The two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The AS of the peer.
    pub peer_as: u32,
    /// The AS of whoever has written the record.
    pub local_as: u32,
    /// The number of the interface; 0 where it is not known.
    pub interface: u16,
    /// The address of the peer.
    pub peer: IpAddr,
    /// The address of whoever has written the record.
    pub local: IpAddr,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Between whom it was.
    pub ends: Ends,
    /// Whether its paths have ASes of 4 bytes.
    pub is_wide: bool,
    /// Whether its routes may have path identifiers.
    pub has_path_ids: bool,
    /// Whether whoever has written the record has sent it; else it was received.
    pub is_sent: bool,
    /// The message, with its header.
    pub bytes: &'a [u8],
}

/// A change of the state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Between whom it is.
    pub ends: Ends,
    /// The state before.
    pub before: State,
    /// The state now.
    pub after: State,
}

/// A state of a session (RFC 4271 section 8.2.2), by its number in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub u16);

impl State {
    /// Nothing happens.
    pub const IDLE: State = State(1);
    /// An OPEN was taken.
    pub const OPEN_CONFIRM: State = State(5);
    /// The session stands.
    pub const ESTABLISHED: State = State(6);

    /// Returns its name in RFC 4271; none if there is no such state.
    pub fn name(self) -> Option<&'static str> {
        let names = ["Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established"];
        names.get(usize::from(self.0).checked_sub(1)?).copied()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "state {}", self.0),
        }
    }
}

/// What is read of a record of a session by its subtype.
pub(crate) enum Read<'a> {
    Message(Message<'a>),
    StateChange(StateChange),
    Other,
}

/// Reads the body of a record of a subtype.
pub(crate) fn read(body: &[u8], subtype: u16) -> Result<Read<'_>, Malformed> {
    let row = SUBTYPES.iter().find(|row| row.subtype == subtype);
    let Some(&Row { is_message, is_wide, has_path_ids, is_sent, .. }) = row else {
        return Ok(Read::Other);
    };
    let mut from = Reader(body);
    let ends = ends(&mut from, is_wide).ok_or(Malformed("its addresses are cut"))?;
    if is_message {
        let bytes = from.0;
        return Ok(Read::Message(Message { ends, is_wide, has_path_ids, is_sent, bytes }));
    }
    let states = from.u16().zip(from.u16());
    let (before, after) = states.ok_or(Malformed("its states are cut"))?;
    Ok(Read::StateChange(StateChange { ends, before: State(before), after: State(after) }))
}

fn ends(from: &mut Reader<'_>, is_wide: bool) -> Option<Ends> {
    let (peer_as, local_as) = (number(from, is_wide)?, number(from, is_wide)?);
    let interface = from.u16()?;
    let is_ipv6 = match from.u16()? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let (peer, local) = (address(from, is_ipv6)?, address(from, is_ipv6)?);
    Some(Ends { peer_as, local_as, interface, peer, local })
}

/// What a subtype says of a record.
struct Row {
    subtype: u16,
    is_message: bool,
    is_wide: bool,
    has_path_ids: bool,
    is_sent: bool,
}

const fn row(subtype: u16, is_message: bool, [is_wide, paths, is_sent]: [bool; 3]) -> Row {
    Row { subtype, is_message, is_wide, has_path_ids: paths, is_sent }
}

#[rustfmt::skip] // A line each.
const SUBTYPES: &[Row] = &[
    row(STATE_CHANGE,         false, [false, false, false]),
    row(MESSAGE,              true,  [false, false, false]),
    row(MESSAGE_AS4,          true,  [true,  false, false]),
    row(STATE_CHANGE_AS4,     false, [true,  false, false]),
    row(6,                    true,  [false, false, true]),
    row(7,                    true,  [true,  false, true]),
    row(MESSAGE_ADDPATH,      true,  [false, true,  false]),
    row(MESSAGE_AS4_ADDPATH,  true,  [true,  true,  false]),
    row(10,                   true,  [false, true,  true]),
    row(11,                   true,  [true,  true,  true]),
];

/// A state, with ASes of 2 bytes.
const STATE_CHANGE: u16 = 0;
/// A message, with ASes of 2 bytes.
pub const MESSAGE: u16 = 1;
/// A message, with ASes of 4 bytes.
pub const MESSAGE_AS4: u16 = 4;
/// A state, with ASes of 4 bytes.
pub const STATE_CHANGE_AS4: u16 = 5;
/// A message whose routes have path identifiers, with ASes of 2 bytes.
pub const MESSAGE_ADDPATH: u16 = 8;
/// A message whose routes have path identifiers, with ASes of 4 bytes.
pub const MESSAGE_AS4_ADDPATH: u16 = 9;
