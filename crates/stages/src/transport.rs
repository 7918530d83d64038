//! What is behind the headers of IP: the transport protocol, its ports, and which part of which
//! datagram a fragment is.
//!
//! IPv6's extension headers are walked to the transport header (RFC 8200 section 4, RFC 7045
//! section 1.1), as many of them as the caller says. Whether the walk arrived is part of the
//! answer: a rule that looks at what is behind them must not take a packet that it could not read
//! for one that it does not match. Nothing here decides anything, and nothing is taken from frames
//! that the check has not let pass.

use wire::bytes::{array_at, u16_at, u32_at};
use wire::{ipv4, ipv6, protocol};

/// What stands behind the headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// The transport protocol; of a later fragment of IPv6, what its fragment header says; of a
    /// walk that did not arrive, the header at which it ended.
    pub protocol: u8,
    /// Source and destination port, where the protocol has such and the packet shows them.
    pub ports: Option<[u8; 4]>,
    /// Its place in a datagram of several fragments; none of a whole one.
    pub fragment: Option<Fragment>,
    /// Where what it bears begins, in bytes from the start of the packet.
    pub at: usize,
    /// Whether all that rules may look at is known: the headers were walked to their end, and what
    /// [`shown_min`] names is there. Of later fragments it is what can be known, but where they
    /// would write over what the first one showed (RFC 1858 section 3.2.2), or are parts of parts.
    pub is_read: bool,
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
}

/// Extension headers that are walked where nothing else is said.
pub const HEADERS_MAX: u8 = 8;

/// What is behind the header of an IPv4 packet.
#[inline]
pub fn of_ipv4(packet: &[u8]) -> Option<Upper> {
    let header = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
    let at = usize::from(header[0] & 0x0f) * 4;
    let len = packet.len().checked_sub(at)? as u16;
    let place = u16_at(header, ipv4::offset::FLAGS_FRAGMENT);
    let offset = (place & ipv4::FRAGMENT_OFFSET_MASK) << 3;
    let more = place & ipv4::FLAG_MORE_FRAGMENTS != 0;
    let protocol = header[ipv4::offset::PROTOCOL];
    let fragment = (more || offset > 0).then(|| Fragment {
        identification: u16_at(header, ipv4::offset::IDENTIFICATION).into(),
        next: protocol,
        offset,
        len,
        more,
    });
    let ports = if offset == 0 { ports_of(protocol, packet, at) } else { None };
    let is_read = match offset {
        0 => len >= shown_min(protocol),
        _ => !overwrites(protocol, offset),
    };
    Some(Upper { protocol, ports, fragment, at, is_read })
}

/// What is behind the extension headers of an IPv6 packet of which `first` is the first, if there
/// are at most `headers_max` of them.
#[inline(never)]
pub fn behind(packet: &[u8], first: u8, headers_max: u8) -> Upper {
    let (mut next, mut at) = (first, ipv6::HEADER_LEN);
    let mut fragment = None;
    let (mut walked, mut is_read) = (0, true);
    while is_extension(next) {
        let header = packet.get(at..).and_then(|rest| rest.first_chunk::<8>());
        let Some(header) = header.filter(|_| walked < headers_max) else {
            is_read = false;
            break;
        };
        walked += 1;
        at += match next {
            protocol::IPV6_FRAGMENT => ipv6::FRAGMENT_HEADER_LEN,
            // RFC 4302 section 2.2.
            protocol::AUTHENTICATION => 4 * (usize::from(header[1]) + 2),
            _ => 8 * (usize::from(header[1]) + 1),
        };
        if next == protocol::IPV6_FRAGMENT {
            let place = u16_at(header, 2);
            let part = Fragment {
                identification: u32_at(header, 4),
                next: header[0],
                offset: place & 0xfff8,
                len: (packet.len() - at) as u16,
                more: place & 1 != 0,
            };
            if part.offset > 0 {
                let is_read = fragment.is_none() && !overwrites(part.next, part.offset);
                let fragment = fragment.or(Some(part));
                return Upper { protocol: part.next, ports: None, fragment, at, is_read };
            }
            // RFC 8200 section 4.1: there is one at most. One that is all of its datagram is none
            // (RFC 6946).
            is_read &= fragment.is_none();
            fragment = fragment.or(part.more.then_some(part));
        }
        if header[0] == protocol::IPV6_NO_NEXT_HEADER && may_be_last(next) {
            break;
        }
        next = header[0];
    }
    let shown = packet.len().checked_sub(at);
    is_read &= shown.is_some_and(|shown| shown >= usize::from(shown_min(next)));
    Upper { protocol: next, ports: ports_of(next, packet, at), fragment, at, is_read }
}

/// The bytes of a transport protocol that a packet shows at least, or it is broken or a fragment
/// that hides what rules look at: TCP's to behind its flags, of what has ports or types a unit of
/// fragmentation (RFC 1858 section 3.1, RFC 7112 section 5).
#[inline(always)]
pub fn shown_min(protocol: u8) -> u16 {
    match protocol {
        protocol::TCP => TCP_SHOWN_MIN,
        protocol::ICMP | protocol::ICMPV6 => 8,
        other if has_ports(other) => 8,
        _ => 0,
    }
}

/// Whether a later fragment of a protocol lies where the first one shows what rules look at (RFC
/// 1858 section 3.2.2, RFC 3128).
#[inline(always)]
pub fn overwrites(protocol: u8, offset: u16) -> bool {
    protocol == protocol::TCP && offset < TCP_SHOWN_MIN
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

/// Whether a header of IPv6 says in its first two bytes which one follows, and where: those that
/// IANA lists, and the two for experiments (RFC 7045, RFC 6564).
#[inline(always)]
pub fn is_extension(next: u8) -> bool {
    matches!(
        next,
        protocol::IPV6_HOP_BY_HOP
            | protocol::IPV6_ROUTING
            | protocol::IPV6_FRAGMENT
            | protocol::AUTHENTICATION
            | protocol::IPV6_DESTINATION_OPTIONS
    ) || may_be_last(next)
}

/// Whether such a header is a protocol of its own where none follows: of mobility, of host
/// identity, of Shim6 (RFC 6275, RFC 7401, RFC 5533), and of experiments.
#[inline(always)]
fn may_be_last(next: u8) -> bool {
    matches!(next, 135 | 139 | 140 | 253 | 254)
}

/// Bytes to behind TCP's flags, in units of fragmentation.
const TCP_SHOWN_MIN: u16 = 16;
