//! Why a packet is not translated, and what its sender is told.

use wire::icmp::{self, v4, v6};

/// Why a packet was not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A header is broken, or the packet ends before what it states.
    Malformed,
    /// Time to live or hop limit ran out.
    Expired,
    /// An IPv4 source route is not at its end (RFC 7915 section 4.1).
    SourceRoute,
    /// An IPv6 routing header has segments left (section 5.1).
    SegmentsLeft {
        /// Where it says so, in bytes from the start of the packet.
        pointer: u16,
    },
    /// The protocol does not exist in the other family: extension headers and ICMP of the wrong
    /// version.
    Protocol,
    /// A type or code of ICMP that stays in its family, and IGMP (sections 4.2, 5.2).
    IcmpType,
    /// A fragment of an ICMP message (section 1.2).
    IcmpFragment,
    /// The checksum of an ICMP error is wrong (RFC 5508 requirement 3).
    IcmpChecksum,
    /// The packet that an ICMP error quotes cannot be read, or is an error itself (sections 4.3,
    /// 5.3).
    Quote,
    /// Nothing is known of the ends of the quoted packet.
    QuoteEnds,
    /// An extension header behind a fragment header (section 5.1.1).
    FragmentedExtension,
    /// A UDP datagram without checksum, where none is computed or can be (section 4.5).
    UdpChecksum,
    /// The packet would be longer than its length field can say or its buffer hold.
    TooLong,
}

impl Refusal {
    /// Every value, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::Expired,
        Self::SourceRoute,
        Self::SegmentsLeft { pointer: 0 },
        Self::Protocol,
        Self::IcmpType,
        Self::IcmpFragment,
        Self::IcmpChecksum,
        Self::Quote,
        Self::QuoteEnds,
        Self::FragmentedExtension,
        Self::UdpChecksum,
        Self::TooLong,
    ];

    /// The name in kebab-case, as counters and documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Expired => "expired",
            Self::SourceRoute => "source-route",
            Self::SegmentsLeft { .. } => "segments-left",
            Self::Protocol => "protocol",
            Self::IcmpType => "icmp-type",
            Self::IcmpFragment => "icmp-fragment",
            Self::IcmpChecksum => "icmp-checksum",
            Self::Quote => "quote",
            Self::QuoteEnds => "quote-ends",
            Self::FragmentedExtension => "fragmented-extension",
            Self::UdpChecksum => "udp-checksum",
            Self::TooLong => "too-long",
        }
    }

    /// The ICMP error that the sender of the IPv4 packet may be told; never about an ICMP error
    /// (RFC 1122 section 3.2.2), which is the caller's to see to.
    pub const fn answer_to_ipv4(self) -> Option<icmp::Fields> {
        let (kind, code) = match self {
            Self::Expired => (v4::TIME_EXCEEDED, 0),
            Self::SourceRoute => (v4::UNREACHABLE, v4::SOURCE_ROUTE_FAILED),
            Self::Protocol => (v4::UNREACHABLE, v4::PROHIBITED),
            _ => return None,
        };
        Some(icmp::Fields { kind, code, rest: 0 })
    }

    /// The ICMP error that the sender of the IPv6 packet may be told; never about an ICMP error
    /// (RFC 4443 section 2.4), which is the caller's to see to.
    pub const fn answer_to_ipv6(self) -> Option<icmp::Fields> {
        let (kind, code, rest) = match self {
            Self::Expired => (v6::TIME_EXCEEDED, 0, 0),
            Self::SegmentsLeft { pointer } => {
                (v6::PARAMETER_PROBLEM, v6::BAD_FIELD, pointer as u32)
            }
            Self::Protocol => (v6::UNREACHABLE, v6::PROHIBITED, 0),
            _ => return None,
        };
        Some(icmp::Fields { kind, code, rest })
    }
}
