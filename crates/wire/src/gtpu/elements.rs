//! Information elements of GTP-U signalling messages (TS 29.281 section 8).
//!
//! ```text
//! type below 128:  | Type | Value, of a length that the type implies |
//! others:          | Type |    Length, 2 bytes    |      Value       |
//! 141:             | Type | Length, 1 byte |          Value          |
//! ```
//!
//! Reading stops at the first malformed element, and at an unknown type below 128, whose length
//! nobody can know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Malformed;

/// Restart counter, which receivers ignore (section 8.2).
pub const ELEMENT_RECOVERY: u8 = 14;
/// Tunnel endpoint identifier of user data (section 8.3).
pub const ELEMENT_TEID_DATA_I: u8 = 16;
/// Address of the sender of an error indication (section 8.4).
pub const ELEMENT_PEER_ADDRESS: u8 = 133;
/// Types of extension headers that the sender supports (section 8.5).
pub const ELEMENT_EXTENSION_HEADER_TYPES: u8 = 141;

/// An information element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// The restart counter; sent as zero and ignored by the receiver.
    Recovery(u8),
    /// A tunnel endpoint identifier.
    TeidDataI(u32),
    /// An address of the sender.
    PeerAddress(IpAddr),
    /// Types of extension headers.
    ExtensionHeaderTypes(&'a [u8]),
    /// An element of another type.
    Other {
        /// Type of the element, at least 128.
        kind: u8,
        /// Value of the element.
        value: &'a [u8],
    },
}

/// Iterator over elements until the end of the message or the first malformed one.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    #[inline]
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, rest) = std::mem::take(&mut self.rest).split_first()?;
        let read = split_element(kind, rest).and_then(|(value, rest)| {
            self.rest = rest;
            read_element(kind, value)
        });
        if read.is_none() {
            self.rest = &[];
        }
        Some(read.ok_or(Malformed::BadElement))
    }
}

/// Splits the value of an element from the bytes after the element.
fn split_element(kind: u8, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    match kind {
        ELEMENT_RECOVERY => rest.split_at_checked(1),
        ELEMENT_TEID_DATA_I => rest.split_at_checked(4),
        0..128 => None,
        ELEMENT_EXTENSION_HEADER_TYPES => {
            let (&len, rest) = rest.split_first()?;
            rest.split_at_checked(usize::from(len))
        }
        128.. => {
            let (&len, rest) = rest.split_first_chunk()?;
            rest.split_at_checked(usize::from(u16::from_be_bytes(len)))
        }
    }
}

/// Parses a value according to its type.
fn read_element(kind: u8, value: &[u8]) -> Option<Element<'_>> {
    Some(match kind {
        ELEMENT_RECOVERY => Element::Recovery(*value.first()?),
        ELEMENT_TEID_DATA_I => Element::TeidDataI(u32::from_be_bytes(value.try_into().ok()?)),
        ELEMENT_PEER_ADDRESS => Element::PeerAddress(read_address(value)?),
        ELEMENT_EXTENSION_HEADER_TYPES => Element::ExtensionHeaderTypes(value),
        _ => Element::Other { kind, value },
    })
}

/// Parses an address; its length determines the IP version.
fn read_address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(Ipv4Addr::from(octets).into());
    }
    let octets = <[u8; 16]>::try_from(value).ok()?;
    Some(Ipv6Addr::from(octets).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the elements up to and including the first malformed one.
    fn read(payload: &[u8]) -> Vec<Result<Element<'_>, Malformed>> {
        Elements::new(payload).collect()
    }

    #[test]
    fn reads_elements_of_every_form() {
        let mut payload = vec![ELEMENT_RECOVERY, 7, ELEMENT_TEID_DATA_I, 1, 2, 3, 4];
        payload.extend([ELEMENT_PEER_ADDRESS, 0, 4, 200, 0, 0, 1]);
        payload.extend([ELEMENT_EXTENSION_HEADER_TYPES, 2, 0x40, 0x85]);
        payload.extend([255, 0, 3, 9, 9, 9]);
        let expected = [
            Ok(Element::Recovery(7)),
            Ok(Element::TeidDataI(0x0102_0304)),
            Ok(Element::PeerAddress(Ipv4Addr::new(200, 0, 0, 1).into())),
            Ok(Element::ExtensionHeaderTypes(&[0x40, 0x85])),
            Ok(Element::Other { kind: 255, value: &[9, 9, 9] }),
        ];
        assert_eq!(read(&payload), expected);
        let ipv6 = [&[ELEMENT_PEER_ADDRESS, 0, 16][..], &Ipv6Addr::LOCALHOST.octets()].concat();
        assert_eq!(read(&ipv6), [Ok(Element::PeerAddress(Ipv6Addr::LOCALHOST.into()))]);
    }

    #[test]
    fn stops_at_a_malformed_element() {
        let malformed: [&[u8]; 9] = [
            &[ELEMENT_RECOVERY],
            &[ELEMENT_TEID_DATA_I, 1, 2, 3],
            &[ELEMENT_PEER_ADDRESS, 0],
            &[ELEMENT_PEER_ADDRESS, 0, 5, 1, 2, 3, 4, 5],
            &[ELEMENT_PEER_ADDRESS, 0, 4, 1, 2, 3],
            &[ELEMENT_EXTENSION_HEADER_TYPES],
            &[ELEMENT_EXTENSION_HEADER_TYPES, 1],
            &[255, 0xff, 0xff],
            &[127, 0, 1, 0],
        ];
        for bytes in malformed {
            assert_eq!(read(bytes), [Err(Malformed::BadElement)]);
            let after_one = [&[ELEMENT_RECOVERY, 0], bytes].concat();
            assert_eq!(read(&after_one), [Ok(Element::Recovery(0)), Err(Malformed::BadElement)]);
        }
    }
}
