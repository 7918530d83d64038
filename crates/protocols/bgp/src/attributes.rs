//! The path attributes: a row each, with what RFC 7606 says of a malformed one, and the attribute
//! block in which they are kept and sent.
//!
//! ```text
//!  | flags u8 | code u8 | length u8, or u16 where a flag says so | value |
//!  flags: optional 0x80, transitive 0x40, partial 0x20, length of two bytes 0x10
//! ```
//! A block has the attributes in the order of their codes, with the shortest form of the length and
//! paths of 4 bytes an AS, so that equal attributes are equal bytes. NEXT_HOP, MP_REACH_NLRI and
//! MP_UNREACH_NLRI are no part of it: a next hop belongs to the family of the routes.

use std::fmt;

use crate::bytes::Reader;

/// An attribute of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its flags.
    pub flags: u8,
    /// Its code.
    pub code: u8,
    /// Its value.
    pub value: &'a [u8],
}

/// What is known of an attribute.
#[derive(Debug)]
pub struct Row {
    /// Its code.
    pub code: u8,
    /// Its name.
    pub name: &'static str,
    /// Who has to know it, and who passes it on.
    pub class: Class,
    /// The lengths that its value may have.
    pub len: Len,
    /// What becomes of a malformed one.
    pub malformed: Action,
    /// Whether it has no meaning from another AS, and is discarded then.
    pub is_internal: bool,
}

/// Who has to know an attribute, and who passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Everybody knows it.
    WellKnown,
    /// Who does not know it passes it on.
    Transitive,
    /// Who does not know it drops it.
    NonTransitive,
}

/// The lengths in bytes that a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Len {
    /// Any.
    Any,
    /// This one.
    Exactly(usize),
    /// A multiple of this one, and not 0.
    Multiple(usize),
    /// This one or a greater one.
    AtLeast(usize),
}

/// What becomes of an UPDATE because of an error (RFC 7606 section 2), from the mildest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// The attribute is gone, the routes stand.
    Discard,
    /// The routes count as withdrawn.
    Withdraw,
    /// The family is of no use any more in this session.
    Disable,
    /// The session ends.
    Reset,
}

const fn row(code: u8, name: &'static str, class: Class, len: Len, malformed: Action) -> Row {
    Row { code, name, class, len, malformed, is_internal: false }
}

/// The same of an attribute that has a meaning within an AS alone.
const fn internal(code: u8, name: &'static str, class: Class, len: Len, malformed: Action) -> Row {
    Row { code, name, class, len, malformed, is_internal: true }
}

/// The attributes that are known, by their codes.
#[rustfmt::skip] // A line each.
pub const ATTRIBUTES: &[Row] = &[
    row(ORIGIN, "ORIGIN", Class::WellKnown, Len::Exactly(1), Action::Withdraw),
    row(AS_PATH, "AS_PATH", Class::WellKnown, Len::Any, Action::Withdraw),
    row(NEXT_HOP, "NEXT_HOP", Class::WellKnown, Len::Exactly(4), Action::Withdraw),
    row(MED, "MULTI_EXIT_DISC", Class::NonTransitive, Len::Exactly(4), Action::Withdraw),
    internal(LOCAL_PREF, "LOCAL_PREF", Class::WellKnown, Len::Exactly(4), Action::Withdraw),
    row(ATOMIC_AGGREGATE, "ATOMIC_AGGREGATE", Class::WellKnown, Len::Exactly(0), Action::Discard),
    row(AGGREGATOR, "AGGREGATOR", Class::Transitive, Len::Any, Action::Discard),
    row(COMMUNITIES, "COMMUNITIES", Class::Transitive, Len::Multiple(4), Action::Withdraw),
    internal(ORIGINATOR_ID, "ORIGINATOR_ID", Class::NonTransitive, Len::Exactly(4), Action::Withdraw),
    internal(CLUSTER_LIST, "CLUSTER_LIST", Class::NonTransitive, Len::Multiple(4), Action::Withdraw),
    row(MP_REACH, "MP_REACH_NLRI", Class::NonTransitive, Len::Any, Action::Disable),
    row(MP_UNREACH, "MP_UNREACH_NLRI", Class::NonTransitive, Len::Any, Action::Disable),
    row(EXTENDED_COMMUNITIES, "EXTENDED_COMMUNITIES", Class::Transitive, Len::Multiple(8), Action::Withdraw),
    row(AS4_PATH, "AS4_PATH", Class::Transitive, Len::Any, Action::Discard),
    row(AS4_AGGREGATOR, "AS4_AGGREGATOR", Class::Transitive, Len::Exactly(8), Action::Discard),
    row(PMSI_TUNNEL, "PMSI_TUNNEL", Class::Transitive, Len::AtLeast(5), Action::Withdraw),
    row(23, "TUNNEL_ENCAPSULATION", Class::Transitive, Len::Any, Action::Withdraw),
    row(25, "IPV6_EXTENDED_COMMUNITIES", Class::Transitive, Len::Multiple(20), Action::Withdraw),
    internal(AIGP, "AIGP", Class::NonTransitive, Len::AtLeast(3), Action::Discard),
    row(29, "BGP_LS", Class::NonTransitive, Len::Any, Action::Discard),
    row(LARGE_COMMUNITIES, "LARGE_COMMUNITIES", Class::Transitive, Len::Multiple(12), Action::Withdraw),
    row(OTC, "ONLY_TO_CUSTOMER", Class::Transitive, Len::Exactly(4), Action::Withdraw),
    row(40, "PREFIX_SID", Class::Transitive, Len::AtLeast(3), Action::Discard),
    row(128, "ATTR_SET", Class::Transitive, Len::AtLeast(4), Action::Withdraw),
];

impl Row {
    /// Returns the row of a code, if that is known.
    pub fn of(code: u8) -> Option<&'static Row> {
        // Most attributes of an UPDATE are in front.
        ATTRIBUTES.iter().find(|row| row.code == code)
    }
}

impl Class {
    /// Returns the flags of an attribute of this class that was not passed on unknown.
    pub fn flags(self) -> u8 {
        match self {
            Class::WellKnown => TRANSITIVE,
            Class::Transitive => OPTIONAL | TRANSITIVE,
            Class::NonTransitive => OPTIONAL,
        }
    }
}

impl Len {
    /// Returns whether it is one of them.
    pub fn fits(self, len: usize) -> bool {
        match self {
            Len::Any => true,
            Len::Exactly(only) => len == only,
            Len::Multiple(of) => len > 0 && len.is_multiple_of(of),
            Len::AtLeast(least) => len >= least,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Discard => "attribute discard",
            Action::Withdraw => "treat-as-withdraw",
            Action::Disable => "AFI/SAFI disable",
            Action::Reset => "session reset",
        })
    }
}

/// The attributes of a block, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a>(Reader<'a>);

impl<'a> Attributes<'a> {
    /// The attributes of a block.
    pub fn new(block: &'a [u8]) -> Attributes<'a> {
        Attributes(Reader(block))
    }

    /// Returns what is left of the block: at its end nothing, or an attribute that is cut off.
    pub fn rest(self) -> &'a [u8] {
        self.0.0
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    /// Takes the next attribute; nothing is taken of one that is cut off.
    fn next(&mut self) -> Option<Attribute<'a>> {
        let mut from = self.0;
        let [flags, code] = from.array()?;
        let value = match flags & EXTENDED_LEN {
            0 => from.counted()?,
            _ => from.counted_u16()?,
        };
        self.0 = from;
        Some(Attribute { flags, code, value })
    }
}

/// Appends an attribute with the shortest form of its length, which is at most 65,535 bytes.
pub fn push(flags: u8, code: u8, value: &[u8], out: &mut Vec<u8>) {
    let flags = flags & (OPTIONAL | TRANSITIVE | PARTIAL);
    match u8::try_from(value.len()) {
        Ok(len) => out.extend([flags, code, len]),
        Err(_) => {
            let [high, low] = (value.len() as u16).to_be_bytes();
            out.extend([flags | EXTENDED_LEN, code, high, low]);
        }
    }
    out.extend(value);
}

/// Appends a block with other values of some attributes: each with the code of a known attribute,
/// in their order, and the value, which is `None` to leave the attribute out.
pub fn rewrite(block: &[u8], changes: &[(u8, Option<&[u8]>)], out: &mut Vec<u8>) {
    debug_assert!(changes.is_sorted_by_key(|(code, _)| code));
    let add = |(code, value): &(u8, Option<&[u8]>), out: &mut Vec<u8>| {
        if let Some((row, value)) = Row::of(*code).zip(*value) {
            push(row.class.flags(), *code, value, out);
        }
    };
    let mut left = changes;
    for attribute in Attributes::new(block) {
        let count = left.iter().take_while(|(code, _)| *code < attribute.code).count();
        let (before, rest) = left.split_at(count);
        before.iter().for_each(|change| add(change, out));
        left = rest;
        match left.split_first() {
            Some(((code, value), rest)) if *code == attribute.code => {
                left = rest;
                if let Some(value) = value {
                    push(attribute.flags, *code, value, out);
                }
            }
            _ => push(attribute.flags, attribute.code, attribute.value, out),
        }
    }
    left.iter().for_each(|change| add(change, out));
}

/// The flag of attributes that not everybody knows.
pub const OPTIONAL: u8 = 0x80;
/// The flag of attributes that are passed on.
pub const TRANSITIVE: u8 = 0x40;
/// The flag of attributes that somebody has passed on without knowing them.
pub const PARTIAL: u8 = 0x20;
/// The flag of attributes whose length has two bytes.
pub const EXTENDED_LEN: u8 = 0x10;

/// Where a route comes from (RFC 4271).
pub const ORIGIN: u8 = 1;
/// The ASes that a route went through (RFC 4271).
pub const AS_PATH: u8 = 2;
/// The next hop of the routes in the field NLRI (RFC 4271).
pub const NEXT_HOP: u8 = 3;
/// Which way into an AS it prefers (RFC 4271).
pub const MED: u8 = 4;
/// Which way out the own AS prefers (RFC 4271).
pub const LOCAL_PREF: u8 = 5;
/// The path leaves ASes out (RFC 4271).
pub const ATOMIC_AGGREGATE: u8 = 6;
/// Who has aggregated routes (RFC 4271).
pub const AGGREGATOR: u8 = 7;
/// Communities (RFC 1997).
pub const COMMUNITIES: u8 = 8;
/// Who has brought a route into the AS (RFC 4456).
pub const ORIGINATOR_ID: u8 = 9;
/// The route reflectors that a route went through (RFC 4456).
pub const CLUSTER_LIST: u8 = 10;
/// Routes of a family, and their next hop (RFC 4760).
pub const MP_REACH: u8 = 14;
/// Routes of a family that are withdrawn (RFC 4760).
pub const MP_UNREACH: u8 = 15;
/// Extended communities (RFC 4360).
pub const EXTENDED_COMMUNITIES: u8 = 16;
/// The path in ASes of 4 bytes, to a peer that knows those of 2 alone (RFC 6793).
pub const AS4_PATH: u8 = 17;
/// The same of who has aggregated (RFC 6793).
pub const AS4_AGGREGATOR: u8 = 18;
/// The tunnel of multicast traffic (RFC 6514).
pub const PMSI_TUNNEL: u8 = 22;
/// The metric of the IGP, accumulated (RFC 7311).
pub const AIGP: u8 = 26;
/// Large communities (RFC 8092).
pub const LARGE_COMMUNITIES: u8 = 32;
/// A route goes to customers only, by this AS (RFC 9234).
pub const OTC: u8 = 35;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_found() {
        assert!(ATTRIBUTES.is_sorted_by_key(|row| row.code));
        assert!(ATTRIBUTES.iter().all(|row| Row::of(row.code).unwrap().name == row.name));
        assert!(Row::of(0).is_none() && Row::of(255).is_none());
        assert!(Len::Multiple(4).fits(8) && !Len::Multiple(4).fits(0) && !Len::Multiple(4).fits(6));
    }

    #[test]
    fn a_block_is_rewritten_in_order() {
        let block = |all: &[(u8, &[u8])]| {
            let mut out = Vec::new();
            for (code, value) in all {
                push(Row::of(*code).unwrap().class.flags(), *code, value, &mut out);
            }
            out
        };
        let long = [9; 300];
        let before =
            block(&[(ORIGIN, &[0]), (AS_PATH, &[]), (MED, &[1; 4]), (COMMUNITIES, &[2; 4])]);
        let mut out = Vec::new();
        let changes: &[(u8, Option<&[u8]>)] = &[
            (AS_PATH, Some(&long)),
            (MED, None),
            (LOCAL_PREF, Some(&[0, 0, 0, 100])),
            (CLUSTER_LIST, Some(&[7; 8])),
            (OTC, None),
        ];
        rewrite(&before, changes, &mut out);
        let after = block(&[
            (ORIGIN, &[0]),
            (AS_PATH, &long),
            (LOCAL_PREF, &[0, 0, 0, 100]),
            (COMMUNITIES, &[2; 4]),
            (CLUSTER_LIST, &[7; 8]),
        ]);
        assert_eq!(out, after);
        assert_eq!(Attributes::new(&out).map(|one| one.value.len()).sum::<usize>(), 317);
    }

    #[test]
    fn what_is_cut_off_is_no_attribute() {
        let mut out = Vec::new();
        push(OPTIONAL, 99, &[1; 300], &mut out);
        push(OPTIONAL, 100, &[1], &mut out);
        for len in 0..out.len() {
            let count = Attributes::new(&out[..len]).count();
            assert_eq!(count, usize::from(len >= 304), "{len} bytes");
        }
    }
}
