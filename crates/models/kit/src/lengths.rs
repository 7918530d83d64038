//! What the models of several functions do with packets that are too long: segments are made
//! shorter from the start, packets are cut. Written from the texts, slow, and used by no pipeline.

use crate::host::{set_ipv4_checksum, word};

/// RFC 4459 section 3.2: the packet with the maximum segment size of a SYN (RFC 9293 section 3.2)
/// lowered, if that is more than what is wanted, which is 0 for any.
pub fn clamped(mut packet: Vec<u8>, most: u16) -> Vec<u8> {
    let (begin, carries, most) = match packet[0] >> 4 {
        4 if word(&packet, 6) & 0x1fff == 0 => (20, packet[9], most),
        6 => (40, packet[6], most.saturating_sub(20)),
        _ => return packet,
    };
    let Some(segment) = packet.get(begin..).filter(|_| most > 0 && carries == 6) else {
        return packet;
    };
    if segment.len() < 20 || segment[13] & 2 == 0 {
        return packet;
    }
    let end = begin + usize::from(segment[12] >> 4) * 4;
    if end < begin + 20 || end > packet.len() {
        return packet;
    }
    let mut at = begin + 20;
    while at < end {
        let (kind, len) = (packet[at], packet.get(at + 1).map_or(0, |len| usize::from(*len)));
        match kind {
            0 => break,
            1 => at += 1,
            _ if len < 2 || at + len > end => break,
            2 if len == 4 => {
                if word(&packet, at + 2) > most {
                    lower(&mut packet, (begin, end), at + 2, most);
                }
                break;
            }
            _ => at += len,
        }
    }
    packet
}

/// RFC 1624 equation 3, over all 16-bit words of the header that change.
fn lower(packet: &mut [u8], (begin, end): (usize, usize), at: usize, most: u16) {
    let before = packet[begin..end].to_vec();
    packet[at..at + 2].copy_from_slice(&most.to_be_bytes());
    let mut sum = u32::from(!word(packet, begin + 16));
    for place in (0..end - begin).step_by(2) {
        let (old, new) = (word(&before, place), word(packet, begin + place));
        sum += if old == new { 0 } else { u32::from(!old) + u32::from(new) };
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[begin + 16..begin + 18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// RFC 791 section 3.1: the pieces of a packet without options.
pub fn pieces(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
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
