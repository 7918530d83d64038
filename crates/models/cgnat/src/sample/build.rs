//! Packets of the sample, and how their checksums are made right.
use std::net::Ipv4Addr;

use model_kit::build::{mend, packet, text};
use stages::vlan;
use wire::bytes::{put_u16, u16_at};
use wire::checksum::{self, Sum};
use wire::{ethernet, icmp, ipv4, ipv6, protocol, tcp, udp};

/// An address and a port.
pub(super) type End = (Ipv4Addr, u16);

/// A packet with a change, and a right checksum of its header.
pub(super) fn changed(packet: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = packet.to_vec();
    change(&mut packet);
    mend(&mut packet);
    packet
}

/// A datagram with checksum.
pub(super) fn datagram(from: End, to: End) -> Vec<u8> {
    datagram_of(from, to, 40)
}

/// The same with so many bytes of data.
pub(super) fn datagram_of(from: End, to: End, len: usize) -> Vec<u8> {
    let datagram = model_kit::build::datagram((from.1, to.1), &text(len));
    with_checksums(datagram, (from.0, to.0, protocol::UDP))
}

/// A datagram with checksum that says something.
pub(super) fn datagram_with(from: End, to: End, payload: &[u8]) -> Vec<u8> {
    with_checksums(
        model_kit::build::datagram((from.1, to.1), payload),
        (from.0, to.0, protocol::UDP),
    )
}

/// The same without.
pub(super) fn datagram_without_checksum(from: End, to: End) -> Vec<u8> {
    packet(from.0, to.0, protocol::UDP, &model_kit::build::datagram((from.1, to.1), &text(23)))
}

/// A segment without data.
pub(super) fn segment(from: End, to: End, flags: u8) -> Vec<u8> {
    segment_with(from, to, (flags, &[]), &[])
}

/// A segment; options are whole words.
pub(super) fn segment_with(
    from: End,
    to: End,
    (flags, options): (u8, &[u8]),
    data: &[u8],
) -> Vec<u8> {
    let mut segment = vec![0; tcp::HEADER_LEN];
    put_u16(&mut segment, 0, from.1);
    put_u16(&mut segment, 2, to.1);
    segment[4..8].copy_from_slice(&[1, 2, 3, 4]);
    segment[tcp::offset::DATA_OFFSET] = (((tcp::HEADER_LEN + options.len()) / 4) << 4) as u8;
    segment[tcp::offset::FLAGS] = flags;
    put_u16(&mut segment, 14, 0x7210);
    let segment = [&segment, options, data].concat();
    with_checksums(segment, (from.0, to.0, protocol::TCP))
}

/// An ICMP query or its answer.
pub(super) fn query(from: Ipv4Addr, to: Ipv4Addr, kind: u8, identifier: u16) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0, 0, 0, 0, 9][..], &text(32)].concat();
    put_u16(&mut message, icmp::offset::REST, identifier);
    with_checksums(message, (from, to, protocol::ICMP))
}

/// An ICMP error.
pub(super) fn error(from: Ipv4Addr, to: Ipv4Addr, kind: u8, quoted: &[u8]) -> Vec<u8> {
    let message = [&[kind, 1, 0, 0, 0, 0, 0, 0][..], quoted].concat();
    with_checksums(message, (from, to, protocol::ICMP))
}

fn with_checksums(transport: Vec<u8>, (from, to, protocol): (Ipv4Addr, Ipv4Addr, u8)) -> Vec<u8> {
    let mut packet = packet(from, to, protocol, &transport);
    make_right(&mut packet, true);
    packet
}

/// Sets the checksums of an answer; a datagram without one stays so, and so does a later fragment.
pub(super) fn finish(frame: &mut [u8]) {
    let at = match frame.get(ethernet::offset::TYPE..ethernet::HEADER_LEN) {
        Some([0x81, 0]) => ethernet::HEADER_LEN + ethernet::TAG_LEN,
        Some([0x86, 0xdd]) => ethernet::HEADER_LEN + ipv6::HEADER_LEN,
        _ => ethernet::HEADER_LEN,
    };
    if let Some(packet) = frame.get_mut(at..) {
        mend(packet);
        let place = u16_at(packet, ipv4::offset::FLAGS_FRAGMENT);
        if place & ipv4::FRAGMENT_OFFSET_MASK == 0 {
            make_right(packet, false);
        }
    }
}

/// Sets the checksum behind an IPv4 header; of a datagram that has none where it is `wanted`.
pub(super) fn make_right(packet: &mut [u8], wanted: bool) {
    let at = usize::from(packet[0] & 0x0f) * 4;
    let (header, message) = packet.split_at_mut(at);
    let protocol = header[ipv4::offset::PROTOCOL];
    let field = match protocol {
        protocol::TCP => tcp::offset::CHECKSUM,
        protocol::UDP => udp::offset::CHECKSUM,
        // Enhanced GRE has none (RFC 2637 section 4.1).
        protocol::GRE => return,
        _ => icmp::offset::CHECKSUM,
    };
    let has_none = protocol == protocol::UDP && u16_at(message, field) == udp::CHECKSUM_NONE;
    if has_none && !wanted {
        return;
    }
    put_u16(message, field, 0);
    let pseudo = match protocol {
        protocol::ICMP => Sum::ZERO,
        _ => {
            let sum = Sum::ZERO.add_bytes(&header[ipv4::offset::SOURCE..ipv4::HEADER_LEN]);
            sum.add_u16(u16::from(protocol)).add_u16(message.len() as u16)
        }
    };
    let sum = pseudo.add_bytes(message).checksum();
    let is_zero = protocol == protocol::UDP && sum == 0;
    put_u16(message, field, if is_zero { u16::MAX } else { sum });
    debug_assert!(checksum::checksum(header) == 0, "the header is right");
}

/// The frame with a tag; without one for VLAN 0.
pub(super) fn tagged(frame: Vec<u8>, vlan: u16) -> Vec<u8> {
    match vlan {
        0 => frame,
        _ => with_tag(frame, vlan),
    }
}

/// The frame with a tag, whatever it says.
pub(super) fn with_tag(frame: Vec<u8>, tci: u16) -> Vec<u8> {
    let mut tagged = [&[0; ethernet::TAG_LEN][..], &frame].concat();
    vlan::write(&mut tagged, tci);
    tagged
}
