//! Why a broadband network gateway drops a packet, what else it counts, and what it tells a control
//! plane.

use function_kit::{reasons, tallies};
use packet::{Reason, Verdict};

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header or its tags.
    TRUNCATED = "truncated",
    /// Another station's frame: the destination is neither the port's MAC address nor a group.
    OTHER_STATION = "other-station",
    /// A frame with tags that no line, or no VRF, has.
    UNKNOWN_VLAN = "unknown-vlan",
    /// Neither IPv4, IPv6, ARP nor PPPoE; from the Internet's side neither of the first three.
    ETHERTYPE = "unknown-ethertype",
    /// ARP that is malformed, no request, or for another address.
    ARP_IGNORED = "arp-ignored",
    /// Neighbor Discovery that breaks its rules, is for another address, or was not asked for.
    ND_IGNORED = "nd-ignored",
    /// Header, length or identifier of PPPoE are wrong (RFC 2516 section 4).
    PPPOE_MALFORMED = "pppoe-malformed",
    /// IP version, header length or total length are wrong (RFC 1812 section 5.2.2).
    IP_MALFORMED = "ip-malformed",
    /// The IPv4 header checksum is wrong.
    IP_CHECKSUM = "ip-checksum",
    /// The IPv4 header has options, or IPv6 hop-by-hop options.
    IP_OPTIONS = "ip-options",
    /// To a group of IP or of stations, to all of a link, to no host, or to another link's own
    /// address; and from the Internet's side also from such an address.
    NOT_FORWARDED = "not-forwarded",
    /// The time to live or hop limit ends here.
    TTL_EXPIRED = "ttl-expired",
    /// What only servers and routers say, from a subscriber: DHCP, router advertisements, PPPoE's
    /// offers and confirmations.
    SERVER_MESSAGE = "server-message",
    /// From a source on a line that has no session of IPoE there.
    UNKNOWN_SESSION = "unknown-session",
    /// No session of PPPoE has this identifier on its line.
    UNKNOWN_PPPOE = "unknown-pppoe-session",
    /// A packet of a session of PPPoE from another MAC address than the session's.
    SPOOFED_MAC = "spoofed-mac",
    /// A packet of a session from an address that the session does not have.
    SPOOFED_SOURCE = "spoofed-source",
    /// The session's list denies it.
    LIST_DENIED = "list-denied",
    /// The session's list looks behind the headers of IP, which cannot be read.
    LIST_UNREADABLE = "list-unreadable",
    /// A policer of the class, of the session or of the access node has no tokens for it.
    RATE_EXCEEDED = "rate-exceeded",
    /// No route to where the packet goes.
    NO_ROUTE = "no-route",
    /// No session has the address.
    UNKNOWN_SUBSCRIBER = "unknown-subscriber",
    /// A packet that is too long for the link, and may not be cut.
    TOO_BIG = "too-big",
    /// No room in front of the packet for its headers.
    TOO_LONG = "too-long",
    /// Addressed to the gateway, and not a ping.
    LOCAL = "local",
    /// ICMP to the gateway whose checksum is wrong, or that is cut.
    ICMP_MALFORMED = "icmp-malformed",
    /// A ping to the gateway beyond those that are answered.
    PING_LIMIT = "ping-limit",
    /// Kept in a queue; when it leaves, it counts as made.
    QUEUED = "queued",
    /// As many bytes wait in the queue as may.
    QUEUE_FULL = "queue-full",
    /// The queue has its share of the memory for packets that wait.
    QUEUE_SHARE = "queue-share",
    /// There is no memory left for packets that wait.
    BUFFERS_FULL = "buffers-full",
    /// Longer than what can wait.
    QUEUE_TOO_LONG = "queue-too-long",
    /// Kept until its next hop answers; when it leaves after all, it counts as made.
    AWAITING = "awaiting-neighbour",
    /// Its next hop did not answer, or was removed; these packets count as made.
    UNRESOLVED = "unresolved",
    /// As many packets wait as may, for this next hop or in all.
    PENDING_FULL = "pending-full",
    /// An answer of a next hop, which was taken note of.
    NEIGHBOUR_HEARD = "neighbour-heard",
}

tallies! {
    /// ARP requests answered.
    ArpAnswered = "arp-answered",
    /// Neighbor solicitations answered.
    NdAnswered = "nd-answered",
    /// Pings answered.
    PingsAnswered = "pings-answered",
    /// ICMP errors sent.
    IcmpErrors = "icmp-errors",
    /// ICMP errors that were not sent because too many were.
    IcmpErrorsLimited = "icmp-errors-limited",
    /// Packets that left in pieces.
    PacketsCut = "packets-cut",
    /// TCP connections of subscribers whose maximum segment size was lowered.
    MssClamped = "mss-clamped",
    /// Packets whose code point a policer changed.
    Marked = "packets-marked",
    /// Copies of mirrored packets for which there was no place or no way to the collector.
    MirrorLost = "mirror-lost",
    /// Packets that left a queue after they had waited.
    QueuedLeft = "queued-left",
    /// Packets that waited and were dropped by Controlled Delay.
    QueuedDelay = "queued-dropped-by-delay",
    /// Packets that waited when their session or queue ended.
    QueuedCleared = "queued-dropped-by-end",
    /// Packets that wait.
    QueuedNow = "queued-now",
    /// Frames for next hops, questions, errors and released packets, for which there was no place
    /// in a round.
    MadeFull = "made-full",
}

/// Why packets go to a control plane, in the order of their numbers.
pub const PUNTS: &[&str] =
    &["pppoe-discovery", "ppp", "dhcpv4", "dhcpv6", "router-solicitation", "first-packet"];

/// Discovery of PPPoE (RFC 2516): PADI, PADR, PADT and what nobody knows.
pub const PPPOE_DISCOVERY: Verdict = Verdict::Punt(Reason(0));
/// Frames of a session of PPPoE that are no packets of IP: LCP, PAP, CHAP, IPCP, IPv6CP.
pub const PPP: Verdict = Verdict::Punt(Reason(1));
/// Messages of DHCP clients over IPv4.
pub const DHCPV4: Verdict = Verdict::Punt(Reason(2));
/// Messages of DHCP clients over IPv6.
pub const DHCPV6: Verdict = Verdict::Punt(Reason(3));
/// Router solicitations.
pub const ROUTER_SOLICITATION: Verdict = Verdict::Punt(Reason(4));
/// A packet of a source that has no session.
pub const FIRST_PACKET: Verdict = Verdict::Punt(Reason(5));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_as_they_are_named() {
        assert_eq!(name(UNHANDLED), "unhandled");
        assert_eq!(name(SPOOFED_SOURCE), "spoofed-source");
        assert_eq!(name(NEIGHBOUR_HEARD), "neighbour-heard");
        assert_eq!(usize::from(NEIGHBOUR_HEARD.0) + 1, NAMES.len());
        assert_eq!(TALLIES[Tally::MadeFull as usize], "made-full");
        for (verdict, named) in
            [(PPPOE_DISCOVERY, "pppoe-discovery"), (FIRST_PACKET, "first-packet")]
        {
            let Verdict::Punt(reason) = verdict else { panic!("it is a punt") };
            assert_eq!(PUNTS[usize::from(reason.0)], named);
        }
    }
}
