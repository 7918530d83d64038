//! ICMP errors and echo replies of the model, as packets of IP, byte by byte.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::packets::{internet_sum, set_ipv4_checksum, word};

/// Why a packet goes no further: the reason by which it is dropped, and type, code and the rest of
/// the header of the error about it, for IPv4 and for IPv6.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    pub reason: &'static str,
    pub v4: (u8, u8, u32),
    pub v6: (u8, u8, u32),
}

pub(super) const EXPIRED: Cause = Cause { reason: "ttl-expired", v4: (11, 0, 0), v6: (3, 0, 0) };
pub(super) const NO_ROUTE: Cause = Cause { reason: "no-route", v4: (3, 0, 0), v6: (1, 0, 0) };
pub(super) const NOBODY: Cause = Cause { reason: "unknown-user", v4: (3, 1, 0), v6: (1, 3, 0) };

pub(super) const PROHIBITED: Cause =
    Cause { reason: "user-to-user", v4: (3, 13, 0), v6: (1, 1, 0) };

pub(super) fn too_big(mtu: usize) -> Cause {
    let mtu = mtu as u32;
    Cause { reason: "too-big", v4: (3, 4, mtu), v6: (2, 0, mtu) }
}

/// RFC 792; RFC 1812 sections 4.3.2.3 (how much is quoted), 4.3.2.5 (precedence), 4.3.2.7 (about
/// what none is sent), of a packet without options.
pub(super) fn ipv4(
    packet: &[u8],
    own: Ipv4Addr,
    (kind, code, rest): (u8, u8, u32),
) -> Option<Vec<u8>> {
    let is_host = |at: usize| !matches!(packet[at], 0 | 127 | 224..);
    let is_query = |kind: &u8| [0, 8, 9, 10].contains(kind) || (13..19).contains(kind);
    let is_error = packet[9] == 1 && !packet.get(20).is_some_and(is_query);
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

/// RFC 4443 section 2.4.
pub(super) fn ipv6(
    packet: &[u8],
    own: Ipv6Addr,
    (kind, code, rest): (u8, u8, u32),
) -> Option<Vec<u8>> {
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&packet[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    let (source, to_group) = (address(8), packet[24] == 0xff);
    if source.is_unspecified() || source.is_multicast() || source.is_loopback() || to_group {
        return None;
    }
    let (protocol, message, is_middle) = behind(packet)?;
    let is_error = protocol == 58 && message.first().is_none_or(|kind| *kind < 128 || *kind == 137);
    if is_error || is_middle {
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

/// RFC 8200 section 4: what stands behind the extension headers, and whether that is the middle of
/// a datagram; none where they are broken, or more than eight.
fn behind(packet: &[u8]) -> Option<(u8, &[u8], bool)> {
    let (mut protocol, mut message, mut is_middle) = (packet[6], &packet[40..], false);
    for _ in 0..9 {
        if is_middle || ![0, 43, 44, 51, 60].contains(&protocol) {
            return Some((protocol, message, is_middle));
        }
        let start = message.get(..8)?;
        let len = match protocol {
            44 => {
                is_middle = word(start, 2) / 8 > 0;
                8
            }
            51 => (usize::from(start[1]) + 2) * 4,
            _ => (usize::from(start[1]) + 1) * 8,
        };
        message = message.get(len..)?;
        protocol = start[0];
    }
    None
}

/// RFC 792: the reply to an echo request, with the same data; none to anything else.
pub(super) fn echo_reply(packet: &[u8]) -> Result<Vec<u8>, &'static str> {
    let message = &packet[20..];
    if message.len() < 8 || internet_sum(message) != 0xffff {
        return Err("icmp-malformed");
    }
    if message[..2] != [8, 0] {
        return Err("not-tunnel");
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
    Ok([ip, message].concat())
}

/// RFC 791 section 3.1: the pieces of a packet without options.
pub(super) fn pieces(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let (mut offset, flags) = (word(packet, 6) & 0x1fff, word(packet, 6) & 0xe000);
    let blocks = (mtu - 20) / 8;
    let mut rest = &packet[20..];
    let mut all = Vec::new();
    loop {
        let is_last = 20 + rest.len() <= mtu;
        let (now, later) = rest.split_at(if is_last { rest.len() } else { blocks * 8 });
        let place = offset & 0x1fff | flags | if is_last { 0 } else { 0x2000 };
        let mut piece = [&packet[..20], now].concat();
        let len = (20 + now.len()) as u16;
        piece[2..4].copy_from_slice(&len.to_be_bytes());
        piece[6..8].copy_from_slice(&place.to_be_bytes());
        set_ipv4_checksum(&mut piece);
        all.push(piece);
        if is_last {
            return all;
        }
        (rest, offset) = (later, offset.wrapping_add(blocks as u16));
    }
}
