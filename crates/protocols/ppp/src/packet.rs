//! Packets of the control protocols (RFC 1661 sections 2 and 5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Protocol            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Code      |  Identifier   |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Data ...
//! +-+-+-+-+
//! ```
//! The payload of a PPPoE session begins with the Protocol field, which is never compressed. The
//! Length counts from the Code on; bytes behind it are padding.

/// A packet of a control protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it is, of the protocol's numbers.
    pub code: u8,
    /// By which an answer names what it answers.
    pub id: u8,
    /// What follows the Length field.
    pub data: &'a [u8],
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer bytes than a header has, or a Length below it or above the bytes that there are.
    Length,
    /// Numbers of protocols have an even first and an odd second byte.
    Protocol,
    /// An option whose length is below 2 or above the bytes that there are.
    Option,
}

/// Splits a payload into the number of its protocol and what follows.
///
/// # Errors
/// [`Malformed::Length`], [`Malformed::Protocol`].
pub fn split(payload: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let (number, rest) = payload.split_first_chunk::<2>().ok_or(Malformed::Length)?;
    if number[0] & 1 != 0 || number[1] & 1 == 0 {
        return Err(Malformed::Protocol);
    }
    Ok((u16::from_be_bytes(*number), rest))
}

impl<'a> Packet<'a> {
    /// Reads what follows the Protocol field.
    ///
    /// # Errors
    /// [`Malformed::Length`].
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Length)?;
        let [code, id, len @ ..] = *header;
        let len = usize::from(u16::from_be_bytes(len));
        let len = len.checked_sub(HEADER_LEN).ok_or(Malformed::Length)?;
        let data = rest.get(..len).ok_or(Malformed::Length)?;
        Ok(Packet { code, id, data })
    }

    /// Writes a payload: the number of a protocol and the packet.
    ///
    /// # Panics
    /// With more data than a Length field can tell.
    pub fn emit(&self, protocol: u16) -> Vec<u8> {
        let len = u16::try_from(HEADER_LEN + self.data.len()).expect("data fit the Length field");
        let mut payload = Vec::with_capacity(2 + usize::from(len));
        payload.extend(protocol.to_be_bytes());
        payload.extend([self.code, self.id]);
        payload.extend(len.to_be_bytes());
        payload.extend(self.data);
        payload
    }
}

/// Splits off what has its length in front of it, as names, passwords and values of PAP and CHAP
/// have.
pub(crate) fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

/// Numbers of protocols.
pub mod protocol {
    /// Packets of IPv4.
    pub const IPV4: u16 = 0x0021;
    /// Packets of IPv6.
    pub const IPV6: u16 = 0x0057;
    /// The Internet Protocol Control Protocol.
    pub const IPCP: u16 = 0x8021;
    /// The IPv6 Control Protocol.
    pub const IPV6CP: u16 = 0x8057;
    /// The Link Control Protocol.
    pub const LCP: u16 = 0xc021;
    /// The Password Authentication Protocol.
    pub const PAP: u16 = 0xc023;
    /// The Challenge Handshake Authentication Protocol.
    pub const CHAP: u16 = 0xc223;
}

/// Codes of LCP and of the protocols that are negotiated by the same automaton.
pub mod code {
    /// Options that the sender wants.
    pub const CONFIGURE_REQUEST: u8 = 1;
    /// All of them are accepted.
    pub const CONFIGURE_ACK: u8 = 2;
    /// Some of them are wanted otherwise.
    pub const CONFIGURE_NAK: u8 = 3;
    /// Some of them are not known or not wanted.
    pub const CONFIGURE_REJECT: u8 = 4;
    /// The sender wants to end it.
    pub const TERMINATE_REQUEST: u8 = 5;
    /// It is ended.
    pub const TERMINATE_ACK: u8 = 6;
    /// A code is not known.
    pub const CODE_REJECT: u8 = 7;
    /// Of LCP: a protocol is not known.
    pub const PROTOCOL_REJECT: u8 = 8;
    /// Of LCP: is the peer there?
    pub const ECHO_REQUEST: u8 = 9;
    /// Of LCP: it is.
    pub const ECHO_REPLY: u8 = 10;
    /// Of LCP: to be thrown away.
    pub const DISCARD_REQUEST: u8 = 11;
    /// Of LCP: who the sender is (RFC 1570 section 2.1).
    pub const IDENTIFICATION: u8 = 12;
    /// Of LCP: how long the session lasts (RFC 1570 section 2.2).
    pub const TIME_REMAINING: u8 = 13;
}

/// Codes of PAP (RFC 1334 section 2.2).
pub mod pap {
    /// Name and password.
    pub const REQUEST: u8 = 1;
    /// They are right.
    pub const ACK: u8 = 2;
    /// They are not.
    pub const NAK: u8 = 3;
}

/// Codes of CHAP (RFC 1994 section 4).
pub mod chap {
    /// A value to be answered.
    pub const CHALLENGE: u8 = 1;
    /// The hash of it with the secret.
    pub const RESPONSE: u8 = 2;
    /// It is right.
    pub const SUCCESS: u8 = 3;
    /// It is not.
    pub const FAILURE: u8 = 4;
}

/// Length of a packet without data, in bytes.
pub const HEADER_LEN: usize = 4;

/// Most bytes that go back as rejected. With a header they fit the least MRU that is accepted, 576,
/// beyond which no packet may go (RFC 1661 sections 5.6 and 5.7).
pub(crate) const REJECTED_MAX: usize = 512;

/// The law of the format: what is accepted is written back as it was read.
///
/// # Panics
/// When it is not.
pub fn law(payload: &[u8]) {
    let Ok((protocol, rest)) = split(payload) else { return };
    let Ok(packet) = Packet::parse(rest) else { return };
    let written = packet.emit(protocol);
    assert_eq!(written[..], payload[..written.len()]);
    assert_eq!(split(&written).map(|(_, rest)| Packet::parse(rest)), Ok(Ok(packet)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_every_field() {
        // A Configure-Request of LCP: MRU 1492, Magic-Number.
        let payload =
            [0xc0, 0x21, 1, 7, 0, 14, 1, 4, 0x05, 0xd4, 5, 6, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0];
        let (protocol, rest) = split(&payload).expect("a protocol");
        let packet = Packet::parse(rest).expect("a packet");
        assert_eq!((protocol, packet.code, packet.id), (protocol::LCP, 1, 7));
        assert_eq!(packet.data, &payload[6..16], "padding is left out");
        assert_eq!(packet.emit(protocol), payload[..16]);
        law(&payload);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        assert_eq!(split(&[0xc0]), Err(Malformed::Length));
        assert_eq!(split(&[0xc1, 0x21]), Err(Malformed::Protocol));
        assert_eq!(split(&[0x21, 0x45]), Err(Malformed::Protocol), "compressed");
        assert_eq!(split(&[0xc0, 0x20]), Err(Malformed::Protocol));
        assert_eq!(Packet::parse(&[1, 1, 0]), Err(Malformed::Length));
        assert_eq!(Packet::parse(&[1, 1, 0, 3]), Err(Malformed::Length));
        assert_eq!(Packet::parse(&[1, 1, 0, 5]), Err(Malformed::Length));
        assert_eq!(Packet::parse(&[1, 1, 0, 4]).map(|packet| packet.data.len()), Ok(0));
    }
}
