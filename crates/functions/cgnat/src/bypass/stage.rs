//! Packets that are forwarded as they are.

use packet::{Batch, Slot};
use wire::bytes::u16_at;
use wire::{ethernet, ipv4};

use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::types::sides::{INSIDE, OUTSIDE, is_inside};

impl Pipeline {
    /// Forwards a packet a hop older, and nothing else: it is known to have hops left.
    #[inline(never)]
    pub(crate) fn forward_untranslated(&mut self, batch: &mut Batch, slot: Slot) {
        let port = if is_inside(batch.port(slot)) { OUTSIDE } else { INSIDE };
        let total = u16_at(batch.frame(slot), ethernet::HEADER_LEN + ipv4::offset::TOTAL_LEN);
        batch.truncate(slot, ethernet::HEADER_LEN + usize::from(total));
        let packet = batch.frame_mut(slot).get_mut(ethernet::HEADER_LEN..);
        let header = packet.and_then(|packet| packet.first_chunk_mut::<{ ipv4::HEADER_LEN }>());
        if !header.is_some_and(ipv4::decrement_ttl) {
            return self.refuse(batch, slot, reasons::TTL_EXPIRED);
        }
        self.state.tallies[Tally::Bypassed as usize] += 1;
        self.send(batch, slot, port);
    }
}
