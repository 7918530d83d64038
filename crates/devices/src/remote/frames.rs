//! When two frames are the same: byte for byte, except for what fills a frame up to its least
//! length, for what is the tunnelling device's own choice in the outer header of a VXLAN tunnel,
//! and for the time that a remote mirror tells, which is that of the device's clock.
//!
//! A short packet travels in a longer frame, and what stands behind the packet means nothing (IEEE
//! 802.3 clause 3.2.8). Kernels cut it off, switches keep it, cards write it anew.

use model_kit::check::Expected;
use packet::PortId;
use wire::checksum::header_is_valid;
use wire::ethernet::{HEADER_LEN, TYPE_ARP, TYPE_IPV4, TYPE_IPV6};
use wire::vxlan::VXLAN_PORT;
use wire::{erspan_iii, ipv4, protocol, udp};

/// Returns true if a device sent what the oracle expects.
pub(super) fn are_same(got: &[u8], expected: &[u8]) -> bool {
    let [got, expected] = [packet_of(got), packet_of(expected)];
    got == expected
        || outer_of_vxlan(got).is_some() && same_tunnels(got, expected)
        || without_time(got).is_some_and(|got| without_time(expected) == Some(got))
}

/// Returns a copy of a remote mirror frame of ERSPAN type III without its time stamp; `None` for
/// other frames.
fn without_time(frame: &[u8]) -> Option<Vec<u8>> {
    const GRE: usize = HEADER_LEN + ipv4::HEADER_LEN;
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let is_copy = frame.len() >= GRE + erspan_iii::HEADER_LEN
        && word(12) == TYPE_IPV4
        && frame[HEADER_LEN] == ipv4::VERSION_IHL
        && frame[HEADER_LEN + 9] == protocol::GRE
        && word(GRE + erspan_iii::offset::TYPE) == erspan_iii::GRE_TYPE;
    let mut rest = frame.to_vec();
    let time = GRE + erspan_iii::offset::TIMESTAMP;
    rest.get_mut(time..time + 4).filter(|_| is_copy)?.fill(0);
    Some(rest)
}

/// Returns true if the frames are equal apart from the fields that a tunnel's encapsulator may
/// choose: identification and Don't Fragment (RFC 6864 section 4), hence the header checksum, which
/// must be correct, and the UDP source port (RFC 7348 section 5).
fn same_tunnels(got: &[u8], expected: &[u8]) -> bool {
    let (Some(one), Some(other)) = (outer_of_vxlan(got), outer_of_vxlan(expected)) else {
        return false;
    };
    let is_sound = got[HEADER_LEN..].first_chunk().is_some_and(header_is_valid);
    let rest = |frame: &[u8]| (frame.len() > OUTER_LEN).then(|| frame[OUTER_LEN..].to_vec());
    is_sound && one == other && rest(got) == rest(expected)
}

/// Returns the Ethernet, IPv4 and UDP headers in front of VXLAN without those fields; `None` for
/// other frames.
fn outer_of_vxlan(frame: &[u8]) -> Option<[u8; OUTER_LEN]> {
    let mut outer: [u8; OUTER_LEN] = *frame.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([outer[at], outer[at + 1]]);
    let is_vxlan = word(12) == TYPE_IPV4
        && outer[HEADER_LEN] == ipv4::VERSION_IHL
        && outer[HEADER_LEN + 9] == protocol::UDP
        && word(UDP + 2) == VXLAN_PORT;
    let flags = word(HEADER_LEN + 6) & !ipv4::FLAG_DONT_FRAGMENT;
    outer[HEADER_LEN + 4..HEADER_LEN + 6].fill(0);
    outer[HEADER_LEN + 6..HEADER_LEN + 8].copy_from_slice(&flags.to_be_bytes());
    outer[HEADER_LEN + 10..HEADER_LEN + 12].fill(0);
    outer[UDP..UDP + 2].fill(0);
    is_vxlan.then_some(outer)
}

/// Returns the frame without padding after its packet; the whole frame if its type does not
/// determine the length.
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

const UDP: usize = HEADER_LEN + ipv4::HEADER_LEN;
const OUTER_LEN: usize = UDP + udp::HEADER_LEN;

/// Returns the verdicts that are visible from outside.
pub(super) fn forwarded(verdicts: &[Expected]) -> Vec<Expected> {
    let is_forwarded = |verdict: &&Expected| matches!(verdict, Expected::Forward { .. });
    verdicts.iter().filter(is_forwarded).cloned().collect()
}

/// Returns true if the received frames are the expected ones, in any order because they may have
/// left by several ports.
pub(super) fn are_all(got: &[Expected], wanted: &[Expected]) -> bool {
    let mut open = wanted.to_vec();
    for one in got {
        let Expected::Forward { port, frame } = one else { return false };
        let Some(index) = open.iter().position(|one| fits(*port, frame, one)) else { return false };
        open.remove(index);
    }
    open.is_empty()
}

/// Returns true if a received frame is one that the oracles expect.
pub(super) fn is_of((port, frame): (PortId, &[u8]), expected: &[Expected; 2]) -> bool {
    expected.iter().any(|one| fits(port, frame, one))
}

pub(super) fn fits(port: PortId, frame: &[u8], expected: &Expected) -> bool {
    match expected {
        Expected::Forward { port: wanted, frame: bytes } => {
            *wanted == port && are_same(frame, bytes)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a datagram for the VXLAN port with this identification and these flags.
    fn tunnelled(identification: u16, flags: u16, source_port: u16) -> Vec<u8> {
        let mut header = vec![ipv4::VERSION_IHL, 0, 0, 44];
        header.extend(identification.to_be_bytes());
        header.extend(flags.to_be_bytes());
        header.extend([64, protocol::UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = wire::checksum::checksum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut frame = vec![7; 12];
        frame.extend([8, 0]);
        frame.extend(header);
        frame.extend(source_port.to_be_bytes());
        frame.extend(VXLAN_PORT.to_be_bytes());
        frame.extend([0, 24, 0, 0]);
        frame.extend([8, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        frame
    }

    #[test]
    fn who_makes_a_tunnel_chooses_identification_fragmenting_and_source_port() {
        let expected = tunnelled(0, ipv4::FLAG_DONT_FRAGMENT, VXLAN_PORT);
        assert!(are_same(&tunnelled(77, 0, 50_000), &expected));
        let mut unsound = tunnelled(77, 0, VXLAN_PORT);
        unsound[HEADER_LEN + 10] ^= 1;
        assert!(!are_same(&unsound, &expected), "the checksum must be right");
        assert!(!are_same(&tunnelled(77, ipv4::FLAG_MORE_FRAGMENTS, VXLAN_PORT), &expected));
        for at in [0, HEADER_LEN + 8, UDP + 3, OUTER_LEN + 5, OUTER_LEN + 15] {
            let mut other = tunnelled(77, 0, VXLAN_PORT);
            other[at] ^= 1;
            assert!(!are_same(&other, &expected), "byte {at}");
        }
    }

    #[test]
    fn the_time_of_a_remote_mirror_is_the_devices_own() {
        let mut header = vec![ipv4::VERSION_IHL, 0, 0, 60, 0, 0, 0x40, 0, 64, protocol::GRE, 0, 0];
        header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        let mut frame = [&[7; 12][..], &[8, 0], &header].concat();
        frame.extend([0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 5, 1, 2, 3, 4, 0, 0, 0x80, 2]);
        frame.extend([9; 20]);
        let with = |at: usize| {
            let mut other = frame.clone();
            other[at] ^= 1;
            other
        };
        assert!((46..50).all(|at| are_same(&with(at), &frame)));
        assert!([0, 12, 22, 41, 45, 50, 53, 60].iter().all(|&at| !are_same(&with(at), &frame)));
    }

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
