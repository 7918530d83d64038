//! Encapsulated remote mirroring, ERSPAN type II over GRE (draft-foschiano-erspan-03 section 4.2,
//! RFC 2784, RFC 2890).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |0|0|0|1|0|0000 |000000000|00000|         0x88BE                |
//! |                  Sequence number                              |
//! |  Ver  |          VLAN         | COS | En|T|    Session ID     |
//! |      Reserved         |                  Index                |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! The payload is an Ethernet frame without frame check sequence. Type III is in
//! [`crate::erspan_iii`]. **Not supported:** type I, and GRE for anything else.

use crate::bytes::{put_u16, put_u32, u16_at, u32_at};
use crate::{Law, Malformed};

/// Length of both headers in bytes.
pub const HEADER_LEN: usize = 16;
/// Protocol type in GRE.
pub const GRE_TYPE: u16 = 0x88be;
/// Largest session ID.
pub const SESSION_MAX: u16 = 0x3ff;

/// Offsets of the fields, in bytes from the start of the GRE header.
pub mod offset {
    /// Flags and version of GRE, 2 bytes.
    pub const FLAGS: usize = 0;
    /// Protocol type of the GRE payload, 2 bytes.
    pub const TYPE: usize = 2;
    /// Sequence number, 4 bytes.
    pub const SEQUENCE: usize = 4;
    /// Version and VLAN, 2 bytes.
    pub const VERSION_VLAN: usize = 8;
    /// Class of service, encapsulation, truncation and session, 2 bytes.
    pub const SESSION: usize = 10;
    /// Index of the port, the lower 20 bits of 4 bytes.
    pub const INDEX: usize = 12;
}

/// Validated headers.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that both headers are complete, and of ERSPAN type II with a sequence number only.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadFlags`], [`Malformed::BadVersion`].
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        if u16_at(header, offset::FLAGS) != FLAG_SEQUENCE {
            return Err(Malformed::BadFlags);
        }
        let is_type_2 = u16_at(header, offset::TYPE) == GRE_TYPE
            && header[offset::VERSION_VLAN] >> 4 == VERSION;
        if !is_type_2 {
            return Err(Malformed::BadVersion);
        }
        Ok(Self { header, payload })
    }

    /// The headers as values.
    pub fn fields(&self) -> Fields {
        let session = u16_at(self.header, offset::SESSION);
        Fields {
            sequence: u32_at(self.header, offset::SEQUENCE),
            vlan: u16_at(self.header, offset::VERSION_VLAN) & VLAN_MASK,
            class: (session >> CLASS_SHIFT) as u8,
            is_tagged: session & TAG_PRESERVED == TAG_PRESERVED,
            session: session & SESSION_MAX,
            index: u32_at(self.header, offset::INDEX) & INDEX_MASK,
        }
    }

    /// The mirrored frame.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// Both headers as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Number of the frame in its session.
    pub sequence: u32,
    /// VLAN of the mirrored frame, 12 bits; 0 without one.
    pub vlan: u16,
    /// Priority of the mirrored frame, 3 bits.
    pub class: u8,
    /// True if the mirrored frame had a VLAN tag, which is preserved in it.
    pub is_tagged: bool,
    /// Number of the session, 10 bits.
    pub session: u16,
    /// Port and direction of the mirrored frame, 20 bits.
    pub index: u32,
}

impl Fields {
    /// Writes both headers.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        put_u16(header, offset::FLAGS, FLAG_SEQUENCE);
        put_u16(header, offset::TYPE, GRE_TYPE);
        put_u32(header, offset::SEQUENCE, self.sequence);
        let vlan = self.vlan & VLAN_MASK;
        put_u16(header, offset::VERSION_VLAN, u16::from(VERSION) << 12 | vlan);
        let tagged = if self.is_tagged { TAG_PRESERVED } else { 0 };
        let class = u16::from(self.class) << CLASS_SHIFT;
        put_u16(header, offset::SESSION, class | tagged | self.session & SESSION_MAX);
        put_u32(header, offset::INDEX, self.index & INDEX_MASK);
    }
}

/// GRE flags: a sequence number is present (RFC 2890 section 2), and no other field.
const FLAG_SEQUENCE: u16 = 0x1000;
/// Version field of type II.
const VERSION: u8 = 1;
const VLAN_MASK: u16 = 0xfff;
const CLASS_SHIFT: u32 = 13;
/// Both bits of the encapsulation type: the tag is preserved in the frame.
const TAG_PRESERVED: u16 = 0b11 << 11;
const INDEX_MASK: u32 = 0xf_ffff;

/// The law of this module.
pub const LAW: Law = Law { name: "erspan", holds: law, examples: &[] };

/// ERSPAN type II: what is accepted keeps its fields and its payload.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    let packet = [&written[..], view.payload()].concat();
    let again = View::parse(&packet).expect("what is emitted can be read");
    assert_eq!((again.fields(), again.payload()), (view.fields(), view.payload()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields = Fields {
        sequence: 0x0102_0304,
        vlan: 0xabc,
        class: 5,
        is_tagged: true,
        session: 0x2a5,
        index: 0x1_2345,
    };

    #[test]
    fn headers_are_as_drawn() {
        let mut header = [0xff; HEADER_LEN];
        FIELDS.emit(&mut header);
        let expected =
            [0x10, 0, 0x88, 0xbe, 1, 2, 3, 4, 0x1a, 0xbc, 0xba, 0xa5, 0, 0x01, 0x23, 0x45];
        assert_eq!(header, expected);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut packet = [0; HEADER_LEN + 3];
        for fields in [FIELDS, Fields { is_tagged: false, vlan: 0, class: 0, ..FIELDS }] {
            fields.emit(packet.first_chunk_mut().expect("long enough"));
            let view = View::parse(&packet).expect("sound");
            assert_eq!((view.fields(), view.payload().len()), (fields, 3));
        }
        assert_eq!(View::parse(&packet[..15]).err(), Some(Malformed::Truncated));
        for (at, error) in
            [(0, Malformed::BadFlags), (3, Malformed::BadVersion), (8, Malformed::BadVersion)]
        {
            let mut spoiled = packet;
            spoiled[at] ^= 0x20;
            assert_eq!(View::parse(&spoiled).err(), Some(error), "byte {at}");
        }
    }
}
