//! Reasons for which a connection ends.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reason why a connection ended, or was not established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The peer closed its socket, or ended.
    PeerClosed,
    /// The peer sent DISCONNECT.
    PeerDisconnected,
    /// The peer did not send the next message in time.
    HandshakeTimeout,
    /// A message does not have 128 bytes, or has too many descriptors.
    MessageSize,
    /// The message type is unknown.
    UnknownMessage,
    /// The message is not expected in this state.
    UnexpectedMessage,
    /// The version ranges of both sides do not overlap.
    Version,
    /// The mode is not Ethernet.
    Mode,
    /// The interface does not exist here.
    Id,
    /// The secrets differ.
    Secret,
    /// Another peer uses the interface.
    Busy,
    /// A region or ring came without its file descriptor.
    MissingDescriptor,
    /// A region's number is out of order or too high.
    RegionIndex,
    /// A region is larger than its memory or than the limit.
    RegionSize,
    /// The peer could truncate a region.
    RegionUnsealed,
    /// A region cannot be mapped.
    RegionMapping,
    /// A ring's number is out of order or too high.
    RingIndex,
    /// A ring is outside its region or is not aligned.
    RingPlace,
    /// A ring is too small, too large or of an unsupported form.
    RingSize,
    /// A ring does not start with the cookie.
    RingCookie,
    /// A ring's position advanced by more than the size of the ring.
    RingPosition,
    /// A descriptor refers to memory that the peer must not use.
    Descriptor,
    /// A chain of descriptors has no end.
    Chain,
}

impl Breach {
    /// All reasons.
    pub const ALL: [Breach; 23] = [
        Breach::PeerClosed,
        Breach::PeerDisconnected,
        Breach::HandshakeTimeout,
        Breach::MessageSize,
        Breach::UnknownMessage,
        Breach::UnexpectedMessage,
        Breach::Version,
        Breach::Mode,
        Breach::Id,
        Breach::Secret,
        Breach::Busy,
        Breach::MissingDescriptor,
        Breach::RegionIndex,
        Breach::RegionSize,
        Breach::RegionUnsealed,
        Breach::RegionMapping,
        Breach::RingIndex,
        Breach::RingPlace,
        Breach::RingSize,
        Breach::RingCookie,
        Breach::RingPosition,
        Breach::Descriptor,
        Breach::Chain,
    ];

    /// Returns the name of the reason in counters.
    pub const fn name(self) -> &'static str {
        match self {
            Breach::PeerClosed => "peer-closed",
            Breach::PeerDisconnected => "peer-disconnected",
            Breach::HandshakeTimeout => "handshake-timeout",
            Breach::MessageSize => "message-size",
            Breach::UnknownMessage => "unknown-message",
            Breach::UnexpectedMessage => "unexpected-message",
            Breach::Version => "version",
            Breach::Mode => "mode",
            Breach::Id => "id",
            Breach::Secret => "secret",
            Breach::Busy => "busy",
            Breach::MissingDescriptor => "missing-descriptor",
            Breach::RegionIndex => "region-index",
            Breach::RegionSize => "region-size",
            Breach::RegionUnsealed => "region-unsealed",
            Breach::RegionMapping => "region-mapping",
            Breach::RingIndex => "ring-index",
            Breach::RingPlace => "ring-place",
            Breach::RingSize => "ring-size",
            Breach::RingCookie => "ring-cookie",
            Breach::RingPosition => "ring-position",
            Breach::Descriptor => "descriptor",
            Breach::Chain => "chain",
        }
    }

    /// Returns true if the peer is notified; a peer that has ended is not.
    pub fn is_told(self) -> bool {
        !matches!(self, Breach::PeerClosed | Breach::PeerDisconnected)
    }
}

/// Text of the reason for the peer and for users.
impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Breach::PeerClosed => "the peer closed the connection",
            Breach::PeerDisconnected => "the peer disconnected",
            Breach::HandshakeTimeout => "the connection was not set up in time",
            Breach::MessageSize => "a control message of the wrong size",
            Breach::UnknownMessage => "a control message of an unknown type",
            Breach::UnexpectedMessage => "a control message at the wrong time",
            Breach::Version => "no common version of the protocol: this side supports 2.0",
            Breach::Mode => "only Ethernet mode is supported",
            Breach::Id => "no interface with this id",
            Breach::Secret => "the secrets differ",
            Breach::Busy => "the interface is connected already",
            Breach::MissingDescriptor => "a message came without its file descriptor",
            Breach::RegionIndex => "a region's index is out of order or too high",
            Breach::RegionSize => "a region is larger than its memory or the limit",
            Breach::RegionUnsealed => "a region's memory is not sealed against shrinking",
            Breach::RegionMapping => "a region cannot be mapped",
            Breach::RingIndex => "a ring's index is out of order or too high",
            Breach::RingPlace => "a ring is outside its region or is not aligned",
            Breach::RingSize => "a ring's size or private header is not supported",
            Breach::RingCookie => "a ring has no valid cookie",
            Breach::RingPosition => "a ring's position is invalid",
            Breach::Descriptor => "a descriptor points outside the regions",
            Breach::Chain => "a chain of descriptors has no end",
        })
    }
}

/// Number of ended connections by reason; written by the control thread only.
#[derive(Debug, Default)]
pub struct Breaches([AtomicU64; Breach::ALL.len()]);

impl Breaches {
    /// Counts an ended connection.
    pub fn count(&self, breach: Breach) {
        self.0[breach as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of connections that ended for this reason.
    pub fn of(&self, breach: Breach) -> u64 {
        self.0[breach as usize].load(Ordering::Relaxed)
    }

    /// Returns a text such as `peer-closed 2, descriptor 1`, or `none`.
    pub fn text(&self) -> String {
        let counted = Breach::ALL.iter().filter(|breach| self.of(**breach) > 0);
        let words: Vec<String> =
            counted.map(|breach| format!("{} {}", breach.name(), self.of(*breach))).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_under_their_names() {
        let breaches = Breaches::default();
        assert_eq!(breaches.text(), "none");
        for breach in Breach::ALL {
            assert_eq!(Breach::ALL[breach as usize], breach);
            breaches.count(breach);
        }
        breaches.count(Breach::Chain);
        assert!(breaches.text().ends_with("descriptor 1, chain 2"), "{}", breaches.text());
    }
}
