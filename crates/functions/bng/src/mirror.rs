//! Copies of a subscriber's packets for a collector, both ways, in ERSPAN type II over GRE and
//! IPv4.
//!
//! What is copied is the frame as it came in, of packets that are the session's: from its host,
//! under an address of its own; or to such an address. A copy is a made frame, which takes nothing
//! from the packet itself, from its policers or its queues. Where there is no place for it, or the
//! collector's next hop is not known, it is counted and gone. No view shows who is mirrored.

use std::collections::HashMap;

use engine::Refusal;
use packet::{Batch, Made, Slot, Verdict};
use wire::bytes::put_u16;
use wire::{erspan, ethernet, ipv4, protocol};

use super::config::Collector;
use super::gateway::ACCESS;
use super::hops::{Hop, Hops};

/// Who is mirrored.
pub(super) struct Mirror {
    collector: Option<Collector>,
    /// The session of ERSPAN and the number of the next copy, by session.
    of: HashMap<u32, (u16, u32)>,
}

impl Mirror {
    /// Nobody, for the collector of a configuration.
    pub fn new(collector: Option<Collector>) -> Mirror {
        Mirror { collector, of: HashMap::with_capacity(MOST) }
    }

    /// Whether anybody is.
    #[inline(always)]
    pub fn is_at_work(&self) -> bool {
        !self.of.is_empty()
    }

    /// A session is mirrored from now on.
    ///
    /// # Errors
    /// When there is no collector, no such session of ERSPAN, or no room.
    pub fn set(&mut self, number: u32, erspan_session: u16) -> Result<(), Refusal> {
        if self.collector.is_none() || erspan_session > erspan::SESSION_MAX {
            return Err(Refusal::Invalid);
        }
        if self.of.len() == MOST && !self.of.contains_key(&number) {
            return Err(Refusal::Full);
        }
        self.of.insert(number, (erspan_session, 0));
        Ok(())
    }

    /// A session is mirrored no longer; whether it was.
    pub fn clear(&mut self, number: u32) -> bool {
        self.of.remove(&number).is_some()
    }

    /// Makes a copy of a frame of a session, if it is mirrored; whether there is one, or none where
    /// it is not.
    pub fn copy(
        &mut self,
        (hops, made): (&Hops, &mut Made),
        (batch, slot): (&Batch, Slot),
        number: u32,
    ) -> Option<bool> {
        let to = self.collector?;
        let (session, sequence) = self.of.get_mut(&number)?;
        let port = batch.port(slot);
        let tags = wire::bytes::u16_at(batch.frame(slot).get(12..16)?, 0);
        let is_tagged = matches!(tags, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN);
        let tag = if is_tagged { wire::bytes::u16_at(batch.frame(slot), 14) } else { 0 };
        let fields = erspan::Fields {
            sequence: *sequence,
            vlan: tag & 0xfff,
            class: (tag >> 13) as u8,
            is_tagged,
            session: *session,
            index: u32::from(port == ACCESS),
        };
        let hop = hops.route(0, to.address.into()).and_then(|entry| hops.get(entry));
        let is_known = |hop: &&Hop| matches!(hop.verdict, Verdict::Forward(_));
        let Some(hop) = hop.filter(is_known) else { return Some(false) };
        // A copy without place is the mirror's loss, and no other's.
        let (made, frame) = (made.batch_mut(), batch.frame(slot));
        let Some(room) = made.append(port, frame.len()) else { return Some(false) };
        room.copy_from_slice(frame);
        let copy = (made.len() - 1) as Slot;
        made.set_verdict(copy, hop.verdict);
        let Some(frame) = made.push_front(copy, OUTER_LEN + erspan::HEADER_LEN) else {
            made.drop_last();
            return Some(false);
        };
        *sequence = sequence.wrapping_add(1);
        write_outer(frame, hop, to, fields.sequence as u16);
        if let Some(header) = frame[OUTER_LEN..].first_chunk_mut() {
            fields.emit(header);
        }
        Some(true)
    }
}

/// Writes Ethernet and IPv4 header in front of GRE's.
fn write_outer(frame: &mut [u8], hop: &Hop, to: Collector, identification: u16) {
    let total_len = (frame.len() - ethernet::HEADER_LEN) as u16;
    if let Some(macs) = frame.first_chunk_mut::<12>() {
        *macs = hop.macs;
    }
    put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_IPV4);
    let header = ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len,
        identification,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::GRE,
        source: to.source,
        destination: to.address,
    };
    if let Some(place) = frame[ethernet::HEADER_LEN..].first_chunk_mut() {
        header.emit(place);
    }
}

/// Most sessions that are mirrored.
const MOST: usize = 1024;

/// Ethernet and IPv4.
const OUTER_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
