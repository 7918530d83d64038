//! Frames of a batch that may be too long for the link by which they leave, as they came in.

use packet::{Batch, Slot};
use wire::bytes::u16_at;
use wire::{ethernet, ipv4, ipv6};

/// Long frames of a batch.
pub(crate) struct Long {
    /// As they came in; its room is there from the start and stays.
    pub(crate) bytes: Vec<u8>,
    /// By slot, where there; no bytes of others.
    pub(crate) places: [(u32, u32); 256],
    /// Packets that go no further, and what passes in their place.
    pub(crate) stopped: Vec<(Slot, u16)>,
}

impl Long {
    pub fn new() -> Box<Long> {
        Box::new(Long {
            bytes: Vec::with_capacity(KEPT_BYTES),
            places: [(0, 0); 256],
            stopped: Vec::with_capacity(256),
        })
    }

    /// Keeps frames whose packets are longer than this.
    #[inline(never)]
    pub fn keep(&mut self, batch: &Batch, mtu: u16) {
        self.bytes.clear();
        for slot in batch.slots() {
            self.keep_one(batch, slot, mtu);
        }
    }

    /// Keeps a frame in place of the one that came, if its packet is longer than this. Of what has
    /// no room nobody is told.
    pub fn keep_one(&mut self, batch: &Batch, slot: Slot, mtu: u16) {
        let frame = without_padding(batch.frame(slot));
        self.places[usize::from(slot)] = (0, 0);
        let len = frame.len().min(batch.longest(slot));
        let is_long = len > ethernet::HEADER_LEN + usize::from(mtu);
        if is_long && self.bytes.len() + frame.len() <= KEPT_BYTES {
            self.places[usize::from(slot)] = (self.bytes.len() as u32, frame.len() as u32);
            self.bytes.extend_from_slice(frame);
        }
    }

    /// Makes a frame what it was; false of one that was not long.
    pub fn restore(&self, batch: &mut Batch, slot: Slot) -> bool {
        let (start, len) = self.places[usize::from(slot)];
        let (start, len) = (start as usize, len as usize);
        let has_room = match len.checked_sub(batch.frame_len(slot)) {
            _ if len == 0 => false,
            Some(more) => batch.push_front(slot, more).is_some(),
            None => true,
        };
        if has_room {
            batch.truncate(slot, len);
            batch.frame_mut(slot).copy_from_slice(&self.bytes[start..start + len]);
        }
        has_room
    }
}

/// A frame, with a tag or without, as far as its packet says that it goes.
fn without_padding(frame: &[u8]) -> &[u8] {
    let is_tagged = frame.get(ethernet::offset::TYPE..).is_some_and(|it| it.starts_with(&TAGGED));
    let at = ethernet::HEADER_LEN + if is_tagged { ethernet::TAG_LEN } else { 0 };
    let len = match frame.get(at..) {
        Some(packet) if packet.len() < ipv4::HEADER_LEN => return frame,
        Some(packet) if packet[0] >> 4 == ipv6::VERSION => {
            ipv6::HEADER_LEN + usize::from(u16_at(packet, ipv6::offset::PAYLOAD_LEN))
        }
        Some(packet) => usize::from(u16_at(packet, ipv4::offset::TOTAL_LEN)),
        None => return frame,
    };
    &frame[..frame.len().min(at + len)]
}

/// Room for the long frames of a batch: one of 9,216 bytes in each place, and those that take the
/// place of others.
const KEPT_BYTES: usize = (256 + 64) * 9216;

/// What an Ethernet header says before a tag.
const TAGGED: [u8; 2] = ethernet::TYPE_VLAN.to_be_bytes();
