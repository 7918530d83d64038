//! Why a bridge drops a frame, and what else it counts.
use function_kit::{reasons, tallies};
use packet::Reason;

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header.
    TRUNCATED = "truncated",
    /// No attachment circuit takes frames of this port and VLAN.
    UNATTACHED = "unattached",
    /// The source is no station's address: a group's, or zero.
    INVALID_SOURCE = "invalid-source",
    /// One of the addresses that no bridge forwards (IEEE 802.1D-2004 section 7.12.6).
    RESERVED = "reserved-address",
    /// A rule of the access list denies it.
    ACL_DENIED = "acl-denied",
    /// The station that it goes to is behind the port at which it came in.
    SAME_PORT = "same-port",
    /// Nobody knows where the station is that it goes to.
    UNKNOWN = "unknown-station",
    /// There is no room to learn the station that it comes from.
    TABLE_FULL = "table-full",
    /// The station that it comes from is elsewhere, and has moved too often.
    FLAPPING = "flapping-station",
    /// The port lets no more frames for all in at present.
    STORM_BROADCAST = "storm-broadcast",
    /// The port lets no more frames for groups in at present.
    STORM_MULTICAST = "storm-multicast",
    /// The port lets no more frames for unknown stations in at present.
    STORM_UNKNOWN = "storm-unknown",
    /// The domain floods no more frames at present.
    FLOOD_LIMIT = "flood-limit",
    /// The domain has no other circuit.
    NO_MEMBER = "no-member",
    /// A rule of the list for what leaves denies it.
    EGRESS_DENIED = "egress-acl-denied",
    /// A rule looks at what a list cannot read: behind a third tag, or more headers than are
    /// walked, or cut off (RFC 7045, RFC 7112, RFC 1858).
    ACL_UNREADABLE = "acl-unreadable",
}

tallies! {
    /// Stations learned.
    Learned = "learned",
    /// Learned stations that were found behind the other port.
    Moved = "moved",
    /// Learned stations that were forgotten because of their age.
    Aged = "aged",
    /// Frames whose source there was no room to learn.
    NotLearned = "not-learned",
    /// Times that a station began to move too often.
    Flapping = "flapping",
    /// Frames whose source is elsewhere and stays there, because it has moved too often.
    MovesRefused = "moves-refused",
    /// Moves that there was no room to hold against their stations.
    MovesUncounted = "moves-uncounted",
    /// Frames for groups and for all.
    Group = "group",
    /// Frames for unknown stations that went out of every other port.
    Flooded = "flooded",
    /// Copies for a second member of a domain, and each further one.
    Copied = "copied",
    /// Copies for members of a domain that the list for what leaves denies.
    CopiesDenied = "copies-denied",
    /// Copies for mirrors.
    Mirrored = "mirrored",
    /// Copies for which there was no room.
    MadeFull = packet::MADE_FULL,
}

/// Why a frame with these addresses is dropped whatever else it is; both without a domain.
#[inline(always)]
pub const fn of_addresses(destination: u64, source: u64) -> Option<Reason> {
    if source & GROUP != 0 || source == 0 {
        return Some(INVALID_SOURCE);
    }
    if destination & RESERVED_MASK == RESERVED_FIRST {
        return Some(RESERVED);
    }
    None
}

/// The first bit on the wire: a group's address.
pub const GROUP: u64 = 1 << 40;

/// 01-80-c2-00-00-00 to -0f.
const RESERVED_FIRST: u64 = 0x0180_c200_0000;
const RESERVED_MASK: u64 = !0xf;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_as_they_are_named() {
        assert_eq!(name(UNHANDLED), "unhandled");
        assert_eq!(name(SAME_PORT), "same-port");
        assert_eq!(name(TABLE_FULL), "table-full");
        assert_eq!(usize::from(ACL_UNREADABLE.0) + 1, NAMES.len());
        assert_eq!(TALLIES[Tally::MadeFull as usize], packet::MADE_FULL);
        assert_eq!(TALLIES.len(), Tally::MadeFull as usize + 1);
    }
}
