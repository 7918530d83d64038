//! Why a mobile gateway drops a packet, and what else it counts.

use function_kit::{reasons, tallies};

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header.
    TRUNCATED = "truncated",
    /// Another station's frame: the destination MAC address is not the gateway's.
    OTHER_STATION = "other-station",
    /// Neither IPv4, IPv6 nor ARP.
    ETHERTYPE = "unknown-ethertype",
    /// ARP that is malformed, no request, or for another address.
    ARP_IGNORED = "arp-ignored",
    /// IP version, header length or total length are wrong (RFC 1812 section 5.2.2).
    IP_MALFORMED = "ip-malformed",
    /// The IPv4 header checksum is wrong.
    IP_CHECKSUM = "ip-checksum",
    /// The IPv4 header has options, or IPv6 hop-by-hop options.
    IP_OPTIONS = "ip-options",
    /// A fragment addressed to the gateway, where none are reassembled.
    IP_FRAGMENT = "ip-fragment",
    /// A fragment without data, one in the middle that does not end at 8 bytes, or one beyond the
    /// longest packet.
    FRAGMENT_MALFORMED = "fragment-malformed",
    /// A fragment of a packet whose fragments lie over one another, or one that has come before.
    FRAGMENT_OVERLAP = "fragment-overlap",
    /// A fragment with more gaps before it than are kept account of.
    FRAGMENT_SCATTERED = "fragment-scattered",
    /// Kept until all other fragments have come: the packet leaves by the last of them.
    FRAGMENT_WAITS = "awaiting-fragments",
    /// A fragment of a sender with as many packets or waiting fragments as it may have.
    FRAGMENT_LIMIT = "fragment-limit",
    /// A fragment where as many packets are begun, or as many fragments wait, as there is room for.
    FRAGMENTS_FULL = "fragments-full",
    /// The time to live or hop limit ends here.
    TTL_EXPIRED = "ttl-expired",
    /// Addressed to the gateway, but neither to the tunnel's UDP port nor a ping.
    NOT_TUNNEL = "not-tunnel",
    /// ICMP to the gateway whose checksum is wrong, or that is cut.
    ICMP_MALFORMED = "icmp-malformed",
    /// A ping to the gateway beyond those that are answered.
    PING_LIMIT = "ping-limit",
    /// A tunnel packet from the Internet's side, or a packet for a user from that of base stations,
    /// where that is checked.
    WRONG_PORT = "wrong-port",
    /// The UDP length is wrong.
    UDP_MALFORMED = "udp-malformed",
    /// The UDP checksum is present and wrong.
    UDP_CHECKSUM = "udp-checksum",
    /// GTP version other than 1, or GTP prime (TS 29.281 section 5.1).
    GTP_VERSION = "gtp-version",
    /// Tunnel header, its length or its extension headers are wrong.
    TUNNEL_MALFORMED = "tunnel-malformed",
    /// A GTP-U extension header that must be understood and is not (TS 29.281 section 5.2.1).
    GTP_EXTENSION = "gtp-extension",
    /// A GTP-U message that the user plane has no use for.
    GTP_MESSAGE = "gtp-message",
    /// An end marker of GTP-U: no more packets come from there in this tunnel (TS 29.281 section
    /// 7.3.2).
    GTP_END_MARKER = "gtp-end-marker",
    /// A GTP-U error indication from a base station (TS 29.281 section 7.3.1).
    GTP_ERROR_INDICATION = "gtp-error-indication",
    /// No bearer has this tunnel endpoint identifier.
    UNKNOWN_TEID = "unknown-teid",
    /// The user's packet is neither IPv4 nor IPv6, or its header is wrong.
    INNER_MALFORMED = "inner-malformed",
    /// The user's packet has a wrong IPv4 header checksum.
    INNER_CHECKSUM = "inner-checksum",
    /// The user's packet has options.
    INNER_OPTIONS = "inner-options",
    /// The user's packet may not be forwarded further.
    INNER_TTL_EXPIRED = "inner-ttl-expired",
    /// The user's packet does not come from the bearer's user (anti-spoofing).
    SPOOFED_SOURCE = "spoofed-source",
    /// A user's packet for another user, which is forbidden.
    USER_TO_USER = "user-to-user",
    /// No bearer has this user's address.
    UNKNOWN_USER = "unknown-user",
    /// The bearer exceeds its rate.
    RATE_EXCEEDED = "rate-exceeded",
    /// A packet that is too long for the link, and may not be cut.
    TOO_BIG = "too-big",
    /// No route to where the packet goes.
    NO_ROUTE = "no-route",
    /// Kept until its next hop answers; when it leaves after all, it counts as made.
    AWAITING = "awaiting-neighbour",
    /// Its next hop did not answer, or was removed; these packets count as made.
    UNRESOLVED = "unresolved",
    /// As many packets wait as may, for this next hop or in all.
    PENDING_FULL = "pending-full",
    /// An answer of a next hop, which was taken note of here or handed over to other workers; and
    /// whatever another worker hands over.
    NEIGHBOUR_HEARD = "neighbour-heard",
    /// Neighbor Discovery that breaks its rules, or of a neighbour that was not asked for.
    ND_IGNORED = "nd-ignored",
    /// No room in front of the packet for the tunnel's headers, or the result is too long for IPv4;
    /// and a fragment of a packet that is longer than a frame may be.
    TOO_LONG = "too-long",
}

tallies! {
    /// GTP-U echo requests answered.
    EchoAnswered = "gtp-echo-answered",
    /// ARP requests answered.
    ArpAnswered = "arp-answered",
    /// Neighbor solicitations answered.
    NdAnswered = "nd-answered",
    /// Error indications received.
    ErrorIndications = "gtp-error-indications",
    /// Packets that went from one user's tunnel into another's.
    UserToUser = "user-to-user-packets",
    /// Packets of others that say an address of the gateway's is theirs.
    AddressConflicts = "address-conflicts",
    /// Pings answered.
    PingsAnswered = "pings-answered",
    /// ICMP errors sent.
    IcmpErrors = "icmp-errors",
    /// ICMP errors that were not sent because too many were.
    IcmpErrorsLimited = "icmp-errors-limited",
    /// Error indications sent.
    GtpErrorsSent = "gtp-error-indications-sent",
    /// Supported extension headers notifications sent.
    GtpExtensionsTold = "gtp-extension-notifications",
    /// Messages of both kinds that were not sent because too many were.
    GtpErrorsLimited = "gtp-errors-limited",
    /// Packets that left in pieces.
    PacketsCut = "packets-cut",
    /// Packets for the gateway reassembled.
    Reassembled = "packets-reassembled",
    /// Fragments that waited in vain.
    FragmentsGivenUp = "fragments-given-up",
    /// TCP connections of users whose maximum segment size was lowered.
    MssClamped = "mss-clamped",
    /// Unmatched frames sent out of the other port because of `fakedrop`.
    Fakedropped = "fakedropped",
    /// Frames for next hops, questions and released packets, for which there was no place in a
    /// round.
    MadeFull = "made-full",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_as_they_are_named() {
        assert_eq!(name(UNHANDLED), "unhandled");
        assert_eq!(name(SPOOFED_SOURCE), "spoofed-source");
        assert_eq!(name(TOO_LONG), "too-long");
        assert_eq!(usize::from(TOO_LONG.0) + 1, NAMES.len());
        assert_eq!(TALLIES[Tally::Fakedropped as usize], "fakedropped");
    }
}
