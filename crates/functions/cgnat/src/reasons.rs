//! Why a carrier-grade NAT drops a packet, and what else it counts.
use function_kit::{reasons, tallies};

use crate::alg::Reason as Alg;

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header.
    TRUNCATED = "truncated",
    /// Another station's frame: the destination MAC address is not the port's.
    OTHER_STATION = "other-station",
    /// From inside, with the tag of a VLAN that no VRF has.
    UNKNOWN_VLAN = "unknown-vlan",
    /// Neither IPv4 nor ARP, nor IPv6 where subscribers have it.
    ETHERTYPE = "unknown-ethertype",
    /// ARP that is malformed, no request, or for another address.
    ARP_IGNORED = "arp-ignored",
    /// IP version, header length or total length are wrong (RFC 1812 section 5.2.2).
    IP_MALFORMED = "ip-malformed",
    /// The IPv4 header checksum is wrong.
    IP_CHECKSUM = "ip-checksum",
    /// A fragment, where none is followed: without the key, of ICMP where IPv6 hosts are concerned,
    /// and before further extension headers.
    FRAGMENT = "fragment",
    /// A fragment without data, one in the middle that does not end at 8 bytes, or one beyond
    /// 65,535 bytes; and the last one of an outer packet that is longer than frames can be.
    FRAGMENT_MALFORMED = "fragment-malformed",
    /// A first fragment without its whole transport header, or a second one within it (RFC 1858,
    /// RFC 3128).
    FRAGMENT_TINY = "fragment-tiny",
    /// A fragment of a datagram whose fragments lie over one another.
    FRAGMENT_OVERLAP = "fragment-overlap",
    /// A fragment with more gaps before it than are kept account of.
    FRAGMENT_SCATTERED = "fragment-scattered",
    /// Kept until the first fragment of its datagram comes; when it leaves after all, it counts as
    /// made.
    FRAGMENT_WAITS = "awaiting-first-fragment",
    /// A fragment of the outer packet of a softwire, kept until all others have come: the packet
    /// goes on in the frame of the last one.
    OUTER_FRAGMENT_WAITS = "awaiting-outer-fragments",
    /// A fragment of a sender with as many datagrams or waiting fragments as it may have.
    FRAGMENT_LIMIT = "fragment-limit",
    /// A fragment where as many datagrams are followed, or as many fragments wait, as there is room
    /// for.
    FRAGMENTS_FULL = "fragments-full",
    /// The time to live ends here.
    TTL_EXPIRED = "ttl-expired",
    /// Neighbor Discovery that is malformed, no solicitation, or for another address.
    ND_IGNORED = "nd-ignored",
    /// IPv6, to an address in which no IPv4 address is embedded (RFC 6146 section 3.5), nor the
    /// AFTR's.
    NOT_EMBEDDED = "not-embedded",
    /// Translated without a session: an address, or one of a packet that an ICMP error quotes, has
    /// no counterpart in the other family.
    NO_COUNTERPART = "no-counterpart",
    /// Translated without a session: between hosts of one side, or from the side on which its
    /// sender is not.
    LOOP = "loop",
    /// From inside, but from no subscriber's network.
    NOT_INSIDE = "not-inside",
    /// From inside, to an address that no host outside has, or translated without a session and
    /// with one that no host has, or the prefix does not carry.
    MARTIAN = "martian",
    /// From inside, to an address of subscribers, which none of the outside is (RFC 6598 section
    /// 4).
    TO_INSIDE = "to-inside",
    /// From outside, with an address that no host there has: of this host, a group, subscribers or
    /// a pool (RFC 2827).
    BOGON = "bogon",
    /// For the NAT itself, and no echo request; to the AFTR, and no IPv4 in it.
    LOCAL = "local",
    /// For the server of the Port Control Protocol, and none that is answered: no request, or one
    /// that is cut (RFC 6887 section 8.2).
    PCP_IGNORED = "pcp-ignored",
    /// The header of UDP, TCP or ICMP is cut or wrong.
    TRANSPORT_MALFORMED = "transport-malformed",
    /// A protocol that has no ports: nothing tells its sessions apart.
    PROTOCOL = "protocol-unsupported",
    /// What the other family of addresses has no words for: ways that the sender chose, some ICMP
    /// errors (RFC 7915).
    UNTRANSLATABLE = "untranslatable",
    /// Longer in the other family of addresses than the next link takes.
    TOO_BIG = "too-big",
    /// A TCP segment from inside that opens nothing and belongs to no session.
    TCP_NO_SESSION = "tcp-no-session",
    /// Enhanced GRE from inside with an identifier that the other end has for no call of the
    /// sender's.
    NO_CALL = "no-call",
    /// From outside, for an address that is not one of the outside ones.
    NO_ADDRESS = "no-address",
    /// For an outside port, but no identifier of ICMP, that another worker has: steered to a wrong
    /// one.
    OTHER_WORKER = "other-worker",
    /// From outside, for a port that no mapping has.
    NO_MAPPING = "no-mapping",
    /// From outside, for a mapping that does not take packets from there (RFC 4787 section 5).
    FILTERED = "filtered",
    /// From outside, for mappings with so many sessions that looking through them would take too
    /// long.
    BUSY = "mapping-busy",
    /// An ICMP error about a packet of no session, or of another one than it is for.
    ICMP_NO_SESSION = "icmp-no-session",
    /// A subscriber sends to another's outside address, and that is switched off.
    HAIRPIN_OFF = "hairpin-off",
    /// Would open a session or asks for a mapping, while the other NAT of a pair is the active one
    /// or has not handed over its sessions yet.
    NOT_ACTIVE = "not-active",
    /// The subscriber has as many sessions as it may have (RFC 6888 REQ-4).
    SESSION_LIMIT = "session-limit",
    /// The subscriber has used up the blocks that it may have.
    BLOCK_LIMIT = "block-limit",
    /// The subscriber's outside address has no free port.
    PORTS_EXHAUSTED = "ports-exhausted",
    /// No outside address has room for a further subscriber.
    POOL_EXHAUSTED = "pool-exhausted",
    /// As many sessions as the function holds.
    SESSIONS_FULL = "sessions-full",
    /// As many mappings as the function holds.
    MAPPINGS_FULL = "mappings-full",
    /// As many subscribers as the function holds.
    SUBSCRIBERS_FULL = "subscribers-full",
    /// Kept until the next hop tells its MAC address; when the packet leaves after all, it counts
    /// as made.
    AWAITING = "awaiting-neighbour",
    /// For a next hop for which as many packets wait as may.
    PENDING_FULL = "pending-full",
    /// Waited for a next hop that did not answer.
    UNRESOLVED = "unresolved",
    /// ARP or Neighbor Discovery by which a next hop told its MAC address.
    NEIGHBOUR_HEARD = "neighbour-heard",
}

tallies! {
    /// Sessions opened by packets from inside.
    SessionsOpened = "sessions-opened",
    /// Sessions opened by packets from outside to a mapping.
    SessionsOpenedInbound = "sessions-opened-inbound",
    /// Sessions that another NAT has opened and that were taken over from it.
    SessionsAdopted = "sessions-adopted",
    /// Sessions that ended because their time was up, or because their first packet was dropped on
    /// its way to another subscriber.
    SessionsExpired = "sessions-expired",
    /// Sessions that control ended, or the end of the NAT in good order.
    SessionsCleared = "sessions-cleared",
    /// Mappings made.
    MappingsOpened = "mappings-opened",
    /// Mappings that are gone.
    MappingsClosed = "mappings-closed",
    /// Blocks given to subscribers.
    BlocksAllocated = "blocks-allocated",
    /// Blocks taken back.
    BlocksReleased = "blocks-released",
    /// Packets that found no port, no room or a limit (RFC 6888 REQ-4).
    Refused = "refused",
    /// Packets refused as there was no outside address, or none of its ports: `pool-exhausted`.
    RefusedPorts = "refused-no-port",
    /// Packets refused as there was no place for a session or a mapping: `sessions-full`.
    RefusedSessions = "refused-no-session",
    /// Packets refused as there was no place for a subscriber: `subscribers-full`.
    RefusedSubscribers = "refused-no-subscriber",
    /// Packets translated without a session.
    Stateless = "siit-translated",
    /// Packets forwarded as they are (RFC 6888 REQ-6).
    Bypassed = "bypassed",
    /// Packets between two subscribers of one worker.
    Hairpinned = "hairpinned",
    /// Packets from a subscriber of one worker to one of another, errors included, as the first of
    /// them counts them.
    HandedOver = "handed-over",
    /// TCP connections whose maximum segment size was lowered.
    MssClamped = "mss-clamped",
    /// ICMP errors translated.
    IcmpErrorsTranslated = "icmp-errors-translated",
    /// Packets that were cut because the next link takes none so long in the other family of
    /// addresses, or in a tunnel.
    PacketsCut = "packets-cut",
    /// Fragments translated as the first one of their datagram was.
    FragmentsFollowed = "fragments-followed",
    /// Fragments that waited for a first one, or those of an outer packet for others, in vain.
    FragmentsGivenUp = "fragments-given-up",
    /// Outer packets of softwires reassembled.
    Reassembled = "packets-reassembled",
    /// Pieces, and fragments that had waited, that were lost because too many were to leave at
    /// once.
    MadeFull = packet::MADE_FULL,
    /// ICMP errors of its own.
    IcmpErrorsSent = "icmp-errors-sent",
    /// ICMP errors of its own that were not sent because there were too many (RFC 1812 section
    /// 4.3.2.8).
    IcmpErrorsLimited = "icmp-errors-limited",
    /// Resets of TCP connections that it does not know.
    TcpResetsSent = "tcp-resets-sent",
    /// Echo requests for the NAT itself answered.
    PingsAnswered = "pings-answered",
    /// Frames of the host that have left.
    Injected = "injected",
    /// ARP requests answered.
    ArpAnswered = "arp-answered",
    /// ARP of others that says an address of the NAT's is theirs.
    AddressConflicts = "address-conflicts",
    /// Neighbour solicitations answered.
    NdAnswered = "nd-answered",
    /// Payloads in which a gateway replaced something.
    AlgRewritten = "alg-rewritten",
    /// Sessions made for packets that a gateway expects; they end as others do.
    AlgExpected = "alg-expected",
    /// Packets of a session with a gateway that it does not read, because their checksum is wrong
    /// or they are fragments.
    AlgDamaged = "alg-damaged",
    /// Segments with a payload that pass as they are, because the sequence numbers of as many
    /// connections as there can be are kept already.
    AlgConnectionsFull = "alg-connections-full",
    /// Calls of PPTP of which the gateway keeps nothing, because there are as many as connections
    /// can be, or the subscriber or the table has no room for a session.
    AlgCallsFull = "alg-calls-full",
    /// Payloads with something that begins like what a gateway is for, and breaks its grammar.
    AlgMalformed = Alg::NAMES[0],
    /// The same with something that goes on in another segment.
    AlgSplit = Alg::NAMES[1],
    /// The same with what is no message of the application.
    AlgNoMessage = Alg::NAMES[2],
    /// The same that tell more addresses than a gateway replaces.
    AlgTooMany = Alg::NAMES[3],
    /// The same that tell an inside address that is not the sender's (RFC 2577 section 3).
    AlgForeignAddress = Alg::NAMES[4],
    /// The same that ask for a port below 1024 (RFC 2577 section 3).
    AlgPrivilegedPort = Alg::NAMES[5],
    /// The same for which there is no mapping.
    AlgNoMapping = Alg::NAMES[6],
    /// The same that do not fit in a packet of 1500 bytes any more.
    AlgNoRoom = Alg::NAMES[7],
    /// Requests of the Port Control Protocol answered.
    PcpAnswered = "pcp-answered",
    /// Those of them that were answered with an error.
    PcpErrors = "pcp-errors",
    /// Mappings that were made for whoever asked for them, or became such; they are counted as
    /// sessions that end.
    PcpGranted = "pcp-granted",
    /// Those that were given back by whoever had asked.
    PcpDeleted = "pcp-deleted",
    /// Events that left in a message of the log.
    LogRecords = "log-records",
    /// Messages of the log with events.
    LogMessages = "log-messages",
    /// Messages of the log with templates.
    LogTemplates = "log-templates",
    /// Events of sessions that found the log's queue full.
    LogLostSessions = "log-lost-sessions",
    /// Events of mappings that did.
    LogLostMappings = "log-lost-mappings",
    /// Events of blocks and paired addresses that did.
    LogLostBlocks = "log-lost-blocks",
    /// Alarms that did.
    LogLostAlarms = "log-lost-alarms",
    /// Alarms beyond their rate, which are not told on purpose.
    LogLimitedAlarms = "log-limited-alarms",
    /// Changes sent to the standby, those sent again included; of a standby those received.
    ReplicationSent = "replication-sent",
    /// Changes that the standby has acknowledged; of a standby those that it has applied.
    ReplicationAcknowledged = "replication-acknowledged",
    /// Changes that the standby could not apply: its tables and these differ.
    ReplicationRefused = "replication-refused",
    /// How often a standby had to be told everything.
    ReplicationResynchronisations = "replication-resynchronisations",
    /// Workers of which the other NAT has acknowledged everything, or that have everything of it.
    ReplicationSynchronised = "replication-synchronised",
    /// Workers of one of a pair that tell the other one.
    ReplicationTells = "replication-tells",
    /// Sessions of one of a pair that the other one had not, when that had told everything.
    ReplicationDropped = "replication-dropped",
}
