//! Advertisements by what became of them.

/// Counters of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Advertisements that a virtual router took into account.
    pub received: u64,
    /// Those of them that list other virtual addresses.
    pub differing: u64,
    /// Advertisements sent, to each peer one.
    pub sent: u64,
    /// Gratuitous ARP requests and Neighbor Advertisements sent.
    pub announced: u64,
    /// Dropped: no packet of VRRP, or no advertisement (RFC 9568 section 7.1).
    pub malformed: u64,
    /// Dropped: the checksum is wrong.
    pub checksum: u64,
    /// Dropped: the Time To Live or Hop Limit is not 255.
    pub ttl: u64,
    /// Dropped: another version than 3.
    pub version: u64,
    /// Dropped: a frame to another address than the group.
    pub destination: u64,
    /// Dropped: no virtual router has this VRID here, or it has peers instead of the group or the
    /// other way round.
    pub unknown: u64,
    /// Dropped: not from one of the peers.
    pub stranger: u64,
    /// Dropped: from this router's own address.
    pub looped: u64,
    /// Dropped: the virtual router takes no part.
    pub idle: u64,
}
