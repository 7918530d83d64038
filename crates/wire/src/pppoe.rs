//! PPP over Ethernet (RFC 2516 section 4), with the protocol field of PPP behind it in a session
//! (RFC 1661 section 2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  VER  |  TYPE |      CODE     |          SESSION ID           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            LENGTH             |   payload: tags, or PPP       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The length is that of the payload; what follows it in a frame is padding. In a frame of a
//! session the payload begins with two bytes that tell its protocol. **Not supported:** compressed
//! protocol fields, and the tags of discovery.

use crate::bytes;
use crate::{Law, Malformed};

/// Length of the header in bytes, without the protocol field of PPP.
pub const HEADER_LEN: usize = 6;
/// Length of the protocol field of PPP in bytes.
pub const PROTOCOL_LEN: usize = 2;

/// The Ethernet type of discovery.
pub const TYPE_DISCOVERY: u16 = 0x8863;
/// The Ethernet type of sessions.
pub const TYPE_SESSION: u16 = 0x8864;

/// Version 1 and type 1.
pub const VERSION_TYPE: u8 = 0x11;

/// Codes, in the order of discovery (RFC 2516 section 5).
pub mod code {
    /// Active Discovery Initiation: who is there?
    pub const PADI: u8 = 0x09;
    /// Active Discovery Offer.
    pub const PADO: u8 = 0x07;
    /// Active Discovery Request: a session, please.
    pub const PADR: u8 = 0x19;
    /// Active Discovery Session-confirmation.
    pub const PADS: u8 = 0x65;
    /// Active Discovery Terminate.
    pub const PADT: u8 = 0xa7;
    /// None of them: a packet of a session.
    pub const SESSION: u8 = 0;
}

/// The protocol of PPP that is IPv4 (RFC 1332).
pub const PPP_IPV4: u16 = 0x0021;
/// The protocol of PPP that is IPv6 (RFC 5072).
pub const PPP_IPV6: u16 = 0x0057;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Version and type, 4 bits each.
    pub const VERSION_TYPE: usize = 0;
    /// Code, 1 byte.
    pub const CODE: usize = 1;
    /// Session identifier, 2 bytes.
    pub const SESSION_ID: usize = 2;
    /// Length of the payload, 2 bytes.
    pub const LENGTH: usize = 4;
    /// Protocol of PPP in a frame of a session, 2 bytes.
    pub const PROTOCOL: usize = 6;
}

/// A validated header and its payload.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is complete and of version and type 1, and that all of the payload
    /// is there.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadVersion`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        if header[offset::VERSION_TYPE] != VERSION_TYPE {
            return Err(Malformed::BadVersion);
        }
        let len = usize::from(bytes::u16_at(header, offset::LENGTH));
        let payload = rest.get(..len).ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// The code.
    #[inline]
    pub fn code(&self) -> u8 {
        self.header[offset::CODE]
    }

    /// The session identifier.
    #[inline]
    pub fn session_id(&self) -> u16 {
        bytes::u16_at(self.header, offset::SESSION_ID)
    }

    /// The payload, without padding: tags, or a frame of PPP.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The protocol of PPP and what it bears, of a frame of a session that is long enough.
    #[inline]
    pub fn ppp(&self) -> Option<(u16, &'a [u8])> {
        let (protocol, rest) = self.payload.split_first_chunk::<PROTOCOL_LEN>()?;
        (self.code() == code::SESSION).then(|| (u16::from_be_bytes(*protocol), rest))
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        let (code, session_id) = (self.code(), self.session_id());
        Fields { code, session_id, length: self.payload.len() as u16 }
    }
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The code.
    pub code: u8,
    /// The session identifier.
    pub session_id: u16,
    /// Length of the payload in bytes.
    pub length: u16,
}

impl Fields {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        header[offset::VERSION_TYPE] = VERSION_TYPE;
        header[offset::CODE] = self.code;
        bytes::put_u16(header, offset::SESSION_ID, self.session_id);
        bytes::put_u16(header, offset::LENGTH, self.length);
    }
}

/// The law of this module.
pub const LAW: Law = Law {
    name: "pppoe",
    holds: law,
    examples: &[&[0x11, 0, 0, 7, 0, 4, 0x00, 0x21, 0x45, 0], &[0x11, 0x09, 0, 0, 0, 0]],
};

/// PPPoE: what is accepted keeps its header and its payload, and a protocol of PPP is its first two
/// bytes.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    let packet = [&written[..], view.payload()].concat();
    let again = View::parse(&packet).expect("what is emitted can be read");
    assert_eq!((again.fields(), again.payload()), (view.fields(), view.payload()));
    assert_eq!(again.ppp(), view.ppp());
    if let Some((protocol, rest)) = view.ppp() {
        assert_eq!([&protocol.to_be_bytes()[..], rest].concat(), view.payload());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 12] = [0x11, 0, 0x12, 0x34, 0, 4, 0, 0x57, 0x60, 0, 0xaa, 0xbb];

    #[test]
    fn reads_every_field_and_leaves_padding() {
        let view = View::parse(&PACKET).unwrap();
        assert_eq!((view.code(), view.session_id()), (code::SESSION, 0x1234));
        assert_eq!(view.payload(), [0, 0x57, 0x60, 0]);
        assert_eq!(view.ppp(), Some((PPP_IPV6, &[0x60, 0][..])));
        assert_eq!(view.fields().length, 4);
    }

    #[test]
    fn rejects_short_packets_and_other_versions() {
        for len in 0..10 {
            assert_eq!(View::parse(&PACKET[..len]).unwrap_err(), Malformed::Truncated, "{len}");
        }
        for version_type in [0x01, 0x10, 0x12, 0x21] {
            let mut packet = PACKET;
            packet[offset::VERSION_TYPE] = version_type;
            assert_eq!(View::parse(&packet).unwrap_err(), Malformed::BadVersion);
        }
    }

    #[test]
    fn discovery_and_short_payloads_have_no_protocol_of_ppp() {
        let mut packet = PACKET;
        packet[offset::CODE] = code::PADI;
        assert_eq!(View::parse(&packet).unwrap().ppp(), None);
        let mut packet = PACKET;
        packet[5] = 1;
        assert_eq!(View::parse(&packet).unwrap().ppp(), None);
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0xff; HEADER_LEN];
        View::parse(&PACKET).unwrap().fields().emit(&mut header);
        assert_eq!(header, PACKET[..HEADER_LEN]);
    }
}
