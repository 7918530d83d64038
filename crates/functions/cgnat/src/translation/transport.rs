//! What becomes of a transport header: a few words of 16 bits, found before any is written.

use std::net::Ipv6Addr;

use wire::bytes::{put_u16, u16_at};
use wire::checksum::Sum;
use wire::icmp::{v4, v6};
use wire::{icmp, protocol, tcp, udp};

use super::{DCCP, Ends, Port, Refusal, UDP_LITE};

/// Words that become others.
#[derive(Clone, Copy, Default)]
pub(super) struct Edits {
    words: [(usize, u16); EDITS_MAX],
    count: usize,
}

impl Edits {
    /// Notes that the word at `at` becomes `value`.
    pub fn put(&mut self, at: usize, value: u16) {
        self.words[self.count] = (at, value);
        self.count += 1;
    }

    /// Makes the changes, as far as the bytes reach.
    pub fn apply(&self, transport: &mut [u8]) {
        for &(at, value) in &self.words[..self.count] {
            if let Some(word) = transport.get_mut(at..at + 2) {
                put_u16(word, 0, value);
            }
        }
    }
}

/// The changes of a header with ports or none, when `change` is added to what its checksum covers.
/// Of a packet that is only quoted, what is not there needs no change.
pub(super) fn of_ports(
    next: u8,
    transport: &[u8],
    mut change: Sum,
    port: Port,
    is_quoted: bool,
) -> Result<Edits, Refusal> {
    let mut edits = Edits::default();
    let Some(checksum_at) = checksum_at(next) else { return Ok(edits) };
    let word = |at: usize| transport.get(at..at + 2).map(|word| u16_at(word, 0));
    if !is_quoted && word(checksum_at).is_none() {
        return Err(Refusal::Malformed);
    }
    if let Some((at, new)) = port.place()
        && let Some(old) = word(at)
    {
        change = change.add_u16(!old).add_u16(new);
        edits.put(at, new);
    }
    match word(checksum_at) {
        Some(udp::CHECKSUM_NONE) if next == protocol::UDP => {}
        Some(old) => edits.put(checksum_at, field_of(next, change.add_u16(!old))),
        None => {}
    }
    Ok(edits)
}

/// The changes of an ICMPv4 echo of `len` bytes that becomes ICMPv6, or of what is quoted of it.
pub(super) fn echo_to_ipv6(
    message: &[u8],
    len: usize,
    ends: &Ends<Ipv6Addr>,
) -> Result<Edits, Refusal> {
    let header = message.first_chunk().ok_or(Refusal::Malformed)?;
    let kind = match header[icmp::offset::TYPE] {
        v4::ECHO_REQUEST => v6::ECHO_REQUEST,
        _ => v6::ECHO_REPLY,
    };
    let pseudo_header = Sum::ZERO
        .add_u128(ends.source.to_bits())
        .add_u128(ends.destination.to_bits())
        .add_u32(len as u32)
        .add_u16(u16::from(protocol::ICMPV6));
    Ok(of_echo(header, kind, pseudo_header, ends.port))
}

/// The changes of an ICMPv6 echo of `len` bytes that becomes ICMPv4, or of what is quoted of it,
/// when the addresses that its checksum covers are taken away.
pub(super) fn echo_to_ipv4(
    message: &[u8],
    len: usize,
    without_addresses: Sum,
    port: Port,
) -> Result<Edits, Refusal> {
    let header = message.first_chunk().ok_or(Refusal::Malformed)?;
    let kind = match header[icmp::offset::TYPE] {
        v6::ECHO_REQUEST => v4::ECHO_REQUEST,
        _ => v4::ECHO_REPLY,
    };
    let change = without_addresses.add_u32(!(len as u32)).add_u16(!u16::from(protocol::ICMPV6));
    Ok(of_echo(header, kind, change, port))
}

/// The changes of an echo that becomes one of another type, when `change` is added to what its
/// checksum covers.
fn of_echo(header: &[u8; icmp::HEADER_LEN], kind: u8, change: Sum, port: Port) -> Edits {
    let mut edits = Edits::default();
    let old = u16_at(header, icmp::offset::TYPE);
    let new = u16::from(kind) << 8 | old & 0xff;
    let mut change = change.add_u16(!old).add_u16(new);
    edits.put(icmp::offset::TYPE, new);
    if let Some(new) = port.identifier() {
        change = change.add_u16(!u16_at(header, icmp::offset::REST)).add_u16(new);
        edits.put(icmp::offset::REST, new);
    }
    let old = u16_at(header, icmp::offset::CHECKSUM);
    edits.put(icmp::offset::CHECKSUM, change.add_u16(!old).checksum());
    edits
}

/// Mends the one checksum that an update cannot tell: over IPv4, that of an echo reply of nothing
/// but zeros is 0xffff, while an update says 0. (Everything else that a checksum covers has a byte
/// that is not zero.)
pub(super) fn mend_zeros(message: &mut [u8]) {
    if message.iter().all(|&byte| byte == 0) {
        put_u16(message, icmp::offset::CHECKSUM, 0xffff);
    }
}

/// Whether a protocol has ports at the start of its header.
pub(super) const fn has_ports(next: u8) -> bool {
    matches!(next, protocol::TCP | protocol::UDP | protocol::SCTP | DCCP | UDP_LITE)
}

/// Where the checksum stands that covers addresses.
pub(super) const fn checksum_at(next: u8) -> Option<usize> {
    match next {
        protocol::TCP => Some(tcp::offset::CHECKSUM),
        // RFC 4340 section 5.1 and RFC 3828 section 3.1 have it in the same place.
        protocol::UDP | DCCP | UDP_LITE => Some(udp::offset::CHECKSUM),
        _ => None,
    }
}

/// The value of the checksum field for this sum.
fn field_of(next: u8, sum: Sum) -> u16 {
    match sum.checksum() {
        0 if matches!(next, protocol::UDP | UDP_LITE) => 0xffff,
        checksum => checksum,
    }
}

/// First word, identifier and checksum of an echo.
const EDITS_MAX: usize = 3;
