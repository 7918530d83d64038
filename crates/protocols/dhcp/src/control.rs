//! What the owner of a server or relay says to it, and hears of it.

use std::fmt;

use wire::MacAddr;

use crate::access::{Heard, Line, Said};
use crate::pools::Turn;
use crate::prefix::Prefix;

/// A client's lease, or its request for one. A number that was used again has another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId {
    /// Its number, below the most leases there may be.
    pub number: u32,
    /// How often the number was used.
    pub generation: u32,
}

/// What a client calls itself: a hardware address or a client identifier of DHCPv4, or a DUID.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(Box<[u8]>);

impl Identifier {
    /// Keeps it; `None` if it has no bytes or more than [`IDENTIFIER_MAX`].
    pub fn new(bytes: Vec<u8>) -> Option<Identifier> {
        (1..=IDENTIFIER_MAX).contains(&bytes.len()).then(|| Identifier(bytes.into()))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Longest identifier that is kept: a DUID of 130 bytes and what stands before it in a client
/// identifier of DHCPv4 (RFC 4361 section 6.1), with room for a mark.
pub const IDENTIFIER_MAX: usize = 136;

/// A client: the same identifier on another line, or of another MAC address, is another client. So
/// nobody takes what another has by calling itself the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its line.
    pub line: Line,
    /// The source of its frames.
    pub mac: MacAddr,
    /// What it calls itself.
    pub id: Identifier,
}

/// What a client says of itself when it asks for the first time; empty where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// What the access node says of the circuit (option 82 sub-option 1, or option 18).
    pub circuit_id: Vec<u8>,
    /// What it says of the far end (option 82 sub-option 2, or option 37).
    pub remote_id: Vec<u8>,
    /// The host name (option 12).
    pub host_name: Vec<u8>,
    /// The vendor class (option 60, or option 16).
    pub vendor_class: Vec<u8>,
    /// The address that it would like.
    pub wish: Option<Prefix>,
}

/// Where an address or prefix comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Any of a pool, by its place, and of one of its shares or of any.
    Pool(u16, Option<u16>),
    /// This one.
    Fixed(Prefix),
}

/// What the owner grants a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The owner's number of the session.
    pub session: u64,
    /// The class, which has times and options; by its place among all.
    pub class: u16,
    /// Where its addresses come from; `None` for none. A relay does not look at it.
    pub address: Option<Source>,
    /// Where its delegated prefixes come from; `None` for none.
    pub delegated: Option<Source>,
}

/// What an owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A datagram came from a line.
    Heard(Heard),
    /// A client is granted something; the answer to [`Report::Wanted`].
    Accept(LeaseId, Grant),
    /// A client is granted nothing.
    Reject(LeaseId),
    /// Packets of the session pass: the answer to [`Report::Up`].
    Acknowledged(LeaseId),
    /// A lease is to end now.
    End(LeaseId),
    /// Names of a line that a relay tells servers: circuit and remote identifier.
    Name(Line, Vec<u8>, Vec<u8>),
}

/// What an owner hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A datagram goes to a line.
    Said(Said),
    /// A client that is not known wants something: to be answered by [`Command::Accept`] or
    /// [`Command::Reject`].
    Wanted(LeaseId, Client, Words),
    /// A session is to come up, or has more than it had: the client is answered when the owner
    /// says [`Command::Acknowledged`].
    Up {
        /// The lease.
        lease: LeaseId,
        /// The owner's number of the session.
        session: u64,
        /// Everything that the client then has.
        prefixes: Vec<Prefix>,
    },
    /// A lease lives longer.
    Renewed(LeaseId),
    /// Something of a session is gone, or all of it.
    Gone {
        /// The lease.
        lease: LeaseId,
        /// The owner's number of the session; `None` if it was never accepted.
        session: Option<u64>,
        /// What is gone of that which was told to be up.
        prefixes: Vec<Prefix>,
        /// Why.
        why: Why,
        /// Whether nothing is left: the number of the lease is free.
        is_last: bool,
    },
    /// Something fixed, or given by an external server, is another client's.
    Taken {
        /// The lease that it was for.
        lease: LeaseId,
        /// What it is.
        prefix: Prefix,
        /// Who has it; `None` if it is reserved, declined, or only a part of a unit.
        by: Option<LeaseId>,
    },
    /// A pool has become short, or is not any more.
    Pool(Turn),
    /// A server, by its place, has sent nothing to a relay for a time since it owes an answer, or
    /// does again.
    Server(u16, bool),
}

/// Why something of a session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The client has released it.
    Released,
    /// The client has found it used by somebody else.
    Declined,
    /// The client has not renewed it.
    Expired,
    /// The client has not taken what it was offered.
    NotTaken,
    /// The client has taken another server's offer.
    Elsewhere,
    /// The owner wanted it.
    Ended,
    /// The owner has rejected the client.
    Rejected,
    /// The owner has not answered in time.
    Unanswered,
    /// The session was not acknowledged in time.
    Unacknowledged,
    /// An external server has taken it back, or has given something else.
    Withdrawn,
}
