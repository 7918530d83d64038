//! PPPoE packets (RFC 2516 section 4), of discovery and of sessions.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Ver  |  Type |      Code     |          Session-ID           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            Length             |           Payload ...
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! It follows the EtherType of a frame, [`TYPE_DISCOVERY`] or [`TYPE_SESSION`]. The Length counts
//! the payload alone; bytes behind it are padding.

pub use wire::pppoe::{HEADER_LEN, TYPE_DISCOVERY, TYPE_SESSION, code};

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it is; 0 in a session.
    pub code: u8,
    /// The session; 0 where there is none yet.
    pub session_id: u16,
    /// Tags, or in a session what PPP carries.
    pub payload: &'a [u8],
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer bytes than the header or the Length asks for.
    Length,
    /// Another version or type than 1.
    Version,
    /// A tag with fewer bytes than its length asks for.
    Tag,
}

impl<'a> Packet<'a> {
    /// Reads what follows the EtherType.
    ///
    /// # Errors
    /// [`Malformed::Length`], [`Malformed::Version`].
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Length)?;
        let [version, code, session @ .., high, low] = *header;
        if version != VERSION_AND_TYPE {
            return Err(Malformed::Version);
        }
        let len = usize::from(u16::from_be_bytes([high, low]));
        let payload = rest.get(..len).ok_or(Malformed::Length)?;
        Ok(Packet { code, session_id: u16::from_be_bytes(session), payload })
    }

    /// Writes the packet.
    ///
    /// # Panics
    /// With a payload that is longer than a Length field can tell.
    pub fn emit(&self) -> Vec<u8> {
        let len = u16::try_from(self.payload.len()).expect("the payload fits the Length field");
        let mut bytes = Vec::with_capacity(HEADER_LEN + self.payload.len());
        bytes.extend([VERSION_AND_TYPE, self.code]);
        bytes.extend(self.session_id.to_be_bytes());
        bytes.extend(len.to_be_bytes());
        bytes.extend(self.payload);
        bytes
    }
}

/// Most bytes of a payload of discovery: with the header, what an Ethernet frame carries.
pub const TAGS_LEN_MAX: usize = 1494;

const VERSION_AND_TYPE: u8 = 0x11;

/// The law of the format: what is accepted is written back as it was read.
///
/// # Panics
/// When it is not.
pub fn law(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else { return };
    let written = packet.emit();
    assert_eq!(written[..], bytes[..written.len()]);
    assert_eq!(Packet::parse(&written), Ok(packet));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_every_field() {
        // A PADI with an empty Service-Name, padded as frames are.
        let bytes = [0x11, 0x09, 0, 0, 0, 4, 1, 1, 0, 0, 0, 0, 0, 0];
        let packet = Packet::parse(&bytes).expect("a packet");
        let payload = &[1, 1, 0, 0][..];
        assert_eq!(packet, Packet { code: code::PADI, session_id: 0, payload });
        assert_eq!(packet.emit(), bytes[..10]);
        let session = Packet { code: code::SESSION, session_id: 0x1234, payload: &[0xc0, 0x21] };
        assert_eq!(session.emit(), [0x11, 0, 0x12, 0x34, 0, 2, 0xc0, 0x21]);
        law(&bytes);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let wrong = |bytes: &[u8]| Packet::parse(bytes).unwrap_err();
        assert_eq!(wrong(&[0x11, 9, 0, 0, 0]), Malformed::Length);
        assert_eq!(wrong(&[0x11, 9, 0, 0, 0, 1]), Malformed::Length);
        assert_eq!(wrong(&[0x12, 9, 0, 0, 0, 0]), Malformed::Version);
        assert_eq!(wrong(&[0x21, 9, 0, 0, 0, 0]), Malformed::Version);
    }
}
