//! Encapsulated remote mirroring with a time: ERSPAN type III over GRE (draft-foschiano-erspan-03
//! section 4.3, RFC 2784, RFC 2890). Type II is in [`crate::erspan`].
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |0|0|0|1|0|0000 |000000000|00000|         0x22EB                |
//! |                  Sequence number                              |
//! |  Ver  |          VLAN         | COS |BSO|T|     Session ID    |
//! |                          Timestamp                            |
//! |             SGT               |P|    FT   |   Hw ID   |D|Gra|O|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! The payload is an Ethernet frame (P set, FT 0) without frame check sequence, whole and sound
//! (BSO and T 0), of no security group (SGT 0), and times are in units of 100 ns. **Not
//! supported:** other granularities, and the platform-specific subheader (O is 0): its forms are of
//! their makers, and what they add, a larger time and port numbers, is less than what they cost in
//! a frame.

use crate::bytes::{put_u16, put_u32, u16_at, u32_at};
use crate::erspan::SESSION_MAX;
use crate::{Law, Malformed};

/// Length of both headers in bytes.
pub const HEADER_LEN: usize = 20;
/// Protocol type in GRE.
pub const GRE_TYPE: u16 = 0x22eb;
/// Largest port number.
pub const PORT_MAX: u8 = 0x3f;
/// Unit of time in nanoseconds.
pub const UNIT_NS: u64 = 100;

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
    /// Class of service, state of the frame, truncation and session, 2 bytes.
    pub const SESSION: usize = 10;
    /// Time, 4 bytes.
    pub const TIMESTAMP: usize = 12;
    /// Security group, 2 bytes.
    pub const GROUP: usize = 16;
    /// Type of the payload, port, direction and granularity of the time, 2 bytes.
    pub const ORIGIN: usize = 18;
}

/// Validated headers.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that both headers are complete, and of ERSPAN type III with an Ethernet frame, a time
    /// in units of 100 ns, and no subheader.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadFlags`], [`Malformed::BadVersion`].
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        if u16_at(header, offset::FLAGS) != FLAG_SEQUENCE {
            return Err(Malformed::BadFlags);
        }
        let is_type_3 = u16_at(header, offset::TYPE) == GRE_TYPE
            && header[offset::VERSION_VLAN] >> 4 == VERSION;
        if !is_type_3 {
            return Err(Malformed::BadVersion);
        }
        if u16_at(header, offset::ORIGIN) & FORM_MASK != FORM {
            return Err(Malformed::BadFlags);
        }
        Ok(Self { header, payload })
    }

    /// The headers as values.
    pub fn fields(&self) -> Fields {
        let session = u16_at(self.header, offset::SESSION);
        let origin = u16_at(self.header, offset::ORIGIN);
        Fields {
            sequence: u32_at(self.header, offset::SEQUENCE),
            vlan: u16_at(self.header, offset::VERSION_VLAN) & VLAN_MASK,
            class: (session >> CLASS_SHIFT) as u8,
            session: session & SESSION_MAX,
            timestamp: u32_at(self.header, offset::TIMESTAMP),
            port: (origin >> PORT_SHIFT) as u8 & PORT_MAX,
            is_egress: origin & EGRESS != 0,
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
    /// Number of the session, 10 bits.
    pub session: u16,
    /// Time of mirroring, in units of 100 ns.
    pub timestamp: u32,
    /// Port of the mirrored frame, 6 bits.
    pub port: u8,
    /// True if the frame was mirrored at egress.
    pub is_egress: bool,
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
        let class = u16::from(self.class) << CLASS_SHIFT;
        put_u16(header, offset::SESSION, class | self.session & SESSION_MAX);
        put_u32(header, offset::TIMESTAMP, self.timestamp);
        put_u16(header, offset::GROUP, 0);
        let port = u16::from(self.port & PORT_MAX) << PORT_SHIFT;
        let direction = if self.is_egress { EGRESS } else { 0 };
        put_u16(header, offset::ORIGIN, FORM | port | direction);
    }
}

/// GRE flags: a sequence number is present (RFC 2890 section 2), and no other field.
const FLAG_SEQUENCE: u16 = 0x1000;
/// Version field of type III.
const VERSION: u8 = 2;
const VLAN_MASK: u16 = 0xfff;
const CLASS_SHIFT: u32 = 13;
const PORT_SHIFT: u32 = 4;
/// Flag: the frame was mirrored at egress.
const EGRESS: u16 = 1 << 3;
/// P and FT: an Ethernet frame; Gra: units of 100 ns; O: no subheader.
const FORM: u16 = 1 << 15 | 0b01 << 1;
const FORM_MASK: u16 = 0xfc07;

/// The law of this module.
pub const LAW: Law = Law { name: "erspan_iii", holds: law, examples: &[] };

/// ERSPAN type III: what is accepted keeps its fields and its payload.
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
        session: 0x2a5,
        timestamp: 0x1122_3344,
        port: 0x2a,
        is_egress: true,
    };

    #[test]
    fn headers_are_as_drawn() {
        let mut header = [0xff; HEADER_LEN];
        FIELDS.emit(&mut header);
        let expected = [
            0x10, 0, 0x22, 0xeb, 1, 2, 3, 4, 0x2a, 0xbc, 0xa2, 0xa5, 0x11, 0x22, 0x33, 0x44, 0, 0,
            0x82, 0xaa,
        ];
        assert_eq!(header, expected);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut packet = [0; HEADER_LEN + 3];
        for fields in [FIELDS, Fields { is_egress: false, vlan: 0, class: 0, port: 0, ..FIELDS }] {
            fields.emit(packet.first_chunk_mut().expect("long enough"));
            let view = View::parse(&packet).expect("sound");
            assert_eq!((view.fields(), view.payload().len()), (fields, 3));
        }
        assert_eq!(View::parse(&packet[..19]).err(), Some(Malformed::Truncated));
        for (at, bit, error) in [
            (0, 0x20, Malformed::BadFlags),
            (3, 0x20, Malformed::BadVersion),
            (8, 0x20, Malformed::BadVersion),
            (18, 0x80, Malformed::BadFlags),
            (18, 0x04, Malformed::BadFlags),
            (19, 0x01, Malformed::BadFlags),
            (19, 0x04, Malformed::BadFlags),
        ] {
            let mut spoiled = packet;
            spoiled[at] ^= bit;
            assert_eq!(View::parse(&spoiled).err(), Some(error), "byte {at}");
        }
    }
}
