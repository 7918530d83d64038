//! GPRS Tunnelling Protocol for user data, version 1 (3GPP TS 29.281; sections are its).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|T|0|E|S|P| Message type  |            Length           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Tunnel endpoint identifier                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Sequence number (S)      | N-PDU no. (P) | Next ext. (E) |  if E, S or P
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Length, words |            Content ...        | Next ext.     |  while next is not 0
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The version has three bits, T is the protocol type. The length counts what follows the first
//! eight bytes. A checked message ends where its length says, and its chain of extension headers
//! is whole and at most [`EXTENSION_HEADERS_MAX`] long. The payload of a G-PDU is the user's
//! packet; that of a signalling message is [information elements](View::elements), checked while
//! they are read. **Not supported:** GTP′, reading what an extension header says, and
//! emitting extension headers.

use std::hint::black_box;

use crate::bytes;
use crate::{Law, Malformed};

mod elements;
mod extensions;
mod messages;

pub use elements::{
    ELEMENT_EXTENSION_HEADER_TYPES, ELEMENT_PEER_ADDRESS, ELEMENT_RECOVERY, ELEMENT_TEID_DATA_I,
    Element, Elements,
};
pub use extensions::{
    EXTENSION_HEADERS_MAX, EXTENSION_NONE, EXTENSION_PDCP_PDU_NUMBER,
    EXTENSION_PDU_SESSION_CONTAINER, EXTENSION_UDP_PORT, Extension, Extensions,
};
pub use messages::{
    ECHO_REQUEST_LEN, ECHO_RESPONSE_LEN, ERROR_INDICATION_IPV4_LEN, ERROR_INDICATION_IPV6_LEN,
    ErrorIndication, emit_echo_request, emit_echo_response, emit_error_indication_ipv4,
    emit_error_indication_ipv6, emit_supported_extension_headers,
};

/// Length of the header without optional fields, in bytes.
pub const HEADER_LEN: usize = 8;
/// Length of the header with optional fields and without extension headers, in bytes.
pub const HEADER_LEN_OPTIONAL: usize = 12;
/// The UDP port of GTP-U (section 4.4.2.0).
pub const GTPU_PORT: u16 = 2152;
/// The version field (section 5.1).
pub const VERSION: u8 = 1;

/// The first byte of a header without optional fields: version 1, protocol type GTP.
pub const FLAGS: u8 = VERSION << 5 | FLAG_PROTOCOL_TYPE;
/// Flag: protocol type GTP (not GTP′).
pub const FLAG_PROTOCOL_TYPE: u8 = 0x10;
/// Flag: the next extension header field is valid.
pub const FLAG_EXTENSION: u8 = 0x04;
/// Flag: the sequence number is valid.
pub const FLAG_SEQUENCE: u8 = 0x02;
/// Flag: the N-PDU number is valid.
pub const FLAG_N_PDU: u8 = 0x01;
/// Generates any of the flags that make the optional fields present.
pub const FLAGS_OPTIONAL: u8 = FLAG_EXTENSION | FLAG_SEQUENCE | FLAG_N_PDU;

/// Message: echo request (section 7.2.1).
pub const MESSAGE_ECHO_REQUEST: u8 = 1;
/// Message: echo response (section 7.2.2).
pub const MESSAGE_ECHO_RESPONSE: u8 = 2;
/// Message: error indication, the tunnel endpoint does not exist (section 7.3.1).
pub const MESSAGE_ERROR_INDICATION: u8 = 26;
/// Message: supported extension headers notification (section 7.2.3).
pub const MESSAGE_SUPPORTED_EXTENSION_HEADERS: u8 = 31;
/// Message: end marker, no more packets will be sent in this tunnel (section 7.3.2).
pub const MESSAGE_END_MARKER: u8 = 254;
/// Message: G-PDU, a packet of the user.
pub const MESSAGE_G_PDU: u8 = 255;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Version, protocol type and flags, 1 byte.
    pub const FLAGS: usize = 0;
    /// Message type, 1 byte.
    pub const MESSAGE_TYPE: usize = 1;
    /// Length of everything after the first eight bytes, 2 bytes.
    pub const LENGTH: usize = 2;
    /// Tunnel endpoint identifier, 4 bytes.
    pub const TEID: usize = 4;
    /// Sequence number, 2 bytes; optional.
    pub const SEQUENCE: usize = 8;
    /// N-PDU number, 1 byte; optional.
    pub const N_PDU_NUMBER: usize = 10;
    /// Type of the first extension header, 1 byte; optional.
    pub const NEXT_EXTENSION: usize = 11;
}

/// A validated message.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    /// Sequence number, N-PDU number and next extension header, if any of them is valid.
    optional: Option<&'a [u8; OPTIONAL_LEN]>,
    extensions: Extensions<'a>,
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks version, protocol type, length, and the chain of extension headers.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadVersion`], [`Malformed::BadProtocolType`],
    /// [`Malformed::BadTotalLength`] when the length does not cover the optional fields,
    /// [`Malformed::BadExtensionHeader`], [`Malformed::TooManyExtensionHeaders`].
    #[inline]
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            message.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        let flags = header[offset::FLAGS];
        if flags >> 5 != VERSION {
            return Err(Malformed::BadVersion);
        }
        if flags & FLAG_PROTOCOL_TYPE == 0 {
            return Err(Malformed::BadProtocolType);
        }
        let length = usize::from(bytes::u16_at(header, offset::LENGTH));
        let body = rest.get(..length).ok_or(Malformed::Truncated)?;
        if flags & FLAGS_OPTIONAL == 0 {
            return Ok(Self {
                header,
                optional: None,
                extensions: Extensions::NONE,
                payload: body,
            });
        }
        let (optional, body) = body.split_first_chunk().ok_or(Malformed::BadTotalLength)?;
        let first = if flags & FLAG_EXTENSION == 0 { EXTENSION_NONE } else { optional[3] };
        let (extensions, payload) = Extensions::parse(first, body)?;
        Ok(Self { header, optional: Some(optional), extensions, payload })
    }

    /// The type of the message.
    #[inline]
    pub fn message_type(&self) -> u8 {
        self.header[offset::MESSAGE_TYPE]
    }

    /// Length of everything after the first eight bytes, in bytes.
    #[inline]
    pub fn length(&self) -> u16 {
        bytes::u16_at(self.header, offset::LENGTH)
    }

    /// Length of everything before the payload, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + usize::from(self.length()) - self.payload.len()
    }

    /// The tunnel endpoint identifier, chosen by the receiver.
    #[inline]
    pub fn teid(&self) -> u32 {
        bytes::u32_at(self.header, offset::TEID)
    }

    /// The sequence number, if its flag is set.
    #[inline]
    pub fn sequence(&self) -> Option<u16> {
        let optional = self.optional_with(FLAG_SEQUENCE)?;
        Some(u16::from_be_bytes([optional[0], optional[1]]))
    }

    /// The N-PDU number, if its flag is set.
    #[inline]
    pub fn n_pdu_number(&self) -> Option<u8> {
        Some(self.optional_with(FLAG_N_PDU)?[2])
    }

    /// The type of the first extension header, if the flag is set; it may be [`EXTENSION_NONE`].
    #[inline]
    pub fn next_extension(&self) -> Option<u8> {
        Some(self.optional_with(FLAG_EXTENSION)?[3])
    }

    /// The extension headers in the order of the wire.
    #[inline]
    pub fn extensions(&self) -> Extensions<'a> {
        self.extensions
    }

    /// The user's packet of a G-PDU, the information elements of another message.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The information elements of a signalling message.
    #[inline]
    pub fn elements(&self) -> Elements<'a> {
        Elements::new(self.payload)
    }

    /// The fields that every header has, as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields { message_type: self.message_type(), length: self.length(), teid: self.teid() }
    }

    /// The optional fields as values, if any is present.
    #[inline]
    pub fn optional_fields(&self) -> Option<OptionalFields> {
        self.optional.map(|_| OptionalFields {
            sequence: self.sequence(),
            n_pdu_number: self.n_pdu_number(),
            next_extension: self.next_extension(),
        })
    }

    #[inline]
    fn optional_with(&self, flag: u8) -> Option<&'a [u8; OPTIONAL_LEN]> {
        self.optional.filter(|_| self.header[offset::FLAGS] & flag != 0)
    }
}

/// A validated message that can be changed.
#[derive(Debug)]
pub struct ViewMut<'a> {
    /// The message up to the end that its length states.
    message: &'a mut [u8],
    header_len: usize,
}

impl<'a> ViewMut<'a> {
    /// Checks the message like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(message: &'a mut [u8]) -> Result<Self, Malformed> {
        let view = View::parse(message)?;
        let header_len = view.header_len();
        let message_len = HEADER_LEN + usize::from(view.length());
        Ok(Self { message: &mut message[..message_len], header_len })
    }

    /// Sets the tunnel endpoint identifier.
    #[inline]
    pub fn set_teid(&mut self, teid: u32) {
        bytes::put_u32(self.message, offset::TEID, teid);
    }

    /// The user's packet or the information elements, mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.message[self.header_len..]
    }
}

/// The fields that every header has, as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The type of the message.
    pub message_type: u8,
    /// Length of everything after the first eight bytes, optional fields included, in bytes.
    pub length: u16,
    /// The tunnel endpoint identifier; 0 in signalling messages but the end marker.
    pub teid: u32,
}

impl Fields {
    /// Writes the complete header, without optional fields.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        header[offset::FLAGS] = FLAGS;
        header[offset::MESSAGE_TYPE] = self.message_type;
        bytes::put_u16(header, offset::LENGTH, self.length);
        bytes::put_u32(header, offset::TEID, self.teid);
    }

    /// Writes the header with these optional fields. If the next extension header is not
    /// [`EXTENSION_NONE`], the caller writes the chain after it.
    #[inline]
    pub fn emit_with(&self, optional: &OptionalFields, header: &mut [u8; HEADER_LEN_OPTIONAL]) {
        header[offset::FLAGS] = FLAGS | optional.flags();
        header[offset::MESSAGE_TYPE] = self.message_type;
        bytes::put_u16(header, offset::LENGTH, self.length);
        bytes::put_u32(header, offset::TEID, self.teid);
        bytes::put_u16(header, offset::SEQUENCE, optional.sequence.unwrap_or(0));
        header[offset::N_PDU_NUMBER] = optional.n_pdu_number.unwrap_or(0);
        header[offset::NEXT_EXTENSION] = optional.next_extension.unwrap_or(EXTENSION_NONE);
    }
}

/// The optional fields as values; fields without a value are sent as zero with a clear flag. At
/// least one should have a value, otherwise the receiver treats the four bytes as payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalFields {
    /// The sequence number.
    pub sequence: Option<u16>,
    /// The N-PDU number.
    pub n_pdu_number: Option<u8>,
    /// The type of the first extension header.
    pub next_extension: Option<u8>,
}

impl OptionalFields {
    /// The flags of the fields that have a value.
    #[inline]
    fn flags(&self) -> u8 {
        let extension = u8::from(self.next_extension.is_some()) * FLAG_EXTENSION;
        let sequence = u8::from(self.sequence.is_some()) * FLAG_SEQUENCE;
        let n_pdu = u8::from(self.n_pdu_number.is_some()) * FLAG_N_PDU;
        let flags = extension | sequence | n_pdu;
        debug_assert!(flags != 0, "no optional field has a value");
        flags
    }
}

/// Length of the optional fields in bytes.
const OPTIONAL_LEN: usize = HEADER_LEN_OPTIONAL - HEADER_LEN;

/// The law of this module.
pub const LAW: Law = Law { name: "gtpu", holds: law, examples: &[] };

/// GTP-U: what is accepted is written back the same, and its parts make up the whole.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let message_len = HEADER_LEN + usize::from(view.length());
    assert_eq!(view.header_len() + view.payload().len(), message_len);
    let chain_len: usize = view.extensions().map(|header| header.content.len() + 2).sum();
    let optional_len = view.optional_fields().map_or(0, |_| 4);
    assert_eq!(view.header_len(), HEADER_LEN + optional_len + chain_len);
    assert!(view.extensions().count() <= EXTENSION_HEADERS_MAX);
    assert!(view.elements().count() <= view.payload().len());
    let _ = black_box((view.recovery(), view.error_indication()));
    black_box(view.extensions().filter(Extension::is_comprehension_required).count());

    let mut written = [0; HEADER_LEN_OPTIONAL];
    match view.optional_fields() {
        Some(optional) => view.fields().emit_with(&optional, &mut written),
        None => view.fields().emit(written.first_chunk_mut().expect("a constant length")),
    }
    // Fields without their flag are written as zero and need not have been, like the spare bit.
    let written = &written[..HEADER_LEN + optional_len];
    assert_eq!(written[0], data[0] & !0x08);
    assert_eq!(written[1..HEADER_LEN], data[1..HEADER_LEN]);
    let payload_len = view.payload().len();

    let mut message = data.to_vec();
    let mut changed = ViewMut::parse(&mut message).expect("accepted before");
    changed.set_teid(!view.teid());
    assert_eq!(changed.payload_mut().len(), payload_len);
    let changed = View::parse(&message).expect("a tunnel endpoint changes no length");
    assert_eq!(changed.teid(), !view.teid());
    assert_eq!(changed.payload(), view.payload());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A G-PDU to tunnel endpoint 0x01020304 with two bytes of payload and one surplus byte.
    const G_PDU: [u8; 11] = [0x30, 255, 0, 2, 1, 2, 3, 4, 0xca, 0xfe, 0xff];

    /// Returns a G-PDU with these flags and this body.
    fn message(flags: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![FLAGS | flags, MESSAGE_G_PDU, 0, body.len() as u8, 0, 0, 0, 9];
        message.extend(body);
        message
    }

    /// Returns the error of a G-PDU with these flags and this body.
    fn error_of(flags: u8, body: &[u8]) -> Malformed {
        View::parse(&message(flags, body)).unwrap_err()
    }

    #[test]
    fn reads_a_short_header() {
        let view = View::parse(&G_PDU).unwrap();
        assert_eq!(view.message_type(), MESSAGE_G_PDU);
        assert_eq!((view.length(), view.header_len()), (2, HEADER_LEN));
        assert_eq!(view.teid(), 0x0102_0304);
        assert_eq!(
            (view.sequence(), view.n_pdu_number(), view.next_extension()),
            (None, None, None)
        );
        assert_eq!(view.optional_fields(), None);
        assert_eq!(view.extensions().count(), 0);
        assert_eq!(view.payload(), [0xca, 0xfe]);
    }

    #[test]
    fn flags_give_meaning_to_the_optional_fields() {
        let body = [0x12, 0x34, 0x56, EXTENSION_NONE, 0xca];
        for flags in 1..8 {
            let message = message(flags, &body);
            let view = View::parse(&message).unwrap();
            let has = |flag| flags & flag != 0;
            assert_eq!(view.sequence(), has(FLAG_SEQUENCE).then_some(0x1234));
            assert_eq!(view.n_pdu_number(), has(FLAG_N_PDU).then_some(0x56));
            assert_eq!(view.next_extension(), has(FLAG_EXTENSION).then_some(EXTENSION_NONE));
            assert_eq!(view.header_len(), HEADER_LEN_OPTIONAL);
            assert_eq!(view.payload(), [0xca]);
        }
    }

    #[test]
    fn does_not_read_an_extension_type_without_its_flag() {
        let message = message(FLAG_SEQUENCE, &[0, 1, 0, EXTENSION_PDU_SESSION_CONTAINER]);
        let view = View::parse(&message).unwrap();
        assert_eq!(view.extensions().count(), 0);
        assert!(view.payload().is_empty());
    }

    #[test]
    fn walks_extension_headers() {
        let mut body = vec![0, 0, 0, EXTENSION_PDU_SESSION_CONTAINER];
        body.extend([1, 0x10, 0x09, EXTENSION_PDCP_PDU_NUMBER]);
        body.extend([2, 1, 2, 3, 4, 5, 6, EXTENSION_NONE]);
        body.extend([0x45, 0]);
        let message = message(FLAG_EXTENSION, &body);
        let view = View::parse(&message).unwrap();
        let expected = [
            Extension { kind: EXTENSION_PDU_SESSION_CONTAINER, content: &[0x10, 0x09] },
            Extension { kind: EXTENSION_PDCP_PDU_NUMBER, content: &[1, 2, 3, 4, 5, 6] },
        ];
        assert!(view.extensions().eq(expected));
        assert_eq!(view.header_len(), 24);
        assert_eq!(view.payload(), [0x45, 0]);
    }

    #[test]
    fn names_what_is_wrong() {
        for len in 0..10 {
            assert_eq!(View::parse(&G_PDU[..len]).unwrap_err(), Malformed::Truncated);
        }
        let with_flags = |flags| {
            let mut message = G_PDU;
            message[offset::FLAGS] = flags;
            View::parse(&message).unwrap_err()
        };
        assert_eq!(with_flags(0x10), Malformed::BadVersion);
        assert_eq!(with_flags(0x48), Malformed::BadVersion);
        assert_eq!(with_flags(0x20), Malformed::BadProtocolType);
        assert_eq!(with_flags(FLAGS | FLAG_SEQUENCE), Malformed::BadTotalLength);
        assert_eq!(error_of(FLAG_N_PDU, &[0, 0, 0]), Malformed::BadTotalLength);
    }

    #[test]
    fn bounds_the_chain_of_extension_headers() {
        let error_with = |chain: &[u8]| error_of(FLAG_EXTENSION, &[&[0, 0, 0, 1], chain].concat());
        assert_eq!(error_with(&[]), Malformed::BadExtensionHeader);
        assert_eq!(error_with(&[0, 0, 0, 0]), Malformed::BadExtensionHeader);
        assert_eq!(error_with(&[1, 0, 0]), Malformed::BadExtensionHeader);
        assert_eq!(error_with(&[2, 0, 0, 0]), Malformed::BadExtensionHeader);
        assert_eq!(error_with(&[1, 0, 0, 1]), Malformed::BadExtensionHeader);
        let link = [1, 0, 0, 1];
        let mut most = [link; EXTENSION_HEADERS_MAX].concat();
        *most.last_mut().unwrap() = EXTENSION_NONE;
        let message = message(FLAG_EXTENSION, &[&[0, 0, 0, 1], &most[..]].concat());
        let count = View::parse(&message).unwrap().extensions().count();
        assert_eq!(count, EXTENSION_HEADERS_MAX);
        let more = [&link[..], &most].concat();
        assert_eq!(error_with(&more), Malformed::TooManyExtensionHeaders);
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut message = G_PDU;
        let mut view = ViewMut::parse(&mut message).unwrap();
        view.set_teid(7);
        view.payload_mut().fill(9);
        assert_eq!(message, [0x30, 255, 0, 2, 0, 0, 0, 7, 9, 9, 0xff]);
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0xff; HEADER_LEN];
        View::parse(&G_PDU).unwrap().fields().emit(&mut header);
        assert_eq!(header, G_PDU[..HEADER_LEN]);

        let long = message(FLAGS_OPTIONAL, &[0x12, 0x34, 0x56, EXTENSION_NONE]);
        let view = View::parse(&long).unwrap();
        let mut header = [0xff; HEADER_LEN_OPTIONAL];
        view.fields().emit_with(&view.optional_fields().unwrap(), &mut header);
        assert_eq!(header, long[..]);
    }
}
