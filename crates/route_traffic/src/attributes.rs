//! Sets of attributes in a form in which equal ones are equal bytes, whoever wrote them.
//!
//! ```text
//!  | code u8 | flags u8 | length u16 | value | next ...   in the order of the codes
//! ```
//! Speakers may choose the order of attributes, the size of a length, and whether a next hop of
//! IPv4 stands in an attribute of its own, and some sort communities: here the next hop is always
//! that of NEXT_HOP, communities of each kind are sorted, and of flags the two remain that say what
//! kind of attribute it is. An absent LOCAL_PREF is 100 (what nearly all speakers take it for).

use std::fmt::Write;

use protocol_bgp::attributes::{
    AGGREGATOR, AS_PATH, ATOMIC_AGGREGATE, CLUSTER_LIST, COMMUNITIES, EXTENDED_COMMUNITIES,
    EXTENDED_LEN as EXTENDED, LARGE_COMMUNITIES, LOCAL_PREF, MED, MP_REACH, MP_UNREACH, NEXT_HOP,
    ORIGIN, ORIGINATOR_ID,
};

use crate::octets::Octets;

/// An attribute of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its code.
    pub code: u8,
    /// Whether it is optional (0x80) and transitive (0x40).
    pub flags: u8,
    /// Its value.
    pub value: &'a [u8],
}

/// The attributes of a set, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a>(Octets<'a>);

impl<'a> Attributes<'a> {
    /// The attributes of a set in the form of this module.
    pub fn new(set: &'a [u8]) -> Attributes<'a> {
        Attributes(Octets(set))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let (code, flags) = (self.0.u8()?, self.0.u8()?);
        Some(Attribute { code, flags, value: self.0.counted()? })
    }
}

/// Appends an attribute; those of a set are appended in the order of their codes.
pub fn push(code: u8, flags: u8, value: &[u8], out: &mut Vec<u8>) {
    out.extend([code, flags]);
    out.extend((value.len() as u16).to_be_bytes());
    out.extend(value);
}

/// Reads the attributes of an UPDATE with the next hop of its routes, and appends their set.
///
/// # Errors
/// In words, when they cannot be read or there are two of a kind.
pub fn normalise(wire: &[u8], next_hop: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut found: Vec<Attribute<'_>> = Vec::with_capacity(12);
    each(wire, |attribute| {
        if ![NEXT_HOP, MP_REACH, MP_UNREACH].contains(&attribute.code) {
            found.push(attribute);
        }
        Ok(())
    })?;
    found.push(Attribute { code: NEXT_HOP, flags: 0x40, value: next_hop });
    if !found.iter().any(|attribute| attribute.code == LOCAL_PREF) {
        found.push(Attribute { code: LOCAL_PREF, flags: 0x40, value: &[0, 0, 0, 100] });
    }
    found.sort_by_key(|attribute| attribute.code);
    if let Some(two) = found.windows(2).find(|two| two[0].code == two[1].code) {
        return Err(format!("the attribute {} is there twice", name(two[0].code)));
    }
    for Attribute { code, flags, value } in found {
        match member_len(code) {
            Some(len) if !value.chunks_exact(len).is_sorted() => {
                let mut members: Vec<&[u8]> = value.chunks_exact(len).collect();
                members.sort_unstable();
                push(code, flags, &members.concat(), out);
            }
            _ => push(code, flags, value, out),
        }
    }
    Ok(())
}

/// Calls a function with each attribute of an UPDATE, as it stands there.
///
/// # Errors
/// In words, when they cannot be told apart, or those of the function.
pub fn each<'a>(
    wire: &'a [u8],
    mut take: impl FnMut(Attribute<'a>) -> Result<(), String>,
) -> Result<(), String> {
    let mut from = Octets(wire);
    while !from.is_empty() {
        let read = |from: &mut Octets<'a>| {
            let (flags, code) = (from.u8()?, from.u8()?);
            let len = match flags & EXTENDED {
                0 => from.u8()?.into(),
                _ => from.u16()?,
            };
            Some(Attribute { code, flags: flags & KIND, value: from.take(len.into())? })
        };
        take(read(&mut from).ok_or("an attribute goes on beyond all of them")?)?;
    }
    Ok(())
}

/// Appends a set as it stands in an UPDATE, without the next hop.
pub fn write(set: &[u8], out: &mut Vec<u8>) {
    for attribute in Attributes::new(set).filter(|attribute| attribute.code != NEXT_HOP) {
        write_one(attribute, out);
    }
}

/// Appends an attribute as it stands in an UPDATE.
pub fn write_one(attribute: Attribute<'_>, out: &mut Vec<u8>) {
    let Attribute { code, flags, value } = attribute;
    match u8::try_from(value.len()) {
        Ok(len) => out.extend([flags, code, len]),
        Err(_) => {
            out.extend([flags | EXTENDED, code]);
            out.extend((value.len() as u16).to_be_bytes());
        }
    }
    out.extend(value);
}

/// Returns the next hop of a set.
pub fn next_hop(set: &[u8]) -> &[u8] {
    value(set, NEXT_HOP).unwrap_or(&[])
}

/// Returns the value of an attribute of a set, if it is there.
pub fn value(set: &[u8], code: u8) -> Option<&[u8]> {
    Attributes::new(set).find(|attribute| attribute.code == code).map(|attribute| attribute.value)
}

/// Appends a set as a reflector passes it on (RFC 4456 section 8): with the identifier of the
/// feeder as ORIGINATOR_ID, and its cluster as CLUSTER_LIST.
pub fn reflect(set: &[u8], feeder: u32, cluster: u32, out: &mut Vec<u8>) {
    let is_new =
        |attribute: &Attribute<'_>| ![ORIGINATOR_ID, CLUSTER_LIST].contains(&attribute.code);
    let (feeder, cluster) = (feeder.to_be_bytes(), cluster.to_be_bytes());
    let mut all: Vec<Attribute<'_>> = Attributes::new(set).filter(is_new).collect();
    all.push(Attribute { code: ORIGINATOR_ID, flags: 0x80, value: &feeder });
    all.push(Attribute { code: CLUSTER_LIST, flags: 0x80, value: &cluster });
    all.sort_by_key(|attribute| attribute.code);
    all.iter().for_each(|attribute| push(attribute.code, attribute.flags, attribute.value, out));
}

/// Returns a set with a MULTI_EXIT_DISC of 0, if it has none.
pub fn with_med(set: &[u8]) -> Vec<u8> {
    if value(set, MED).is_some() {
        return set.to_vec();
    }
    let mut all: Vec<Attribute<'_>> = Attributes::new(set).collect();
    all.push(Attribute { code: MED, flags: 0x80, value: &[0; 4] });
    all.sort_by_key(|attribute| attribute.code);
    let mut out = Vec::new();
    let each = all.iter();
    each.for_each(|attribute| push(attribute.code, attribute.flags, attribute.value, &mut out));
    out
}

/// Returns in words by which attributes a set differs from the expected one.
pub fn difference(expected: &[u8], found: &[u8]) -> String {
    let mut text = String::new();
    let codes = |set| Attributes::new(set).map(|attribute| attribute.code).collect::<Vec<u8>>();
    let mut all = [codes(expected), codes(found)].concat();
    all.sort_unstable();
    all.dedup();
    let one = |set, code| Attributes::new(set).find(|attribute| attribute.code == code);
    for code in all {
        let words = match (one(expected, code), one(found, code)) {
            (Some(_), None) => "is absent".to_owned(),
            (None, Some(there)) => format!("is there with {}", hex(there.value)),
            (Some(should), Some(there)) if should.value != there.value => {
                format!("is {} and not {}", hex(there.value), hex(should.value))
            }
            (Some(should), Some(there)) if should.flags != there.flags => {
                format!("has the flags {:#04x} and not {:#04x}", there.flags, should.flags)
            }
            _ => continue,
        };
        let _ = write!(text, "{}{} {words}", if text.is_empty() { "" } else { ", " }, name(code));
    }
    text
}

/// A few bytes as digits.
fn hex(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > 16 { "..." } else { "" };
    format!("0x{shown}{more}")
}

/// Returns the name of an attribute.
pub fn name(code: u8) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == code);
    known.map_or_else(|| format!("number {code}"), |(_, name)| (*name).to_owned())
}

/// Bytes of a member of an attribute that is a set of members.
fn member_len(code: u8) -> Option<usize> {
    match code {
        COMMUNITIES => Some(4),
        EXTENDED_COMMUNITIES => Some(8),
        LARGE_COMMUNITIES => Some(12),
        _ => None,
    }
}

/// The flags that say of which kind an attribute is.
const KIND: u8 = 0xc0;

const NAMES: &[(u8, &str)] = &[
    (ORIGIN, "ORIGIN"),
    (AS_PATH, "AS_PATH"),
    (NEXT_HOP, "NEXT_HOP"),
    (MED, "MULTI_EXIT_DISC"),
    (LOCAL_PREF, "LOCAL_PREF"),
    (ATOMIC_AGGREGATE, "ATOMIC_AGGREGATE"),
    (AGGREGATOR, "AGGREGATOR"),
    (COMMUNITIES, "COMMUNITIES"),
    (ORIGINATOR_ID, "ORIGINATOR_ID"),
    (CLUSTER_LIST, "CLUSTER_LIST"),
    (EXTENDED_COMMUNITIES, "EXTENDED COMMUNITIES"),
    (LARGE_COMMUNITIES, "LARGE_COMMUNITY"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn set(wire: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        normalise(wire, &[192, 0, 2, 1], &mut out).unwrap();
        out
    }

    #[test]
    fn order_lengths_and_sorting_make_no_difference() {
        let one = [0x40, 1, 1, 0, 0x40, 2, 0, 0xc0, 8, 8, 0, 1, 0, 9, 0, 1, 0, 2];
        let other = [
            0xe0, 8, 8, 0, 1, 0, 2, 0, 1, 0, 9, 0x50, 2, 0, 0, 0x40, 5, 4, 0, 0, 0, 100, 0x40, 1,
            1, 0,
        ];
        assert_eq!(set(&one), set(&other));
        assert_eq!(next_hop(&set(&one)), [192, 0, 2, 1]);
        let different = [0x40, 1, 1, 2, 0x40, 2, 0];
        let words = difference(&set(&one), &set(&different));
        assert_eq!(words, "ORIGIN is 0x02 and not 0x00, COMMUNITIES is absent");
    }

    #[test]
    fn what_is_written_is_read() {
        let mut wanted = set(&[0x40, 1, 1, 0, 0x40, 2, 0]);
        push(COMMUNITIES, 0xc0, &[1; 400], &mut wanted);
        let mut wire = Vec::new();
        write(&wanted, &mut wire);
        assert_eq!(set(&wire), wanted);
        let mut reflected = Vec::new();
        reflect(&wanted, 1, 2, &mut reflected);
        assert_eq!(value(&reflected, ORIGINATOR_ID), Some(&[0, 0, 0, 1][..]));
        let codes: Vec<u8> = Attributes::new(&reflected).map(|attribute| attribute.code).collect();
        assert_eq!(codes, [1, 2, 3, 5, 8, 9, 10]);
    }

    #[test]
    fn a_med_is_added_where_there_is_none() {
        let without = set(&[0x40, 1, 1, 0, 0x40, 2, 0]);
        let with = with_med(&without);
        assert_eq!(with, set(&[0x40, 1, 1, 0, 0x40, 2, 0, 0x80, 4, 4, 0, 0, 0, 0]));
        let other = set(&[0x40, 1, 1, 0, 0x40, 2, 0, 0x80, 4, 4, 0, 0, 0, 7]);
        assert_eq!((with_med(&with), with_med(&other)), (with, other));
    }

    #[test]
    fn attributes_that_are_cut_or_there_twice_are_told() {
        for wire in [&[0x40][..], &[0x40, 1, 2, 0], &[0x50, 1, 0], &[0x40, 1, 1, 0, 0x40, 1, 1, 0]]
        {
            assert!(normalise(wire, &[], &mut Vec::new()).is_err(), "{wire:?}");
        }
    }
}
