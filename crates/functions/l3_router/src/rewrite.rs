//! The header of a next hop for a packet by itself.

use packet::{Batch, Slot};
use wire::{ethernet, ipv4, ipv6};

use super::state::Hop;

/// Gives a packet of either version, which left the way, the header of its next hop and one hop
/// less to go.
pub(super) fn rewrite_one(batch: &mut Batch, slot: Slot, hop: &Hop) {
    let Some((header, packet)) =
        batch.frame_mut(slot).split_first_chunk_mut::<{ ethernet::HEADER_LEN }>()
    else {
        return;
    };
    header[..12].copy_from_slice(&hop.macs);
    let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == ipv6::VERSION);
    // The check has seen that there is a hop to go.
    let _ = match is_ipv6 {
        true => packet.first_chunk_mut().is_some_and(ipv6::decrement_hop_limit),
        false => packet.first_chunk_mut().is_some_and(ipv4::decrement_ttl),
    };
}
