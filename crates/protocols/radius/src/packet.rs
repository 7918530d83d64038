//! Packets (RFC 2865 section 3): a view that is checked once.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Code      |  Identifier   |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! |                  Authenticator, 16 bytes                      |
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Attributes ...
//! +-+-+-+-+-+-+-+-+-+-+-+-+-
//! ```
//! Bytes of a datagram behind the length are padding and ignored. What makes packets is `seal`.

use crate::attributes::Attributes;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Somebody wants access (RFC 2865 section 4.1).
    AccessRequest = 1,
    /// He has it.
    AccessAccept = 2,
    /// He has it not.
    AccessReject = 3,
    /// What somebody has used (RFC 2866 section 4.1).
    AccountingRequest = 4,
    /// That it was recorded.
    AccountingResponse = 5,
    /// He is asked for more.
    AccessChallenge = 11,
    /// Whether a server is there (RFC 5997).
    StatusServer = 12,
    /// A session is to end (RFC 5176 section 2.1).
    DisconnectRequest = 40,
    /// It has.
    DisconnectAck = 41,
    /// It has not.
    DisconnectNak = 42,
    /// A session is to have something else (RFC 5176 section 2.2).
    CoaRequest = 43,
    /// It has.
    CoaAck = 44,
    /// It has not.
    CoaNak = 45,
}

/// A packet that came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it is.
    pub code: Code,
    /// Which one of a sender it is.
    pub identifier: u8,
    /// The request's or the response's authenticator.
    pub authenticator: &'a [u8; AUTHENTICATOR_LEN],
    /// Its attributes.
    pub attributes: Attributes<'a>,
    /// All of it, without padding.
    pub bytes: &'a [u8],
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 20 bytes, longer than 4096, or shorter than it says.
    Length,
    /// A code that is not known.
    Code,
    /// The length of an attribute is wrong.
    Attribute,
}

impl<'a> Packet<'a> {
    /// Checks header and attributes.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let (header, _) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Length)?;
        let [code, identifier, high, low, ..] = *header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        if !(HEADER_LEN..=PACKET_LEN_MAX).contains(&len) {
            return Err(Malformed::Length);
        }
        let bytes = bytes.get(..len).ok_or(Malformed::Length)?;
        let code = Code::from_number(code).ok_or(Malformed::Code)?;
        let (_, rest) = bytes.split_at(4);
        let (authenticator, rest) = rest.split_first_chunk().ok_or(Malformed::Length)?;
        let attributes = Attributes::parse(rest).ok_or(Malformed::Attribute)?;
        Ok(Packet { code, identifier, authenticator, attributes, bytes })
    }
}

impl std::fmt::Debug for Packet<'_> {
    /// Authenticators and values may be secrets, or what tries of secrets are compared with.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Packet { code, identifier, attributes, .. } = self;
        let mut shown = f.debug_struct("Packet");
        shown.field("code", code).field("identifier", identifier).field("attributes", attributes);
        shown.finish_non_exhaustive()
    }
}

impl Code {
    /// Returns the code of a number.
    pub fn from_number(number: u8) -> Option<Code> {
        CODES.into_iter().find(|code| *code as u8 == number)
    }
}

/// All codes.
const CODES: [Code; 13] = [
    Code::AccessRequest,
    Code::AccessAccept,
    Code::AccessReject,
    Code::AccountingRequest,
    Code::AccountingResponse,
    Code::AccessChallenge,
    Code::StatusServer,
    Code::DisconnectRequest,
    Code::DisconnectAck,
    Code::DisconnectNak,
    Code::CoaRequest,
    Code::CoaAck,
    Code::CoaNak,
];

/// Length of a packet without attributes, in bytes.
pub const HEADER_LEN: usize = 20;

/// Length of an authenticator, in bytes.
pub const AUTHENTICATOR_LEN: usize = 16;

/// Most bytes of a packet.
pub const PACKET_LEN_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_as_long_as_it_says() {
        let packet = [&[1, 7, 0, 23][..], &[9; 16], &[1, 3, b'a'], b"padding"].concat();
        let read = Packet::parse(&packet).expect("a packet");
        assert_eq!((read.code, read.identifier), (Code::AccessRequest, 7));
        assert_eq!((read.authenticator, read.bytes.len()), (&[9; 16], 23));
        assert_eq!(read.attributes.first(1), Some(&b"a"[..]));
        let changed = |at: usize, value: u8| {
            let mut bytes = packet.clone();
            bytes[at] = value;
            Packet::parse(&bytes).map(|_| ())
        };
        assert_eq!(changed(0, 6), Err(Malformed::Code));
        assert_eq!(changed(3, 19), Err(Malformed::Length));
        assert_eq!(changed(3, 31), Err(Malformed::Length), "longer than the datagram");
        assert_eq!(changed(3, 22), Err(Malformed::Attribute));
        assert_eq!(changed(21, 1), Err(Malformed::Attribute));
        assert_eq!(changed(2, 0x10), Err(Malformed::Length), "more than 4096 bytes");
        assert_eq!(Packet::parse(&packet[..19]), Err(Malformed::Length));
    }
}
