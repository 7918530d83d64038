//! Why a router drops a packet, and what else it counts.
use function_kit::{reasons, tallies};
use packet::MADE_FULL;

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header.
    TRUNCATED = "truncated",
    /// Another station's frame, or one for a group: the destination is not the port's own address
    /// (RFC 1812 section 5.3.4 for packets in broadcast frames).
    OTHER_STATION = "other-station",
    /// Neither IPv4, IPv6 nor ARP; a tagged frame is of type 0x8100.
    ETHERTYPE = "unknown-ethertype",
    /// ARP that is malformed, no request, or for another address.
    ARP_IGNORED = "arp-ignored",
    /// IP version, header length or total length are wrong (RFC 1812 section 5.2.2, RFC 8200
    /// section 3).
    IP_MALFORMED = "ip-malformed",
    /// The IPv4 header checksum is wrong.
    IP_CHECKSUM = "ip-checksum",
    /// An address that no packet may have on its way (RFC 1812 section 5.3.7, RFC 4291 section 2).
    MARTIAN = "martian",
    /// Options of IPv4 that are cut, or a hop-by-hop option of IPv6 that is cut or forbids those
    /// who do not know it to go on (RFC 791 section 3.1, RFC 8200 section 4.2).
    OPTIONS = "options",
    /// Addressed to a group.
    MULTICAST = "multicast",
    /// Addressed to the router itself, which has no host's part.
    LOCAL = "local-address",
    /// The time to live or hop limit ends here.
    TTL_EXPIRED = "ttl-expired",
    /// No route to where the packet goes.
    NO_ROUTE = "no-route",
    /// The route's next hop is not there at present, or nobody has this address on a link.
    NO_NEXT_HOP = "no-next-hop",
    /// To all stations of a link from elsewhere (RFC 2644).
    DIRECTED_BROADCAST = "directed-broadcast",
    /// A tag of a VLAN that no interface has.
    UNKNOWN_VLAN = "unknown-vlan",
    /// The source has no route, or none that leads back (RFC 3704).
    REVERSE_PATH = "reverse-path",
    /// Longer than the MTU of the interface by which it would leave, and not to be cut.
    TOO_BIG = "too-big",
    /// An ICMP message for the router itself that is cut or whose checksum is wrong.
    ICMP_MALFORMED = "icmp-malformed",
    /// More ICMP for the router itself than its policer lets pass.
    POLICED_ICMP = "policed-icmp",
    /// More ARP than its policer lets pass.
    POLICED_ARP = "policed-arp",
    /// More Neighbor Discovery than its policer lets pass.
    POLICED_ND = "policed-nd",
    /// More fragments for the router itself than their policer lets pass.
    POLICED_FRAGMENTS = "policed-fragments",
    /// More packets whose time to live ends here than their policer lets pass.
    POLICED_TTL_EXPIRED = "policed-ttl-expired",
    /// More of anything else for the router itself than its policer lets pass.
    POLICED_LOCAL = "policed-local",
    /// Kept until its neighbour answers; when it leaves after all, it counts as made.
    AWAITING = "awaiting-neighbour",
    /// Its neighbour did not answer, or is another now.
    UNRESOLVED = "unresolved",
    /// As many packets wait as may, for this neighbour or in all.
    PENDING_FULL = "pending-full",
    /// As many neighbours are known or asked for as there is room for.
    NEIGHBOURS_FULL = "neighbours-full",
    /// An answer or an advertisement of a neighbour, which was taken note of.
    NEIGHBOUR_HEARD = "neighbour-heard",
    /// Neighbor Discovery that breaks its rules, is for others, or of somebody who was not asked
    /// for.
    ND_IGNORED = "nd-ignored",
    /// A router solicitation, which the next advertisement answers.
    SOLICITED = "router-solicitation",
    /// The ingress access list denies it.
    ACL_INGRESS = "acl-ingress",
    /// The egress access list denies it.
    ACL_EGRESS = "acl-egress",
    /// An access list looks behind its headers and cannot: too many of them, or cut, or a fragment
    /// that hides or would overwrite what rules look at (RFC 7045, RFC 7112, RFC 1858).
    ACL_UNREADABLE = "acl-unreadable",
    /// Its policer says red, and red packets are dropped.
    POLICED = "policed",
    /// Of a tunnel that is nobody's: another identifier or far end (RFC 7348).
    UNKNOWN_TUNNEL = "unknown-tunnel",
    /// A fragment that came before the first one of its datagram, or after that was forgotten.
    FRAGMENT_EARLY = "fragment-early",
    /// A fragment without bytes, of no whole units of 8 bytes, or beyond 65,535 (RFC 791 section
    /// 3.1).
    FRAGMENT_MALFORMED = "fragment-malformed",
    /// A first fragment too short for what rules look at, or TCP's flags in a later one (RFC 1858,
    /// RFC 3128, RFC 7112).
    FRAGMENT_TINY = "fragment-tiny",
    /// A fragment over others, seen before or beyond the end, and what follows of such (RFC 5722).
    FRAGMENT_OVERLAP = "fragment-overlap",
    /// A fragment of a datagram with more gaps than are kept account of.
    FRAGMENT_SCATTERED = "fragment-scattered",
    /// A packet of BFD that a session of a next hop took in.
    BFD_HEARD = "bfd-heard",
    /// A packet of BFD that is malformed, from too far away, not authentic or repeated.
    BFD_IGNORED = "bfd-ignored",
    /// What another worker tells this one of next hops and neighbours.
    TOLD = "told-by-worker",
}

tallies! {
    /// ARP requests answered.
    ArpAnswered = "arp-answered",
    /// Packets without a route sent out of the other port because of `fakedrop`.
    Fakedropped = "fakedropped",
    /// ICMP and ICMPv6 errors sent.
    IcmpErrors = "icmp-errors",
    /// Errors and resets that were not sent because of their limit.
    IcmpErrorsLimited = "icmp-errors-limited",
    /// Resets of TCP sent.
    ResetsSent = "resets-sent",
    /// Echo requests answered.
    PingsAnswered = "pings-answered",
    /// Neighbour solicitations answered.
    NdAnswered = "nd-answered",
    /// Router advertisements sent.
    RouterAdvertisements = "router-advertisements",
    /// Messages of others that have an address of the router's.
    AddressConflicts = "address-conflicts",
    /// Packets that were cut into fragments.
    Fragmented = "fragmented",
    /// Packets of BFD sent.
    BfdSent = "bfd-sent",
    /// Next hops that came up, by their sessions of BFD.
    PathsUp = "paths-up",
    /// Next hops that went down.
    PathsDown = "paths-down",
    /// Frames of the host that left.
    Injected = "injected",
    /// Frames of the router's own for which there was no place.
    MadeFull = MADE_FULL,
    /// Packets that their policer called green.
    Green = "green",
    /// Those that it called yellow.
    Yellow = "yellow",
    /// Those that it called red, dropped or not.
    Red = "red",
    /// Packets that rules told in the log.
    RulesLogged = "rules-logged",
    /// Packets that rules were to tell in the log, beyond `rule-log-per-s` or without room.
    RulesUnlogged = "rules-unlogged",
    /// Later fragments whose ports were known.
    FragmentsKnown = "fragments-known",
    /// Datagrams that were forgotten before their time for want of room.
    ReassemblyEvicted = "reassembly-evicted",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_as_they_are_named() {
        assert_eq!(name(UNHANDLED), "unhandled");
        assert_eq!(name(LOCAL), "local-address");
        assert_eq!(name(NO_NEXT_HOP), "no-next-hop");
        assert_eq!(name(REVERSE_PATH), "reverse-path");
        assert_eq!(TALLIES[Tally::Fakedropped as usize], "fakedropped");
    }
}
