//! Answering ARP requests for an address of one's own (RFC 826).

use std::net::Ipv4Addr;

use wire::{MacAddr, arp, ethernet};

/// Whether an Ethernet payload asks who has `own`.
pub fn is_request_for(payload: &[u8], own: Ipv4Addr) -> bool {
    arp::View::parse(payload).is_ok_and(|packet| {
        packet.operation() == arp::OPERATION_REQUEST && packet.target_ip() == own
    })
}

/// Writes the reply over a frame that [`is_request_for`] found to be a request and that was cut to
/// [`REPLY_LEN`]: `own` is the answer. It goes to the hardware address that the packet has of its
/// sender, which need not be the frame's source (RFC 826, "Packet Reception").
pub fn answer(frame: &mut [u8], own: MacAddr) {
    let Some((header, packet)) = frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>() else {
        return;
    };
    let Ok(mut request) = arp::ViewMut::parse(packet) else { return };
    let destination = request.as_view().sender_mac();
    ethernet::Fields { destination, source: own, ether_type: ethernet::TYPE_ARP }.emit(header);
    request.turn_into_reply(own);
}

/// Length of a frame with a reply, without padding.
pub const REPLY_LEN: usize = ethernet::HEADER_LEN + arp::HEADER_LEN;
