//! Extension headers of GTP-U (TS 29.281 section 5.2).
//!
//! The chain is checked once, when a message is; walking it afterwards cannot fail. What the
//! content of an extension header means is left to the caller.

use crate::Malformed;

/// Largest number of extension headers of a message. The standard defines nine types, of which a
/// message has one or two; the limit bounds the work that one packet can cause.
pub const EXTENSION_HEADERS_MAX: usize = 8;

/// No more extension headers.
pub const EXTENSION_NONE: u8 = 0x00;
/// The port of the packet that caused an error indication (section 5.2.2.1).
pub const EXTENSION_UDP_PORT: u8 = 0x40;
/// PDU session container of 5G, with the QoS flow (section 5.2.2.7; TS 38.415).
pub const EXTENSION_PDU_SESSION_CONTAINER: u8 = 0x85;
/// Sequence number of a forwarded packet at handover (section 5.2.2.2).
pub const EXTENSION_PDCP_PDU_NUMBER: u8 = 0xc0;

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Type of the extension header.
    pub kind: u8,
    /// Content between the length and the type of the next header, at least two bytes.
    pub content: &'a [u8],
}

impl Extension<'_> {
    /// Returns true if an endpoint that does not support the type must not process the message
    /// (section 5.2.1: the upper bit of the type).
    #[inline]
    pub fn is_comprehension_required(&self) -> bool {
        self.kind & 0x80 != 0
    }
}

/// The extension headers of a checked message, in the order of the wire.
#[derive(Clone, Copy, Debug)]
pub struct Extensions<'a> {
    next_kind: u8,
    rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// The empty list of a message without extension headers.
    pub(super) const NONE: Self = Self { next_kind: EXTENSION_NONE, rest: &[] };

    /// Checks the chain that begins with an extension header of type `first`; returns the chain and
    /// the bytes after it.
    #[inline]
    pub(super) fn parse(first: u8, body: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let chain = Self { next_kind: first, rest: body };
        let mut walk = chain;
        for _ in 0..EXTENSION_HEADERS_MAX {
            if walk.next_kind == EXTENSION_NONE {
                return Ok((chain, walk.rest));
            }
            walk.next().ok_or(Malformed::BadExtensionHeader)?;
        }
        match walk.next_kind {
            EXTENSION_NONE => Ok((chain, walk.rest)),
            _ => Err(Malformed::TooManyExtensionHeaders),
        }
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next_kind == EXTENSION_NONE {
            return None;
        }
        // The length is in words of four bytes and counts itself and the next type.
        let (&words, rest) = self.rest.split_first()?;
        let content_len = (usize::from(words) * 4).checked_sub(2)?;
        let (content, rest) = rest.split_at_checked(content_len)?;
        let (&next_kind, rest) = rest.split_first()?;
        let kind = std::mem::replace(&mut self.next_kind, next_kind);
        self.rest = rest;
        Some(Extension { kind, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_types_must_be_understood() {
        let required = |kind| Extension { kind, content: &[0, 0] }.is_comprehension_required();
        assert!(!required(EXTENSION_UDP_PORT));
        assert!(required(EXTENSION_PDU_SESSION_CONTAINER));
        assert!(required(EXTENSION_PDCP_PDU_NUMBER));
    }
}
