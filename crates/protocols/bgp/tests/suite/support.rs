//! Messages that are put together by hand, and what they are read by.

use protocol_bgp::attributes::push;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::rules::Reading;

/// All families.
pub fn all_families() -> FamilySet {
    FAMILIES.iter().map(|row| row.family).collect()
}

/// A session within an AS with all families.
pub fn internal() -> Reading {
    Reading {
        families: all_families(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        is_external: false,
    }
}

/// The same with another AS.
pub fn external() -> Reading {
    Reading { is_external: true, ..internal() }
}

/// The same with a peer that knows ASes of two bytes alone.
pub fn narrow() -> Reading {
    Reading { is_wide: false, ..internal() }
}

/// The body of an UPDATE.
pub fn body(withdrawn: &[u8], attributes: &[u8], announced: &[u8]) -> Vec<u8> {
    let len = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
    [&len(withdrawn)[..], withdrawn, &len(attributes), attributes, announced].concat()
}

/// An attribute.
pub fn attribute(flags: u8, code: u8, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push(flags, code, value, &mut out);
    out
}

/// An MP_REACH_NLRI.
pub fn reach(family: Family, next_hop: &[u8], nlri: &[u8]) -> Vec<u8> {
    let (afi, safi) = family.numbers();
    let [high, low] = afi.to_be_bytes();
    let head = [high, low, safi, next_hop.len() as u8];
    attribute(0x80, 14, &[&head, next_hop, &[0], nlri].concat())
}

/// An MP_UNREACH_NLRI.
pub fn unreach(family: Family, nlri: &[u8]) -> Vec<u8> {
    let (afi, safi) = family.numbers();
    let [high, low] = afi.to_be_bytes();
    attribute(0x80, 15, &[&[high, low, safi], nlri].concat())
}

/// ORIGIN, AS_PATH of one AS, NEXT_HOP.
pub fn usual() -> Vec<u8> {
    [
        attribute(0x40, 1, &[0]),
        attribute(0x40, 2, &[2, 1, 0, 0, 0xfd, 0xe9]),
        attribute(0x40, 3, &[192, 0, 2, 1]),
    ]
    .concat()
}

/// Routes of IPv4: 10.0.0.0/8 and 192.0.2.0/24.
pub const ROUTES: &[u8] = &[8, 10, 24, 192, 0, 2];

/// The bytes that hexadecimal digits stand for; spaces are for the reader.
pub fn octets(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| digit.is_ascii_hexdigit()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}
