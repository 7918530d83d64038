//! Signalling messages of GTP-U: those that a gateway sends, and what they say (TS 29.281 section
//! 7).
//!
//! Each is written whole, with tunnel endpoint 0 and a sequence number, as section 5.1 demands of
//! them. An end marker and a G-PDU are a header alone: [`Fields::emit`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    ELEMENT_EXTENSION_HEADER_TYPES, ELEMENT_PEER_ADDRESS, ELEMENT_RECOVERY, ELEMENT_TEID_DATA_I,
    Element, Fields, HEADER_LEN, HEADER_LEN_OPTIONAL, MESSAGE_ECHO_REQUEST, MESSAGE_ECHO_RESPONSE,
    MESSAGE_ERROR_INDICATION, MESSAGE_SUPPORTED_EXTENSION_HEADERS, OptionalFields, View,
};
use crate::Malformed;
use crate::bytes;

/// Length of an echo request in bytes.
pub const ECHO_REQUEST_LEN: usize = HEADER_LEN_OPTIONAL;
/// Length of an echo response with its recovery element, in bytes.
pub const ECHO_RESPONSE_LEN: usize = HEADER_LEN_OPTIONAL + 2;
/// Length of an error indication from an IPv4 address, in bytes.
pub const ERROR_INDICATION_IPV4_LEN: usize = ADDRESS_AT + 4;
/// Length of an error indication from an IPv6 address, in bytes.
pub const ERROR_INDICATION_IPV6_LEN: usize = ADDRESS_AT + 16;

/// Contents of an error indication (section 7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorIndication {
    /// The tunnel endpoint that does not exist at the peer.
    pub teid: u32,
    /// The address that the packet had been sent to.
    pub peer: IpAddr,
}

impl View<'_> {
    /// Returns the restart counter of an echo response, which is mandatory there.
    ///
    /// # Errors
    /// [`Malformed::BadElement`].
    pub fn recovery(&self) -> Result<u8, Malformed> {
        for element in self.elements() {
            if let Element::Recovery(counter) = element? {
                return Ok(counter);
            }
        }
        Err(Malformed::BadElement)
    }

    /// Returns the two mandatory elements of an error indication.
    ///
    /// # Errors
    /// [`Malformed::BadElement`].
    pub fn error_indication(&self) -> Result<ErrorIndication, Malformed> {
        let (mut teid, mut peer) = (None, None);
        for element in self.elements() {
            match element? {
                Element::TeidDataI(value) => teid = Some(value),
                Element::PeerAddress(address) => peer = Some(address),
                _ => {}
            }
        }
        let (teid, peer) = teid.zip(peer).ok_or(Malformed::BadElement)?;
        Ok(ErrorIndication { teid, peer })
    }
}

/// Writes an echo request (section 7.2.1).
#[inline]
pub fn emit_echo_request(sequence: u16, message: &mut [u8; ECHO_REQUEST_LEN]) {
    emit_header(MESSAGE_ECHO_REQUEST, sequence, message);
}

/// Writes the echo response to the request with this sequence number (section 7.2.2). The restart
/// counter is zero, as the section requires.
#[inline]
pub fn emit_echo_response(sequence: u16, message: &mut [u8; ECHO_RESPONSE_LEN]) {
    emit_header(MESSAGE_ECHO_RESPONSE, sequence, message);
    message[HEADER_LEN_OPTIONAL..].copy_from_slice(&[ELEMENT_RECOVERY, 0]);
}

/// Writes an error indication (section 7.3.1) with an IPv4 address: the packet for `teid` that was
/// sent to `peer` found no tunnel there.
#[inline]
pub fn emit_error_indication_ipv4(
    sequence: u16,
    teid: u32,
    peer: Ipv4Addr,
    message: &mut [u8; ERROR_INDICATION_IPV4_LEN],
) {
    emit_error_indication(sequence, teid, &peer.octets(), message);
}

/// Writes an error indication (section 7.3.1) with an IPv6 address.
#[inline]
pub fn emit_error_indication_ipv6(
    sequence: u16,
    teid: u32,
    peer: Ipv6Addr,
    message: &mut [u8; ERROR_INDICATION_IPV6_LEN],
) {
    emit_error_indication(sequence, teid, &peer.octets(), message);
}

/// Writes a supported extension headers notification (section 7.2.3) at the start of `buffer`, and
/// returns its length in bytes; `None` if the buffer is too short or there are more than 255 types.
#[inline]
pub fn emit_supported_extension_headers(
    sequence: u16,
    kinds: &[u8],
    buffer: &mut [u8],
) -> Option<usize> {
    let count = u8::try_from(kinds.len()).ok()?;
    let kinds_at = HEADER_LEN_OPTIONAL + 2;
    let message_len = kinds_at + kinds.len();
    let message = buffer.get_mut(..message_len)?;
    emit_header(MESSAGE_SUPPORTED_EXTENSION_HEADERS, sequence, message);
    message[HEADER_LEN_OPTIONAL] = ELEMENT_EXTENSION_HEADER_TYPES;
    message[HEADER_LEN_OPTIONAL + 1] = count;
    message[kinds_at..].copy_from_slice(kinds);
    Some(message_len)
}

/// Writes the header and both elements; the length of the message depends on the address.
#[inline]
fn emit_error_indication(sequence: u16, teid: u32, peer: &[u8], message: &mut [u8]) {
    emit_header(MESSAGE_ERROR_INDICATION, sequence, message);
    message[TEID_AT - 1] = ELEMENT_TEID_DATA_I;
    bytes::put_u32(message, TEID_AT, teid);
    message[ADDRESS_AT - 3] = ELEMENT_PEER_ADDRESS;
    bytes::put_u16(message, ADDRESS_AT - 2, peer.len() as u16);
    message[ADDRESS_AT..].copy_from_slice(peer);
}

/// Writes the header of a message that fills the whole slice.
#[inline]
fn emit_header(message_type: u8, sequence: u16, message: &mut [u8]) {
    let mut header = [0; HEADER_LEN_OPTIONAL];
    let length = (message.len() - HEADER_LEN) as u16;
    let optional = OptionalFields { sequence: Some(sequence), ..OptionalFields::default() };
    Fields { message_type, length, teid: 0 }.emit_with(&optional, &mut header);
    message[..HEADER_LEN_OPTIONAL].copy_from_slice(&header);
}

/// Offset of the tunnel endpoint identifier in an error indication.
const TEID_AT: usize = HEADER_LEN_OPTIONAL + 1;
/// Offset of the address in an error indication, after its type and length.
const ADDRESS_AT: usize = TEID_AT + 4 + 3;

#[cfg(test)]
mod tests {
    use super::super::{Element, ErrorIndication, View};
    use super::*;
    use crate::Malformed;

    #[test]
    fn echo_request_and_response() {
        let mut request = [0xff; ECHO_REQUEST_LEN];
        emit_echo_request(0x1234, &mut request);
        assert_eq!(request, [0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0]);

        let sequence = View::parse(&request).unwrap().sequence().unwrap();
        let mut response = [0xff; ECHO_RESPONSE_LEN];
        emit_echo_response(sequence, &mut response);
        assert_eq!(response, [0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 0]);
        let view = View::parse(&response).unwrap();
        assert_eq!(view.recovery(), Ok(0));
        assert_eq!(view.error_indication(), Err(Malformed::BadElement));
    }

    #[test]
    fn error_indications() {
        let mut message = [0xff; ERROR_INDICATION_IPV4_LEN];
        let peer = Ipv4Addr::new(200, 0, 0, 1);
        emit_error_indication_ipv4(5, 0x0102_0304, peer, &mut message);
        let expected =
            [0x32, 26, 0, 16, 0, 0, 0, 0, 0, 5, 0, 0, 16, 1, 2, 3, 4, 133, 0, 4, 200, 0, 0, 1];
        assert_eq!(message, expected);
        let view = View::parse(&message).unwrap();
        let indication = ErrorIndication { teid: 0x0102_0304, peer: peer.into() };
        assert_eq!(view.error_indication(), Ok(indication));
        assert_eq!(view.recovery(), Err(Malformed::BadElement));

        let mut message = [0xff; ERROR_INDICATION_IPV6_LEN];
        emit_error_indication_ipv6(6, 7, Ipv6Addr::LOCALHOST, &mut message);
        let view = View::parse(&message).unwrap();
        assert_eq!((view.message_type(), view.length()), (MESSAGE_ERROR_INDICATION, 28));
        let indication = ErrorIndication { teid: 7, peer: Ipv6Addr::LOCALHOST.into() };
        assert_eq!(view.error_indication(), Ok(indication));
    }

    #[test]
    fn supported_extension_headers() {
        let mut buffer = [0xff; 17];
        let len = emit_supported_extension_headers(3, &[0x85, 0xc0], &mut buffer).unwrap();
        let expected = [0x32, 31, 0, 8, 0, 0, 0, 0, 0, 3, 0, 0, 141, 2, 0x85, 0xc0];
        assert_eq!(buffer[..len], expected);
        assert_eq!(buffer[len], 0xff);
        let elements: Vec<_> = View::parse(&buffer).unwrap().elements().collect();
        assert_eq!(elements, [Ok(Element::ExtensionHeaderTypes(&[0x85, 0xc0]))]);
        assert_eq!(emit_supported_extension_headers(3, &[0; 4], &mut buffer), None);
        assert_eq!(emit_supported_extension_headers(3, &[0; 256], &mut [0; 300]), None);
    }
}
