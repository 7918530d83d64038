//! Attributes as people read them.

use std::fmt;
use std::net::Ipv4Addr;

use crate::attributes::{
    AGGREGATOR, AS_PATH, ATOMIC_AGGREGATE, Attribute, CLUSTER_LIST, COMMUNITIES,
    EXTENDED_COMMUNITIES, LARGE_COMMUNITIES, LOCAL_PREF, MED, ORIGIN, ORIGINATOR_ID, OTC, Row,
};
use crate::bytes::u32_of;
use crate::path::{CONFEDERATION_SEQUENCE, CONFEDERATION_SET, SET, Segments};
use crate::text::{ExtendedCommunity, Hex};

/// An AS path of an attribute block: ASes in their order, sets in braces, and what is within a
/// confederation in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a>(pub &'a [u8]);

/// A community, by its name if it is well-known (RFC 1997, RFC 7999, RFC 8326, RFC 9494).
#[derive(Clone, Copy, Debug)]
pub struct Community(pub u32);

impl Community {
    /// Returns the well-known one of a name.
    pub fn named(name: &str) -> Option<Community> {
        let found = WELL_KNOWN.iter().find(|(_, known)| *known == name);
        found.map(|(community, _)| Community(*community))
    }
}

impl fmt::Display for Attribute<'_> {
    /// Writes the name of an attribute of a block and its value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attribute { code, value, .. } = *self;
        match Row::of(code) {
            Some(row) => f.write_str(row.name)?,
            None => write!(f, "attribute {code}")?,
        }
        if !value.is_empty() {
            f.write_str(" ")?;
        }
        let number = u32_of(value);
        match code {
            ORIGIN => f.write_str(match value.first() {
                Some(0) => "IGP",
                Some(1) => "EGP",
                _ => "incomplete",
            }),
            AS_PATH => Path(value).fmt(f),
            MED | LOCAL_PREF | OTC => write!(f, "{number}"),
            ATOMIC_AGGREGATE => Ok(()),
            AGGREGATOR => {
                let address = Ipv4Addr::from(u32_of(value.get(4..).unwrap_or(&[])));
                write!(f, "{number} {address}")
            }
            ORIGINATOR_ID => Ipv4Addr::from(number).fmt(f),
            CLUSTER_LIST => each(value, 4, f, |one, f| Ipv4Addr::from(u32_of(one)).fmt(f)),
            COMMUNITIES => each(value, 4, f, |one, f| Community(u32_of(one)).fmt(f)),
            EXTENDED_COMMUNITIES => each(value, 8, f, |one, f| {
                ExtendedCommunity(*one.first_chunk().unwrap_or(&[0; 8])).fmt(f)
            }),
            LARGE_COMMUNITIES => each(value, 12, f, |one, f| {
                let part = |at: usize| u32_of(&one[at..]);
                write!(f, "{}:{}:{}", part(0), part(4), part(8))
            }),
            _ if value.is_empty() => Ok(()),
            _ => Hex(value).fmt(f),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in Segments::new(self.0).enumerate() {
            let [open, close] = match segment.kind {
                SET => ["{", "}"],
                CONFEDERATION_SEQUENCE => ["(", ")"],
                CONFEDERATION_SET => ["[", "]"],
                _ => ["", ""],
            };
            f.write_str(if at > 0 { " " } else { "" })?;
            f.write_str(open)?;
            for (at, asn) in segment.ases().enumerate() {
                write!(f, "{}{asn}", if at > 0 { " " } else { "" })?;
            }
            f.write_str(close)?;
        }
        Ok(())
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WELL_KNOWN.iter().find(|(community, _)| *community == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}:{}", self.0 >> 16, self.0 & 0xffff),
        }
    }
}

/// Writes values of a length each with spaces between them.
fn each(
    value: &[u8],
    len: usize,
    f: &mut fmt::Formatter<'_>,
    one: impl Fn(&[u8], &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    value.chunks_exact(len).enumerate().try_for_each(|(at, bytes)| {
        f.write_str(if at > 0 { " " } else { "" })?;
        one(bytes, f)
    })
}

/// The communities that have names.
const WELL_KNOWN: &[(u32, &str)] = &[
    (0xffff_0000, "graceful-shutdown"),
    (0xffff_0006, "llgr-stale"),
    (0xffff_0007, "no-llgr"),
    (0xffff_029a, "blackhole"),
    (0xffff_ff01, "no-export"),
    (0xffff_ff02, "no-advertise"),
    (0xffff_ff03, "no-export-subconfed"),
    (0xffff_ff04, "no-peer"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{self, SEQUENCE};

    #[test]
    fn attributes_are_written_for_people() {
        let mut value = Vec::new();
        path::push(CONFEDERATION_SEQUENCE, [65_001].into_iter(), &mut value);
        path::push(SEQUENCE, [70_000, 2].into_iter(), &mut value);
        path::push(SET, [3, 4].into_iter(), &mut value);
        path::push(CONFEDERATION_SET, [5].into_iter(), &mut value);
        for (code, value, text) in [
            (ORIGIN, &[0][..], "ORIGIN IGP"),
            (ORIGIN, &[2], "ORIGIN incomplete"),
            (AS_PATH, &value, "AS_PATH (65001) 70000 2 {3 4} [5]"),
            (AS_PATH, &[], "AS_PATH"),
            (MED, &[0, 0, 1, 0], "MULTI_EXIT_DISC 256"),
            (ATOMIC_AGGREGATE, &[], "ATOMIC_AGGREGATE"),
            (AGGREGATOR, &[0, 1, 0, 0, 192, 0, 2, 1], "AGGREGATOR 65536 192.0.2.1"),
            (ORIGINATOR_ID, &[192, 0, 2, 7], "ORIGINATOR_ID 192.0.2.7"),
            (CLUSTER_LIST, &[10, 0, 0, 1, 10, 0, 0, 2], "CLUSTER_LIST 10.0.0.1 10.0.0.2"),
            (
                COMMUNITIES,
                &[0xfd, 0xe8, 0, 1, 0xff, 0xff, 0xff, 1],
                "COMMUNITIES 65000:1 no-export",
            ),
            (
                EXTENDED_COMMUNITIES,
                &[0, 2, 0xfd, 0xe8, 0, 0, 0, 9, 0x40, 4, 0, 0, 0, 0, 0, 1],
                "EXTENDED_COMMUNITIES target:65000:9 0x4004000000000001",
            ),
            (LARGE_COMMUNITIES, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], "LARGE_COMMUNITIES 1:2:3"),
            (99, &[1, 2], "attribute 99 0x0102"),
        ] {
            assert_eq!(Attribute { flags: 0, code, value }.to_string(), text);
        }
        assert_eq!(Community::named("no-export").map(|one| one.0), Some(0xffff_ff01));
        assert!(Community::named("65000:1").is_none());
    }
}
