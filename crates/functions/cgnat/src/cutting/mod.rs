//! Packets that the next link does not take whole in the other family of addresses (RFC 7915
//! sections 4.1 and 5.1), with a session and without: they are cut once they are translated, or
//! their senders are told what would pass.
//!
//! A sender of IPv6 never has its packet cut but for those that every link of IPv6 takes, and those
//! that it cut itself; one of IPv4 has where it did not forbid that. Pieces but the first are
//! frames of their own.

use packet::{Batch, Made, PortId, Slot, Verdict};
use wire::bytes::{put_u16, put_u32, u16_at};
use wire::{checksum, ethernet, ipv4, ipv6, protocol};

use crate::interfaces::Interfaces;
use crate::nat64::Nat64;
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::translation::{Ipv6Packet, Rules};
use crate::types::class::Shape;
use crate::types::fragment::is_fragment;

/// What the sender of an IPv4 packet is told: the longest one like it that passes to hosts of IPv6.
/// A fragment takes a header more.
pub(crate) fn ipv4_mtu(frame: &[u8], rules: &Rules) -> u32 {
    let extension = if is_fragment(frame) { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
    u32::from(rules.ipv6_mtu).saturating_sub(GROWTH + extension as u32)
}

/// What the sender of an IPv6 packet that came by `port` is told: the same to hosts of IPv4, where
/// that is what it met, and else to its peer.
pub(crate) fn ipv6_mtu(frame: &[u8], port: PortId, interfaces: &Interfaces) -> Option<u32> {
    let rules = interfaces.rules()?;
    let packet = Ipv6Packet::whole(frame.get(ethernet::HEADER_LEN..)?).ok()?;
    let siit = interfaces.siit.as_ref();
    let turns = siit.is_some_and(|it| it.turns(packet.destination(), port));
    let is_long = ipv4::HEADER_LEN + packet.body_len > usize::from(rules.ipv4_mtu);
    Some(match is_long && !turns {
        true => to_ipv6_mtu(rules.ipv4_mtu),
        false => rules.ipv6_mtu.into(),
    })
}

/// What a sender of IPv6 is told of a link that takes so much of IPv4.
pub(crate) fn to_ipv6_mtu(ipv4_mtu: u16) -> u32 {
    (u32::from(ipv4_mtu) + GROWTH).max(IPV6_MTU_MIN)
}

impl Pipeline {
    /// Whether a packet, as it came in, fits the link to an IPv6 subscriber, or may be cut.
    pub(crate) fn fits_ipv6(&self, frame: &[u8], shape: Shape) -> bool {
        let Some(nat64) = &self.interfaces.nat64 else { return true };
        let (transport, len) = (usize::from(shape.transport), usize::from(shape.len));
        fits_ipv6(&frame[..len], transport, nat64)
    }

    /// Cuts a packet that is ready to leave by a port if it is too long. Pieces of IPv6 are told
    /// from others by what told the packet of IPv4 (section 4.1).
    pub(crate) fn cut(&mut self, batch: &mut Batch, slot: Slot, to: PortId, identification: u16) {
        let Some(rules) = self.interfaces.rules() else { return };
        let is_ipv6 = batch.frame(slot)[ethernet::HEADER_LEN] >> 4 == ipv6::VERSION;
        let mtu = if is_ipv6 { rules.ipv6_mtu } else { rules.ipv4_mtu };
        if batch.frame_len(slot) <= ethernet::HEADER_LEN + usize::from(mtu) {
            return;
        }
        self.uncut.clear();
        self.uncut.extend_from_slice(batch.frame(slot));
        let (made, from) = (&mut self.made, batch.port(slot));
        let mut has_room = true;
        pieces(&self.uncut, (mtu, identification.into()), |number, head, part| match number {
            0 => has_room = put(batch, slot, head, part),
            _ => add(made.as_mut(), from, (head, part), to),
        });
        self.state.tallies[Tally::PacketsCut as usize] += 1;
        if !has_room {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        }
    }

    /// The same for one that is whole: fragments are cut as those that follow them are.
    pub(crate) fn cut_whole(&mut self, batch: &mut Batch, slot: Slot, to: PortId, number: u16) {
        if !is_fragment(batch.frame(slot)) {
            self.cut(batch, slot, to, number);
        }
    }
}

/// Whether the packet in a frame without padding, whose headers end before `transport`, fits the
/// link to IPv6 subscribers, or may be cut.
pub(crate) fn fits_ipv6(frame: &[u8], transport: usize, nat64: &Nat64) -> bool {
    let extension = if is_fragment(frame) { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
    let len = ipv6::HEADER_LEN + extension + frame.len() - transport;
    let packet = &frame[ethernet::HEADER_LEN..];
    let may_be_cut = || match packet[0] >> 4 {
        ipv6::VERSION => Ipv6Packet::whole(packet).is_ok_and(|packet| packet.may_be_cut()),
        _ => u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FLAG_DONT_FRAGMENT == 0,
    };
    len <= usize::from(nat64.rules.ipv6_mtu) || may_be_cut()
}

/// Gives each piece of the packet in a frame, by number, what stands in front of it, and what it
/// has of the packet. A packet that is a fragment itself keeps its place in the whole.
pub(crate) fn pieces(
    frame: &[u8],
    (mtu, identification): (u16, u32),
    each: impl FnMut(usize, &[u8], &[u8]),
) {
    match frame[ethernet::HEADER_LEN] >> 4 {
        ipv6::VERSION => pieces_of_ipv6(frame, (mtu, identification), each),
        _ => pieces_of_ipv4(frame, mtu, each),
    }
}

/// Pieces of a packet (RFC 791 section 3.2).
fn pieces_of_ipv4(frame: &[u8], mtu: u16, mut each: impl FnMut(usize, &[u8], &[u8])) {
    let mut len = ethernet::HEADER_LEN + usize::from(frame[ethernet::HEADER_LEN] & 0x0f) * 4;
    let mut head = [0; HEAD_IPV4_MAX];
    let Some((first, body)) = frame.split_at_checked(len) else { return };
    head[..len].copy_from_slice(first);
    let place = u16_at(&head, ethernet::HEADER_LEN + ipv4::offset::FLAGS_FRAGMENT);
    let (mut number, mut offset) = (0, 0);
    while offset < body.len() {
        let header = &mut head[ethernet::HEADER_LEN..len];
        let room = (usize::from(mtu) - header.len()) & !UNIT_MASK;
        let part = &body[offset..body.len().min(offset + room)];
        let more = if offset + part.len() < body.len() { ipv4::FLAG_MORE_FRAGMENTS } else { 0 };
        put_u16(header, ipv4::offset::TOTAL_LEN, (header.len() + part.len()) as u16);
        let place = place.wrapping_add((offset / UNIT) as u16) | more;
        put_u16(header, ipv4::offset::FLAGS_FRAGMENT, place);
        put_u16(header, ipv4::offset::CHECKSUM, 0);
        let sum = checksum::checksum(header);
        put_u16(header, ipv4::offset::CHECKSUM, sum);
        each(number, &head[..len], part);
        if number == 0 {
            len = keep_copied_options(&mut head, len);
        }
        (number, offset) = (number + 1, offset + part.len());
    }
}

/// Takes those options out of the header of a first piece that others do not have (RFC 791 section
/// 3.1), and everything behind one that is broken: how long what stands in front of the others is.
fn keep_copied_options(head: &mut [u8; HEAD_IPV4_MAX], len: usize) -> usize {
    let (mut from, mut to) = (HEAD_IPV4, HEAD_IPV4);
    while from < len && head[from] != ipv4::OPTION_END {
        let size = match head[from] {
            ipv4::OPTION_NO_OPERATION => 1,
            _ if from + 1 < len => usize::from(head[from + 1]).max(2),
            _ => break,
        };
        if from + size > len {
            break;
        }
        if head[from] & OPTION_IS_COPIED != 0 {
            head.copy_within(from..from + size, to);
            to += size;
        }
        from += size;
    }
    let end = HEAD_IPV4 + (to - HEAD_IPV4).next_multiple_of(4);
    head[to..end].fill(ipv4::OPTION_END);
    head[ethernet::HEADER_LEN] = ipv4::VERSION << 4 | ((end - ethernet::HEADER_LEN) / 4) as u8;
    end
}

/// Pieces of a packet with a fragment header or none (RFC 8200 section 4.5).
fn pieces_of_ipv6(
    frame: &[u8],
    (mtu, identification): (u16, u32),
    mut each: impl FnMut(usize, &[u8], &[u8]),
) {
    const FRAGMENT: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;
    const NEXT: usize = ethernet::HEADER_LEN + ipv6::offset::NEXT_HEADER;
    let Some((first, mut body)) = frame.split_first_chunk::<FRAGMENT>() else { return };
    let mut head = [0; HEAD_IPV6];
    head[..FRAGMENT].copy_from_slice(first);
    if first[NEXT] == protocol::IPV6_FRAGMENT {
        let Some((fragment, rest)) = body.split_at_checked(ipv6::FRAGMENT_HEADER_LEN) else {
            return;
        };
        head[FRAGMENT..].copy_from_slice(fragment);
        body = rest;
    } else {
        head[FRAGMENT] = std::mem::replace(&mut head[NEXT], protocol::IPV6_FRAGMENT);
        put_u32(&mut head, FRAGMENT + 4, identification);
    }
    let place = u16_at(&head, FRAGMENT + 2);
    let room = (usize::from(mtu) - ipv6::HEADER_LEN - ipv6::FRAGMENT_HEADER_LEN) & !UNIT_MASK;
    for (number, part) in body.chunks(room).enumerate() {
        let offset = number * room;
        let more = u16::from(offset + part.len() < body.len());
        let len_at = ethernet::HEADER_LEN + ipv6::offset::PAYLOAD_LEN;
        put_u16(&mut head, len_at, (ipv6::FRAGMENT_HEADER_LEN + part.len()) as u16);
        put_u16(&mut head, FRAGMENT + 2, place.wrapping_add(offset as u16) | more);
        each(number, &head, part);
    }
}

/// Makes a frame a piece; false where it has no room for that.
pub(crate) fn put(batch: &mut Batch, slot: Slot, head: &[u8], part: &[u8]) -> bool {
    let has_room = batch.set_frame_len(slot, head.len() + part.len());
    if has_room {
        let (to_head, to_part) = batch.frame_mut(slot).split_at_mut(head.len());
        to_head.copy_from_slice(head);
        to_part.copy_from_slice(part);
    }
    has_room
}

/// Has a piece leave; one without a place is counted there.
pub(crate) fn add(made: Option<&mut Made>, from: PortId, piece: (&[u8], &[u8]), to: PortId) {
    if let Some(made) = made {
        add_to(made, from, piece, to);
    }
}

/// The same, and where it is, to be changed.
pub(crate) fn add_to(
    made: &mut Made,
    from: PortId,
    (head, part): (&[u8], &[u8]),
    to: PortId,
) -> Option<Slot> {
    let place = made.push(from, head, Verdict::Forward(to))?;
    let has_room = put(made.batch_mut(), place, head, part);
    if !has_room {
        made.take_back();
    }
    has_room.then_some(place)
}

/// How much longer the header of IPv6 is, in bytes.
const GROWTH: u32 = (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u32;
/// What every link of IPv6 takes, in bytes (RFC 8200 section 5).
const IPV6_MTU_MIN: u32 = 1280;
/// What pieces are counted in, in bytes, but for the last one.
const UNIT: usize = 8;
const UNIT_MASK: usize = UNIT - 1;
/// Whether an option of IPv4 is copied into each piece.
const OPTION_IS_COPIED: u8 = 0x80;
/// What stands in front of each piece, and with the most options.
const HEAD_IPV4_MAX: usize = ethernet::HEADER_LEN + 60;
const HEAD_IPV4: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const HEAD_IPV6: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + ipv6::FRAGMENT_HEADER_LEN;

/// Sets what tells the fragments of a datagram from others; of IPv6 behind the header, as
/// translated ones have it.
pub(crate) fn set_identification(frame: &mut [u8], identification: u16) {
    if frame[ethernet::HEADER_LEN] >> 4 == ipv6::VERSION {
        if is_fragment(frame)
            && frame.len() >= ethernet::HEADER_LEN + ipv6::HEADER_LEN + ipv6::FRAGMENT_HEADER_LEN
        {
            put_u32(frame, ethernet::HEADER_LEN + ipv6::HEADER_LEN + 4, identification.into());
        }
        return;
    }
    let (at, sum_at) = (
        ethernet::HEADER_LEN + ipv4::offset::IDENTIFICATION,
        ethernet::HEADER_LEN + ipv4::offset::CHECKSUM,
    );
    let sum = checksum::update_u16(u16_at(frame, sum_at), u16_at(frame, at), identification);
    put_u16(frame, at, identification);
    put_u16(frame, sum_at, sum);
}
