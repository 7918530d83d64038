//! What a caller says of a packet that is to be translated, and limits of the standard.

/// What becomes of the ends of a packet: addresses of the other family, and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<A> {
    /// The new source address.
    pub source: A,
    /// The new destination address.
    pub destination: A,
    /// The port that changes. An ICMP error has none; the packet that it quotes may.
    pub port: Port,
}

/// Which port becomes another: that of UDP, TCP, DCCP and UDP-Lite, or the identifier of an ICMP
/// echo. Where a packet has none, as in a later fragment, nothing is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Port {
    /// Both stay.
    #[default]
    Kept,
    /// The source port becomes this one: from inside out, or in an error from outside in, quoted.
    Source(u16),
    /// The destination port becomes this one.
    Destination(u16),
}

impl Port {
    /// Where it stands in a header with ports, and its value.
    #[inline]
    pub(super) const fn place(self) -> Option<(usize, u16)> {
        match self {
            Port::Kept => None,
            Port::Source(port) => Some((0, port)),
            Port::Destination(port) => Some((2, port)),
        }
    }

    /// The identifier of an echo.
    #[inline]
    pub(super) const fn identifier(self) -> Option<u16> {
        match self {
            Port::Kept => None,
            Port::Source(port) | Port::Destination(port) => Some(port),
        }
    }
}

/// What the standard leaves to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The longest packet that the next link takes on the side of IPv4, in bytes; bounds what a
    /// translated "fragmentation needed" or "packet too big" says (sections 4.2, 5.2).
    pub ipv4_mtu: u16,
    /// The same on the side of IPv6.
    pub ipv6_mtu: u16,
    /// Whether the type of service becomes the traffic class and back, or both are zero (sections
    /// 4.1, 5.1).
    pub keep_traffic_class: bool,
    /// Whether the checksum of a UDP datagram of IPv4 without one is computed, or the datagram
    /// refused (section 4.5). Of a fragment it cannot be computed.
    pub compute_udp_checksum: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            ipv4_mtu: 1500,
            ipv6_mtu: 1500,
            keep_traffic_class: true,
            compute_udp_checksum: true,
        }
    }
}

/// The longest ICMP error that leaves, in bytes with its IP header: what RFC 4443 section 2.4 (c)
/// allows, and the next link of IPv4 takes; of a longer one less is quoted.
pub const ERROR_LEN_MAX: usize = 1280;

/// The longest that leaves over any link of IPv4, in bytes: what every host takes (RFC 1812 section
/// 4.3.2.3).
pub(super) const ERROR_LEN_MIN: usize = 576;

/// The longest packet of IPv4 that is translated without "do not fragment", in bytes (section 5.1).
pub(super) const LEN_MAX_FRAGMENTABLE: u16 = 1260;

/// The Datagram Congestion Control Protocol (RFC 4340).
pub(super) const DCCP: u8 = 33;

/// The Lightweight User Datagram Protocol (RFC 3828).
pub(super) const UDP_LITE: u8 = 136;
