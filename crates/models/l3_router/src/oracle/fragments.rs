//! The model's fragments: RFC 791 section 3.1, "an example fragmentation procedure", step by step.

use model_kit::host::{internet_sum, word};

/// The fragments of a packet for a link; none where its options are broken.
pub(super) fn fragments(packet: &[u8], mtu: usize) -> Option<Vec<Vec<u8>>> {
    let header_len = usize::from(packet[0] % 16) * 4;
    let (header, mut data) = packet.split_at(header_len);
    let mut header = header.to_vec();
    let copied = copied(&header[20..])?;
    let (mut offset, last_flags) = (word(packet, 6) & 0x1fff, word(packet, 6) & 0xe000);
    let mut all = Vec::new();
    loop {
        let blocks = (mtu - header.len()) / 8;
        let is_last = header.len() + data.len() <= mtu;
        let (now, later) = data.split_at(if is_last { data.len() } else { blocks * 8 });
        let flags = if is_last { last_flags } else { last_flags | 0x2000 };
        header[0] = 0x40 + (header.len() / 4) as u8;
        let len = (header.len() + now.len()) as u16;
        header[2..4].copy_from_slice(&len.to_be_bytes());
        header[6..8].copy_from_slice(&(flags + offset).to_be_bytes());
        header[10..12].fill(0);
        let sum = !internet_sum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        all.push([&header[..], now].concat());
        if is_last {
            return Some(all);
        }
        data = later;
        offset = (offset + blocks as u16) & 0x1fff;
        header.truncate(20);
        header.extend(&copied);
    }
}

/// The options with the flag that they stand in all fragments, filled up with ends of the list.
fn copied(mut options: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    while let Some(&kind) = options.first() {
        let len = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(*options.get(1)?),
        };
        if len == 0 || len > options.len() || kind > 1 && len < 2 {
            return None;
        }
        if kind > 127 {
            kept.extend(&options[..len]);
        }
        options = &options[len..];
    }
    while kept.len() % 4 > 0 {
        kept.push(0);
    }
    Some(kept)
}
