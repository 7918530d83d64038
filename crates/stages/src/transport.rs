//! What is behind the headers of IP: the transport protocol, its ports, and which part of which
//! datagram a fragment is.
//!
//! IPv6's extension headers are walked to the transport header (RFC 8200 section 4); where they are
//! broken or more than eight, the packet has no ports and the protocol at which the walk ended.
//! Nothing here decides anything, and nothing is taken from frames that the check has not let pass.

use wire::bytes::{array_at, u16_at, u32_at};
use wire::{ipv4, ipv6, protocol};

/// What stands behind the headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// The transport protocol; of a later fragment of IPv6, what its fragment header says.
    pub protocol: u8,
    /// Source and destination port, where the protocol has such and the packet shows them.
    pub ports: Option<[u8; 4]>,
    /// Its place in a datagram of several fragments; none of a whole one.
    pub fragment: Option<Fragment>,
}

/// A part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram's, between two stations.
    pub identification: u32,
    /// What is fragmented: a transport protocol, or an extension header before such.
    pub next: u8,
    /// Where the part begins, in bytes of what is fragmented.
    pub offset: u16,
    /// Its length in bytes.
    pub len: u16,
    /// Whether others follow.
    pub more: bool,
    /// Of the first one, how many of its bytes are the transport protocol's.
    pub transport_len: u16,
}

/// What is behind the header of an IPv4 packet.
#[inline]
pub fn of_ipv4(packet: &[u8]) -> Option<Upper> {
    let header = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    let len = packet.len().checked_sub(header_len)? as u16;
    let place = u16_at(header, ipv4::offset::FLAGS_FRAGMENT);
    let offset = (place & ipv4::FRAGMENT_OFFSET_MASK) << 3;
    let more = place & ipv4::FLAG_MORE_FRAGMENTS != 0;
    let fragment = (more || offset > 0).then(|| Fragment {
        identification: u16_at(header, ipv4::offset::IDENTIFICATION).into(),
        next: header[ipv4::offset::PROTOCOL],
        offset,
        len,
        more,
        transport_len: len,
    });
    let protocol = header[ipv4::offset::PROTOCOL];
    let ports = if offset == 0 { ports_of(protocol, packet, header_len) } else { None };
    Some(Upper { protocol, ports, fragment })
}

/// What is behind the extension headers of an IPv6 packet of which `first` is the first.
#[inline(never)]
pub fn behind(packet: &[u8], first: u8) -> Upper {
    let (mut next, mut at) = (first, ipv6::HEADER_LEN);
    let mut fragment = None;
    for _ in 0..EXTENSIONS_MAX {
        let Some(header) = packet.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION => at += 8 * (usize::from(header[1]) + 1),
            FRAGMENT => {
                at += 8;
                let place = u16_at(header, 2);
                let part = Fragment {
                    identification: u32_at(header, 4),
                    next: header[0],
                    offset: place & 0xfff8,
                    len: (packet.len() - at) as u16,
                    more: place & 1 != 0,
                    transport_len: 0,
                };
                if part.offset > 0 {
                    let fragment = fragment.or(Some(part));
                    return Upper { protocol: header[0], ports: None, fragment };
                }
                // One that is all of its datagram is none (RFC 6946).
                fragment = fragment.or(part.more.then_some(part));
            }
            _ => break,
        }
        next = header[0];
    }
    if let Some(fragment) = &mut fragment {
        fragment.transport_len = packet.len().saturating_sub(at) as u16;
    }
    Upper { protocol: next, ports: ports_of(next, packet, at), fragment }
}

/// The two ports at a place in a packet, if a protocol has such.
#[inline(always)]
fn ports_of(protocol: u8, packet: &[u8], at: usize) -> Option<[u8; 4]> {
    (has_ports(protocol) && packet.len() >= at + 4).then(|| array_at(packet, at))
}

/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with two ports.
#[inline(always)]
pub fn has_ports(next: u8) -> bool {
    matches!(next, protocol::TCP | protocol::UDP | 33 | 132 | 136)
}

/// Whether another header follows this one of IPv6.
#[inline(always)]
pub fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION)
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Extension headers that are walked.
const EXTENSIONS_MAX: usize = 8;
