//! What an operator is shown of a machine: its neighbours, and traces of its messages.

use std::time::Duration;

/// Somebody whom a protocol speaks with, or knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The protocol, by the name of its folder; `arp` and `nd` of stations on a link.
    pub protocol: &'static str,
    /// The interface at which it is; empty where that is not known.
    pub interface: String,
    /// Its address, or another name of it.
    pub address: String,
    /// The state of the neighbour in one word of the protocol's, in lower case.
    pub state: String,
    /// For how long it is in that state; `None` where that is not kept.
    pub since: Option<Duration>,
    /// What else there is to say, a few words; may be empty.
    pub detail: String,
}

/// What a trace of a socket's messages may hold.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// The protocol, by the name of its folder.
    pub protocol: &'static str,
    /// What of a message is shown.
    pub content: Content,
}

/// What of a message is shown.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// Everything: it holds no secret.
    Clear,
    /// What is left when this function has overwritten the secrets of a message: a datagram's
    /// payload, what follows the IP header of a packet, or a frame. Pieces of a stream are no
    /// messages.
    Redacted(fn(&mut [u8])),
    /// Lengths and times: every byte is shown as zero.
    Hidden,
}

impl Content {
    /// Overwrites what is not shown of a message.
    pub fn hide(self, message: &mut [u8]) {
        match self {
            Content::Clear => {}
            Content::Redacted(redact) => redact(message),
            Content::Hidden => message.fill(0),
        }
    }
}
