//! When two frames are the same: byte for byte, except for what fills a frame up to its least length.
//!
//! A short packet travels in a longer frame, and what stands behind the packet means nothing (IEEE
//! 802.3 clause 3.2.8). Kernels cut it off, switches keep it, cards write it anew.

use wire::ethernet::{HEADER_LEN, TYPE_ARP, TYPE_IPV4, TYPE_IPV6};

/// Whether a device gave what the oracle says.
pub(super) fn are_same(got: &[u8], expected: &[u8]) -> bool {
    got == expected || packet_of(got) == packet_of(expected)
}

/// The frame without what stands behind its packet; whole where its type does not tell.
fn packet_of(frame: &[u8]) -> &[u8] {
    let Some((header, payload)) = frame.split_at_checked(HEADER_LEN) else { return frame };
    let word = |at: usize| {
        payload.get(at..at + 2).map(|word| usize::from(u16::from_be_bytes([word[0], word[1]])))
    };
    let len = match u16::from_be_bytes([header[12], header[13]]) {
        TYPE_IPV4 => word(2),
        TYPE_IPV6 => word(4).map(|len| len + 40),
        TYPE_ARP => Some(28),
        _ => None,
    };
    let end = len.map_or(frame.len(), |len| HEADER_LEN + len);
    frame.get(..end).unwrap_or(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(total_len: u8, frame_len: usize, filling: u8) -> Vec<u8> {
        let mut frame = vec![7; 12];
        frame.extend([8, 0, 0x45, 0, 0, total_len]);
        frame.resize(HEADER_LEN + usize::from(total_len), 1);
        frame.resize(frame_len, filling);
        frame
    }

    #[test]
    fn what_fills_a_frame_up_is_not_compared() {
        assert!(are_same(&ipv4(30, 44, 0), &ipv4(30, 60, 0)));
        assert!(are_same(&ipv4(30, 60, 9), &ipv4(30, 60, 0)));
        assert!(!are_same(&ipv4(30, 44, 0), &ipv4(29, 60, 0)));
        let mut other = ipv4(30, 60, 0);
        other[43] ^= 1;
        assert!(!are_same(&other, &ipv4(30, 60, 0)), "the last byte of the packet");
    }

    #[test]
    fn frames_that_do_not_tell_their_length_are_compared_whole() {
        assert!(are_same(&[1, 2, 3], &[1, 2, 3]));
        assert!(!are_same(&[1, 2, 3], &[1, 2, 3, 0]));
        let long = ipv4(200, 60, 0);
        assert!(are_same(&long, &long), "a length beyond the frame");
        assert!(!are_same(&long[..59], &long));
        let mut unknown = ipv4(30, 60, 0);
        unknown[12] = 0x99;
        assert!(!are_same(&unknown[..44], &unknown));
    }
}
