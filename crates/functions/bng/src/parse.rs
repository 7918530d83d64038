//! The packets of IP in frames: whether their headers are sound, what of them decides their way,
//! and which of them are control.

use packet::Reason;
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{Malformed, checksum, icmp, ipv4, ipv6, protocol};

use super::reasons;

/// A packet of IP within a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Source, of IPv4 in its lowest bits.
    pub source: u128,
    /// Destination, in the same way.
    pub destination: u128,
    /// The tags of its line.
    pub line: u32,
    /// Where its header begins, in bytes from the frame's start.
    pub at: u16,
    /// Its length in bytes, without padding.
    pub len: u16,
    /// Its session identifier of PPPoE; 0 of none.
    pub pppoe: u16,
    /// Its VRF, once that is known.
    pub vrf: u8,
    /// Its code point.
    pub dscp: u8,
    /// Its time to live or hop limit.
    pub ttl: u8,
    /// Transport protocol, or the first extension header.
    pub protocol: u8,
    /// Whether it is of IPv6.
    pub is_ipv6: bool,
}

impl Packet {
    /// No packet.
    pub const NONE: Packet = Packet {
        source: 0,
        destination: 0,
        line: 0,
        at: 0,
        len: 0,
        pppoe: 0,
        vrf: 0,
        dscp: 0,
        ttl: 0,
        protocol: 0,
        is_ipv6: false,
    };

    /// Whether a router may pass it on: what is not forwarded is to a group, to nobody, to the host
    /// itself, or to another link's own addresses.
    #[inline(always)]
    pub fn is_forwarded(&self) -> bool {
        is_host(self.destination, self.is_ipv6)
    }

    /// Whether a host beyond a router can have sent it, from an address of its own.
    #[inline(always)]
    pub fn is_from_host(&self) -> bool {
        is_host(self.source, self.is_ipv6)
    }

    /// Whether a neighbour has sent it from an address of the link's own (RFC 4291 section 2.5.6).
    #[inline(always)]
    pub fn is_from_link(&self) -> bool {
        self.is_ipv6 & (self.source >> 118 == 0xfe80 >> 6)
    }

    /// Takes one from the time to live or hop limit of the packet; the checks left none that may
    /// not go on.
    #[inline(always)]
    pub fn make_hop(&self, packet: &mut [u8]) {
        if self.is_ipv6 {
            if let Some(header) = packet.first_chunk_mut() {
                let _ = ipv6::decrement_hop_limit(header);
            }
        } else if let Some(header) = packet.first_chunk_mut() {
            let _ = ipv4::decrement_ttl(header);
        }
    }
}

/// A packet of IPv4 that begins at an offset of its frame.
///
/// # Errors
/// What is wrong with it.
#[inline(always)]
pub(super) fn ipv4(frame: &[u8], at: usize) -> Result<Packet, Reason> {
    let packet = frame.get(at..).unwrap_or_default();
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else {
        return Err(reasons::IP_MALFORMED);
    };
    let len = u16_at(header, ipv4::offset::TOTAL_LEN);
    let fits = (usize::from(len) >= ipv4::HEADER_LEN) & (usize::from(len) <= packet.len());
    let is_plain = header[0] == ipv4::VERSION_IHL;
    if !(is_plain & fits & checksum::header_is_valid(header)) {
        return Err(fault_of_ipv4(packet));
    }
    Ok(Packet {
        source: u32_at(header, ipv4::offset::SOURCE).into(),
        destination: u32_at(header, ipv4::offset::DESTINATION).into(),
        at: at as u16,
        len,
        dscp: header[1] >> 2,
        ttl: header[ipv4::offset::TTL],
        protocol: header[ipv4::offset::PROTOCOL],
        ..Packet::NONE
    })
}

/// The same of IPv6.
///
/// # Errors
/// What is wrong with it.
#[inline(always)]
pub(super) fn ipv6(frame: &[u8], at: usize) -> Result<Packet, Reason> {
    let packet = frame.get(at..).unwrap_or_default();
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else {
        return Err(reasons::IP_MALFORMED);
    };
    let len = ipv6::HEADER_LEN + usize::from(u16_at(header, ipv6::offset::PAYLOAD_LEN));
    let is_version = header[0] >> 4 == ipv6::VERSION;
    if !(is_version & (len <= packet.len()) & (len <= usize::from(u16::MAX))) {
        return Err(reasons::IP_MALFORMED);
    }
    let protocol = header[ipv6::offset::NEXT_HEADER];
    if protocol == protocol::IPV6_HOP_BY_HOP {
        return Err(reasons::IP_OPTIONS);
    }
    Ok(Packet {
        source: u128::from_be_bytes(array_at(header, ipv6::offset::SOURCE)),
        destination: u128::from_be_bytes(array_at(header, ipv6::offset::DESTINATION)),
        at: at as u16,
        len: len as u16,
        dscp: (u16_at(header, 0) >> 6) as u8 & 0x3f,
        ttl: header[ipv6::offset::HOP_LIMIT],
        protocol,
        is_ipv6: true,
        ..Packet::NONE
    })
}

/// Whether an address is one that hosts have and routers know: that of no group, not of nobody, of
/// a host itself or of a link (RFC 1812 section 5.3.7, RFC 4291 section 2).
#[inline(always)]
fn is_host(address: u128, is_ipv6: bool) -> bool {
    match is_ipv6 {
        false => {
            let first = (address >> 24) as u8;
            (first != 0) & (first != 127) & (first < 224)
        }
        true => {
            let first = (address >> 112) as u16;
            (first < 0xff00) & (first & 0xffc0 != 0xfe80) & (address > 1)
        }
    }
}

#[cold]
fn fault_of_ipv4(packet: &[u8]) -> Reason {
    match ipv4::View::parse(packet) {
        Err(Malformed::BadChecksum) => reasons::IP_CHECKSUM,
        Err(_) => reasons::IP_MALFORMED,
        // What a plain header has not is options.
        Ok(_) => reasons::IP_OPTIONS,
    }
}

/// What a packet is that may be no user's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// To a DHCP server, or a relay.
    ToDhcpv4,
    /// From a DHCP server or a relay.
    FromDhcpv4,
    /// To a DHCPv6 server, or a relay.
    ToDhcpv6,
    /// From a DHCPv6 server or a relay.
    FromDhcpv6,
    /// A message of Neighbor Discovery of this type.
    Discovery(u8),
}

/// What control a packet in its frame is, if it is any.
#[inline(always)]
pub(super) fn control(frame: &[u8], packet: &Packet) -> Option<Control> {
    let begin = usize::from(packet.at);
    match (packet.protocol, packet.is_ipv6) {
        (protocol::UDP, false) => {
            let head = frame.get(begin..)?.first_chunk::<{ ipv4::HEADER_LEN + 4 }>()?;
            let ports = u32_at(head, ipv4::HEADER_LEN);
            let is_whole = u16_at(head, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE == 0;
            let is_there = usize::from(packet.len) >= ipv4::HEADER_LEN + 4;
            match ports as u16 {
                DHCP_SERVER if is_whole & is_there => Some(Control::ToDhcpv4),
                DHCP_CLIENT if is_whole & is_there && ports >> 16 == u32::from(DHCP_SERVER) => {
                    Some(Control::FromDhcpv4)
                }
                _ => None,
            }
        }
        (protocol::UDP, true) => {
            let head = frame.get(begin..)?.first_chunk::<{ ipv6::HEADER_LEN + 4 }>()?;
            let ports = u32_at(head, ipv6::HEADER_LEN);
            let is_there = usize::from(packet.len) >= ipv6::HEADER_LEN + 4;
            match ports as u16 {
                DHCPV6_SERVER if is_there => Some(Control::ToDhcpv6),
                DHCPV6_CLIENT if is_there && ports >> 16 == u32::from(DHCPV6_SERVER) => {
                    Some(Control::FromDhcpv6)
                }
                _ => None,
            }
        }
        (protocol::ICMPV6, true) if usize::from(packet.len) > ipv6::HEADER_LEN => {
            let kind = *frame.get(begin + ipv6::HEADER_LEN)?;
            let is_one = (icmp::v6::ROUTER_SOLICITATION..=icmp::v6::REDIRECT).contains(&kind);
            is_one.then_some(Control::Discovery(kind))
        }
        _ => None,
    }
}

const NOT_WHOLE: u16 = ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK;

const DHCP_SERVER: u16 = 67;
const DHCP_CLIENT: u16 = 68;
const DHCPV6_CLIENT: u16 = 546;
const DHCPV6_SERVER: u16 = 547;
