//! The NOTIFICATION message (RFC 4271 section 4.5), and what its codes mean.
//!
//! ```text
//!  | code u8 | subcode u8 | data |
//!  Cease by an operator (RFC 9003)    data: | length u8 | text in UTF-8 |
//!  Cease, Hard Reset (RFC 8538)       data: | code u8 | subcode u8 | data |
//! ```

use std::fmt;

use crate::message::{Kind, begin, end};

/// A NOTIFICATION: why a session ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Code and subcode.
    pub cause: Cause,
    /// What the cause asks for; empty for many.
    pub data: Vec<u8>,
}

/// The code and subcode of a NOTIFICATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause(pub u8, pub u8);

impl Notification {
    /// Returns a NOTIFICATION without data.
    pub fn new(cause: Cause) -> Notification {
        Notification { cause, data: Vec::new() }
    }

    /// Returns a NOTIFICATION with data.
    pub fn with(cause: Cause, data: &[u8]) -> Notification {
        // The message has to fit even where none may be extended.
        Notification { cause, data: data[..data.len().min(DATA_LEN_MAX)].to_vec() }
    }

    /// Returns a Cease with an operator's text (RFC 9003 section 2); what of it is beyond 255 bytes
    /// is cut off.
    pub fn with_text(cause: Cause, text: &str) -> Notification {
        let len = (0..=text.len().min(TEXT_LEN_MAX)).rev().find(|at| text.is_char_boundary(*at));
        let text = &text[..len.unwrap_or(0)];
        if text.is_empty() {
            return Notification::new(cause);
        }
        Notification { cause, data: [&[text.len() as u8], text.as_bytes()].concat() }
    }

    /// Returns the same as a Hard Reset, after which the peer keeps nothing (RFC 8538 section 3).
    pub fn hard(&self) -> Notification {
        let Cause(code, subcode) = self.cause;
        Notification::with(HARD_RESET, &[&[code, subcode], &self.data[..]].concat())
    }

    /// Returns whether it is a Hard Reset.
    pub fn is_hard(&self) -> bool {
        self.cause == HARD_RESET
    }

    /// Returns the text of an operator, if there is one.
    pub fn text(&self) -> Option<&str> {
        if self.cause != ADMINISTRATIVE_SHUTDOWN && self.cause != ADMINISTRATIVE_RESET {
            return None;
        }
        let (len, rest) = self.data.split_first()?;
        let text = rest.get(..usize::from(*len))?;
        std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    /// Reads the body of a message; `None` if it is too short.
    pub fn read(body: &[u8]) -> Option<Notification> {
        let ([code, subcode], data) = body.split_first_chunk()?;
        Some(Notification { cause: Cause(*code, *subcode), data: data.to_vec() })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(Kind::Notification, out);
        out.extend([self.cause.0, self.cause.1]);
        out.extend(&self.data);
        end(start, out);
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |cause| CAUSES.iter().find(|(known, _)| *known == cause).map(|(_, name)| *name);
        match (name(Cause(self.0, 0)), name(*self)) {
            (Some(code), _) if self.1 == 0 => f.write_str(code),
            (Some(code), Some(subcode)) => write!(f, "{code}, {subcode}"),
            (Some(code), None) => write!(f, "{code}, subcode {}", self.1),
            (None, _) => write!(f, "code {}, subcode {}", self.0, self.1),
        }
    }
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if self.is_hard()
            && let Some(inner) = Notification::read(&self.data)
        {
            write!(f, " for {}", inner.cause)?;
            // What an operator says is told; a second Hard Reset inside of it is not followed.
            return match inner.text() {
                Some(text) => write!(f, ": {}", text.escape_debug()),
                None => Ok(()),
            };
        }
        match self.text() {
            Some(text) => write!(f, ": {}", text.escape_debug()),
            None => Ok(()),
        }
    }
}

/// Most bytes of data: what a message of 4096 bytes has room for.
const DATA_LEN_MAX: usize = 4096 - 21;

/// Most bytes of an operator's text.
pub const TEXT_LEN_MAX: usize = 255;

/// The marker of a header is not all ones.
pub const NOT_SYNCHRONISED: Cause = Cause(1, 1);
/// A length that no message, or none of its kind, has.
pub const BAD_LENGTH: Cause = Cause(1, 2);
/// A kind of message that there is not.
pub const BAD_KIND: Cause = Cause(1, 3);
/// An OPEN that cannot be read.
pub const OPEN_ERROR: Cause = Cause(2, 0);
/// Another version of BGP.
pub const UNSUPPORTED_VERSION: Cause = Cause(2, 1);
/// Another AS than the one that was expected.
pub const BAD_PEER_AS: Cause = Cause(2, 2);
/// An identifier of 0, or the own one.
pub const BAD_IDENTIFIER: Cause = Cause(2, 3);
/// A parameter of OPEN that there is not.
pub const UNSUPPORTED_PARAMETER: Cause = Cause(2, 4);
/// A hold time of one or two seconds.
pub const BAD_HOLD_TIME: Cause = Cause(2, 6);
/// A capability that is needed is absent.
pub const UNSUPPORTED_CAPABILITY: Cause = Cause(2, 7);
/// Roles that do not belong together (RFC 9234 section 4.2).
pub const ROLE_MISMATCH: Cause = Cause(2, 11);
/// Path attributes that cannot be told apart.
pub const MALFORMED_ATTRIBUTES: Cause = Cause(3, 1);
/// A well-known attribute that is not known.
pub const UNRECOGNISED_ATTRIBUTE: Cause = Cause(3, 2);
/// An MP_REACH_NLRI or MP_UNREACH_NLRI that cannot be read.
pub const OPTIONAL_ATTRIBUTE_ERROR: Cause = Cause(3, 9);
/// Prefixes that cannot be told apart.
pub const INVALID_NETWORK: Cause = Cause(3, 10);
/// Nothing was heard for the hold time.
pub const HOLD_TIMER_EXPIRED: Cause = Cause(4, 0);
/// A message that does not belong to the state OpenSent.
pub const UNEXPECTED_IN_OPEN_SENT: Cause = Cause(5, 1);
/// A message that does not belong to the state OpenConfirm.
pub const UNEXPECTED_IN_OPEN_CONFIRM: Cause = Cause(5, 2);
/// A message that does not belong to the state Established.
pub const UNEXPECTED_IN_ESTABLISHED: Cause = Cause(5, 3);
/// More prefixes than the peer may have.
pub const MAXIMUM_PREFIXES: Cause = Cause(6, 1);
/// An operator has stopped the session.
pub const ADMINISTRATIVE_SHUTDOWN: Cause = Cause(6, 2);
/// The peer is configured no more.
pub const DECONFIGURED: Cause = Cause(6, 3);
/// An operator has the session begin anew.
pub const ADMINISTRATIVE_RESET: Cause = Cause(6, 4);
/// The peer is not wanted now.
pub const REJECTED: Cause = Cause(6, 5);
/// The configuration of the peer has changed.
pub const CONFIGURATION_CHANGE: Cause = Cause(6, 6);
/// Another connection with the same peer is kept.
pub const COLLISION: Cause = Cause(6, 7);
/// There is no room.
pub const OUT_OF_RESOURCES: Cause = Cause(6, 8);
/// The peer keeps nothing, whatever was agreed about graceful restart.
pub const HARD_RESET: Cause = Cause(6, 9);
/// BFD has found that the peer is gone (RFC 9384).
pub const BFD_DOWN: Cause = Cause(6, 10);
/// A ROUTE-REFRESH of a wrong length (RFC 7313 section 5).
pub const BAD_REFRESH_LENGTH: Cause = Cause(7, 1);
/// The peer took nothing for the send hold time (RFC 9687).
pub const SEND_HOLD_TIMER_EXPIRED: Cause = Cause(8, 0);

/// The causes that have names; that of a code alone is subcode 0.
const CAUSES: &[(Cause, &str)] = &[
    (Cause(1, 0), "Message Header Error"),
    (NOT_SYNCHRONISED, "Connection Not Synchronized"),
    (BAD_LENGTH, "Bad Message Length"),
    (BAD_KIND, "Bad Message Type"),
    (OPEN_ERROR, "OPEN Message Error"),
    (UNSUPPORTED_VERSION, "Unsupported Version Number"),
    (BAD_PEER_AS, "Bad Peer AS"),
    (BAD_IDENTIFIER, "Bad BGP Identifier"),
    (UNSUPPORTED_PARAMETER, "Unsupported Optional Parameter"),
    (BAD_HOLD_TIME, "Unacceptable Hold Time"),
    (UNSUPPORTED_CAPABILITY, "Unsupported Capability"),
    (ROLE_MISMATCH, "Role Mismatch"),
    (Cause(3, 0), "UPDATE Message Error"),
    (MALFORMED_ATTRIBUTES, "Malformed Attribute List"),
    (UNRECOGNISED_ATTRIBUTE, "Unrecognized Well-known Attribute"),
    (Cause(3, 3), "Missing Well-known Attribute"),
    (Cause(3, 4), "Attribute Flags Error"),
    (Cause(3, 5), "Attribute Length Error"),
    (Cause(3, 6), "Invalid ORIGIN Attribute"),
    (Cause(3, 8), "Invalid NEXT_HOP Attribute"),
    (OPTIONAL_ATTRIBUTE_ERROR, "Optional Attribute Error"),
    (INVALID_NETWORK, "Invalid Network Field"),
    (Cause(3, 11), "Malformed AS_PATH"),
    (HOLD_TIMER_EXPIRED, "Hold Timer Expired"),
    (Cause(5, 0), "Finite State Machine Error"),
    (UNEXPECTED_IN_OPEN_SENT, "Unexpected Message in OpenSent State"),
    (UNEXPECTED_IN_OPEN_CONFIRM, "Unexpected Message in OpenConfirm State"),
    (UNEXPECTED_IN_ESTABLISHED, "Unexpected Message in Established State"),
    (Cause(6, 0), "Cease"),
    (MAXIMUM_PREFIXES, "Maximum Number of Prefixes Reached"),
    (ADMINISTRATIVE_SHUTDOWN, "Administrative Shutdown"),
    (DECONFIGURED, "Peer De-configured"),
    (ADMINISTRATIVE_RESET, "Administrative Reset"),
    (REJECTED, "Connection Rejected"),
    (CONFIGURATION_CHANGE, "Other Configuration Change"),
    (COLLISION, "Connection Collision Resolution"),
    (OUT_OF_RESOURCES, "Out of Resources"),
    (HARD_RESET, "Hard Reset"),
    (BFD_DOWN, "BFD Down"),
    (Cause(7, 0), "ROUTE-REFRESH Message Error"),
    (BAD_REFRESH_LENGTH, "Invalid Message Length"),
    (SEND_HOLD_TIMER_EXPIRED, "Send Hold Timer Expired"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_names() {
        assert_eq!(Cause(6, 2).to_string(), "Cease, Administrative Shutdown");
        assert_eq!(Cause(4, 0).to_string(), "Hold Timer Expired");
        assert_eq!(Cause(6, 99).to_string(), "Cease, subcode 99");
        assert_eq!(Cause(99, 1).to_string(), "code 99, subcode 1");
    }

    #[test]
    fn an_operator_is_heard() {
        let said = Notification::with_text(ADMINISTRATIVE_SHUTDOWN, "maintenance until 4\n");
        assert_eq!(said.data[0], 20);
        assert_eq!(
            said.to_string(),
            "Cease, Administrative Shutdown: maintenance until 4\\n",
            "and writes no lines of its own"
        );
        let hard = said.hard();
        assert_eq!(hard.data[..3], [6, 2, 20]);
        assert!(
            hard.is_hard() && hard.to_string().contains("for Cease, Administrative Shutdown: ")
        );
        // 255 bytes may end within a character.
        let long = Notification::with_text(ADMINISTRATIVE_RESET, &"ü".repeat(200));
        assert_eq!((long.data.len(), long.text().map(str::len)), (255, Some(254)));
        // Lengths that lie, and text that is none.
        for data in [&[5, b'a'][..], &[1, 0xff], &[0], &[]] {
            let said = Notification::with(ADMINISTRATIVE_SHUTDOWN, data);
            assert_eq!(said.text(), None, "{data:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let said = Notification::with(BAD_LENGTH, &[0, 18]);
        let mut out = Vec::new();
        said.write(&mut out);
        assert_eq!(out[16..], [0, 23, 3, 1, 2, 0, 18]);
        assert_eq!(Notification::read(&out[19..]), Some(said));
        assert_eq!(Notification::read(&[1]), None);
        let mut out = Vec::new();
        Notification::with(BAD_LENGTH, &[0; 5000]).write(&mut out);
        assert_eq!(out.len(), 4096);
    }
}
