//! Why the gateway of the model carries a packet no further, and the pieces of those that are cut.

use model_kit::host::{Cause, set_ipv4_checksum, word};

pub(super) const NOBODY: Cause = Cause { reason: "unknown-user", v4: (3, 1, 0), v6: (1, 3, 0) };
pub(super) const PROHIBITED: Cause =
    Cause { reason: "user-to-user", v4: (3, 13, 0), v6: (1, 1, 0) };

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
