//! Protocol numbers shared by IPv4 and IPv6 (IANA "Assigned Internet Protocol Numbers").
//!
//! Only the ones that code of this project tells apart.

/// Internet Control Message Protocol (RFC 792).
pub const ICMP: u8 = 1;
/// IPv4 in another packet (RFC 2003, RFC 2473).
pub const IPV4: u8 = 4;
/// Transmission Control Protocol (RFC 9293).
pub const TCP: u8 = 6;
/// User Datagram Protocol (RFC 768).
pub const UDP: u8 = 17;
/// Generic Routing Encapsulation (RFC 2784).
pub const GRE: u8 = 47;
/// ICMP for IPv6 (RFC 4443).
pub const ICMPV6: u8 = 58;
/// Open Shortest Path First (RFC 2328, RFC 5340).
pub const OSPF: u8 = 89;
/// Virtual Router Redundancy Protocol (RFC 9568).
pub const VRRP: u8 = 112;
/// Stream Control Transmission Protocol (RFC 9260).
pub const SCTP: u8 = 132;

/// IPv6 hop-by-hop options (RFC 8200 section 4.3).
pub const IPV6_HOP_BY_HOP: u8 = 0;
/// IPv6 routing header (RFC 8200 section 4.4).
pub const IPV6_ROUTING: u8 = 43;
/// IPv6 fragment header (RFC 8200 section 4.5).
pub const IPV6_FRAGMENT: u8 = 44;
/// Authentication header (RFC 4302).
pub const AUTHENTICATION: u8 = 51;
/// IPv6 no next header (RFC 8200 section 4.7).
pub const IPV6_NO_NEXT_HEADER: u8 = 59;
/// IPv6 destination options (RFC 8200 section 4.6).
pub const IPV6_DESTINATION_OPTIONS: u8 = 60;
