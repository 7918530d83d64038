//! Cutting an IPv4 packet into pieces that a link takes (RFC 791 section 2.3 and 3.1).
//!
//! Every piece but the last carries as many whole units of 8 bytes as fit; options that say so
//! stand in all pieces, the others in the first alone. A packet that is a fragment itself keeps its
//! place in the whole. Whether a packet may be cut is the caller's question.

use wire::bytes::{put_u16, u16_at};
use wire::{checksum, ethernet, ipv4};

/// Gives each piece of the packet in a frame without padding, in order and with the frame's
/// Ethernet header, put together in `scratch`. False, and nothing was given, where the packet or
/// its options are broken, or the link takes no unit.
pub fn pieces(
    frame: &[u8],
    mtu: u16,
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(usize, &[u8]),
) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let Ok(view) = ipv4::View::parse_without_checksum(packet) else { return false };
    let first_len = view.header_len();
    let mut copied = [0; ipv4::HEADER_LEN_MAX - ipv4::HEADER_LEN];
    let Some(copied_len) = options_of_all(&view, &mut copied) else { return false };
    let old = u16_at(packet, ipv4::offset::FLAGS_FRAGMENT);
    let (mut rest, mut offset, mut number) = (view.payload(), view.fragment_offset(), 0);
    if usize::from(mtu) < first_len + UNIT {
        return false;
    }
    loop {
        let is_first = number == 0;
        let header_len = if is_first { first_len } else { ipv4::HEADER_LEN + copied_len };
        let most = (usize::from(mtu) - header_len) / UNIT * UNIT;
        let is_last = rest.len() <= usize::from(mtu) - header_len;
        let (now, later) = rest.split_at(if is_last { rest.len() } else { most });
        scratch.clear();
        scratch.extend_from_slice(&frame[..ethernet::HEADER_LEN + ipv4::HEADER_LEN]);
        match is_first {
            true => scratch.extend_from_slice(&packet[ipv4::HEADER_LEN..first_len]),
            false => scratch.extend_from_slice(&copied[..copied_len]),
        }
        scratch.extend_from_slice(now);
        let more = if is_last { old } else { old | ipv4::FLAG_MORE_FRAGMENTS };
        let flags = more & !ipv4::FRAGMENT_OFFSET_MASK | offset & ipv4::FRAGMENT_OFFSET_MASK;
        state(&mut scratch[ethernet::HEADER_LEN..], header_len, flags);
        each(number, scratch);
        if is_last {
            return true;
        }
        (rest, number) = (later, number + 1);
        offset = offset.wrapping_add((most / UNIT) as u16);
    }
}

/// Makes a packet that was cut off behind its first piece say so.
pub fn make_first(packet: &mut [u8]) {
    let header_len = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    if (ipv4::HEADER_LEN..=packet.len()).contains(&header_len) {
        let flags = u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) | ipv4::FLAG_MORE_FRAGMENTS;
        state(packet, header_len, flags);
    }
}

/// Makes the header of a piece say what the piece is.
fn state(packet: &mut [u8], header_len: usize, flags: u16) {
    let total_len = packet.len() as u16;
    packet[ipv4::offset::VERSION_IHL] = ipv4::VERSION << 4 | (header_len / 4) as u8;
    put_u16(packet, ipv4::offset::TOTAL_LEN, total_len);
    put_u16(packet, ipv4::offset::FLAGS_FRAGMENT, flags);
    put_u16(packet, ipv4::offset::CHECKSUM, 0);
    let sum = checksum::checksum(&packet[..header_len]);
    put_u16(packet, ipv4::offset::CHECKSUM, sum);
}

/// The options that stand in all pieces, filled up to whole words; none where options are broken.
fn options_of_all(view: &ipv4::View<'_>, place: &mut [u8]) -> Option<usize> {
    let mut len = 0;
    for option in view.options() {
        let option = option.ok()?;
        if option.kind & COPIED == 0 {
            continue;
        }
        let end = len + 2 + option.data.len();
        let room = place.get_mut(len..end)?;
        (room[0], room[1]) = (option.kind, (2 + option.data.len()) as u8);
        room[2..].copy_from_slice(option.data);
        len = end;
    }
    Some(len.next_multiple_of(4))
}

/// What fragments are counted in, in bytes.
const UNIT: usize = 8;

/// The flag of options that stand in all fragments.
const COPIED: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use model_kit::build;

    #[test]
    fn pieces_fit_the_link_and_make_the_whole_again() {
        let payload = build::text(1000);
        let (from, to) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut packet = build::packet(from, to, 17, &payload);
        build::add_options(&mut packet);
        let frame = build::frame(
            wire::MacAddr::ZERO,
            wire::MacAddr::BROADCAST,
            ethernet::TYPE_IPV4,
            &packet,
        );
        for mtu in [40, 100, 577, 1023] {
            let (mut whole, mut last) = (Vec::new(), false);
            assert!(pieces(&frame, mtu, &mut Vec::new(), |number, piece| {
                let view = ipv4::View::parse(&piece[ethernet::HEADER_LEN..]).expect("sound");
                assert!(view.total_len() <= mtu && !last, "piece {number} for {mtu}");
                assert_eq!(usize::from(view.fragment_offset()) * UNIT, whole.len());
                assert!(view.has_options(), "router alert stands in all");
                whole.extend_from_slice(view.payload());
                last = !view.more_fragments();
            }));
            assert!(last && whole == payload, "for {mtu}");
        }
        assert!(!pieces(&frame, 31, &mut Vec::new(), |_, _| panic!("no unit fits")));
    }
}
