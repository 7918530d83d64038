//! What is asked of a translator, and why it refuses.

/// What becomes of the ends of a packet: addresses of the other family, and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<A> {
    /// The new source address.
    pub source: A,
    /// The new destination address.
    pub destination: A,
    /// The port, or identifier of an echo, that changes.
    pub port: Port,
}

/// Which port becomes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Both stay.
    Kept,
    /// The source port.
    Source(u16),
    /// The destination port.
    Destination(u16),
}

/// What RFC 7915 leaves to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The longest packet of IPv4 that the next link takes, in bytes.
    pub ipv4_mtu: u16,
    /// The longest packet of IPv6 that the next link takes, in bytes.
    pub ipv6_mtu: u16,
    /// Whether the type of service becomes the traffic class and back (sections 4.1, 5.1).
    pub keep_traffic_class: bool,
    /// Whether the checksum of a UDP datagram without one is computed (section 4.5).
    pub compute_udp_checksum: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        let (keep_traffic_class, compute_udp_checksum) = (true, true);
        Rules { ipv4_mtu: 1500, ipv6_mtu: 1500, keep_traffic_class, compute_udp_checksum }
    }
}

/// The packet that an ICMP error quotes: its ends as they stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<A> {
    /// The address it came from.
    pub source: A,
    /// The address it went to.
    pub destination: A,
    /// What it carries, in the numbers of its family.
    pub protocol: u8,
    /// Source and destination port, or the identifier of an echo twice; none where it has none.
    pub ports: Option<(u16, u16)>,
}

/// Why a packet is not translated; sections are those of RFC 7915.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A header is broken, or the packet ends before what it states.
    Malformed,
    /// Its hops have run out.
    Expired,
    /// A source route is not at its end (section 4.1).
    SourceRoute,
    /// A routing header has segments left (section 5.1).
    SegmentsLeft {
        /// Where it says so, in bytes from the start of the packet.
        pointer: u16,
    },
    /// The other family has no such protocol.
    Protocol,
    /// A type or code of ICMP that the other family lacks (sections 4.2, 5.2).
    IcmpType,
    /// A fragment of an ICMP message (section 1.2).
    IcmpFragment,
    /// The checksum of an ICMP error is wrong (RFC 5508 requirement 3).
    IcmpChecksum,
    /// What an ICMP error quotes cannot be read or is an error itself (sections 4.3, 5.3).
    Quote,
    /// Nothing is known of the ends of the quoted packet.
    QuoteEnds,
    /// An extension header behind a fragment header (section 5.1.1).
    FragmentedExtension,
    /// A UDP datagram without checksum, where none is computed (section 4.5).
    UdpChecksum,
    /// Longer than its length field can say.
    TooLong,
}
