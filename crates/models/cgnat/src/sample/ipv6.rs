//! IPv6 packets of the sample, and how their checksums are made right.
use std::net::Ipv6Addr;

use model_kit::build::text;
use wire::bytes::{array_at, put_u16};
use wire::{ethernet, icmp, ipv6, protocol, tcp, udp};

/// An address and a port.
pub(super) type End = (Ipv6Addr, u16);

/// A packet.
pub(super) fn packet(from: Ipv6Addr, to: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; ipv6::HEADER_LEN];
    ipv6::Fields {
        traffic_class: 0x2e,
        flow_label: 0x12345,
        payload_len: payload.len() as u16,
        next_header: next,
        hop_limit: 64,
        source: from,
        destination: to,
    }
    .emit(&mut header);
    let mut packet = [&header, payload].concat();
    make_right(&mut packet);
    packet
}

/// A datagram with so many bytes of data.
pub(super) fn datagram(from: End, to: End, len: usize) -> Vec<u8> {
    let datagram = model_kit::build::datagram((from.1, to.1), &text(len));
    packet(from.0, to.0, protocol::UDP, &datagram)
}

/// A segment; options are whole words.
pub(super) fn segment(from: End, to: End, (flags, options): (u8, &[u8]), data: &[u8]) -> Vec<u8> {
    let mut segment = vec![0; tcp::HEADER_LEN];
    put_u16(&mut segment, 0, from.1);
    put_u16(&mut segment, 2, to.1);
    segment[4..8].copy_from_slice(&[4, 3, 2, 1]);
    segment[tcp::offset::DATA_OFFSET] = (((tcp::HEADER_LEN + options.len()) / 4) << 4) as u8;
    segment[tcp::offset::FLAGS] = flags;
    put_u16(&mut segment, 14, 0x1072);
    packet(from.0, to.0, protocol::TCP, &[&segment, options, data].concat())
}

/// An echo request or reply.
pub(super) fn echo(from: Ipv6Addr, to: Ipv6Addr, kind: u8, identifier: u16) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0, 0, 0, 0, 9][..], &text(32)].concat();
    put_u16(&mut message, icmp::offset::REST, identifier);
    packet(from, to, protocol::ICMPV6, &message)
}

/// An ICMPv6 error.
pub(super) fn error(
    (from, to): (Ipv6Addr, Ipv6Addr),
    (kind, code, rest): (u8, u8, u32),
    quoted: &[u8],
) -> Vec<u8> {
    let message = [&[kind, code, 0, 0][..], &rest.to_be_bytes(), quoted].concat();
    packet(from, to, protocol::ICMPV6, &message)
}

/// The same packet behind an extension header of eight bytes.
pub(super) fn extended(packet: &[u8], kind: u8, mut extension: [u8; 8]) -> Vec<u8> {
    let (header, payload) = packet.split_at(ipv6::HEADER_LEN);
    let mut header = header.to_vec();
    extension[0] = header[ipv6::offset::NEXT_HEADER];
    header[ipv6::offset::NEXT_HEADER] = kind;
    put_u16(&mut header, ipv6::offset::PAYLOAD_LEN, payload.len() as u16 + 8);
    [&header[..], &extension, payload].concat()
}

/// Sets the checksum of an answer.
pub(super) fn finish(frame: &mut [u8]) {
    if let Some(packet) = frame.get_mut(ethernet::HEADER_LEN..) {
        make_right(packet);
    }
}

/// Sets the checksum behind an IPv6 header without extensions, if there is room for one.
fn make_right(packet: &mut [u8]) {
    let (source, destination): (Ipv6Addr, Ipv6Addr) = (
        array_at::<16>(packet, ipv6::offset::SOURCE).into(),
        array_at::<16>(packet, ipv6::offset::DESTINATION).into(),
    );
    let next = packet[ipv6::offset::NEXT_HEADER];
    let message = &mut packet[ipv6::HEADER_LEN..];
    let (len, at) = match next {
        protocol::UDP => (udp::HEADER_LEN, udp::offset::CHECKSUM),
        protocol::TCP => (tcp::HEADER_LEN, tcp::offset::CHECKSUM),
        protocol::ICMPV6 => (icmp::HEADER_LEN, icmp::offset::CHECKSUM),
        _ => return,
    };
    if message.len() < len {
        return;
    }
    put_u16(message, at, 0);
    let sum = match (next, message.split_first_chunk()) {
        (protocol::UDP, Some((header, payload))) => {
            udp::checksum_ipv6(source, destination, header, payload)
        }
        (protocol::TCP, _) => tcp::checksum_ipv6(source, destination, message),
        _ => icmp::checksum_ipv6(source, destination, message),
    };
    put_u16(message, at, sum);
}

/// An IPv6 packet with a change.
pub(super) fn changed_ipv6(packet: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = packet.to_vec();
    change(&mut packet);
    packet
}
