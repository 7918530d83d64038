//! Lowering the maximum segment size of users' TCP connections, so that their segments fit into
//! links with headers of a tunnel's or of PPPoE's (RFC 4459 section 3.2): nobody is told of packets
//! that do not.

use wire::{ipv4, ipv6, protocol, tcp};

/// Lowers the maximum segment size in a SYN to `most`, and for IPv6, whose header is longer, to 20
/// bytes less; whether it was more. A later fragment has no such header, and neither has what
/// stands behind an IPv6 extension header.
#[inline(always)]
pub fn clamp(packet: &mut [u8], is_ipv6: bool, most: u16) -> bool {
    let (at, begin, growth) = match is_ipv6 {
        false => (ipv4::offset::PROTOCOL, ipv4::HEADER_LEN, 0),
        true => (ipv6::offset::NEXT_HEADER, ipv6::HEADER_LEN, IPV6_GROWTH),
    };
    match packet.get(at) {
        Some(&protocol::TCP) => lower(packet, is_ipv6, begin, most - growth),
        _ => false,
    }
}

#[inline(never)]
fn lower(packet: &mut [u8], is_ipv6: bool, begin: usize, most: u16) -> bool {
    let fragment = ipv4::offset::FLAGS_FRAGMENT;
    if !is_ipv6 && (packet[fragment] & 0x1f, packet[fragment + 1]) != (0, 0) {
        return false;
    }
    let Some(segment) = packet.get_mut(begin..) else { return false };
    let Ok(mut segment) = tcp::ViewMut::parse(segment) else { return false };
    let view = segment.as_view();
    let is_syn = view.flags() & tcp::FLAG_SYN != 0;
    let is_more = view.maximum_segment_size().is_some_and(|size| size > most);
    is_syn && is_more && segment.set_maximum_segment_size(most)
}

/// By how much the header of IPv6 is longer than that of IPv4.
const IPV6_GROWTH: u16 = (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u16;
