//! Why a connection has ended.

use std::fmt;

use crate::negotiated::Negotiated;
use crate::notification::Notification;

/// Why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The peer was told this.
    Sent(Notification),
    /// The peer has said this.
    Received(Notification),
    /// The peer has closed it without a word.
    Closed,
    /// The transport has lost it.
    Failed,
    /// The peer, which may restart without losing its routes, has connected anew.
    Replaced,
    /// It did not come about.
    Unreachable,
}

impl Ended {
    /// Returns whether the routes of a peer are kept for its return (RFC 4724 section 4.2, RFC 8538
    /// section 4).
    pub fn is_graceful(&self, negotiated: &Negotiated) -> bool {
        let Some(restart) = &negotiated.restart else { return false };
        match self {
            Ended::Sent(what) | Ended::Received(what) => {
                restart.has_notification && !what.is_hard()
            }
            Ended::Closed | Ended::Failed | Ended::Replaced => true,
            Ended::Unreachable => false,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Sent(what) => write!(f, "the peer was told: {what}"),
            Ended::Received(what) => write!(f, "the peer says: {what}"),
            Ended::Closed => f.write_str("the peer has closed the connection"),
            Ended::Failed => f.write_str("the connection is lost"),
            Ended::Replaced => f.write_str("the peer has restarted and is back"),
            Ended::Unreachable => f.write_str("no connection with the peer comes about"),
        }
    }
}
