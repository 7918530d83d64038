//! ICMP errors with the packets that they quote (RFC 7915 sections 4.2, 4.3, 5.2 and 5.3).
//!
//! ```text
//! IP │ ICMP │ quoted IP │ its transport header …  zeros to a unit │ extensions (RFC 4884)
//! ```
//!
//! A quoted header grows or shrinks as an outer one does, and what follows it moves. So the new
//! packet is put together in a buffer of its own. Extensions begin where a length in the ICMP
//! header says, in units of 4 bytes for IPv4 and of 8 for IPv6; they are bytes that are kept as far
//! as there is room.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::bytes::put_u16;
use wire::icmp::{self, v4, v6};
use wire::{checksum, protocol};

use super::{
    ERROR_LEN_MAX, ERROR_LEN_MIN, Ends, Quote, Refusal, Rules, ipv4, ipv6, quote, transport, types,
};

/// A packet that was put together, or is about to be.
pub(super) type Scratch = [u8; ERROR_LEN_MAX];

/// Puts the ICMPv6 error together that this ICMPv4 error becomes; how many bytes it has with its
/// IPv6 header.
pub(super) fn to_ipv6(
    packet: &ipv4::Packet<'_>,
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
    scratch: &mut Scratch,
) -> Result<usize, Refusal> {
    let message = icmp::View::parse(packet.body).map_err(|_| Refusal::Malformed)?;
    let old = message.fields();
    if !matches!(old.kind, v4::UNREACHABLE | v4::TIME_EXCEEDED | v4::PARAMETER_PROBLEM) {
        return Err(Refusal::IcmpType);
    }
    if !icmp::verify_ipv4(packet.body) {
        return Err(Refusal::IcmpChecksum);
    }
    let quoted_units = (old.rest >> 16) as u8;
    let (original, extensions) = take_apart(message.payload(), quoted_units, IPV4_UNIT);
    let inner = ipv4::Packet::quoted(original)?;
    let quote = quote::of_ipv4(&inner)?;
    let new = types::to_ipv6(old, inner.total_len(), rules).ok_or(Refusal::IcmpType)?;
    let inner_ends = quoted(&quote).ok_or(Refusal::QuoteEnds)?;
    let inner_head = inner.head(&inner_ends, inner.ttl(), rules);
    let has_length = matches!(new.kind, v6::UNREACHABLE | v6::TIME_EXCEEDED);
    let extensions = if has_length { extensions } else { &[] };
    let edits = inner_edits_to_ipv6(&inner, &inner_ends)?;
    let body = Body { head: inner_head.bytes(), rest: inner.body, edits, extensions };
    let (len, units) = body.put(&mut scratch[IPV6_START..], IPV6_UNIT);

    // The outer header, for a body of this length.
    let message_len = icmp::HEADER_LEN + len;
    let head = packet.resized(message_len).head(ends, packet.ttl() - 1, rules);
    scratch[..wire::ipv6::HEADER_LEN].copy_from_slice(head.bytes());
    let new = icmp::Fields { rest: new.rest | u32::from(units) << 24, ..new };
    let message = &mut scratch[wire::ipv6::HEADER_LEN..][..message_len];
    put_header(new, message);
    let sum = icmp::checksum_ipv6(ends.source, ends.destination, message);
    put_u16(message, icmp::offset::CHECKSUM, sum);
    Ok(wire::ipv6::HEADER_LEN + message_len)
}

/// Puts the ICMPv4 error together that this ICMPv6 error becomes; how many bytes it has with its
/// IPv4 header.
pub(super) fn to_ipv4(
    packet: &ipv6::Packet<'_>,
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
    scratch: &mut Scratch,
) -> Result<usize, Refusal> {
    let message = icmp::View::parse(packet.body).map_err(|_| Refusal::Malformed)?;
    let old = message.fields();
    let new = types::to_ipv4(old, rules).ok_or(Refusal::IcmpType)?;
    if !icmp::verify_ipv6(packet.source(), packet.destination(), packet.body) {
        return Err(Refusal::IcmpChecksum);
    }
    let had_length = matches!(old.kind, v6::UNREACHABLE | v6::TIME_EXCEEDED);
    let quoted_units = if had_length { (old.rest >> 24) as u8 } else { 0 };
    let (original, extensions) = take_apart(message.payload(), quoted_units, IPV6_UNIT);
    let inner = ipv6::Packet::quoted(original)?;
    let quote = quote::of_ipv6(&inner)?;
    let inner_ends = quoted(&quote).ok_or(Refusal::QuoteEnds)?;
    // What identification the packet had where it was IPv4 is not known, nor does it matter.
    let inner_head = inner.head(&inner_ends, 0, inner.hop_limit(), rules);
    let edits = inner_edits_to_ipv4(&inner, &inner_ends)?;
    let body = Body { head: &inner_head, rest: inner.body, edits, extensions };
    let end = usize::from(rules.ipv4_mtu).clamp(ERROR_LEN_MIN, ERROR_LEN_MAX);
    let (len, units) = body.put(&mut scratch[IPV4_START..end], IPV4_UNIT);

    let message_len = icmp::HEADER_LEN + len;
    let head =
        packet.resized(message_len).head(ends, identification, packet.hop_limit() - 1, rules);
    scratch[..head.len()].copy_from_slice(&head);
    let new = icmp::Fields { rest: new.rest | u32::from(units) << 16, ..new };
    let message = &mut scratch[head.len()..][..message_len];
    put_header(new, message);
    let sum = checksum::checksum(message);
    put_u16(message, icmp::offset::CHECKSUM, sum);
    Ok(head.len() + message_len)
}

/// What changes in the transport header of a quoted packet of IPv4.
fn inner_edits_to_ipv6(
    inner: &ipv4::Packet<'_>,
    ends: &Ends<Ipv6Addr>,
) -> Result<transport::Edits, Refusal> {
    if !inner.has_transport() {
        return Ok(transport::Edits::default());
    }
    if inner.protocol() == protocol::ICMP {
        return transport::echo_to_ipv6(inner.body, inner.body_len, ends);
    }
    transport::of_ports(inner.protocol(), inner.body, inner.change(ends), ends.port, true)
}

/// The same of IPv6.
fn inner_edits_to_ipv4(
    inner: &ipv6::Packet<'_>,
    ends: &Ends<Ipv4Addr>,
) -> Result<transport::Edits, Refusal> {
    if !inner.has_transport() {
        return Ok(transport::Edits::default());
    }
    if inner.protocol == protocol::ICMPV6 {
        return transport::echo_to_ipv4(
            inner.body,
            inner.body_len,
            inner.without_addresses(),
            ends.port,
        );
    }
    transport::of_ports(inner.protocol, inner.body, inner.change(ends), ends.port, true)
}

/// What is quoted, and the extensions behind it. A length that cannot be right is none (RFC 4884
/// section 5.5).
fn take_apart(payload: &[u8], units: u8, unit: usize) -> (&[u8], &[u8]) {
    let len = usize::from(units) * unit;
    match payload.split_at_checked(len) {
        Some(parts) if len >= QUOTED_LEN_MIN => parts,
        _ => (payload, &[]),
    }
}

/// What stands behind the ICMP header of an error.
struct Body<'a> {
    /// The header of the quoted packet, in the new family.
    head: &'a [u8],
    /// What is quoted behind it, as it was.
    rest: &'a [u8],
    /// What changes there.
    edits: transport::Edits,
    extensions: &'a [u8],
}

impl Body<'_> {
    /// Writes as much as there is room for: how many bytes, and how many units the quote has if
    /// extensions follow.
    fn put(&self, room: &mut [u8], unit: usize) -> (usize, u8) {
        let quote_len = self.head.len() + self.rest.len();
        let (quoted_len, extensions) = if self.extensions.is_empty() {
            (quote_len.min(room.len()), self.extensions)
        } else {
            let extensions_len = self.extensions.len().min(room.len() - QUOTED_LEN_MIN);
            let most = (room.len() - extensions_len).min(UNITS_MAX * unit) / unit * unit;
            let padded = quote_len.max(QUOTED_LEN_MIN).next_multiple_of(unit);
            (padded.min(most), &self.extensions[..extensions_len])
        };
        let (quote, behind) = room.split_at_mut(quoted_len);
        quote.fill(0);
        let (head, rest) = quote.split_at_mut(self.head.len());
        head.copy_from_slice(self.head);
        let rest_len = self.rest.len().min(rest.len());
        let rest = &mut rest[..rest_len];
        rest.copy_from_slice(&self.rest[..rest_len]);
        self.edits.apply(rest);
        behind[..extensions.len()].copy_from_slice(extensions);
        let units = if extensions.is_empty() { 0 } else { (quoted_len / unit) as u8 };
        (quoted_len + extensions.len(), units)
    }
}

/// Writes an ICMP header at the start of a message, its checksum as zero.
fn put_header(fields: icmp::Fields, message: &mut [u8]) {
    if let Some(header) = message.first_chunk_mut() {
        fields.emit(header);
    }
}

/// Where the quote begins in an ICMPv6 error.
const IPV6_START: usize = wire::ipv6::HEADER_LEN + icmp::HEADER_LEN;
/// Where the quote begins in an ICMPv4 error.
const IPV4_START: usize = wire::ipv4::HEADER_LEN + icmp::HEADER_LEN;
/// Unit of the length of a quote in bytes: words of 32 bits (RFC 4884 section 4).
const IPV4_UNIT: usize = 4;
/// The same for IPv6: words of 64 bits.
const IPV6_UNIT: usize = 8;
/// The shortest quote that extensions may follow, in bytes (RFC 4884 section 3).
const QUOTED_LEN_MIN: usize = 128;
/// The greatest length that its field can say, in units.
const UNITS_MAX: usize = u8::MAX as usize;
