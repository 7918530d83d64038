//! Frames between a client and a server, as they are sent and as they come out translated.
//!
//! Ethernet, IPv4 without options and with don't-fragment (an atomic datagram, RFC 6864), then UDP,
//! TCP or an ICMP echo. A frame that bears a stamp is zero between its headers and the stamp, so
//! that its checksum is made and checked without reading that part; that the rest of the payload is
//! untouched is left to the functional check. TCP segments without data have their length in the
//! IPv4 header and fill the shortest Ethernet frame up.

use traffic::Stamp;
use traffic::stamp::STAMP_LEN;
use wire::bytes::{put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{Sum, header_checksum, header_is_valid};
use wire::ethernet::TYPE_IPV4;
use wire::{MacAddr, protocol, udp};

/// The protocol of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
    /// Echo requests and replies; the client's port is their identifier.
    Icmp,
}

impl Protocol {
    /// Its number in an IPv4 header.
    #[inline(always)]
    pub fn number(self) -> u8 {
        NUMBERS[self as usize]
    }
}

/// Who speaks to whom: addresses, and ports or the identifier of an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// From.
    pub source: u32,
    /// To.
    pub destination: u32,
    /// From; 0 for an echo reply.
    pub source_port: u16,
    /// To; 0 for an echo request.
    pub destination_port: u16,
}

/// Sequence number, acknowledgement and flags of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement.
    pub acknowledged: u32,
    /// Flags, as [`FIN`] and the others.
    pub flags: u8,
}

/// What a frame that came out is, as far as it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether an echo is a request; true for the other protocols.
    pub is_request: bool,
    /// Between whom.
    pub ends: Ends,
    /// The Ethernet header's first 12 bytes.
    pub macs: [u8; 12],
    /// Hops that it may yet go.
    pub ttl: u8,
    /// Length of the IPv4 packet in bytes.
    pub total_len: u16,
    /// Zeroes but for TCP.
    pub segment: Segment,
    /// Whether it bears data beyond its headers.
    pub has_data: bool,
    /// Whether the checksums are right.
    pub is_sound: bool,
}

/// Destination and source of an Ethernet frame, as they stand in it.
pub fn macs(destination: MacAddr, source: MacAddr) -> [u8; 12] {
    let mut macs = [0; 12];
    macs[..6].copy_from_slice(&destination.0);
    macs[6..].copy_from_slice(&source.0);
    macs
}

/// Length of the shortest frame with a stamp, in bytes without check sequence.
#[inline(always)]
pub fn len_min(protocol: Protocol) -> usize {
    PAYLOAD_AT[protocol as usize] + STAMP_LEN
}

/// Writes a frame that bears a stamp, all of it.
#[inline(always)]
pub fn write_data(
    macs: &[u8; 12],
    (protocol, ends, segment): (Protocol, &Ends, Segment),
    is_request: bool,
    stamp: Stamp,
    frame: &mut [u8],
) {
    let packet_len = frame.len() - IP;
    frame[TRANSPORT..].fill(0);
    write_headers(macs, (protocol, ends), packet_len as u16, frame);
    stamp.write(frame);
    write_transport(protocol, ends, segment, is_request, packet_len, frame);
    let sum = sum_of(protocol, ends, packet_len, frame).add_u16(tail_sum(frame));
    put_checksum(protocol, sum.checksum(), frame);
}

/// Writes a TCP segment without data, all of it; one with SYN names a maximum segment size.
#[inline(always)]
pub fn write_bare(macs: &[u8; 12], ends: &Ends, segment: Segment, frame: &mut [u8]) {
    let packet_len = bare_len(segment.flags);
    frame[TRANSPORT..].fill(0);
    write_headers(macs, (Protocol::Tcp, ends), packet_len as u16, frame);
    write_transport(Protocol::Tcp, ends, segment, true, packet_len, frame);
    let mut sum = sum_of(Protocol::Tcp, ends, packet_len, frame);
    if segment.flags & SYN != 0 {
        frame[TRANSPORT + 12] = 6 << 4;
        put_u32(frame, TRANSPORT + TCP_LEN, OPTION_MSS);
        sum = sum.add_u16(1 << 12).add_u32(OPTION_MSS);
    }
    put_checksum(Protocol::Tcp, sum.checksum(), frame);
}

/// Length of the packet that a segment without data is.
pub fn bare_len(flags: u8) -> usize {
    IP_LEN + TCP_LEN + if flags & SYN != 0 { 4 } else { 0 }
}

/// Reads a frame that may be one of these; none for any other.
#[inline(always)]
pub fn read(frame: &[u8]) -> Option<Seen> {
    let ip: &[u8; IP_LEN] = frame.get(IP..)?.first_chunk()?;
    if u16_at(frame, 12) != TYPE_IPV4 || ip[0] != 0x45 || u16_at(ip, 6) & !DONT_FRAGMENT != 0 {
        return None;
    }
    let protocol = match ip[9] {
        protocol::UDP => Protocol::Udp,
        protocol::TCP => Protocol::Tcp,
        protocol::ICMP => Protocol::Icmp,
        _ => return None,
    };
    let total_len = u16_at(ip, 2);
    let end = IP + usize::from(total_len);
    let header_end = PAYLOAD_AT[protocol as usize];
    if frame.len() < end.max(header_end) || end < header_end {
        return None;
    }
    let at = TRANSPORT;
    let (ports, segment, data_at) = match protocol {
        Protocol::Udp => ((u16_at(frame, at), u16_at(frame, at + 2)), NO_SEGMENT, header_end),
        Protocol::Icmp if frame[at] == ECHO => ((u16_at(frame, at + 4), 0), NO_SEGMENT, header_end),
        Protocol::Icmp if frame[at] == REPLY => {
            ((0, u16_at(frame, at + 4)), NO_SEGMENT, header_end)
        }
        Protocol::Icmp => return None,
        Protocol::Tcp => {
            let segment = Segment {
                sequence: u32_at(frame, at + 4),
                acknowledged: u32_at(frame, at + 8),
                flags: frame[at + 13],
            };
            let ports = (u16_at(frame, at), u16_at(frame, at + 2));
            (ports, segment, at + usize::from(frame[at + 12] >> 4) * 4)
        }
    };
    let ends = Ends {
        source: u32_at(ip, 12),
        destination: u32_at(ip, 16),
        source_port: ports.0,
        destination_port: ports.1,
    };
    let has_data = end > data_at;
    let packet = &frame[..end];
    let mut sum = sum_of(protocol, &ends, usize::from(total_len), packet);
    sum = sum.add_u16(checksum_of(protocol, packet));
    // With options, or without a stamp, every byte behind the header counts.
    sum = match data_at == header_end && end >= data_at + STAMP_LEN {
        true => sum.add_u16(tail_sum(packet)),
        false => sum.add_bytes(&packet[header_end..]),
    };
    // UDP without a checksum has lost it on the way.
    let has_checksum = protocol != Protocol::Udp || checksum_of(protocol, packet) != 0;
    Some(Seen {
        protocol,
        is_request: protocol != Protocol::Icmp || frame[at] == ECHO,
        ends,
        macs: *frame.first_chunk()?,
        ttl: ip[8],
        total_len,
        segment,
        has_data,
        is_sound: header_is_valid(ip) && sum.fold() == 0xffff && has_checksum,
    })
}

/// The frame that a packet is in, without what fills it up.
pub fn unpadded<'a>(frame: &'a [u8], seen: &Seen) -> &'a [u8] {
    &frame[..IP + usize::from(seen.total_len)]
}

#[inline(always)]
fn write_headers(
    macs: &[u8; 12],
    (protocol, ends): (Protocol, &Ends),
    packet_len: u16,
    frame: &mut [u8],
) {
    frame[..12].copy_from_slice(macs);
    put_u16(frame, 12, TYPE_IPV4);
    let mut ip = [0; IP_LEN];
    (ip[0], ip[6], ip[8], ip[9]) = (0x45, 0x40, TTL, protocol.number());
    put_u16(&mut ip, 2, packet_len);
    put_u32(&mut ip, 12, ends.source);
    put_u32(&mut ip, 16, ends.destination);
    let checksum = header_checksum(&ip);
    put_u16(&mut ip, 10, checksum);
    frame[IP..TRANSPORT].copy_from_slice(&ip);
}

/// The transport header with a checksum of zero, in a frame that is zero from there on.
#[inline(always)]
fn write_transport(
    protocol: Protocol,
    ends: &Ends,
    segment: Segment,
    is_request: bool,
    packet_len: usize,
    frame: &mut [u8],
) {
    let at = TRANSPORT;
    match protocol {
        Protocol::Udp => {
            put_u16(frame, at, ends.source_port);
            put_u16(frame, at + 2, ends.destination_port);
            put_u16(frame, at + 4, (packet_len - IP_LEN) as u16);
        }
        Protocol::Tcp => {
            put_u16(frame, at, ends.source_port);
            put_u16(frame, at + 2, ends.destination_port);
            put_u32(frame, at + 4, segment.sequence);
            put_u32(frame, at + 8, segment.acknowledged);
            frame[at + 12] = 5 << 4;
            frame[at + 13] = segment.flags;
            put_u16(frame, at + 14, WINDOW);
        }
        Protocol::Icmp => {
            frame[at] = if is_request { ECHO } else { REPLY };
            let identifier = if is_request { ends.source_port } else { ends.destination_port };
            put_u16(frame, at + 4, identifier);
        }
    }
}

/// The sum of pseudo-header and transport header, without the checksum in it.
#[inline(always)]
fn sum_of(protocol: Protocol, ends: &Ends, packet_len: usize, packet: &[u8]) -> Sum {
    let at = TRANSPORT;
    if protocol == Protocol::Icmp {
        return Sum::ZERO.add_u16(u16_at(packet, at)).add_u32(u32_at(packet, at + 4));
    }
    let sum = Sum::ZERO
        .add_u32(ends.source)
        .add_u32(ends.destination)
        .add_u16(u16::from(protocol.number()))
        .add_u16((packet_len - IP_LEN) as u16)
        .add_u32(u32_at(packet, at));
    match protocol {
        Protocol::Udp => sum.add_u16(u16_at(packet, at + 4)),
        _ => sum
            .add_u32(u32_at(packet, at + 4))
            .add_u32(u32_at(packet, at + 8))
            .add_u32(u32_at(packet, at + 12))
            .add_u16(u16_at(packet, at + 18)),
    }
}

/// What the stamp at the end of a packet adds to its transport checksum.
#[inline(always)]
fn tail_sum(packet: &[u8]) -> u16 {
    let Some(tail) = packet.last_chunk::<STAMP_LEN>() else { return 0 };
    let sum = Sum::ZERO
        .add_u16(u16_at(tail, 0))
        .add_u32(u32_at(tail, 2))
        .add_u32(u32_at(tail, 6))
        .add_u32(u32_at(tail, 10))
        .add_u32(u32_at(tail, 14))
        .fold();
    // Words are counted from the transport header on (RFC 1071 section 2 B).
    if packet.len().is_multiple_of(2) { sum } else { sum.swap_bytes() }
}

#[inline(always)]
fn checksum_of(protocol: Protocol, packet: &[u8]) -> u16 {
    u16_at(packet, TRANSPORT + CHECKSUM_AT[protocol as usize])
}

#[inline(always)]
fn put_checksum(protocol: Protocol, checksum: u16, frame: &mut [u8]) {
    let checksum = if protocol == Protocol::Udp && checksum == 0 { 0xffff } else { checksum };
    put_u16(frame, TRANSPORT + CHECKSUM_AT[protocol as usize], checksum);
}

/// Set as frames are sent; a router takes one off.
pub const TTL: u8 = 64;
/// The sender has no more.
pub const FIN: u8 = 0x01;
/// The first segment.
pub const SYN: u8 = 0x02;
/// Data to be handed on at once.
pub const PSH: u8 = 0x08;
/// The acknowledgement counts.
pub const ACK: u8 = 0x10;
/// Of protocols that have none.
pub const NO_SEGMENT: Segment = Segment { sequence: 0, acknowledged: 0, flags: 0 };

const IP: usize = 14;
const IP_LEN: usize = 20;
const TRANSPORT: usize = IP + IP_LEN;
const TCP_LEN: usize = 20;
const DONT_FRAGMENT: u16 = 0x4000;
const ECHO: u8 = 8;
const REPLY: u8 = 0;
const WINDOW: u16 = 0xffff;
/// A maximum segment size of 1460 bytes.
const OPTION_MSS: u32 = 0x0204_05b4;

/// By protocol.
const NUMBERS: [u8; 3] = [protocol::UDP, protocol::TCP, protocol::ICMP];
const PAYLOAD_AT: [usize; 3] = [TRANSPORT + udp::HEADER_LEN, TRANSPORT + TCP_LEN, TRANSPORT + 8];
const CHECKSUM_AT: [usize; 3] = [6, 16, 2];

#[cfg(test)]
mod tests;
