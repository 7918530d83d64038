//! The code point of a packet: which colour it means, and writing another one.

use tables::policer::Colour;
use wire::bytes::{put_u16, u16_at};
use wire::{ethernet, ipv4};

/// The differentiated services code point of a packet in its frame.
#[inline(always)]
pub fn dscp(frame: &[u8], is_ipv6: bool) -> u8 {
    let first = u16_at(frame, ethernet::HEADER_LEN);
    let class = if is_ipv6 { first >> 4 } else { first };
    (class as u8) >> 2
}

/// The colour with which a packet comes: the drop precedence of assured forwarding (RFC 2597), and
/// green for every other code point.
#[inline(always)]
pub fn colour_of(dscp: u8) -> Colour {
    let is_assured = dscp & 1 == 0 && (1..=4).contains(&(dscp >> 3));
    match (is_assured, dscp >> 1 & 3) {
        (true, 2) => Colour::Yellow,
        (true, 3) => Colour::Red,
        _ => Colour::Green,
    }
}

/// Writes a code point; congestion marks stay (RFC 3168), and IPv4's checksum is corrected (RFC
/// 1624).
#[inline(always)]
pub fn set_dscp(frame: &mut [u8], is_ipv6: bool, dscp: u8) {
    let old = u16_at(frame, ethernet::HEADER_LEN);
    let shift = if is_ipv6 { 6 } else { 2 };
    let new = old & !(0x3f << shift) | u16::from(dscp) << shift;
    put_u16(frame, ethernet::HEADER_LEN, new);
    if !is_ipv6 {
        let at = ethernet::HEADER_LEN + ipv4::offset::CHECKSUM;
        let sum = u32::from(!u16_at(frame, at)) + u32::from(!old) + u32::from(new);
        let sum = (sum & 0xffff) + (sum >> 16);
        put_u16(frame, at, !((sum & 0xffff) + (sum >> 16)) as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_is_written_with_a_right_checksum() {
        for (old, new) in (0..64).flat_map(|old| (0..64).map(move |new| (old, new))) {
            let packet =
                model_kit::build::packet([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 17, &[7; 30]);
            let mut frame = [&[0; 14][..], &packet].concat();
            set_dscp(&mut frame, false, old);
            frame[15] |= 1;
            let sum = u16_at(&frame, 24);
            put_u16(&mut frame, 24, if sum == 0 { 0xfffe } else { sum.wrapping_sub(1) });
            set_dscp(&mut frame, false, new);
            assert_eq!((dscp(&frame, false), frame[15] & 3), (new, 1));
            let header = frame[14..].first_chunk().expect("a header");
            assert!(wire::checksum::header_is_valid(header), "{old} to {new}");
            let mut frame = [&[0; 14][..], &[0x6a, 0xbc, 0xde, 0xf0], &[0; 40]].concat();
            set_dscp(&mut frame, true, new);
            assert_eq!(dscp(&frame, true), new);
            assert_eq!((frame[14] >> 4, frame[15] & 0x3f, frame[16]), (6, 0x3c, 0xde));
        }
    }

    #[test]
    fn assured_forwarding_has_three_colours_and_all_else_is_green() {
        for class in 1..=4 {
            let colours = [1, 2, 3].map(|precedence| colour_of(class << 3 | precedence << 1));
            assert_eq!(colours, [Colour::Green, Colour::Yellow, Colour::Red]);
        }
        for other in [0, 8, 46, 48, 11, 13, 44, 4, 6] {
            assert_eq!(colour_of(other), Colour::Green, "{other}");
        }
    }
}
