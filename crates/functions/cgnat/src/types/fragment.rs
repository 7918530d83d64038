//! What tells fragments of a datagram from others.

use wire::bytes::u16_at;
use wire::{ethernet, ipv4, ipv6, protocol};

use super::class::NOT_WHOLE;

/// Whether the packet of a frame, if it is IPv6 one of the NAT's making, is a part of a larger one.
pub(crate) fn is_fragment(frame: &[u8]) -> bool {
    let packet = &frame[ethernet::HEADER_LEN..];
    match packet[0] >> 4 {
        ipv6::VERSION => packet[ipv6::offset::NEXT_HEADER] == protocol::IPV6_FRAGMENT,
        _ => u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE != 0,
    }
}
