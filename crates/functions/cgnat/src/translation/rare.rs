//! Everything that does not go the straight way: options, extension headers, fragments, ICMP, other
//! protocols, and what is refused.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{Batch, Slot};
use wire::bytes::{put_array, put_u16, u16_at};
use wire::icmp::{self, v4, v6};
use wire::{ethernet, protocol, udp};

use super::transport::{self, Edits};
use super::{ERROR_LEN_MAX, Ends, Quote, Refusal, Rules, errors, ipv4, ipv6};

/// As [`to_ipv6`](super::to_ipv6), for any packet.
#[cold]
pub(super) fn to_ipv6(
    batch: &mut Batch,
    slot: Slot,
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
) -> Result<(), Refusal> {
    let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).ok_or(Refusal::Malformed)?;
    let packet = ipv4::Packet::whole(packet)?;
    passes_to_ipv6(&packet)?;
    let edits = match packet.protocol() {
        IGMP => return Err(Refusal::IcmpType),
        protocol::ICMP if packet.is_fragment() => return Err(Refusal::IcmpFragment),
        protocol::ICMP if is_echo(packet.body, [v4::ECHO_REQUEST, v4::ECHO_REPLY]) => {
            transport::echo_to_ipv6(packet.body, packet.body_len, ends)?
        }
        protocol::ICMP => {
            let mut scratch = [0; ERROR_LEN_MAX];
            let len = errors::to_ipv6(&packet, ends, rules, quoted, &mut scratch)?;
            return put_whole(batch, slot, &scratch[..len], ethernet::TYPE_IPV6);
        }
        _ if !packet.has_transport() => Edits::default(),
        protocol::UDP if has_no_checksum(packet.body) => {
            udp_without_checksum(&packet, ends, rules)?
        }
        other => transport::of_ports(other, packet.body, packet.change(ends), ends.port, false)?,
    };
    let head = packet.head(ends, packet.ttl() - 1, rules);
    let (old_len, body_len) = (packet.header_len(), packet.body_len);
    put_head(batch, slot, old_len, head.bytes(), body_len, ethernet::TYPE_IPV6)?;
    edits.apply(&mut batch.frame_mut(slot)[ethernet::HEADER_LEN + head.bytes().len()..]);
    Ok(())
}

/// As [`to_ipv4`](super::to_ipv4), for any packet.
#[cold]
pub(super) fn to_ipv4(
    batch: &mut Batch,
    slot: Slot,
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
) -> Result<(), Refusal> {
    let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).ok_or(Refusal::Malformed)?;
    let packet = ipv6::Packet::whole(packet)?;
    passes_to_ipv4(&packet)?;
    let mut is_icmp = false;
    let edits = match packet.protocol {
        protocol::ICMPV6 if packet.is_fragment() => return Err(Refusal::IcmpFragment),
        protocol::ICMPV6 if is_echo(packet.body, [v6::ECHO_REQUEST, v6::ECHO_REPLY]) => {
            is_icmp = true;
            let without = packet.without_addresses();
            transport::echo_to_ipv4(packet.body, packet.body_len, without, ends.port)?
        }
        protocol::ICMPV6 => {
            let mut scratch = [0; ERROR_LEN_MAX];
            let len = errors::to_ipv4(&packet, ends, identification, rules, quoted, &mut scratch)?;
            return put_whole(batch, slot, &scratch[..len], ethernet::TYPE_IPV4);
        }
        _ if !packet.has_transport() => Edits::default(),
        other => transport::of_ports(other, packet.body, packet.change(ends), ends.port, false)?,
    };
    let head = packet.head(ends, identification, packet.hop_limit() - 1, rules);
    let (old_len, body_len) = (packet.header_len, packet.body_len);
    put_head(batch, slot, old_len, &head, body_len, ethernet::TYPE_IPV4)?;
    let body = &mut batch.frame_mut(slot)[ethernet::HEADER_LEN + head.len()..];
    edits.apply(body);
    if is_icmp {
        transport::mend_zeros(body);
    }
    Ok(())
}

/// Whether the headers of a packet let it become IPv6.
fn passes_to_ipv6(packet: &ipv4::Packet<'_>) -> Result<(), Refusal> {
    match packet {
        _ if packet.ttl() <= 1 => Err(Refusal::Expired),
        _ if packet.has_source_route() => Err(Refusal::SourceRoute),
        _ if packet.is_foreign() => Err(Refusal::Protocol),
        _ => Ok(()),
    }
}

/// The same of IPv4.
fn passes_to_ipv4(packet: &ipv6::Packet<'_>) -> Result<(), Refusal> {
    match packet {
        _ if packet.hop_limit() <= 1 => Err(Refusal::Expired),
        _ if packet.is_foreign() => Err(Refusal::Protocol),
        _ => Ok(()),
    }
}

/// The ICMP error that the sender of an IPv4 packet may be told which was refused for its headers;
/// none of others.
pub fn answer_to_ipv4(packet: &[u8]) -> Option<icmp::Fields> {
    let packet = ipv4::Packet::whole(packet).and_then(|packet| passes_to_ipv6(&packet));
    packet.err().and_then(Refusal::answer_to_ipv4)
}

/// The same of an IPv6 packet.
pub fn answer_to_ipv6(packet: &[u8]) -> Option<icmp::Fields> {
    let packet = ipv6::Packet::whole(packet).and_then(|packet| passes_to_ipv4(&packet));
    packet.err().and_then(Refusal::answer_to_ipv6)
}

/// Computes the checksum that a datagram over IPv6 must have.
fn udp_without_checksum(
    packet: &ipv4::Packet<'_>,
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
) -> Result<Edits, Refusal> {
    if packet.is_fragment() || !rules.compute_udp_checksum {
        return Err(Refusal::UdpChecksum);
    }
    let view = udp::View::parse(packet.body).map_err(|_| Refusal::Malformed)?;
    let mut edits = Edits::default();
    let mut header = [0; udp::HEADER_LEN];
    view.fields().emit(&mut header);
    if let Some((at, port)) = ends.port.place() {
        put_u16(&mut header, at, port);
        edits.put(at, port);
    }
    let sum = udp::checksum_ipv6(ends.source, ends.destination, &header, view.payload());
    edits.put(udp::offset::CHECKSUM, sum);
    Ok(edits)
}

fn has_no_checksum(datagram: &[u8]) -> bool {
    let header = datagram.first_chunk::<{ udp::HEADER_LEN }>();
    header.is_some_and(|header| u16_at(header, udp::offset::CHECKSUM) == udp::CHECKSUM_NONE)
}

fn is_echo(message: &[u8], echoes: [u8; 2]) -> bool {
    message.first().is_some_and(|kind| echoes.contains(kind))
}

/// Puts a new header into the place of one of `old_len` bytes, before `body_len` bytes that stay.
fn put_head(
    batch: &mut Batch,
    slot: Slot,
    old_len: usize,
    new: &[u8],
    body_len: usize,
    ether_type: u16,
) -> Result<(), Refusal> {
    let Some(macs) = batch.frame(slot).first_chunk::<12>().copied() else {
        return Err(Refusal::Malformed);
    };
    match new.len().checked_sub(old_len) {
        Some(more) => drop(batch.push_front(slot, more).ok_or(Refusal::TooLong)?),
        None => batch.pull_front(slot, old_len - new.len()),
    }
    let frame = batch.frame_mut(slot);
    put_array(frame, 0, macs);
    put_u16(frame, ethernet::offset::TYPE, ether_type);
    frame[ethernet::HEADER_LEN..][..new.len()].copy_from_slice(new);
    batch.truncate(slot, ethernet::HEADER_LEN + new.len() + body_len);
    Ok(())
}

/// Puts a new packet into the place of the whole old one.
fn put_whole(batch: &mut Batch, slot: Slot, packet: &[u8], ether_type: u16) -> Result<(), Refusal> {
    if !batch.set_frame_len(slot, ethernet::HEADER_LEN + packet.len()) {
        return Err(Refusal::TooLong);
    }
    let frame = batch.frame_mut(slot);
    put_u16(frame, ethernet::offset::TYPE, ether_type);
    frame[ethernet::HEADER_LEN..].copy_from_slice(packet);
    Ok(())
}

/// The Internet Group Management Protocol (RFC 3376).
const IGMP: u8 = 2;
