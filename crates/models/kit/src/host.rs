//! The model of a function as a host of IP: what its senders are told of packets that go no
//! further, and what becomes of pings. Packets are read and built byte by byte from the texts of
//! the standards; they begin with the header of IP and have no padding.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Why a packet goes no further: the reason by which it is dropped, and what an error about it
/// says.
#[derive(Clone, Copy)]
pub struct Cause {
    /// The reason.
    pub reason: &'static str,
    /// Type, code and the rest of the header, for IPv4.
    pub v4: (u8, u8, u32),
    /// The same for IPv6.
    pub v6: (u8, u8, u32),
}

/// Its time to live ends.
pub const EXPIRED: Cause = Cause { reason: "ttl-expired", v4: (11, 0, 0), v6: (3, 0, 0) };
/// No route leads to where it goes.
pub const NO_ROUTE: Cause = Cause { reason: "no-route", v4: (3, 0, 0), v6: (1, 0, 0) };

/// It is longer than these bytes, which are the most that pass.
pub fn too_big(mtu: usize) -> Cause {
    let mtu = mtu as u32;
    Cause { reason: "too-big", v4: (3, 4, mtu), v6: (2, 0, mtu) }
}

/// The error about a packet: RFC 792; RFC 1812 sections 4.3.2.3 (how much is quoted), 4.3.2.5
/// (precedence), 4.3.2.7 (about what none is sent).
pub fn error_ipv4(
    packet: &[u8],
    own: Ipv4Addr,
    (kind, code, rest): (u8, u8, u32),
) -> Option<Vec<u8>> {
    let options = 4 * usize::from(packet[0] % 16);
    let is_host = |at: usize| !matches!(packet[at], 0 | 127 | 224..);
    let is_query = |kind: &u8| [0, 8, 9, 10].contains(kind) || (13..19).contains(kind);
    let is_error = packet[9] == 1 && !packet.get(options).is_some_and(is_query);
    if word(packet, 6) & 0x1fff != 0 || is_error || !is_host(12) || !is_host(16) {
        return None;
    }
    let quoted = &packet[..packet.len().min(548)];
    let mut message = [&[kind, code, 0, 0], &rest.to_be_bytes()[..], quoted].concat();
    let sum = !internet_sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let len = (20 + message.len() as u16).to_be_bytes();
    let fixed = [&[0x45, 0xc0], &len[..], &[0, 0, 0x40, 0, 64, 1, 0, 0]].concat();
    let mut ip = [&fixed[..], &own.octets(), &packet[12..16]].concat();
    set_ipv4_checksum(&mut ip);
    Some([ip, message].concat())
}

/// The error about a packet of IPv6: RFC 4443 section 2.4.
pub fn error_ipv6(
    packet: &[u8],
    own: Ipv6Addr,
    (kind, code, rest): (u8, u8, u32),
) -> Option<Vec<u8>> {
    let mut source = [0; 16];
    source.copy_from_slice(&packet[8..24]);
    let (source, to_group) = (Ipv6Addr::from(source), packet[24] == 0xff);
    if source.is_unspecified() || source.is_multicast() || source.is_loopback() || to_group {
        return None;
    }
    let Upper { protocol, message, fragment } = Upper::of(packet)?;
    let is_error = protocol == 58 && message.first().is_none_or(|kind| *kind < 128 || *kind == 137);
    if is_error || fragment.is_some_and(|offset| offset > 0) {
        return None;
    }
    let quoted = &packet[..packet.len().min(1232)];
    let mut message = [&[kind, code, 0, 0], &rest.to_be_bytes()[..], quoted].concat();
    let len = message.len() as u16;
    let ends = [&own.octets()[..], &packet[8..24]].concat();
    let pseudo = [&ends[..], &[0, 0], &len.to_be_bytes(), &[0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let fixed = [&[0x6c, 0, 0, 0], &len.to_be_bytes()[..], &[58, 64]].concat();
    Some([fixed, ends, message].concat())
}

/// The reply to an echo request, with the same data; none to anything else, nor behind options: RFC
/// 792.
///
/// # Errors
/// The reason by which ICMP with a wrong checksum, or that is cut, is dropped.
pub fn echo_ipv4(packet: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let options = 4 * usize::from(packet[0] % 16);
    let message = &packet[options..];
    if message.len() < 8 || internet_sum(message) != 0xffff {
        return Err("icmp-malformed");
    }
    if options > 20 || message[..2] != [8, 0] {
        return Ok(None);
    }
    let mut message = [&[0, 0, 0, 0], &message[4..]].concat();
    let sum = !internet_sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip = packet[..20].to_vec();
    // Flags are kept but for the reserved one.
    ip[6] &= 0x7f;
    ip[8] = 64;
    ip[12..16].copy_from_slice(&packet[16..20]);
    ip[16..20].copy_from_slice(&packet[12..16]);
    set_ipv4_checksum(&mut ip);
    Ok(Some([ip, message].concat()))
}

/// The reply to an echo request right behind the header of IPv6, with the same data; none to
/// anything else: RFC 4443 section 4.2.
///
/// # Errors
/// The reason by which ICMPv6 with a wrong checksum, or that is cut, is dropped.
pub fn echo_ipv6(packet: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    if packet[6] != 58 {
        return Ok(None);
    }
    let message = &packet[40..];
    let len = (message.len() as u32).to_be_bytes();
    let pseudo = [&packet[8..40], &len, &[0, 0, 0, 58], message].concat();
    if message.len() < 8 || internet_sum(&pseudo) != 0xffff {
        return Err("icmp-malformed");
    }
    if message[..2] != [128, 0] {
        return Ok(None);
    }
    let (from, to) = (&packet[8..24], &packet[24..40]);
    let mut message = [&[129, 0, 0, 0], &message[4..]].concat();
    let pseudo = [to, from, &len, &[0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    Ok(Some([&packet[..7], &[64], to, from, &message].concat()))
}

/// What stands behind the extension headers of a packet of IPv6.
pub struct Upper<'a> {
    /// What protocol it is.
    pub protocol: u8,
    /// It, to the end of the packet.
    pub message: &'a [u8],
    /// The offset of a fragment, in units of 8 bytes.
    pub fragment: Option<u16>,
}

impl Upper<'_> {
    /// At most eight extension headers; none where one reaches beyond the packet: RFC 8200 section
    /// 4.
    pub fn of(packet: &[u8]) -> Option<Upper<'_>> {
        let mut upper = Upper { protocol: packet[6], message: &packet[40..], fragment: None };
        for _ in 0..9 {
            let is_middle = upper.fragment.is_some_and(|offset| offset > 0);
            if is_middle || ![0, 43, 44, 51, 60].contains(&upper.protocol) {
                return Some(upper);
            }
            let start = upper.message.get(..8)?;
            let len = match upper.protocol {
                44 => {
                    upper.fragment = Some(word(start, 2) / 8);
                    8
                }
                51 => (usize::from(start[1]) + 2) * 4,
                _ => (usize::from(start[1]) + 1) * 8,
            };
            upper.message = upper.message.get(len..)?;
            upper.protocol = start[0];
        }
        None
    }
}

/// The ones'-complement sum of all words, the last one filled with zero: RFC 1071.
pub fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Computes the checksum of a header of IPv4 without options.
pub fn set_ipv4_checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = !internet_sum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The 16-bit number at an offset.
pub fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
