//! What the owner of an access concentrator says, and hears; and where hosts are.

use wire::ethernet::MacAddr;

use crate::config::{Config, Unusable};

/// A line: where frames of a host come in. Without a tag a VLAN is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The port.
    pub port: u32,
    /// The outer VLAN, or the only one.
    pub outer: u16,
    /// The inner VLAN.
    pub inner: u16,
}

/// Where a frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The line.
    pub line: Line,
    /// The source address of the frame.
    pub from: MacAddr,
    /// Whether its destination was a group address, the broadcast address among them, and not the
    /// address of this side. A frame to anybody else is not to be handed over.
    pub is_to_group: bool,
}

/// What an owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A session ends, and the host is told.
    Close {
        /// The session.
        session: u32,
        /// The reason that the host is given, at most 253 bytes; none if it is empty.
        why: Vec<u8>,
    },
    /// Whether more sessions are wanted, which is so at the beginning. If not, PADI are not
    /// answered, and PADR are refused; existing sessions stay.
    Welcome(bool),
    /// Another configuration. Existing sessions stay, also above its limits.
    Configure(Config),
}

/// What an owner hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A packet of discovery is to be sent to a host, from the address of this side.
    Send {
        /// The line.
        line: Line,
        /// The destination.
        to: MacAddr,
        /// What follows the EtherType.
        packet: Vec<u8>,
    },
    /// A session has begun. The PADS that tells the host so is the next report, a [`Report::Send`]:
    /// the owner can set the session up before it sends that.
    Opened {
        /// The number of the session, the least that is free: it is below the total limit, and the
        /// owner may give PPP the same one.
        session: u32,
        /// What is known of it.
        opened: Opened,
    },
    /// A session is over, and its number is free.
    Closed {
        /// The number of the session.
        session: u32,
        /// Why.
        reason: Reason,
    },
    /// A command had no effect.
    Refused {
        /// Why.
        why: Unusable,
    },
}

/// A session that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The line.
    pub line: Line,
    /// The host.
    pub host: MacAddr,
    /// The Session-ID in frames, which no other session of the line and the host has.
    pub session_id: u16,
    /// Most bytes that PPP may carry behind its Protocol field.
    pub max_payload: u16,
    /// The service that the host has asked for; empty for any.
    pub service: Vec<u8>,
    /// The Agent Circuit ID that the access node gives, if access nodes are trusted.
    pub circuit: Option<Vec<u8>>,
    /// The Agent Remote ID that the access node gives, if access nodes are trusted.
    pub remote: Option<Vec<u8>>,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The owner has ended it.
    Closed,
    /// The host has ended it (PADT).
    Terminated,
    /// Another session of the host has replaced it.
    Replaced,
}

/// What a person sees of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The line.
    pub line: Line,
    /// The host.
    pub host: MacAddr,
    /// The Session-ID in frames.
    pub session_id: u16,
    /// Most bytes that PPP may carry.
    pub max_payload: u16,
}
