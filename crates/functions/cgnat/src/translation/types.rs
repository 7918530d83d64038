//! What types and codes of ICMP errors become, their MTUs and their pointers (RFC 7915 sections 4.2
//! and 5.2). What has no counterpart is none.

use wire::icmp::{Fields, v4, v6};
use wire::{ipv4, ipv6};

use super::Rules;

/// An ICMPv4 error about a packet of `total_len` bytes as ICMPv6, without the length of RFC 4884.
pub(super) fn to_ipv6(fields: Fields, total_len: usize, rules: &Rules) -> Option<Fields> {
    let (kind, code, rest) = match (fields.kind, fields.code) {
        (v4::UNREACHABLE, v4::PROTOCOL) => {
            (v6::PARAMETER_PROBLEM, v6::BAD_NEXT_HEADER, ipv6::offset::NEXT_HEADER as u32)
        }
        (v4::UNREACHABLE, v4::TOO_BIG) => {
            (v6::TOO_BIG, 0, mtu_to_ipv6(fields.rest & 0xffff, total_len, rules))
        }
        (v4::UNREACHABLE, code) => (v6::UNREACHABLE, unreachable_to_ipv6(code)?, 0),
        (v4::TIME_EXCEEDED, code) => (v6::TIME_EXCEEDED, code, 0),
        (v4::PARAMETER_PROBLEM, v4::POINTER | v4::BAD_LENGTH) => {
            let pointer = *POINTERS_TO_IPV6.get((fields.rest >> 24) as usize)?;
            (v6::PARAMETER_PROBLEM, v6::BAD_FIELD, u32::from(pointer?))
        }
        _ => return None,
    };
    Some(Fields { kind, code, rest })
}

/// An ICMPv6 error as ICMPv4, without the length of RFC 4884.
pub(super) fn to_ipv4(fields: Fields, rules: &Rules) -> Option<Fields> {
    let (kind, code, rest) = match (fields.kind, fields.code) {
        (v6::UNREACHABLE, code) => (v4::UNREACHABLE, unreachable_to_ipv4(code)?, 0),
        (v6::TOO_BIG, _) => (v4::UNREACHABLE, v4::TOO_BIG, mtu_to_ipv4(fields.rest, rules)),
        (v6::TIME_EXCEEDED, code) => (v4::TIME_EXCEEDED, code, 0),
        (v6::PARAMETER_PROBLEM, v6::BAD_FIELD) => {
            let pointer = pointer_to_ipv4(fields.rest)?;
            (v4::PARAMETER_PROBLEM, v4::POINTER, pointer << 24)
        }
        (v6::PARAMETER_PROBLEM, v6::BAD_NEXT_HEADER) => (v4::UNREACHABLE, v4::PROTOCOL, 0),
        _ => return None,
    };
    Some(Fields { kind, code, rest })
}

fn unreachable_to_ipv6(code: u8) -> Option<u8> {
    match code {
        v4::NO_ROUTE | v4::HOST | v4::SOURCE_ROUTE_FAILED..=8 | 11 | v4::HOST_TYPE_OF_SERVICE => {
            Some(v6::NO_ROUTE)
        }
        v4::PORT => Some(v6::PORT),
        9 | v4::HOST_PROHIBITED | v4::PROHIBITED | v4::PRECEDENCE_CUTOFF => Some(v6::PROHIBITED),
        _ => None,
    }
}

fn unreachable_to_ipv4(code: u8) -> Option<u8> {
    match code {
        v6::NO_ROUTE | v6::BEYOND_SCOPE | v6::ADDRESS => Some(v4::HOST),
        v6::PROHIBITED => Some(v4::HOST_PROHIBITED),
        v6::PORT => Some(v4::PORT),
        _ => None,
    }
}

/// What a router of IPv4 takes, told to a host of IPv6. One that does not say (RFC 1191 section 5)
/// takes the next of the usual lengths below that of the packet.
fn mtu_to_ipv6(mtu: u32, total_len: usize, rules: &Rules) -> u32 {
    let mtu = match mtu {
        0 => PLATEAUS.into_iter().find(|&plateau| (plateau as usize) < total_len).unwrap_or(0),
        mtu => mtu,
    };
    (mtu + GROWTH)
        .min(rules.ipv6_mtu.into())
        .min(u32::from(rules.ipv4_mtu) + GROWTH)
        .max(IPV6_MTU_MIN)
}

/// What a router of IPv6 takes, told to a host of IPv4.
fn mtu_to_ipv4(mtu: u32, rules: &Rules) -> u32 {
    mtu.saturating_sub(GROWTH)
        .min(rules.ipv4_mtu.into())
        .min(u32::from(rules.ipv6_mtu).saturating_sub(GROWTH))
        .max(IPV4_MTU_MIN)
}

fn pointer_to_ipv4(pointer: u32) -> Option<u32> {
    let pointer = match pointer {
        0 | 1 => return Some(pointer),
        4 | 5 => ipv4::offset::TOTAL_LEN,
        6 => ipv4::offset::PROTOCOL,
        7 => ipv4::offset::TTL,
        8..=23 => ipv4::offset::SOURCE,
        24..=39 => ipv4::offset::DESTINATION,
        _ => return None,
    };
    Some(pointer as u32)
}

/// Figure 3: by the byte of the IPv4 header.
const POINTERS_TO_IPV6: [Option<u8>; ipv4::HEADER_LEN] = {
    const SOURCE: Option<u8> = Some(ipv6::offset::SOURCE as u8);
    const DESTINATION: Option<u8> = Some(ipv6::offset::DESTINATION as u8);
    let mut pointers = [None; ipv4::HEADER_LEN];
    pointers[0] = Some(0);
    pointers[1] = Some(1);
    pointers[2] = Some(ipv6::offset::PAYLOAD_LEN as u8);
    pointers[3] = pointers[2];
    pointers[ipv4::offset::TTL] = Some(ipv6::offset::HOP_LIMIT as u8);
    pointers[ipv4::offset::PROTOCOL] = Some(ipv6::offset::NEXT_HEADER as u8);
    let mut byte = 0;
    while byte < 4 {
        pointers[ipv4::offset::SOURCE + byte] = SOURCE;
        pointers[ipv4::offset::DESTINATION + byte] = DESTINATION;
        byte += 1;
    }
    pointers
};

/// The usual lengths from 1280 bytes on, longest first (RFC 1191 section 7).
const PLATEAUS: [u32; 7] = [65535, 32000, 17914, 8166, 4352, 2002, 1492];
/// How much longer the header of IPv6 is, in bytes.
const GROWTH: u32 = (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u32;
/// What every link of IPv6 takes, in bytes (RFC 8200 section 5).
const IPV6_MTU_MIN: u32 = 1280;
/// What every link of IPv4 takes, in bytes (RFC 791 section 3.2).
const IPV4_MTU_MIN: u32 = 68;

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        ipv4_mtu: 9000,
        ipv6_mtu: 9000,
        keep_traffic_class: true,
        compute_udp_checksum: true,
    };

    fn up(kind: u8, code: u8, rest: u32) -> Option<(u8, u8, u32)> {
        let fields = to_ipv6(Fields { kind, code, rest }, 1500, &RULES)?;
        Some((fields.kind, fields.code, fields.rest))
    }

    fn down(kind: u8, code: u8, rest: u32) -> Option<(u8, u8, u32)> {
        let fields = to_ipv4(Fields { kind, code, rest }, &RULES)?;
        Some((fields.kind, fields.code, fields.rest))
    }

    #[test]
    fn codes_of_section_4_2() {
        let expected = [
            (1, 0),
            (1, 0),
            (4, 1),
            (1, 4),
            (2, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 1),
            (1, 1),
            (1, 0),
            (1, 0),
            (1, 1),
            (0, 0),
            (1, 1),
            (0, 0),
        ];
        for (code, (kind, other)) in (0..).zip(expected) {
            let found = up(3, code, 1400).map(|(kind, code, _)| (kind, code));
            assert_eq!(found, (kind > 0).then_some((kind, other)), "unreachable, code {code}");
        }
        assert_eq!(up(3, 2, 0), Some((4, 1, 6)));
        assert_eq!([up(11, 0, 0), up(11, 1, 0)], [Some((3, 0, 0)), Some((3, 1, 0))]);
        assert_eq!([up(12, 1, 0), up(12, 3, 0)], [None, None]);
        // Source quench, redirect, alternate address, router discovery, timestamp, mask.
        assert!(
            [4, 5, 6, 9, 10, 13, 14, 15, 16, 17, 18, 40].iter().all(|&t| up(t, 0, 0).is_none())
        );
    }

    #[test]
    fn codes_of_section_5_2() {
        let expected = [Some((3, 1, 0)), Some((3, 10, 0)), Some((3, 1, 0)), Some((3, 1, 0))];
        assert_eq!([0, 1, 2, 3].map(|code| down(1, code, 0)), expected);
        assert_eq!((down(1, 4, 0), down(1, 5, 0)), (Some((3, 3, 0)), None));
        assert_eq!([down(3, 0, 0), down(3, 1, 0)], [Some((11, 0, 0)), Some((11, 1, 0))]);
        assert_eq!((down(4, 1, 99), down(4, 2, 0)), (Some((3, 2, 0)), None));
        assert!([100, 127, 130, 133, 137, 255].iter().all(|&kind| down(kind, 0, 0).is_none()));
    }

    #[test]
    fn pointers_of_figure_3() {
        let expected = [0, 1, 4, 4, 99, 99, 99, 99, 7, 6, 99, 99, 8, 8, 8, 8, 24, 24, 24, 24, 99];
        for (byte, pointer) in (0u32..).zip(expected) {
            for code in [0, 2] {
                let found = up(12, code, byte << 24);
                assert_eq!(found, (pointer != 99).then_some((4, 0, pointer)), "byte {byte}");
            }
        }
    }

    #[test]
    fn pointers_of_figure_6() {
        for byte in 0..45 {
            let pointer = match byte {
                0 | 1 => Some(byte),
                4 | 5 => Some(2),
                6 => Some(9),
                7 => Some(8),
                8..=23 => Some(12),
                24..=39 => Some(16),
                _ => None,
            };
            assert_eq!(down(4, 0, byte), pointer.map(|at| (12, 0, at << 24)), "byte {byte}");
        }
        assert_eq!(down(4, 0, u32::MAX), None);
    }

    #[test]
    fn lengths_differ_by_a_header_and_have_bounds() {
        let up = |mtu: u32, total_len, rules: &Rules| {
            to_ipv6(Fields { kind: 3, code: 4, rest: 0xff00_0000 | mtu }, total_len, rules)
                .unwrap()
                .rest
        };
        let down = |mtu, rules: &Rules| {
            to_ipv4(Fields { kind: 2, code: 0, rest: mtu }, rules).unwrap().rest
        };
        assert_eq!(
            [1400, 1260, 576, 65535].map(|mtu| up(mtu, 1500, &RULES)),
            [1420, 1280, 1280, 9000]
        );
        assert_eq!([1500, 1280, 0, u32::MAX].map(|mtu| down(mtu, &RULES)), [1480, 1260, 68, 8980]);
        let narrow = Rules { ipv4_mtu: 1400, ipv6_mtu: 1480, ..RULES };
        assert_eq!((up(1500, 1500, &narrow), down(1500, &narrow)), (1420, 1400));
        let narrow = Rules { ipv4_mtu: 1500, ipv6_mtu: 1300, ..RULES };
        assert_eq!((up(1500, 1500, &narrow), down(1500, &narrow)), (1300, 1280));
        // A router of before RFC 1191: the plateau below the packet's length.
        let lengths = [1492, 1493, 1500, 2003, 4352, 8167, 65535];
        let wide = Rules { ipv4_mtu: u16::MAX, ipv6_mtu: u16::MAX, ..RULES };
        let expected = [1280, 1512, 1512, 2022, 2022, 8186, 32020];
        assert_eq!(lengths.map(|len| up(0, len, &wide)), expected);
    }
}
