//! Outer packets of softwires that come in fragments (RFC 6333 section 6.3).

use machine::clock::Ticks;
use packet::{Batch, Reason, Slot};
use stages::reassembly::Part;
use wire::bytes::{put_u16, u16_at};
use wire::ipv6;

use crate::cutting;
use crate::fragments::stage::{Followed, IP};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};

impl Pipeline {
    /// Puts the outer packet of a softwire together in the frame of its last fragment (RFC 8200
    /// section 4.5), which begins with its fragment header at a place behind the Ethernet header.
    /// What is in front of that in the others is not needed any more.
    ///
    /// # Errors
    /// Why it does not go on: there are more to come, or it is wrong.
    pub(crate) fn put_together(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (part, at): (&Part, usize),
        now: Ticks,
    ) -> Result<(), Reason> {
        let Some(Followed { outer: Some(outer), .. }) = &mut self.followed else {
            return Err(reasons::FRAGMENT);
        };
        if part.is_malformed() {
            return Err(reasons::FRAGMENT_MALFORMED);
        }
        let frame = batch.frame(slot);
        let begin = IP + at;
        let end = begin + ipv6::FRAGMENT_HEADER_LEN + usize::from(part.len);
        let whole = &mut self.uncut;
        whole.clear();
        whole.extend_from_slice(&frame[..HEAD]);
        let mut add = |fragment: &[u8]| {
            let (header, body) = fragment.split_at(ipv6::FRAGMENT_HEADER_LEN);
            let offset = usize::from(u16_at(header, FRAGMENT_PLACE) & !FRAGMENT_FLAGS);
            let end = HEAD + offset + body.len();
            whole.resize(whole.len().max(end), 0);
            whole[end - body.len()..end].copy_from_slice(body);
        };
        outer.gather(part, &frame[begin..end], now, &mut add)?;
        add(&frame[begin..end]);
        whole[IP + ipv6::offset::NEXT_HEADER] = part.key.protocol;
        let payload_len = (whole.len() - HEAD) as u16;
        put_u16(whole, IP + ipv6::offset::PAYLOAD_LEN, payload_len);
        self.state.tallies[Tally::Reassembled as usize] += 1;
        if !cutting::put(batch, slot, whole, &[]) {
            return Err(reasons::FRAGMENT_MALFORMED);
        }
        // Whoever is told of it is told of the whole.
        if let Some(mtu) = self.interfaces.shortest_mtu() {
            self.long.keep_one(batch, slot, mtu);
        }
        Ok(())
    }
}

/// Where what an outer packet bears begins in a frame.
const HEAD: usize = IP + ipv6::HEADER_LEN;

/// Where a fragment header says which part of the packet it is, and what else it says there (RFC
/// 8200 section 4.5).
const FRAGMENT_PLACE: usize = 2;
const FRAGMENT_FLAGS: u16 = 7;
