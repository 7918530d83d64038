//! What is wrong with an attribute, and what becomes of it (RFC 7606).

use std::fmt;

use crate::attributes::{
    AGGREGATOR, AS_PATH, AS4_AGGREGATOR, AS4_PATH, Action, Class, NEXT_HOP, OPTIONAL, ORIGIN, Row,
    TRANSITIVE,
};
use crate::bytes::u32_of;
use crate::families::FamilySet;
use crate::notification::Notification;
use crate::path::{self, Segments};

/// What an UPDATE is read by: what was agreed on in the session that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The families whose routes are taken.
    pub families: FamilySet,
    /// Those of them whose routes have path identifiers (RFC 7911).
    pub path_ids: FamilySet,
    /// Those of them whose next hops may be of IPv6 (RFC 8950).
    pub extended_next_hops: FamilySet,
    /// Whether ASes have 4 bytes (RFC 6793).
    pub is_wide: bool,
    /// Whether the peer is in another AS.
    pub is_external: bool,
}

/// Something that is wrong with an UPDATE without being the end of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code of the attribute; `None` for the fields of IPv4 routes.
    pub attribute: Option<u8>,
    /// What becomes of it.
    pub action: Action,
    /// Why, in words.
    pub why: &'static str,
}

/// Something that is wrong with an UPDATE and is the end of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The code of the attribute; `None` for the message as a whole.
    pub attribute: Option<u8>,
    /// Why, in words.
    pub why: &'static str,
    /// What the peer is told.
    pub notification: Notification,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", Attribute(self.attribute), self.action, self.why)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { attribute, why, notification } = self;
        write!(f, "{}: {}: {why} ({notification})", Attribute(*attribute), Action::Reset)
    }
}

/// The name of an attribute, or of what is none.
struct Attribute(Option<u8>);

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.map(|code| (code, Row::of(code))) {
            None => f.write_str("UPDATE"),
            Some((_, Some(row))) => f.write_str(row.name),
            Some((code, None)) => write!(f, "attribute {code}"),
        }
    }
}

/// What is wrong with an attribute that is known, and what becomes of it.
pub(crate) fn check(
    row: &Row,
    flags: u8,
    value: &[u8],
    reading: &Reading,
) -> Result<(), (Action, &'static str)> {
    if (flags ^ row.class.flags()) & (OPTIONAL | TRANSITIVE) != 0 {
        return Err((Action::Withdraw, "its flags are not those of this attribute"));
    }
    if row.is_internal && reading.is_external {
        return Err((Action::Discard, "it has no meaning from another AS"));
    }
    if !row.len.fits(value.len()) {
        return Err((row.malformed, "it has a length that this attribute does not have"));
    }
    content(row.code, value, reading).map_err(|why| (row.malformed, why))
}

/// What is wrong with a value of a length that the attribute has.
fn content(code: u8, value: &[u8], reading: &Reading) -> Result<(), &'static str> {
    let width = if reading.is_wide { 4 } else { 2 };
    match code {
        ORIGIN if value[0] > 2 => Err("it is of a kind that there is not"),
        AS_PATH => {
            path::check(value, width)?;
            let segments = if reading.is_wide { Segments::new } else { Segments::narrow };
            if reading.is_external && path::has_confederation(segments(value)) {
                return Err("the path has a confederation of another AS");
            }
            // As it is kept it has 4 bytes an AS.
            if value.len() * 4 / width > LEN_MAX {
                return Err("the path is too long");
            }
            Ok(())
        }
        NEXT_HOP if !is_host(value) => Err("the next hop is no address of a host"),
        AGGREGATOR if value.len() != width + 4 => {
            Err("it has a length that this attribute does not have")
        }
        AGGREGATOR | AS4_AGGREGATOR if value[..value.len() - 4].iter().all(|byte| *byte == 0) => {
            Err("it names AS 0")
        }
        AS4_PATH => path::check(value, 4),
        _ => Ok(()),
    }
}

/// Whether an address of IPv4 may be that of a host: not of this network, of this host, of a group
/// or reserved.
fn is_host(address: &[u8]) -> bool {
    !matches!(u32_of(address) >> 24, 0 | 127 | 224..)
}

/// What becomes of an attribute that is not known: it is kept, dropped, or the end of the session.
pub(crate) fn unknown(flags: u8) -> Class {
    match flags & (OPTIONAL | TRANSITIVE) {
        0 | TRANSITIVE => Class::WellKnown,
        OPTIONAL => Class::NonTransitive,
        _ => Class::Transitive,
    }
}

/// Most bytes of a value.
pub(crate) const LEN_MAX: usize = 65_535;
