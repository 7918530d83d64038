//! How far a packet may go yet.

use wire::{ethernet, ipv4, ipv6};

/// The time to live or the hop limit of a packet.
pub(crate) fn hops_left(frame: &[u8]) -> u8 {
    match frame[ethernet::HEADER_LEN] >> 4 {
        ipv6::VERSION => frame[ethernet::HEADER_LEN + ipv6::offset::HOP_LIMIT],
        _ => frame[TTL],
    }
}

/// Where the time to live stands in a frame.
pub(crate) const TTL: usize = ethernet::HEADER_LEN + ipv4::offset::TTL;
